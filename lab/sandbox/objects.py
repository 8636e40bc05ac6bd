"""API objects: JSON objects as plain dictionaries."""

from typing import Any, TypeAlias

import msgspec

JSON: TypeAlias = Any
"""Any JSON value; the only place where this package gives up static types."""

Object: TypeAlias = dict[str, JSON]
"""A JSON object; an API object if it has apiVersion, kind and metadata."""

_DECODER = msgspec.json.Decoder()
_ENCODER = msgspec.json.Encoder()


def decode(raw: bytes) -> JSON:
    """Decode JSON.

    Raises:
        msgspec.DecodeError: the text is not JSON.
    """
    return _DECODER.decode(raw)


def encode(value: JSON) -> bytes:
    """Encode to compact JSON."""
    return _ENCODER.encode(value)


def copy_json(value: JSON) -> JSON:
    """Copy a JSON value deeply, faster than `copy.deepcopy` does."""
    if isinstance(value, dict):
        return {key: copy_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copy_json(item) for item in value]
    return value


def meta(obj: Object) -> Object:
    """Return the metadata of an object; create it if it is missing or null."""
    found = obj.get("metadata")
    if isinstance(found, dict):
        return found
    made: Object = {}
    obj["metadata"] = made
    return made


def dig(value: JSON, *path: str) -> JSON:
    """Return the value at nested keys, or None if any of them is missing."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def name_of(obj: Object) -> str:
    """Return `metadata.name`, or an empty string."""
    return str(dig(obj, "metadata", "name") or "")


def namespace_of(obj: Object) -> str:
    """Return `metadata.namespace`, or an empty string."""
    return str(dig(obj, "metadata", "namespace") or "")

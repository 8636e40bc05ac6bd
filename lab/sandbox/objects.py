"""The shape of what the API carries: JSON objects as plain dictionaries."""

from typing import Any, TypeAlias

import msgspec

JSON: TypeAlias = Any
"""Any JSON value. The one place where this package gives up on types."""

Object: TypeAlias = dict[str, JSON]
"""A JSON object; an API object when it has apiVersion, kind and metadata."""

_DECODER = msgspec.json.Decoder()
_ENCODER = msgspec.json.Encoder()


def decode(raw: bytes) -> JSON:
    """Decode JSON.

    Raises:
        msgspec.DecodeError: when it is none.
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
    """The metadata of an object, made if it is missing or null."""
    found = obj.get("metadata")
    if isinstance(found, dict):
        return found
    made: Object = {}
    obj["metadata"] = made
    return made


def dig(value: JSON, *path: str) -> JSON:
    """The value below nested keys, or None where any of them is missing."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def name_of(obj: Object) -> str:
    """`metadata.name`, or an empty string."""
    return str(dig(obj, "metadata", "name") or "")


def namespace_of(obj: Object) -> str:
    """`metadata.namespace`, or an empty string."""
    return str(dig(obj, "metadata", "namespace") or "")

"""Reading request bodies: JSON, YAML, and a little protobuf."""

import json
from collections import Counter
from collections.abc import Iterator

import msgspec

from lab.sandbox.errors import bad_request, unsupported_media_type
from lab.sandbox.objects import JSON, Object, decode
from lab.sandbox.operations import PATCH_TYPES, PatchType
from lab.sandbox.protobuf import decode_body
from reporter.yaml_reader import reading
from reporter.yaml_reader.limits import Unreadable
from reporter.yaml_reader.reading import decoded

_PROTOBUF = "application/vnd.kubernetes.protobuf"


def read_json(raw: bytes) -> JSON:
    """Decode a JSON body.

    Raises:
        ApiError: 400.
    """
    try:
        return decode(raw)
    except msgspec.DecodeError as error:
        raise bad_request(
            f"the object provided is unrecognized (must be of type JSON): {error}"
        ) from None


def read_yaml(raw: bytes) -> JSON:
    """Decode a YAML body, which is usually JSON.

    Raises:
        ApiError: 400.
    """
    try:
        return decode(raw)
    except msgspec.DecodeError:
        pass
    try:
        return reading.read_yaml(decoded(raw))
    except Unreadable as error:
        raise bad_request(f"error decoding YAML: {error}") from None


def read_object(raw: bytes, content_type: str) -> Object:
    """Decode the object in the body of a create, update or delete; empty for no body.

    Raises:
        ApiError: 400 or 415.
    """
    if not raw:
        return {}
    if content_type == _PROTOBUF:
        return decode_body(raw)
    if content_type in {"application/json", "application/octet-stream", ""}:
        found = read_json(raw)
    elif content_type == "application/yaml":
        found = read_yaml(raw)
    else:
        raise unsupported_media_type(["application/json", "application/yaml", _PROTOBUF])
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise bad_request("the body of the request is not an object")
    return found


class _Pairs(dict[str, JSON]):
    """An object that remembers its duplicate fields."""

    twice: tuple[str, ...] = ()


def _pairs(pairs: list[tuple[str, JSON]]) -> _Pairs:
    found = _Pairs(pairs)
    if len(found) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        found.twice = tuple(name for name, count in counts.items() if count > 1)
    return found


def duplicate_fields(raw: bytes) -> list[str]:
    """Return the paths of duplicate fields in a JSON body; the last value counts."""
    try:
        return list(_duplicates(json.loads(raw, object_pairs_hook=_pairs), ""))
    except ValueError:
        # Not JSON; decoding the body will say so.
        return []


def _duplicates(value: JSON, path: str) -> Iterator[str]:
    if isinstance(value, _Pairs):
        yield from (f"{path}{name}" for name in value.twice)
        for name, item in value.items():
            yield from _duplicates(item, f"{path}{name}.")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _duplicates(item, f"{path[:-1]}[{index}].")


def read_patch(raw: bytes, content_type: str) -> tuple[PatchType, JSON]:
    """Decode the body of a patch.

    Raises:
        ApiError: 400 or 415.
    """
    patch_type = PATCH_TYPES.get(content_type)
    if patch_type is None:
        raise unsupported_media_type(list(PATCH_TYPES))
    return patch_type, read_yaml(raw) if patch_type == "apply" else read_json(raw)

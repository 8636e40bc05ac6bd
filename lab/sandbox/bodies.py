"""Request bodies: JSON, YAML and a little protobuf, and whether they fit the path.

kubectl always sends delete options, access reviews and the small objects of `kubectl create` as
protobuf.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from lab.sandbox.errors import DecodeError, bad_request, conflict, unsupported_media_type
from lab.sandbox.metadata import type_error
from lab.sandbox.objects import JSON, Object, decode, dig, meta, name_of
from lab.sandbox.patching import PATCH_TYPES, PatchType
from lab.sandbox.resources import Resource
from reporter.yaml_reader import reading
from reporter.yaml_reader.limits import Unreadable
from reporter.yaml_reader.reading import decoded

_MAGIC = b"k8s\0"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_RESOURCE_ATTRIBUTES = {
    1: "namespace",
    2: "verb",
    3: "group",
    4: "version",
    5: "resource",
    6: "subresource",
    7: "name",
}
_METADATA = {1: "name", 2: "generateName", 3: "namespace", 5: "uid", 6: "resourceVersion"}


def decode_body(raw: bytes) -> Object:
    """Decode a request body of one of the supported kinds.

    Raises:
        ApiError: 415 for any other kind.
    """
    refusal = unsupported_media_type(["application/json", "application/yaml"])
    if not raw.startswith(_MAGIC):
        raise refusal
    try:
        envelope = dict(_fields(raw[len(_MAGIC) :]))
        type_meta = dict(_fields(_bytes(envelope.get(1))))
        body = dict(_fields(_bytes(envelope.get(2))))
    except (IndexError, ValueError):
        raise refusal from None
    obj: Object = {
        "apiVersion": _bytes(type_meta.get(1)).decode(),
        "kind": _bytes(type_meta.get(2)).decode(),
    }
    match obj["kind"]:
        case "DeleteOptions":
            return obj
        case "SelfSubjectAccessReview":
            spec = dict(_fields(_bytes(body.get(2))))
            obj["spec"] = {}
            if 1 in spec:
                asked = dict(_fields(_bytes(spec[1])))
                obj["spec"]["resourceAttributes"] = {
                    name: text
                    for number, name in _RESOURCE_ATTRIBUTES.items()
                    if (text := _bytes(asked.get(number)).decode())
                }
            if 2 in spec:  # noqa: PLR2004 - the number of the field
                asked = dict(_fields(_bytes(spec[2])))
                obj["spec"]["nonResourceAttributes"] = {
                    "path": _bytes(asked.get(1)).decode(),
                    "verb": _bytes(asked.get(2)).decode(),
                }
            return obj
        case "SelfSubjectRulesReview":
            spec = dict(_fields(_bytes(body.get(2))))
            obj["spec"] = {"namespace": _bytes(spec.get(1)).decode()}
            return obj
        case "Namespace" | "ServiceAccount" | "ConfigMap":
            obj["metadata"] = _metadata(_bytes(body.get(1)))
            if obj["kind"] == "ConfigMap":
                content = _fields(_bytes(envelope.get(2)))
                obj["data"] = _string_map(content, 2)
            return obj
        case _:
            raise refusal


def _metadata(raw: bytes) -> Object:
    metadata: Object = {
        name: text
        for number, value in _fields(raw)
        if (name := _METADATA.get(number)) and (text := _bytes(value).decode())
    }
    for number, name in ((11, "labels"), (12, "annotations")):
        if found := _string_map(_fields(raw), number):
            metadata[name] = found
    return metadata


def _string_map(fields: Iterable[tuple[int, bytes | int]], wanted: int) -> dict[str, str]:
    entries = [dict(_fields(_bytes(value))) for number, value in fields if number == wanted]
    return {_bytes(entry.get(1)).decode(): _bytes(entry.get(2)).decode() for entry in entries}


def _bytes(value: bytes | int | None) -> bytes:
    return value if isinstance(value, bytes) else b""


def _fields(raw: bytes) -> Iterator[tuple[int, bytes | int]]:
    position = 0
    while position < len(raw):
        tag, position = _varint(raw, position)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, position = _varint(raw, position)
            yield number, value
        elif wire == _BYTES:
            length, position = _varint(raw, position)
            yield number, raw[position : position + length]
            position += length
        elif wire in {_FIXED64, _FIXED32}:
            position += 8 if wire == _FIXED64 else 4
        else:
            raise ValueError(f"wire type {wire}")


def _varint(raw: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the continuation bit
            return value, position
        shift += 7


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


def check_type(resource: Resource, body: JSON) -> None:
    """Refuse a body whose kind is not that of the path."""
    if not isinstance(body, dict):
        raise bad_request("the body of the request is not an object")
    if not resource.custom:
        # Typed endpoints accept a body that does not state its type.
        body["apiVersion"] = body.get("apiVersion") or resource.api_version
        body["kind"] = body.get("kind") or resource.kind
    version, kind = body.get("apiVersion") or "", body.get("kind") or ""
    if not kind:
        raise bad_request("Object 'Kind' is missing in the request body")
    if version != resource.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version"
            f" ({resource.api_version})"
        )
    if kind != resource.kind:
        raise bad_request(
            f'{kind} in version "{resource.version}" cannot be handled as a'
            f' {resource.kind}: no kind "{kind}" is registered at this path'
        )


def settle_namespace(resource: Resource, namespace: str, body: Object) -> None:
    """Set a body's namespace from its path, or refuse a different one."""
    why = type_error(resource.kind, body)
    if why:
        raise DecodeError(resource.version, resource.kind, why)
    given = meta(body).get("namespace")
    if not resource.namespaced:
        meta(body).pop("namespace", None)
    elif given and given != namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    else:
        meta(body)["namespace"] = namespace


def check_name(name: str, body: Object) -> None:
    """Set a body's name from its path, or refuse a different one."""
    given = name_of(body)
    if not given:
        meta(body)["name"] = name
    elif given != name:
        raise bad_request(
            f"the name of the object ({given}) does not match the name on the URL ({name})"
        )


def check_patch(body: JSON) -> None:
    """Refuse a patch that is not an object."""
    if not isinstance(body, dict):
        raise bad_request(
            "error decoding patch: json: cannot unmarshal array into Go value of type "
            "map[string]interface {}"
        )


def check_uid(resource: Resource, obj: Object, stored: str) -> None:
    """Refuse a write that is meant for another object of the same name."""
    given = str(dig(obj, "metadata", "uid") or "")
    if given and given != stored:
        raise conflict(
            resource.group,
            resource.plural,
            name_of(obj),
            cause=f"Precondition failed: UID in precondition: {given}, UID in object meta: {stored}",
        )

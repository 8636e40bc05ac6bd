"""Request bodies: JSON and a little protobuf, and whether they fit the path.

kubectl always sends access reviews and the small objects of `kubectl create` as
protobuf.
"""

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from lab.sandbox.errors import DecodeError, bad_request, conflict, unsupported_media_type
from lab.sandbox.metadata import type_error
from lab.sandbox.objects import JSON, Object, decode, dig, meta, name_of
from lab.sandbox.patching import PATCH_TYPES, PatchType
from lab.sandbox.resources import Resource

_MAGIC = b"k8s\0"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

_Message: TypeAlias = "dict[int, tuple[str, _Message | None]]"
"""The names of fields by their numbers; of a message also its own fields, else it is a text."""


def _texts(*names: str) -> _Message:
    """Return a message of texts with the numbers 1, 2 and so on; an empty name is skipped."""
    return {number: (name, None) for number, name in enumerate(names, 1) if name}


_MAP: _Message = {}
_METADATA: _Message = {
    **_texts("name", "generateName", "namespace", "", "uid", "resourceVersion"),
    11: ("labels", _MAP),
    12: ("annotations", _MAP),
}
_RESOURCE = _texts("namespace", "verb", "group", "version", "resource", "subresource", "name")
_ASKED: _Message = {
    1: ("resourceAttributes", _RESOURCE),
    2: ("nonResourceAttributes", _texts("path", "verb")),
}
_KINDS: dict[str, _Message] = {
    "SelfSubjectAccessReview": {2: ("spec", _ASKED)},
    "Namespace": {1: ("metadata", _METADATA)},
    "ServiceAccount": {1: ("metadata", _METADATA)},
    "ConfigMap": {1: ("metadata", _METADATA), 2: ("data", _MAP)},
}


def decode_body(raw: bytes) -> Object:
    """Decode a protobuf body of one of the known kinds; ApiError 415 for any other."""
    refusal = unsupported_media_type(["application/json"])
    if not raw.startswith(_MAGIC):
        raise refusal
    try:
        envelope = dict(_fields(raw[len(_MAGIC) :]))
        types = _read(_bytes(envelope.get(1)), _texts("apiVersion", "kind"))
        kind = _KINDS.get(types.get("kind", ""))
        if kind is None:
            raise refusal
        return {**types, **_read(_bytes(envelope.get(2)), kind)}
    except (IndexError, ValueError):
        raise refusal from None


def _read(raw: bytes, message: _Message) -> Object:
    """Return the known fields of a message; empty texts are left out."""
    found: Object = {}
    for number, value in _fields(raw):
        name, inner = message.get(number, ("", None))
        if inner is _MAP:
            entry = dict(_fields(_bytes(value)))
            key, text = (_bytes(entry.get(each)).decode() for each in (1, 2))
            found.setdefault(name, {})[key] = text
        elif inner is not None:
            found[name] = _read(_bytes(value), inner)
        elif name and value:
            found[name] = _bytes(value).decode()
    return found


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
    """Decode a JSON body, or raise ApiError 400."""
    try:
        return decode(raw)
    except msgspec.DecodeError as error:
        why = f"the object provided is unrecognized (must be of type JSON): {error}"
        raise bad_request(why) from None


def read_object(raw: bytes, content_type: str) -> Object:
    """Decode the object in a body, empty for no body, or raise ApiError 400 or 415."""
    if not raw:
        return {}
    if content_type == _PROTOBUF:
        return decode_body(raw)
    if content_type in {"application/json", "application/octet-stream", ""}:
        found = read_json(raw)
    else:
        raise unsupported_media_type(["application/json", _PROTOBUF])
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise bad_request("the body of the request is not an object")
    return found


def read_patch(raw: bytes, content_type: str) -> tuple[PatchType, JSON]:
    """Decode the body of a patch, or raise ApiError 400 or 415."""
    patch_type = PATCH_TYPES.get(content_type)
    if patch_type is None:
        raise unsupported_media_type(list(PATCH_TYPES))
    return patch_type, read_json(raw)


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

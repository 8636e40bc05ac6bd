"""The few protobuf bodies that kubectl always sends.

These are delete options, access reviews, and the small objects of `kubectl create`.
"""

from collections.abc import Iterable, Iterator

from lab.sandbox.errors import unsupported_media_type
from lab.sandbox.objects import Object

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

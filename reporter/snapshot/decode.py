"""Decodes one object's JSON into its typed struct, or names the cause if it is malformed.

The live cluster and dumps share this code, so both skip the same objects in the same words.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias, TypeVar

import msgspec

from reporter.model.objects import KubeObject, LabelSelector
from reporter.model.report import SkippedObject
from reporter.model.resource import AnyResource, Resource
from reporter.model.text import clean, cut

ObjectT = TypeVar("ObjectT", bound=KubeObject)

_NAME_CHARACTERS: Final = 253
"""Longest name of an object and of a namespace that the API server accepts."""

_CAUSE_BYTES: Final = 200

_TYPE_NAMES: Final = {
    "array": "a list", "bool": "a boolean", "datetime": "a time", "float": "a number",
    "int": "a whole number", "object": "an object", "str": "a string",
}  # fmt: skip

_AT: Final = " - at `$"
_MISSING: Final = re.compile(r"Object missing required field `(?P<field>[^`]+)`")
_LENGTH: Final = re.compile(r"Expected `\w+` of length <= (?P<most>\d+)")
_EXPECTED: Final = re.compile(r"Expected `(?P<type>\w+)(?: \| null)?`, got ")


class _Identity(msgspec.Struct, frozen=True, gc=False):
    name: object = ""
    namespace: object = ""
    labels: object = None

    def readable_labels(self) -> dict[str, str] | None:
        labels = self.labels if self.labels is not None else {}
        if not isinstance(labels, dict):
            return None
        return {key: each for key, each in labels.items() if isinstance(each, str)}


class _Identified(msgspec.Struct, frozen=True, gc=False):
    metadata: _Identity = _Identity()


def describe_malformed(error: Exception) -> str:
    """Say what is wrong with an object: `status.conditions is not a list`.

    `error` is usually a `msgspec.ValidationError`; or invalid JSON or UTF-8, or a `RecursionError`.
    """
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, UnicodeError):
        return "it is not UTF-8"
    if not isinstance(error, msgspec.ValidationError):
        return "it is not valid JSON"
    text = str(error)
    # The text before it may contain a value of the object.
    path = text.rpartition(_AT)[2].removesuffix("`").removeprefix(".") if _AT in text else ""
    if missing := _MISSING.match(text):
        return _bounded(f"{path}.{missing['field']} is missing".lstrip("."))
    subject = f"an entry of {path.removesuffix('[...]')}" if path.endswith("[...]") else path
    return _bounded(f"{subject or 'it'} {_fault(text)}")


def _fault(text: str) -> str:
    if length := _LENGTH.match(text):
        return f"has more than {length['most']} entries"
    if "timezone" in text:
        return "has no time zone"
    if expected := _EXPECTED.match(text):
        return f"is not {_TYPE_NAMES.get(expected['type'], 'of its type')}"
    return "is not a time" if "datetime" in text else "is not valid"


def _bounded(cause: str) -> str:
    return cut(clean(cause), _CAUSE_BYTES)


@lru_cache(maxsize=256)
def _decoder(type_: type[ObjectT]) -> msgspec.json.Decoder[ObjectT]:
    return msgspec.json.Decoder(type_)


def decode_object(resource: Resource[ObjectT], raw: bytes | msgspec.Raw) -> ObjectT | SkippedObject:
    try:
        obj = _decoder(resource.type).decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        found = _identity(raw)
        return SkippedObject(
            str(resource),
            _shown(found.namespace),
            _shown(found.name),
            describe_malformed(error),
            found.readable_labels(),
        )
    return check_object(resource, obj)


def check_object(resource: Resource[ObjectT], obj: ObjectT) -> ObjectT | SkippedObject:
    fault = _name_fault(resource, obj)
    return skipped(resource, obj.namespace, obj.name, cause=fault) if fault else obj


def _name_fault(resource: AnyResource, obj: KubeObject) -> str:
    if not obj.name:
        return "metadata.name is missing"
    if resource.namespaced and not obj.namespace:
        return "metadata.namespace is missing"
    for field, value in (("name", obj.name), ("namespace", obj.namespace)):
        if len(value) > _NAME_CHARACTERS:
            return f"metadata.{field} has more than {_NAME_CHARACTERS} characters"
    return ""


def skipped(resource: AnyResource, namespace: str, name: str, *, cause: str) -> SkippedObject:
    return SkippedObject(str(resource), _shown(namespace), _shown(name), cause)


def _identity(raw: bytes | msgspec.Raw) -> _Identity:
    try:
        return msgspec.json.decode(raw, type=_Identified).metadata
    except RecursionError:
        return _deep_names(bytes(raw))
    except (msgspec.DecodeError, UnicodeError):
        return _Identity(labels=())


def _deep_names(raw: bytes) -> _Identity:
    parts = children(raw)
    metadata = dict(zip(parts[::2], parts[1::2], strict=False)).get(b'"metadata"', b"{}")
    try:
        return msgspec.json.decode(metadata, type=_Identity)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _Identity(labels=())


def _shown(name: object) -> str:
    return cut(clean(name), _NAME_CHARACTERS) if isinstance(name, str) else ""


_STRING: Final = rb'"(?:[^"\\]++|\\.)*+"'
_SHALLOW: Final = re.compile(rb'(?:[^"\[\]{},:]++|' + _STRING + rb")*+([\[\]{},:])", re.DOTALL)
_DEEP: Final = re.compile(rb'(?:[^"\[\]{}]++|' + _STRING + rb")*+(\[++|\{++|\]|\})", re.DOTALL)
"""The next bracket, or a run of opening ones; on the first level also a comma or colon."""


def children(raw: bytes) -> list[bytes]:
    """Split a JSON list into its entries, or an object into alternating keys and values.

    For documents nested too deeply for the decoder: one such object must not hide its neighbours.
    It is slow, so call it in a thread; the result for invalid JSON is undefined.
    """
    parts: list[bytes] = []
    depth = start = position = 0
    while token := (_SHALLOW if depth <= 1 else _DEEP).match(raw, position):
        position = token.end()
        match token[1][:1]:
            case b"[" | b"{":
                start = token.end() if depth == 0 else start
                depth += len(token[1])
            case b"]" | b"}":
                depth -= 1
                if depth <= 0:
                    parts.append(raw[start : token.start(1)].strip())
                    break
            case _ if depth == 1:
                parts.append(raw[start : token.start(1)].strip())
                start = token.end()
    return parts if parts != [b""] else []


Sought: TypeAlias = Callable[[SkippedObject], bool]


def belongs_to(owner: str, label: str) -> Sought:
    """Match objects whose label names their owner.

    If the label is unreadable, match by name: controllers prefix it with the owner's name.
    """

    def is_sought(skipped: SkippedObject) -> bool:
        found = skipped.labels.get(label) if skipped.labels is not None else None
        if found is not None:
            return found == owner
        return skipped.name == owner or skipped.name.startswith(f"{owner}-")

    return is_sought


def selected_by(selector: LabelSelector | None) -> Sought:
    """Match objects that a selector selects; unreadable labels match any selector."""

    def is_sought(skipped: SkippedObject) -> bool:
        if selector is None or skipped.labels is None:
            return selector is not None
        return selector.matches(skipped.labels)

    return is_sought

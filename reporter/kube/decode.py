"""Decodes list pages and watch frames into typed structs; malformed objects are skipped by name.

The API server accepts objects nested up to 10,000 levels deep (the limit of Go's encoding/json),
ten times what the decoder handles. Python code splits such an object, so that it can be skipped by
name. That is slow, so `off_the_loop` does it in a thread.

Nothing here keeps the bytes of an answer alive, and equal strings and times share one value. Most
strings in a cluster's objects repeat: condition types and reasons, labels, names of nodes and
images. So do times, which are whole seconds: objects that start together change their conditions
together. A decoder creates each value again: strings took half of the memory of all objects, times
a tenth.
"""

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Final, Generic, TypeVar, cast

import msgspec
from msgspec.structs import force_setattr

from reporter.kube.errors import NotJson, mapped, status_error
from reporter.model.objects import KubeObject
from reporter.model.report import SkippedObject
from reporter.model.resource import Resource
from reporter.snapshot.decode import check_object, children, decode_object

ObjectT = TypeVar("ObjectT", bound=KubeObject)
ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

_MALFORMED: Final = (msgspec.DecodeError, UnicodeError, RecursionError)


class TooDeep(Exception):  # noqa: N818 - it says what the answer is
    """An answer is nested too deeply for the decoder; decode it again with `deeply`."""


async def off_the_loop(
    decode: Callable[..., ResultT], resource: Resource[KubeObject], body: bytes
) -> ResultT:
    """Decode an answer with one of the functions below, in a thread if it is deeply nested."""
    try:
        return decode(resource, body)
    except TooDeep:
        return await asyncio.to_thread(decode, resource, body, deeply=True)


class _ListMetadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    resource_version: str = ""
    continue_token: str | None = msgspec.field(name="continue", default=None)
    remaining_item_count: int | None = None


class ListBody(msgspec.Struct, Generic[ItemT], frozen=True):
    """A list as the API server writes it."""

    kind: str = ""
    metadata: _ListMetadata = _ListMetadata()
    items: list[ItemT] | None = None


@dataclass(frozen=True, slots=True)
class ListPage(Generic[ObjectT]):
    """`resource_version`: where to start the watch that continues the list."""

    objects: tuple[ObjectT, ...]
    skipped: tuple[SkippedObject, ...]
    resource_version: str
    continue_token: str


@lru_cache(maxsize=256)
def _page_decoder(type_: type[ObjectT]) -> msgspec.json.Decoder[ListBody[ObjectT]]:
    return msgspec.json.Decoder(ListBody[type_])  # type: ignore[valid-type]  # built at run time


_RAW_PAGE: Final = msgspec.json.Decoder(ListBody[msgspec.Raw])


def decode_page(
    resource: Resource[ObjectT], body: bytes, *, deeply: bool = False
) -> ListPage[ObjectT]:
    if resource.slim is not None:
        # One by one: decoding the page at once would hold all of its full objects in memory.
        return _decode_each(resource, body, deeply=deeply)
    try:
        page = _page_decoder(resource.type).decode(body)
    except _MALFORMED:
        return _decode_each(resource, body, deeply=deeply)
    results = [check_object(resource, item) for item in page.items or ()]
    return _page(resource, page.kind, page.metadata, results=results)


def page_of(resource: Resource[ObjectT], body: bytes, *, deeply: bool = False) -> ListPage[ObjectT]:
    if not deeply:
        _require_shallow(body)
    result = _slim(resource, msgspec.Raw(body))
    if isinstance(result, SkippedObject):
        return ListPage((), (result,), "", "")
    return ListPage((result,), (), "", "")


def _require_shallow(body: bytes) -> None:
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except RecursionError:
        raise TooDeep from None
    except (msgspec.DecodeError, UnicodeError):
        pass  # decode_object reports this fault


def _slim(resource: Resource[ObjectT], raw: msgspec.Raw) -> ObjectT | SkippedObject:
    found = decode_object(resource, raw)
    if resource.slim is None or isinstance(found, SkippedObject):
        return found
    return cast("ObjectT", resource.slim(found))


def _decode_each(resource: Resource[ObjectT], body: bytes, *, deeply: bool) -> ListPage[ObjectT]:
    with mapped(f"list {resource}"):
        try:
            page = _RAW_PAGE.decode(body)
        except RecursionError:
            if not deeply:
                raise TooDeep from None
            page = _split(body)
    results = [_slim(resource, raw) for raw in page.items or ()]
    return _page(resource, page.kind, page.metadata, results=results)


def _members(document: bytes) -> dict[bytes, bytes]:
    parts = children(document)
    return dict(zip(parts[::2], parts[1::2], strict=False))


def _split(body: bytes) -> ListBody[msgspec.Raw]:
    """Split a page with an object that is nested too deeply for the decoder."""
    members = _members(body)
    return ListBody(
        kind=msgspec.json.decode(members.get(b'"kind"', b'""'), type=str),
        metadata=msgspec.json.decode(members.get(b'"metadata"', b"{}"), type=_ListMetadata),
        items=[msgspec.Raw(item) for item in children(members.get(b'"items"', b"[]"))],
    )


def _page(
    resource: Resource[ObjectT],
    kind: str,
    metadata: _ListMetadata,
    *,
    results: list[ObjectT | SkippedObject],
) -> ListPage[ObjectT]:
    # Any JSON object decodes as an empty page, and an empty page would empty the store.
    if not kind.endswith("List") or not metadata.resource_version:
        raise NotJson(f"list {resource}: the answer is not a list with a resourceVersion")
    return ListPage(
        objects=tuple(each for each in results if not isinstance(each, SkippedObject)),
        skipped=tuple(each for each in results if isinstance(each, SkippedObject)),
        resource_version=metadata.resource_version,
        continue_token=metadata.continue_token or "",
    )


class FrameType(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


@dataclass(frozen=True, slots=True)
class Frame(Generic[ObjectT]):
    """`content`: the object, or why it is skipped; None for a bookmark. `resource_version`: where a
    watch resumes after this frame; empty if unreadable.
    """

    type: FrameType
    content: ObjectT | SkippedObject | None
    resource_version: str


class _Envelope(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _Change(msgspec.Struct, Generic[ItemT], frozen=True):
    type: FrameType
    object: ItemT


class _VersionOnly(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    resource_version: object = ""


class _Versioned(msgspec.Struct, frozen=True, gc=False):
    metadata: _VersionOnly = _VersionOnly()


_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_VERSIONED: Final = msgspec.json.Decoder(_Versioned)


@lru_cache(maxsize=256)
def _change_decoder(type_: type[ObjectT]) -> msgspec.json.Decoder[_Change[ObjectT]]:
    return msgspec.json.Decoder(_Change[type_])  # type: ignore[valid-type]  # built at run time


def decode_frames(
    resource: Resource[ObjectT], lines: bytes, *, deeply: bool = False
) -> list[Frame[ObjectT]]:
    """Decode lines of a watch; raises ApiStatusError for an ERROR frame.

    An expired version is reported that way too: an ERROR frame with code 410 in a 200 answer.
    """
    if resource.slim is None:
        with suppress(*_MALFORMED):
            changes = _change_decoder(resource.type).decode_lines(lines)
            if not any(each.type is FrameType.BOOKMARK for each in changes):
                return [
                    Frame(
                        each.type,
                        check_object(resource, each.object),
                        each.object.metadata.resource_version,
                    )
                    for each in changes
                ]
    return [
        _decode_frame(resource, line, deeply=deeply) for line in lines.split(b"\n") if line.strip()
    ]


def _decode_frame(resource: Resource[ObjectT], line: bytes, *, deeply: bool) -> Frame[ObjectT]:
    with mapped(f"watch {resource}"):
        try:
            envelope = _ENVELOPE.decode(line)
        except RecursionError:
            if not deeply:
                raise TooDeep from None
            envelope = _split_frame(line)
    if envelope.type == "ERROR":
        raise status_error(0, bytes(envelope.object))
    try:
        type_ = FrameType(envelope.type)
    except ValueError:
        raise NotJson(f"watch {resource}: the frame's type is none of the API's") from None
    if type_ is FrameType.BOOKMARK:
        return Frame(type_, None, _version(envelope.object))
    content = _slim(resource, envelope.object)
    if isinstance(content, SkippedObject):
        return Frame(type_, content, _version(envelope.object))
    return Frame(type_, content, content.metadata.resource_version)


def _split_frame(line: bytes) -> _Envelope:
    members = _members(line)
    return _Envelope(
        type=msgspec.json.decode(members.get(b'"type"', b'""'), type=str),
        object=msgspec.Raw(members.get(b'"object"', b"{}")),
    )


def _version(raw: msgspec.Raw) -> str:
    try:
        version = _VERSIONED.decode(raw).metadata.resource_version
    except _MALFORMED:
        return ""
    return version if isinstance(version, str) else ""


_LONGEST: Final = 120
"""Longest string that is shared; longer ones, such as a scheduler's message, rarely repeat."""

_MOST: Final = 4_096
"""Most values kept before starting over: names and uids, which never repeat, fill the table, and
the next object brings the common values back."""


class SharedValues:
    """Values that objects share; the table is emptied when it is large, to keep little alive."""

    def __init__(self) -> None:
        self._known: dict[object, object] = {}
        self._bytes = 0

    def measured(self, obj: msgspec.Struct, old: msgspec.Struct | None = None) -> int:
        """Replace the values of a newly decoded object by equal ones that are already in memory.

        With `old`, take equal parts from that object. Return roughly how many bytes the object
        takes, or takes more than `old`. Call this before anything else refers to the object.
        """
        self._bytes = 0
        if len(self._known) > _MOST:
            self._known = {}
        if old is None:
            self._struct(obj)
        else:
            self._again(obj, old)
        return self._bytes

    def _struct(self, obj: msgspec.Struct) -> None:
        fields = obj.__struct_fields__
        self._bytes += 16 + 8 * len(fields)
        for name in fields:
            value = getattr(obj, name)
            if value is not None:
                shared = self._shared(value)
                if shared is not value:
                    force_setattr(obj, name, shared)

    def _again(self, obj: msgspec.Struct, old: msgspec.Struct) -> None:
        for name in obj.__struct_fields__:
            value, before = getattr(obj, name), getattr(old, name)
            if value == before:
                force_setattr(obj, name, before)
            elif isinstance(value, msgspec.Struct) and type(value) is type(before):
                self._again(value, before)
            else:
                taken = self._bytes
                self._shared(before)
                self._bytes = taken - (self._bytes - taken)
                force_setattr(obj, name, self._shared(value))

    def _shared(self, value: object) -> object:
        kind = type(value)
        if kind is str:
            text = cast("str", value)
            self._bytes += 50 + len(text)
            return self._known.setdefault(text, text) if len(text) <= _LONGEST else text
        if kind is tuple or kind is list:
            for each in cast("Collection[object]", value):
                self._bytes += 8
                self._shared(each)
        elif kind is dict:
            pairs = cast("dict[object, object]", value).items()
            self._bytes += 64 + 100 * len(pairs)
            return {self._shared(key): self._shared(each) for key, each in pairs}
        elif kind is datetime:
            return self._known.setdefault(value, value)
        elif isinstance(value, msgspec.Struct):
            self._struct(value)
        return value

"""Watches: a stream of changes, and the ways in which it can end.

The problem: a client builds its whole view on list and watch, so a watch must neither miss a change
nor send it twice. It ends in many ways that clients have to survive: a version that is too old
(HTTP 200 and one ERROR line with code 410), a timeout, a client that does not read. The rules are
those of "Efficient detection of changes" in the Kubernetes API concepts, and of kube-apiserver's
watch cache (staging/src/k8s.io/apiserver/pkg/storage/cacher).

The choice: a watch subscribes to its collection and keeps a queue of changes. There is no await
between reading the state and subscribing, so no change is lost in between and no lock is needed. A
change is encoded only right before it is sent: all subscribers share the change objects, while the
text depends on selectors and on the representation (whole objects, tables).

What fails:

* Reading the state first and subscribing after sending it: sending waits for the client, and
  changes in the meantime are lost.
* Letting writers wait for readers: one client that does not read would block every write. So the
  queue is bounded, and a watch with a full queue ends; the client starts again.
* Filtering changes by the new object alone: an object that a selector no longer matches must be
  sent as DELETED, and one that it newly matches as ADDED.
* Sending bookmarks for Events: the real server does not cache Events, and has no periodic bookmarks
  for them.

Existing mock servers are not enough: they replay all objects as ADDED on each watch, and have no
versions, bookmarks or 410, which the reporter must be tested against.
"""

import asyncio
import contextlib
import random
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field

from lab.sandbox.errors import expired, too_large
from lab.sandbox.events import normalized
from lab.sandbox.lists import Filter
from lab.sandbox.objects import Object, encode
from lab.sandbox.representation import (
    IncludeObject,
    Representation,
    change_line,
    event_line,
    last_match,
    table_of,
    whole,
)
from lab.sandbox.requests import is_true, read_number
from lab.sandbox.resources import Resource
from lab.sandbox.storage import Change, EventType, Key, Storage, Stored, StoredCollection

_BUFFER = 10_000
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_MIN_TIMEOUT_SECONDS = 1800
_LAST_BOOKMARK_SECONDS = 2.0
_BATCH_BYTES = 1 << 18


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    version: int
    with_state: bool
    initial_end: bool
    bookmarks: bool
    timeout_seconds: float


def read_options(query: Mapping[str, str]) -> WatchOptions:
    """Return the options of a watch request; ApiError 400 or 500 if they are invalid."""
    version = read_number(query, "resourceVersion")
    bookmarks = is_true(query.get("allowWatchBookmarks"))
    asked = query.get("sendInitialEvents")
    # A client that requests bookmarks without a version gets the state as well.
    initial = is_true(asked) or (asked is None and version == 0 and bookmarks)
    declined = asked is not None and not initial
    timeout = read_number(query, "timeoutSeconds")
    if not timeout:
        # Random, as in the real server, so that the watches of many clients do not end together.
        timeout = int(_MIN_TIMEOUT_SECONDS * (1 + random.random()))  # noqa: S311
    return WatchOptions(
        version=version,
        with_state=initial or (version == 0 and not declined),
        initial_end=initial and bookmarks,
        bookmarks=bookmarks,
        timeout_seconds=float(timeout),
    )


@dataclass(eq=False, slots=True)
class Watch:
    """One subscriber of a collection; lines are encoded right before they are sent."""

    resource: Resource
    wanted: Filter
    options: WatchOptions
    representation: Representation
    include: IncludeObject
    storage: Storage
    bookmark_seconds: float
    transport: asyncio.Transport | None
    sent_version: int = 0
    _queue: deque[Change] = field(default_factory=deque)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: bool = False
    _defined: bool = False

    def notify(self, change: Change | None = None) -> None:
        """Queue a change, or end the stream once the queue is sent."""
        # A client with a full queue does not read, and must start again.
        if change is None or len(self._queue) >= _BUFFER:
            self._ended = True
        else:
            self._queue.append(change)
        self._wake.set()

    async def lines(self) -> AsyncGenerator[bytes]:
        collection = self.storage.collection(self.resource.name)
        options = self.options
        if not options.with_state and options.version < collection.compacted:
            yield self._too_old(collection)
            return
        if options.with_state and options.version > self.storage.version:
            error = too_large(options.version, self.storage.version)
            yield event_line("ERROR", encode(error.status()))
            return
        start = self.storage.version if options.with_state else options.version
        backlog = [] if options.with_state else collection.changes_after(start)
        self._queue.extend(backlog)
        self.sent_version = start
        # No await between reading the state and subscribing, so that no change is missed.
        state = list(collection.range(self.wanted.namespace)) if options.with_state else []
        collection.subscribers.append(self.notify)
        try:
            for stored in state:
                if self.wanted.matches(stored):
                    yield event_line("ADDED", self._shown(stored, stored.version))
            if options.initial_end:
                yield self._bookmark(start, initial_end=True)
            async for chunk in self._follow():
                yield chunk
        finally:
            collection.subscribers.remove(self.notify)

    async def _follow(self) -> AsyncGenerator[bytes]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.options.timeout_seconds
        # Events have no watch cache, and so no periodic bookmarks.
        bookmarks = self.options.bookmarks and not self.resource.is_event
        last_call = deadline - _LAST_BOOKMARK_SECONDS
        following = min(loop.time() + self.bookmark_seconds, max(last_call, loop.time()))
        while True:
            chunk = self._drain()
            if chunk:
                yield chunk
                continue
            now = loop.time()
            if self._ended or now >= deadline:
                return
            if bookmarks and now >= following:
                following = now + self.bookmark_seconds
                following = last_call if now < last_call < following else following
                if self.storage.version > self.sent_version:
                    yield self._bookmark(self.storage.version)
                    continue
            self._wake.clear()
            until = min(deadline, following) if bookmarks else deadline
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(until - now, 0)):
                    await self._wake.wait()

    def _drain(self) -> bytes:
        parts: list[bytes] = []
        size = 0
        while self._queue and size < _BATCH_BYTES:
            change = self._queue.popleft()
            self.sent_version = change.version
            kind = self._kind_for_me(change)
            if kind is not None:
                line = self._line(change, kind)
                parts.append(line)
                size += len(line)
        return b"".join(parts)

    def _kind_for_me(self, change: Change) -> EventType | None:
        """Return the type of a change for a client that sees only objects its selectors match."""
        before = change.old is not None and self.wanted.matches(change.old)
        after = change.type != "DELETED" and self.wanted.matches(change.new)
        if after:
            return "MODIFIED" if before else "ADDED"
        return "DELETED" if before else None

    def _line(self, change: Change, kind: EventType) -> bytes:
        if self.representation == "full":
            return change_line(self.resource, change, kind)
        shown = last_match(change) if kind == "DELETED" else change.new
        return event_line(kind, self._shown(shown, change.version))

    def _shown(self, stored: Stored, version: int, *, has_row: bool = True) -> bytes:
        if self.representation == "full":
            return whole(self.resource, stored)
        first, self._defined = not self._defined, True
        return table_of(
            self.resource,
            [stored] * has_row,
            now=self.storage.clock(),
            include=self.include,
            metadata={"resourceVersion": str(version)},
            with_definitions=first,
        )

    def _bookmark(self, version: int, *, initial_end: bool = False) -> bytes:
        self.sent_version = version
        metadata: Object = {"resourceVersion": str(version)}
        if initial_end:
            metadata["annotations"] = {_INITIAL_EVENTS_END: "true"}
        obj: Object = {"metadata": metadata}
        if self.resource.is_event:
            obj = normalized(obj)
        empty = Stored(Key("", ""), version, obj, expires=None)
        return event_line("BOOKMARK", self._shown(empty, version, has_row=initial_end))

    def _too_old(self, collection: StoredCollection) -> bytes:
        if self.resource.is_event:
            # The words of etcd, because Events have no watch cache.
            error = expired("The resourceVersion for the provided watch is too old.")
        else:
            versions = f"{self.options.version} ({collection.compacted})"
            error = expired(f"too old resource version: {versions}")
        return event_line("ERROR", encode(error.status()))

"""Watches: a stream of changes, with everything that can end it.

The problem: a client builds its whole view on list and watch, so a watch must neither miss a change
nor send it twice, and it ends in many ways that clients have to survive: a version that is too old
(HTTP 200 and one line ERROR with code 410), a timeout, a client that does not read. The rules are
those of "Efficient detection of changes" in the Kubernetes API concepts, and of the watch cache of
kube-apiserver (staging/src/k8s.io/apiserver/pkg/storage/cacher).

The choice: a watch subscribes to its collection and keeps a queue of changes. Reading the state and
subscribing happen without an await in between, so that no change falls into a gap and no lock is
needed. A change becomes text only when it is about to be sent. Changes are the same objects for all
subscribers, while text depends on selectors and on the representation (whole objects, metadata,
tables).

What fails:

* To read the state first and subscribe when it is sent: sending waits for the client, and what
  happens meanwhile is lost.
* To let writers wait for readers: one client that does not read would stop every write. So the
  queue is bounded, and a watch whose queue is full ends; the client starts again.
* To filter changes by the new object alone: an object that a selector no longer matches has to be
  told as DELETED, and one that it newly matches as ADDED.
* To send bookmarks of Events: the real server does not cache Events, and has no periodic bookmarks
  for them.

What exists is not enough: mock servers replay all objects as ADDED on each watch, and know no
versions, bookmarks or 410, which is what the reporter has to be tested against.
"""

import asyncio
import random
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field

from lab.sandbox.errors import expired, too_large
from lab.sandbox.events import to_storage
from lab.sandbox.list_options import check_options, read_version
from lab.sandbox.lists import Filter
from lab.sandbox.objects import Object, encode
from lab.sandbox.representation import (
    IncludeObject,
    Representation,
    change_line,
    event_line,
    last_match,
    partial,
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
    """Query parameters of a watch."""

    version: int
    with_state: bool
    initial_end: bool
    bookmarks: bool
    timeout_seconds: float


def read_options(query: Mapping[str, str]) -> WatchOptions:
    """Return the options of a watch request.

    Raises:
        ApiError: 400 or 422 when they make no sense.
    """
    check_options(query, watch=True)
    version = read_version(query.get("resourceVersion", ""))
    bookmarks = is_true(query.get("allowWatchBookmarks"))
    asked = query.get("sendInitialEvents")
    # A client that asks for bookmarks and names no version gets the state as well.
    initial = is_true(asked) or (asked is None and version == 0 and bookmarks)
    declined = asked is not None and not initial
    timeout = read_number(query, "timeoutSeconds")
    if not timeout:
        # As the real server does, so that the watches of many clients do not end together.
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
    """One subscriber of a collection; lines are made when they are about to be sent."""

    resource: Resource
    wanted: Filter
    options: WatchOptions
    representation: Representation
    include: IncludeObject
    storage: Storage
    bookmark_seconds: float
    sent_version: int = 0
    _queue: deque[Change] = field(default_factory=deque)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: bool = False
    _defined: bool = False

    def notify(self, change: Change) -> None:
        """Take in a change."""
        if len(self._queue) >= _BUFFER:
            # This client does not read; it has to start again.
            self._ended = True
        else:
            self._queue.append(change)
        self._wake.set()

    def end(self) -> None:
        """End the stream once everything that waits is sent."""
        self._ended = True
        self._wake.set()

    async def lines(self) -> AsyncGenerator[bytes]:
        """Encoded events, several at once where several are waiting."""
        collection = self.storage.collection(self.resource.collection)
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
        # Nothing is awaited between reading the state and subscribing: no change is missed.
        state = list(collection.range(self.wanted.namespace)) if options.with_state else []
        collection.subscribers.append(self)
        try:
            for stored in state:
                if self.wanted.matches(stored):
                    yield self._added(stored)
            if options.initial_end:
                yield self._bookmark(start, initial_end=True)
            async for chunk in self._follow():
                yield chunk
        finally:
            collection.subscribers.remove(self)

    async def _follow(self) -> AsyncGenerator[bytes]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.options.timeout_seconds
        # The cache of Events is switched off, and with it their periodic bookmarks.
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
            try:
                async with asyncio.timeout(max(until - now, 0)):
                    await self._wake.wait()
            except TimeoutError:
                pass

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
        """Return what a change is for a client that sees only what its selectors match."""
        before = change.old is not None and self.wanted.matches(change.old)
        after = change.type != "DELETED" and self.wanted.matches(change.new)
        if after:
            return "MODIFIED" if before else "ADDED"
        return "DELETED" if before else None

    def _line(self, change: Change, kind: EventType) -> bytes:
        if self.representation == "table":
            shown = last_match(change) if kind == "DELETED" else change.new
            return event_line(kind, self._table([shown], change.version))
        return change_line(self.resource, change, kind, representation=self.representation)

    def _added(self, stored: Stored) -> bytes:
        if self.representation == "table":
            return event_line("ADDED", self._table([stored], stored.version))
        render = partial if self.representation == "partial" else whole
        return event_line("ADDED", render(self.resource, stored))

    def _table(self, items: list[Stored], version: int) -> bytes:
        first, self._defined = not self._defined, True
        return table_of(
            self.resource,
            items,
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
            obj = to_storage("", obj)
        empty = Stored(Key("", ""), version, obj, expires=None)
        if self.representation == "table":
            return event_line("BOOKMARK", self._table([empty] if initial_end else [], version))
        render = partial if self.representation == "partial" else whole
        return event_line("BOOKMARK", render(self.resource, empty))

    def _too_old(self, collection: StoredCollection) -> bytes:
        if self.resource.is_event:
            # These are the words of etcd; Events have no watch cache.
            error = expired("The resourceVersion for the provided watch is too old.")
        else:
            versions = f"{self.options.version} ({collection.compacted})"
            error = expired(f"too old resource version: {versions}")
        return event_line("ERROR", encode(error.status()))

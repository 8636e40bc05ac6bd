"""The server's storage: encoded objects, one version counter, and a log of changes per kind.

Objects are kept encoded. That makes them immutable, and cheap to keep and to list: a page is a join
of bytes. A caller that needs the content gets its own copy.
"""

import bisect
import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from lab.sandbox.objects import Object, decode, dig, encode, meta, name_of, namespace_of

EventType = Literal["ADDED", "MODIFIED", "DELETED"]


class Key(NamedTuple):
    """Identity within a collection; the namespace of cluster-scoped objects is empty."""

    namespace: str
    name: str


class Stored:
    """One version of one object.

    `body` is the object's JSON without its opening brace, apiVersion and kind, so that each served
    version only prepends its own.
    """

    __slots__ = ("_fields", "body", "expires", "key", "labels", "uid", "version")

    def __init__(self, key: Key, version: int, obj: Object, *, expires: float | None) -> None:
        metadata = meta(obj)
        self.key = key
        self.version = version
        self.labels: dict[str, str] = metadata.get("labels") or {}
        self.uid = str(metadata.get("uid") or "")
        self.expires = expires
        content = {name: value for name, value in obj.items() if name not in {"apiVersion", "kind"}}
        self.body = encode(content)[1:]
        self._fields: dict[str, str] | None = None

    def decode(self, api_version: str, kind: str) -> Object:
        obj: Object = {"apiVersion": api_version, "kind": kind}
        obj.update(decode(b"{" + self.body))
        return obj

    def fields(self, extract: Callable[[Object], dict[str, str]]) -> dict[str, str]:
        """Return the values that field selectors see, computed once."""
        if self._fields is None:
            place = {"metadata.name": self.key.name, "metadata.namespace": self.key.namespace}
            self._fields = {**extract(decode(b"{" + self.body)), **place}
        return self._fields


@dataclass(eq=False, slots=True)
class Change:
    """One entry of a collection's log; `encoded` caches the lines sent to watchers."""

    version: int
    type: EventType
    new: Stored
    old: Stored | None
    encoded: dict[object, bytes] = field(default_factory=dict)


Subscriber: TypeAlias = Callable[[Change | None], None]
"""Is called with each change, in order, and with None at the end of all; it must not block."""


class StoredCollection:
    """The objects of one kind, sorted by key, and the log of their changes."""

    def __init__(self, name: str, history: int) -> None:
        self.name = name
        self.objects: dict[Key, Stored] = {}
        self.compacted = 0
        self.subscribers: list[Subscriber] = []
        self._keys: list[Key] = []
        self._log: list[Change] = []
        self._history = history

    def range(self, namespace: str = "", after: Key | None = None) -> Iterator[Stored]:
        """Yield objects in key order, of one namespace or of all, after a key."""
        start = bisect.bisect_left(self._keys, Key(namespace, "")) if namespace else 0
        if after is not None:
            start = max(start, bisect.bisect_right(self._keys, after))
        for index in range(start, len(self._keys)):
            key = self._keys[index]
            if namespace and key.namespace != namespace:
                return
            yield self.objects[key]

    def range_at(self, version: int, namespace: str, after: Key | None) -> Iterator[Stored]:
        """Yield objects like `range`, at an older version that is not compacted."""
        later = self.changes_after(version)
        if not later:
            yield from self.range(namespace, after)
            return
        past = {change.new.key: change.old for change in reversed(later)}
        objects = {**self.objects, **past}
        for key in sorted(objects):
            stored = objects[key]
            is_next = after is None or key > after
            if stored is not None and is_next and namespace in {"", key.namespace}:
                yield stored

    def changes_after(self, version: int) -> list[Change]:
        index = bisect.bisect_right(self._log, version, key=lambda change: change.version)
        return self._log[index:]

    def compact(self, version: int) -> None:
        """Drop changes up to a version; requests for older versions then get 410."""
        index = bisect.bisect_right(self._log, version, key=lambda change: change.version)
        del self._log[:index]
        self.compacted = max(self.compacted, version)

    def end_subscriptions(self) -> None:
        for subscriber in tuple(self.subscribers):
            subscriber(None)

    def record(self, change: Change) -> None:
        key = change.new.key
        if change.type == "ADDED":
            bisect.insort(self._keys, key)
        if change.type == "DELETED":
            del self._keys[bisect.bisect_left(self._keys, key)]
            del self.objects[key]
        else:
            self.objects[key] = change.new
        self._log.append(change)
        if len(self._log) > 2 * self._history:
            # Trim one half at a time, so that the cost is spread over many changes.
            self.compact(self._log[self._history - 1].version)
        for subscriber in tuple(self.subscribers):
            subscriber(change)


class Storage:
    def __init__(self, clock: Callable[[], float], history: int = 10_000) -> None:
        self.clock = clock
        self.version = 1
        self.collections: dict[str, StoredCollection] = {}
        self._history = history
        self._expiry: list[tuple[float, str, Key, int]] = []

    def collection(self, name: str) -> StoredCollection:
        found = self.collections.get(name)
        if found is None:
            found = self.collections[name] = StoredCollection(name, self._history)
        return found

    def get(self, collection: str, namespace: str, name: str) -> Stored | None:
        return self.collection(collection).objects.get(Key(namespace, name))

    def write(self, collection: str, obj: Object, *, ttl: float | None = None) -> Stored:
        target = self.collection(collection)
        key = Key(namespace_of(obj), name_of(obj))
        old = target.objects.get(key)
        self.version += 1
        meta(obj)["resourceVersion"] = str(self.version)
        expires = None if ttl is None else self.clock() + ttl
        stored = Stored(key, self.version, obj, expires=expires)
        if expires is not None:
            heapq.heappush(self._expiry, (expires, collection, key, self.version))
        target.record(Change(self.version, "MODIFIED" if old else "ADDED", stored, old))
        return stored

    def remove(self, collection: str, key: Key, last: Object | None = None) -> Stored:
        """Remove an object; `last` is its final state if that differs from the stored one."""
        target = self.collection(collection)
        old = target.objects[key]
        self.version += 1
        final = last if last is not None else decode(b"{" + old.body)
        # A deletion has its own version, which its watch event carries.
        meta(final)["resourceVersion"] = str(self.version)
        gone = Stored(key, self.version, final, expires=None)
        target.record(Change(self.version, "DELETED", gone, old))
        return gone

    def expire(self) -> None:
        now = self.clock()
        while self._expiry and self._expiry[0][0] <= now:
            _, collection, key, version = heapq.heappop(self._expiry)
            stored = self.collection(collection).objects.get(key)
            # A later write has its own entry.
            if stored is not None and stored.version == version:
                self.remove(collection, key)

    def compact(self, collections: Iterable[str] | None = None) -> None:
        """Drop the history of the named collections or of all."""
        # No client has this version yet, so every version seen so far is too old.
        self.version += 1
        for name in self.collections if collections is None else collections:
            self.collection(name).compact(self.version)

    def dependents(self, uid: str) -> list[tuple[str, Key]]:
        needle = uid.encode()
        return [
            (name, stored.key)
            for name, collection in self.collections.items()
            for stored in collection.range()
            if needle in stored.body and uid in _owners(stored)
        ]


def _owners(stored: Stored) -> set[str]:
    references = dig(decode(b"{" + stored.body), "metadata", "ownerReferences")
    return {str(reference.get("uid")) for reference in references or ()}

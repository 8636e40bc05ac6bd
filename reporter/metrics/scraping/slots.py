"""Slots for what may run at once, shared fairly: a namespace with many slow pods waits for itself."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class FairSlots:
    """As many slots as given; one that gets free goes to the namespace that holds the fewest.

    As long as nobody waits each namespace may hold all of them. Among those that hold equally many the
    one that waits longest is next.
    """

    def __init__(self, number: int) -> None:
        self._free = number
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    def locked(self) -> bool:
        """Tell whether somebody else would have to wait."""
        return self._free <= 0

    @asynccontextmanager
    async def of(self, namespace: str) -> AsyncIterator[None]:
        """Hold a slot while entered."""
        await self._acquire(namespace)
        try:
            yield
        finally:
            self._release(namespace)

    async def _acquire(self, namespace: str) -> None:
        if self._free > 0:
            self._free -= 1
            self._held[namespace] += 1
            return
        granted = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(namespace, deque()).append(granted)
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self._release(namespace)
            else:
                self._forget(namespace, granted)
            raise

    def _release(self, namespace: str) -> None:
        self._held[namespace] -= 1
        if not self._held[namespace]:
            del self._held[namespace]
        self._free += 1
        while self._free > 0 and self._waiting:
            # Namespaces stand in the order in which they began to wait, and `min` takes the first.
            name = min(self._waiting, key=lambda each: self._held[each])
            granted = self._waiting[name][0]
            self._forget(name, granted)
            if not granted.done():
                self._free -= 1
                self._held[name] += 1
                granted.set_result(None)

    def _forget(self, namespace: str, granted: "asyncio.Future[None]") -> None:
        waiting = self._waiting.get(namespace, deque())
        if granted not in waiting:
            return
        waiting.remove(granted)
        del self._waiting[namespace]
        if waiting:
            self._waiting[namespace] = waiting  # behind those who wait already

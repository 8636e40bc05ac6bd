"""Slots for what may run at once, shared fairly: a namespace with many slow pods waits for itself."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class FairSlots:
    """As many slots as given; one that gets free goes to the namespace that holds the fewest.

    As long as nobody waits each namespace may hold all of them. Among those that hold equally many the
    one is next that has held slots for the shortest time: a page that is made to be slow takes a turn as a
    hundred others do. Time counts as in start-time fair queueing (Goyal, Vin and Cheng, 1996): who
    comes later begins where the others are, neither behind nor ahead of them.
    """

    def __init__(self, number: int) -> None:
        self._free = number
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._used: dict[str, float] = {}
        self._now = 0.0
        """What those have used whose turn it is; less than that is not made up for."""

    def locked(self) -> bool:
        """Tell whether somebody else would have to wait."""
        return self._free <= 0

    @asynccontextmanager
    async def of(self, namespace: str) -> AsyncIterator[None]:
        """Hold a slot while entered."""
        await self._acquire(namespace)
        began = asyncio.get_running_loop().time()
        try:
            yield
        finally:
            self._used[namespace] += asyncio.get_running_loop().time() - began
            self._release(namespace)

    async def _acquire(self, namespace: str) -> None:
        if self._free > 0:
            self._grant(namespace)
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

    def _grant(self, namespace: str) -> None:
        self._free -= 1
        self._held[namespace] += 1
        self._now = self._used[namespace] = self._begins(namespace)

    def _begins(self, namespace: str) -> float:
        return max(self._now, self._used.get(namespace, 0.0))

    def _release(self, namespace: str) -> None:
        self._held[namespace] -= 1
        if not self._held[namespace]:
            del self._held[namespace]
        self._free += 1
        while self._free > 0 and self._waiting:
            # Namespaces stand in the order in which they began to wait, and `min` takes the first.
            name = min(self._waiting, key=lambda each: (self._held[each], self._begins(each)))
            granted = self._waiting[name][0]
            self._forget(name, granted)
            if not granted.done():
                self._grant(name)
                granted.set_result(None)
        if not self._waiting:
            self._settle()

    def _settle(self) -> None:
        """Forget the time of those who are not ahead of the others."""
        kept = {
            name: used
            for name, used in self._used.items()
            if used > self._now or name in self._held
        }
        self._used = kept

    def _forget(self, namespace: str, granted: "asyncio.Future[None]") -> None:
        waiting = self._waiting.get(namespace, deque())
        if granted not in waiting:
            return
        waiting.remove(granted)
        del self._waiting[namespace]
        if waiting:
            self._waiting[namespace] = waiting  # behind those who wait already

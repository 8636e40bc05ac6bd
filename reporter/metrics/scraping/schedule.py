"""When each pod's turn is: once in a period, spread over it by the pod's uid.

Rules judge windows, so each pod needs looks at regular times. A thousand pods that are asked at the
same moment would be a thousand connections, and a page costs milliseconds to read, which the event
loop does not have at once.

The place of a pod in the period is a hash of its uid. It needs no memory and stays the same when
other pods come and go, so the time between two looks is always the period. Prometheus spreads its
targets in the same way, by a hash of a target's labels and URL (scrape/target.go, `offset`).

What does not work: to start a timer for each pod when it is found puts all pods of a rollout, and
after a restart all pods, in one moment. To wait for a period after each scrape lets slow pods
drift through it. To make up for missed turns sends them all at once after a pause of the process;
here a turn that is missed is left out.

Two looks at one pod never overlap: whether the last scrape still runs is for the scraper to say
(`scraper.py`), which then leaves the turn out too.
"""

import hashlib
import heapq
import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

_SPAN = 2.0**64


class Keyed(Protocol):
    """What has turns."""

    @property
    def key(self) -> str:
        """Where in the period its turns are follows from this."""


KeyedT = TypeVar("KeyedT", bound=Keyed)


@dataclass(order=True, slots=True)
class _Entry(Generic[KeyedT]):
    due: float
    order: int
    what: KeyedT = field(compare=False)


@dataclass(frozen=True, slots=True)
class Turn(Generic[KeyedT]):
    """A turn that has come, `late` seconds ago."""

    what: KeyedT
    late: float


class Schedule(Generic[KeyedT]):
    """The turns to come.

    They lie on a grid: the same place of each period for the same key. So the load is even
    whatever comes and goes, and turns that were missed are not made up for.
    """

    def __init__(self, period: float) -> None:
        """Make an empty one with a period in seconds."""
        self._period = period
        self._heap: list[_Entry[KeyedT]] = []
        self._order = itertools.count()

    def add(self, what: KeyedT, now: float) -> None:
        """Give `what` its turns from now on."""
        heapq.heappush(self._heap, _Entry(self._next(what, now), next(self._order), what))

    def remove(self, gone: Iterable[KeyedT]) -> None:
        """Take their turns from those that are gone."""
        ids = {id(each) for each in gone}
        self._heap = [entry for entry in self._heap if id(entry.what) not in ids]
        heapq.heapify(self._heap)

    def due(self, now: float) -> Iterator[Turn[KeyedT]]:
        """Yield the turns that have come, each at most once, and plan the next ones."""
        while self._heap and self._heap[0].due <= now:
            entry = self._heap[0]
            turn = Turn(entry.what, now - entry.due)
            next_due = self._next(entry.what, now)
            heapq.heapreplace(self._heap, _Entry(next_due, next(self._order), entry.what))
            yield turn

    def wait(self, now: float) -> float | None:
        """Return the seconds until the next turn, None where there is none."""
        return max(0.0, self._heap[0].due - now) if self._heap else None

    def _next(self, what: KeyedT, now: float) -> float:
        phase = place(what.key) * self._period
        number = math.floor((now - phase) / self._period) + 1
        due = phase + number * self._period
        # Rounding may give a moment that is not later; nobody gets two turns at once.
        return due if due > now else due + self._period


def place(key: str) -> float:
    """Return a number from 0 to below 1, always the same for the same key, evenly spread."""
    digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
    return int.from_bytes(digest) / _SPAN

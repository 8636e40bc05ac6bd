"""Many objects change in fields that are read, while some break for a moment: which are told, and when."""

import asyncio
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tests.bench.api import Api
from tests.bench.changes import break_picker, mend_picker, picker
from tests.bench.cluster import Model
from tests.bench.servers import AT_ONCE

CHANGES_PER_SECOND: Final = 50
_BREAKERS: Final = 3
_LASTS_SECONDS: Final = (1.0, 3.0)
"""How long a fault lasts; it should be told before it is over."""


@dataclass(frozen=True, slots=True)
class Fault:
    """An endpoint picker that was scaled to zero; times by `time.perf_counter`.

    Attributes:
        related: the object at fault, as its Event names it.
        began: when the change was sent.
        ended: when it was undone.

    """

    related: str
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Churn:
    """While many objects change: the part of a processor, and how soon faults were told.

    Attributes:
        share: of one processor, the whole daemon.
        told: seconds from a fault to its Event.
        late: faults that were told after they were over.
        untold: faults that no Event tells.

    """

    share: float
    told: list[float]
    late: int
    untold: int


def churn_of(faults: Sequence[Fault], api: Api, share: float) -> Churn:
    """Return what became of each fault, once nothing is left to be written."""
    times = list(_told(faults, api))
    told = [at - fault.began for fault, at in times if at is not None]
    late = sum(at is not None and at > fault.ended for fault, at in times)
    return Churn(share, told or [0.0], late, len(times) - len(told))


def _told(faults: Iterable[Fault], api: Api) -> Iterator[tuple[Fault, float | None]]:
    """Yield each fault and when its Event came: the first one before the next fault of the object."""
    following: dict[str, float] = {}
    for fault in sorted(faults, key=lambda each: each.began, reverse=True):
        until = following.get(fault.related, float("inf"))
        times = (at for at in api.warned(fault.related) if fault.began <= at < until)
        yield fault, min(times, default=None)
        following[fault.related] = fault.began


class Changing:
    """Changes the pods of most models, and breaks the pickers of the others for a moment each."""

    def __init__(self, api: Api, models: Sequence[Model], chance: random.Random) -> None:
        self._api = api
        self._models = models
        self._chance = chance

    async def run(self, seconds: float) -> list[Fault]:
        """Go on for so long, and return what broke."""
        breaking = self._models[:: _BREAKERS + 1]
        others = [each for each in self._models if each not in breaking] or breaking
        ends = time.perf_counter() + seconds
        faults: list[Fault] = []
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._change_pods(others, ends))
            for first in range(min(_BREAKERS, len(breaking))):
                tasks.create_task(self._break_shortly(breaking[first::_BREAKERS], ends, faults))
        return faults

    async def _change_pods(self, found: Sequence[Model], ends: float) -> None:
        """Change pods in fields that are read, and that break nothing."""
        number = 0
        began, at_once = time.perf_counter(), asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as tasks:
            while time.perf_counter() < ends:
                number += 1
                tasks.create_task(self._change_pod(self._chance.choice(found), number, at_once))
                due = began + number / CHANGES_PER_SECOND
                await asyncio.sleep(max(0.0, due - time.perf_counter()))

    async def _change_pod(self, model: Model, number: int, at_once: asyncio.Semaphore) -> None:
        path = f"/api/v1/namespaces/{model.namespace}/pods/{model.pod(number % 3)}"
        # The labels of pods are read: they decide what a pod belongs to.
        async with at_once:
            await self._api.patch(path, {"metadata": {"labels": {"bench": str(number)}}})

    async def _break_shortly(
        self, found: Sequence[Model], ends: float, faults: list[Fault]
    ) -> None:
        while time.perf_counter() < ends:
            model = self._chance.choice(found)
            began = time.perf_counter()
            await break_picker(self._api, model)
            await asyncio.sleep(self._chance.uniform(*_LASTS_SECONDS))
            ended = time.perf_counter()
            await mend_picker(self._api, model)
            faults.append(Fault(picker(model).related, began, ended))
            await asyncio.sleep(self._chance.uniform(*_LASTS_SECONDS))

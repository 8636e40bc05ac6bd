"""Faults that are made one at a time, and how long their Events take."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Final, TypeAlias

from reporter.sandbox.objects import JSON, Object
from tests.bench.api import Api
from tests.bench.cluster import Model, models
from tests.bench.processes import BenchError

_WITHIN_SECONDS: Final = 20.0
_PAUSE_SECONDS: Final = 1.0
"""Longest pause between two changes, so that they come at any moment between two passes."""

Broken: TypeAlias = Callable[[Object], JSON]


@dataclass(frozen=True, slots=True)
class Change:
    """A change that makes one Event due.

    Attributes:
        path: of the object, for requests.
        related: the object that the Event will name, as `<kind>/<namespace>/<name>`.
        subject: what the Event will be about, as `<namespace>/<name>`.
        part: `spec` or `status`.
        broken: makes that part faulty.

    """

    path: str
    related: str
    subject: str
    part: str
    broken: Broken

    async def make(self, api: Api) -> Callable[[], Awaitable[None]]:
        """Return what makes the change; awaiting it sends one request."""
        before = await api.get(self.path)
        after = self.broken(before[self.part])
        path = self.path if self.part == "spec" else f"{self.path}/status"
        self_undo = {self.part: before[self.part]}

        async def break_it() -> None:
            await api.patch(path, {self.part: after})

        async def mend_it() -> None:
            await api.patch(path, self_undo)

        break_it.undo = mend_it  # type: ignore[attr-defined]
        return break_it

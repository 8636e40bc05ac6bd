"""The Events about roles that come on a ModelServing, held against what took place."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from lab.demo.event_stream import columns
from lab.demo.event_watch import EventWatch
from lab.demo.kthena import RoleInstance
from reporter.model.objects import Event

_PACE: Final = 10
_PACE_SECONDS: Final = 60.0
_MESSAGE: Final = re.compile(
    r"Role [^/ ]+/(?P<id>\S+) in ServingGroup (?P<group>\S+) (?:is now|became) (?P<state>\w+)"
    r"(?: at [0-9T:-]+Z)?"
    r"(?: \((?P<untold>\d+) earlier role changes? not told one by one\))?"
)


class RoleEvents(EventWatch):
    """Watches the Events of a namespace while entered and hands the lines of role Events to `say`.

    Attributes:
        untold: how many changes were only counted.

    """

    def __init__(self, url: str, namespace: str, say: Callable[[str], None]) -> None:
        super().__init__(url, namespace, {"fieldSelector": "involvedObject.kind=ModelServing"})
        self.untold = 0
        self._say = say
        self._told: list[tuple[RoleInstance, str]] = []
        self._times: list[float] = []
        self._odd: list[str] = []
        self._came = asyncio.Event()

    @property
    def told(self) -> int:
        """How many changes have an Event of their own."""
        return len(self._told)

    @property
    def accounted(self) -> int:
        """How many changes were told or counted."""
        return self.told + self.untold

    async def until_accounted(self, count: int) -> None:
        """Wait until this many changes were told or counted."""
        while self.accounted < count:
            self._came.clear()
            await self._came.wait()

    def faults(self, history: Sequence[tuple[RoleInstance, str]]) -> Iterator[str]:
        """Yield what is wrong with the Events, given all changes that took place."""
        yield from (f"an Event that is not about a role: {each}" for each in self._odd)
        for (role, state), times in (Counter(self._told) - Counter(history)).items():
            yield f"told {times} times too often: {role.id} of {role.group} is {state}"
        for first, last in zip(self._times, self._times[_PACE:], strict=False):
            if last - first < _PACE_SECONDS - 1:
                yield f"{_PACE + 1} Events in {last - first:.1f} s"
        # What a full minute holds back comes later; nothing else may be late.
        now = asyncio.get_running_loop().time()
        is_full = sum(now - each < _PACE_SECONDS for each in self._times) >= _PACE
        if self.accounted > len(history) or not (is_full or self.accounted == len(history)):
            yield f"{len(history)} changes of roles took place, {self.accounted} were told"
        elif self.accounted == len(history) and self._told[-1:] != [*history[-1:]]:
            yield f"the last Event is not of the last change, {history[-1]}"

    def _note(self, change: str, event: Event) -> None:
        if change != "ADDED":
            return
        involved = event.involved_object
        where = f"{involved.kind.lower()}/{involved.name}"
        self._came.set()
        self._say(columns("0s", event.type, event.reason, where) + event.message)
        found = _MESSAGE.fullmatch(event.message)
        if found is None or event.reason != f"Role{found['state']}":
            self._odd.append(event.message)
            return
        self._times.append(asyncio.get_running_loop().time())
        self._told.append((RoleInstance(found["group"], found["id"]), found["state"]))
        self.untold += int(found["untold"] or 0)

"""Our Events as a watch brings them, printed like `kubectl get events -w`."""

import asyncio
from dataclasses import dataclass
from typing import Final

from lab.demo.event_watch import EventWatch
from lab.demo.story import Expected
from reporter.catalogue.resources import EVENT_NAMESPACE, EVENTS
from reporter.model.objects import Event
from reporter.resolution.records import Record, RecordState, record_of
from reporter.stacks import BUILT_IN

_WIDTHS: Final = (9, 7, 38, 46)


@dataclass(frozen=True, slots=True)
class SeenEvent:
    """One frame of the watch; `new` says that the Event is not one seen before."""

    record: Record
    new: bool

    @property
    def over(self) -> bool:
        """Whether it only says that an episode is over."""
        says_ready = BUILT_IN[self.record.event.reason].says_ready
        return self.record.state is RecordState.OVER and not says_ready

    @staticmethod
    def header() -> str:
        """Return the heading of the columns."""
        return columns("LAST SEEN", "TYPE", "REASON", "OBJECT") + "MESSAGE"

    def line(self) -> str:
        """Return the line that kubectl prints."""
        event = self.record.event
        involved = event.involved_object
        where = f"{involved.kind.lower()}/{involved.name}"
        return columns("0s", event.type, event.reason, where) + event.message

    def is_(self, expected: Expected) -> bool:
        """Tell whether this is an expected Event."""
        said = self.record.event.message
        return self.becomes(expected) and expected.text in said and expected.change in said

    def becomes(self, expected: Expected) -> bool:
        """Tell whether this is an expected Event, even if its message has yet to follow.

        What is done to several objects at once may be seen one object after the other.
        """
        key = self.record.key
        return (key.reason, str(key.subject)) == (expected.reason, expected.subject)


def columns(*cells: str) -> str:
    """Return the columns before the message, as wide as they are in every line."""
    return "".join(cell.ljust(width) + " " for cell, width in zip(cells, _WIDTHS, strict=True))


class EventStream(EventWatch):
    """Watches our Events over HTTP from when it is opened."""

    def __init__(self, url: str) -> None:
        super().__init__(url, EVENT_NAMESPACE, {"labelSelector": EVENTS.label_selector})
        self._known: dict[str, str] = {}
        self._queue: asyncio.Queue[SeenEvent] = asyncio.Queue()

    async def next(self, deadline: float) -> SeenEvent | None:
        """Return the next Event, None if none comes before the loop's clock shows `deadline`."""
        try:
            async with asyncio.timeout_at(deadline):
                return await self._queue.get()
        except TimeoutError:
            return None

    def _note(self, change: str, event: Event) -> None:
        """Queue an Event of ours if what kubectl prints of it has changed."""
        record = record_of(event)
        if change == "DELETED" or record is None:
            return
        name, shown = record.event.name, f"{record.state} {record.event.message}"
        if self._known.get(name) != shown:
            self._queue.put_nowait(SeenEvent(record, new=name not in self._known))
        self._known[name] = shown

"""Our Events from a watch, printed like `kubectl get events -w`."""

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
    """One frame of the watch; `new` if the Event has not been seen before."""

    record: Record
    new: bool

    @property
    def over(self) -> bool:
        """True if the Event only says that an episode is over."""
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
        """True if this is the expected Event, including its message."""
        message = self.record.event.message
        return self.becomes(expected) and expected.text in message and expected.change in message

    def becomes(self, expected: Expected) -> bool:
        """True if this is the expected Event, even if its message may still change.

        The daemon may see a change of several objects one object after the other.
        """
        key = self.record.key
        return (key.reason, str(key.subject)) == (expected.reason, expected.subject)


def columns(*cells: str) -> str:
    """Return the columns before the message, padded to their fixed widths."""
    return "".join(cell.ljust(width) + " " for cell, width in zip(cells, _WIDTHS, strict=True))


class EventStream(EventWatch):
    """Watches our Events over HTTP while entered."""

    def __init__(self, url: str) -> None:
        super().__init__(url, EVENT_NAMESPACE, {"labelSelector": EVENTS.label_selector})
        self._known: dict[str, str] = {}
        self._queue: asyncio.Queue[SeenEvent] = asyncio.Queue()

    async def next(self, deadline: float) -> SeenEvent | None:
        """Return the next Event, or None at `deadline`, a time of the event loop's clock."""
        try:
            async with asyncio.timeout_at(deadline):
                return await self._queue.get()
        except TimeoutError:
            return None

    def _note(self, change: str, event: Event) -> None:
        """Queue one of our Events if its printed form has changed."""
        record = record_of(event)
        if change == "DELETED" or record is None:
            return
        name, shown = record.event.name, f"{record.state} {record.event.message}"
        if self._known.get(name) != shown:
            self._queue.put_nowait(SeenEvent(record, new=name not in self._known))
        self._known[name] = shown

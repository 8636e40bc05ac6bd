"""Our Events from a watch, printed like `kubectl get events -w`.

In a pipe the output is plain lines; on a terminal lines are coloured and wrapped.
"""

import asyncio
import os
import shutil
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final, Self

import aiohttp
import msgspec

from lab.demo.story import Expected
from reporter.arguments import NARROWEST
from reporter.catalogue.resources import EVENT_NAMESPACE, EVENTS
from reporter.model.objects import Event
from reporter.model.reason import EventType
from reporter.resolution.records import Record, RecordState, record_of
from reporter.sinks.words import command_lines, stacked, wrapped
from reporter.stacks import BUILT_IN


class _Frame(msgspec.Struct, frozen=True):
    type: str
    object: Event


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
        return columns("LAST SEEN", "TYPE", "REASON", "OBJECT") + "MESSAGE"

    @property
    def where(self) -> str:
        """The object of the Event, as kubectl names it."""
        involved = self.record.event.involved_object
        return f"{involved.kind.lower()}/{involved.name}"

    def line(self) -> str:
        event = self.record.event
        return columns("0s", event.type, event.reason, self.where) + event.message

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


class EventStream:
    def __init__(self, url: str) -> None:
        self._url = f"{url}/api/v1/namespaces/{EVENT_NAMESPACE}/events"
        self._known: dict[str, str] = {}
        self._queue: asyncio.Queue[SeenEvent] = asyncio.Queue()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=None)
        session = await self._stack.enter_async_context(aiohttp.ClientSession(timeout=timeout))
        self._task = asyncio.create_task(self._watch(session))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._stack.aclose()

    async def next(self, deadline: float) -> SeenEvent | None:
        """Return the next Event, or None at `deadline`, a time of the event loop's clock."""
        try:
            async with asyncio.timeout_at(deadline):
                return await self._queue.get()
        except TimeoutError:
            return None

    async def _watch(self, session: aiohttp.ClientSession) -> None:
        only = {"watch": "true", "labelSelector": EVENTS.label_selector}
        async with session.get(self._url, params=only) as answer:
            answer.raise_for_status()
            async for line in answer.content:
                frame = msgspec.json.decode(line, type=_Frame)
                self._note(frame.type, frame.object)

    def _note(self, change: str, event: Event) -> None:
        """Queue one of our Events if its printed form has changed."""
        record = record_of(event)
        if change == "DELETED" or record is None:
            return
        name, shown = record.event.name, f"{record.state} {record.event.message}"
        if self._known.get(name) != shown:
            self._queue.put_nowait(SeenEvent(record, new=name not in self._known))
        self._known[name] = shown


_BAD: Final = "\x1b[1;31m{}\x1b[0m"
_GOOD: Final = "\x1b[1;32m{}\x1b[0m"
_HEAD: Final = "\x1b[1m{}\x1b[0m"
_FAILED: Final = "FAILED"
_INDENT: Final = "    "


def say(text: str) -> None:
    """Print a line; on a terminal, wrap remarks, which begin with `#`."""
    columns = _columns()
    if columns is None or not text.strip():
        _print(text)
        return
    before = "\n" * (len(text) - len(text.lstrip("\n")))
    line = text.strip("\n")
    first, *rest = wrapped(line, columns) if line.startswith("#") else [line]
    style = _BAD if _FAILED in line else _HEAD if line.startswith("#") else "{}"
    shown = [first, *(f"#   {each}" for each in _again(rest, columns))]
    after = "\n" * (len(text) - len(text.rstrip("\n")))
    _print(before + "\n".join(_painted(each, style) for each in shown) + after)


def say_command(command: str) -> None:
    columns = _columns()
    _print(command if columns is None else "\n".join(command_lines(command, columns))[2:])


def say_header() -> None:
    """Print the heading of the Events if they are printed in columns."""
    if _columns() is None:
        _print(SeenEvent.header())


def say_event(event: SeenEvent) -> None:
    """Print an Event like kubectl; on a terminal, with its message below."""
    columns = _columns()
    if columns is None:
        _print(event.line())
        return
    found = event.record.event
    first, *rest = stacked([f"{found.type:7}", found.reason, event.where], columns)
    style = _BAD if found.type == EventType.WARNING else _GOOD
    lines = [first.replace(found.reason, _painted(found.reason, style), 1), *rest]
    _print("\n".join([*lines, *wrapped(found.message, columns, _INDENT)]))


def _again(rest: list[str], columns: int) -> list[str]:
    """Wrap the rest of a remark, with room for its `#` prefix."""
    return wrapped(" ".join(rest), columns - 4) if rest else []


def _columns() -> int | None:
    """Return the columns of the terminal, or None if stdout is not a terminal."""
    if not sys.stdout.isatty():
        return None
    return max(NARROWEST, shutil.get_terminal_size().columns)


def _painted(text: str, style: str) -> str:
    return text if os.environ.get("NO_COLOR") else style.format(text)


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201  # this is the demo's output

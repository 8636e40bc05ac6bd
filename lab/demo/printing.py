"""The output of the demo: plain lines in a pipe, colours and wrapped lines on a terminal."""

import os
import shutil
import sys
from typing import Final

from lab.demo.event_stream import SeenEvent
from reporter.arguments import NARROWEST
from reporter.model.reason import EventType
from reporter.sinks.words import command_lines, stacked, wrapped

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
    """Print a command that can be copied."""
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
    involved = found.involved_object
    where = f"{involved.kind.lower()}/{involved.name}"
    first, *rest = stacked([f"{found.type:7}", found.reason, where], columns)
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

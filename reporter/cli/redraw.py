"""A text that changes: redrawn in place on a terminal, printed again elsewhere."""

import math
import os
import re
import shutil
from typing import Final, TextIO

_HOME: Final = "\x1b[H"
_CLEAR_LINE: Final = "\x1b[K"
_CLEAR_BELOW: Final = "\x1b[J"
_CLEAR: Final = "\x1b[2J"
_STYLE: Final = re.compile(r"\x1b\[[0-9;]*m")


class Screen:
    """Where a text is shown again and again."""

    def __init__(self, stream: TextIO, errors: TextIO) -> None:
        self._stream = stream
        self._errors = errors
        self._terminal = stream.isatty()
        self._shown: object = None
        self._text = ""
        self._first = True

    def show(self, text: str, essence: object) -> None:
        """Show a text; where nothing can be redrawn, only if its `essence` is new."""
        if self._terminal:
            self._draw(text)
        elif self._first or essence != self._shown:
            self._stream.write(text)
            self._stream.flush()
        self._first = False
        self._text, self._shown = text, essence

    def remark(self, text: str, *, keep: bool = False) -> None:
        """Say why there is no newer text, above the last one if that is to be kept.

        Where nothing can be redrawn it is said once and among the errors, as it is not what was asked for.
        """
        if self._terminal:
            self._draw(f"{text}\n\n{self._text}" if keep else f"{text}\n")
        elif self._shown != text:
            self._errors.write(f"{text}\n")
            self._errors.flush()
        self._first = False
        self._shown = text

    def _draw(self, text: str) -> None:
        # Over the old text rather than on an empty screen, which would flicker.
        lines = fitting(text, shutil.get_terminal_size())
        drawn = "".join(f"{line}{_CLEAR_LINE}\n" for line in lines)
        self._stream.write(f"{_CLEAR if self._first else ''}{_HOME}{drawn}{_CLEAR_BELOW}")
        self._stream.flush()


def fitting(text: str, size: os.terminal_size) -> list[str]:
    """Return the lines of a text that a terminal has room for, and how many it has not."""
    lines = text.splitlines()
    heights = [max(1, math.ceil(len(_STYLE.sub("", line)) / size.columns)) for line in lines]
    # The cursor stands on a line of its own below.
    room = max(2, size.lines - 1)
    if sum(heights) <= room:
        return lines
    kept: list[str] = []
    for line, height in zip(lines, heights, strict=True):
        room -= height
        if room < 1:
            break
        kept.append(line)
    return [*kept, f"... {len(lines) - len(kept)} more lines; a larger terminal shows them"]

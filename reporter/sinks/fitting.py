"""Lines for people that fit a terminal: wrapped text, commands that can be copied, rows of a table."""

import re
import textwrap
from collections.abc import Sequence
from typing import Final

PROSE_COLUMNS: Final = 100
"""Columns that text takes at most; longer lines are hard to read."""

NO_BREAK: Final = "\u00a0"
"""Stands for a space at which a text is not to be broken."""

_WORD: Final = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")
"""A word of a shell; what is quoted belongs to it."""


def wrapped(text: str, columns: int | None, indent: str = "") -> list[str]:
    """Return a text in lines; a word that is too long stays whole.

    Args:
        text: in one line; where it has `NO_BREAK`, it is not broken if that fits.
        columns: of the terminal; None where there is none.
        indent: of each line.

    """
    width = min(columns or PROSE_COLUMNS, PROSE_COLUMNS)
    if columns is not None:
        text = " ".join(_breakable(word, width - len(indent)) for word in text.split(" "))
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(NO_BREAK, " ") for line in lines]


def command_lines(command: str, columns: int | None, indent: str = "") -> list[str]:
    """Return a command as it is copied into a shell: whole, or continued where it does not fit.

    It is not broken in what is quoted, nor where there is no terminal.
    """
    whole = f"{indent}$ {command}"
    if columns is None or len(whole) <= columns:
        return [whole]
    lines, line = [], f"{indent}$"
    for word in _WORD.findall(command):
        if len(f"{line} {word} \\") > columns and line.strip() != "$":
            lines.append(f"{line} \\")
            line = f"{indent}   "
        line = f"{line} {word}"
    return [*lines, line]


def stacked(cells: Sequence[str], columns: int | None, indent: str = "") -> list[str]:
    """Return cells in one line, or in several where they do not fit the terminal."""
    lines, line = [], indent + cells[0]
    for cell in filter(None, cells[1:]):
        if columns is not None and len(line) + 2 + len(cell) > columns:
            lines.append(line)
            *more, line = wrapped(cell, columns, f"{indent}  ")
            lines += more
        else:
            line = f"{line}  {cell}"
    return [*lines, line]


def table_rows(
    rows: Sequence[Sequence[str]], columns: int | None, indent: str = ""
) -> list[list[str]]:
    """Return the lines of each row of a table; stacked, all of them, where the table does not fit."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    widest = max(len(indent) + sum(widths) + 2 * len(widths) + len(row[-1]) for row in rows)
    if columns is not None and widest > columns:
        return [stacked(row, columns, indent) for row in rows]
    padded = (
        [*(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]]
        for row in rows
    )
    return [[f"{indent}{'  '.join(each)}".rstrip()] for each in padded]


def _breakable(word: str, width: int) -> str:
    return word.replace(NO_BREAK, " ") if len(word) > width else word

"""What of a text a terminal has room for."""

import os

import pytest

from reporter.cli.redraw import fitting

MORE = "... {} more lines; a larger terminal shows them"


@pytest.mark.parametrize(
    ("text", "columns", "rows", "shown"),
    [
        ("a\nb\n", 10, 3, ["a", "b"]),
        ("a\nb\nc\n", 10, 3, ["a", MORE.format(2)]),
        ("a\n" + "x" * 25 + "\nc\n", 10, 6, ["a", "x" * 25, "c"]),
        ("a\n" + "x" * 25 + "\nc\n", 10, 5, ["a", MORE.format(2)]),
        ("\x1b[1;31m" + "x" * 10 + "\x1b[0m\n\n", 10, 3, ["\x1b[1;31m" + "x" * 10 + "\x1b[0m", ""]),
        ("a\nb\nc\n", 10, 1, ["a", MORE.format(2)]),
        ("", 10, 3, []),
    ],
)
def test_what_fits_is_shown_and_the_rest_counted(text, columns, rows, shown):
    """Lines that wrap take the room that they take; colours take none."""
    assert fitting(text, os.terminal_size((columns, rows))) == shown

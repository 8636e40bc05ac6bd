"""What of a text a terminal has room for."""

import io
import os

import pytest

from reporter.cli.following import Screen, fitting

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
def test_what_fits_is_shown_and_the_rest_counted(text, columns, rows, *, shown):
    """Lines that wrap take the room that they take; colours take none."""
    assert fitting(text, os.terminal_size((columns, rows))) == shown


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def seen(self):
        """What stands there: what follows the last move to the top left."""
        return self.getvalue().rpartition("\x1b[H")[2].replace("\x1b[K", "").removesuffix("\x1b[J")


def test_a_remark_is_no_output_where_nothing_can_be_redrawn():
    """It stands once among the errors, and what is printed after it is whole again."""
    output, errors = io.StringIO(), io.StringIO()
    screen = Screen(output, errors)
    screen.show("one\n", 1)
    screen.remark("lost", keep=True)
    screen.remark("lost", keep=True)
    assert (output.getvalue(), errors.getvalue()) == ("one\n", "lost\n")
    screen.show("one\n", 1)
    assert output.getvalue() == "one\none\n"


def test_a_remark_stands_above_what_is_kept_on_a_terminal():
    """Or in its place."""
    terminal, errors = Terminal(), io.StringIO()
    screen = Screen(terminal, errors)
    screen.show("one\n", 1)
    screen.remark("lost", keep=True)
    assert terminal.seen() == "lost\n\none\n"
    screen.remark("there is nothing")
    assert terminal.seen() == "there is nothing\n"
    screen.show("two\n", 2)
    assert terminal.seen() == "two\n"
    assert errors.getvalue() == ""

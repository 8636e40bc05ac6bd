"""Parsing of command lines, with errors of one line."""

import argparse
from collections.abc import Sequence
from difflib import get_close_matches
from typing import NoReturn

PROGRAM = "status-reporter"

USAGE_STATUS = 2
"""Exit status for a command that could not be carried out."""


class Parser(argparse.ArgumentParser):
    """A parser that refuses with one line, and without guessing at cut-off flags."""

    def __init__(self, command: str, description: str, epilog: str = "") -> None:
        super().__init__(
            prog=f"{PROGRAM} {command}",
            description=description,
            epilog=epilog,
            allow_abbrev=False,
            formatter_class=_Formatter,
        )

    def error(self, message: str) -> NoReturn:
        """Print one line and end the program with status 2."""
        self.exit(USAGE_STATUS, f"{self.prog}: {message}\n")

    def parse(self, argv: Sequence[str]) -> argparse.Namespace:
        """Parse a command line; a flag that does not exist is refused with the nearest one."""
        arguments, rest = self.parse_known_args(argv)
        if rest:
            word = rest[0].partition("=")[0]
            near = get_close_matches(word, self._option_string_actions, n=1)
            hint = f"; did you mean {near[0]}?" if near and word.startswith("-") else ""
            self.error(f"{rest[0]!r} is not understood{hint}")
        return arguments


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help with flags and their meaning in two columns."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=100)

"""Parsing of command lines, with errors of one line."""

import argparse
import textwrap
from collections.abc import Sequence
from typing import NoReturn

from reporter.errors import UsageError
from reporter.model.text import meant

PROGRAM = "status-reporter"

CONFIG_VARIABLE = "STATUS_REPORTER_CONFIG"
"""The environment variable that names the file of settings where `--config` does not."""

USAGE_STATUS = 2
"""Exit status for a command that could not be carried out."""


class Parser(argparse.ArgumentParser):
    """A parser that refuses with one line, and without guessing at cut-off flags."""

    def __init__(
        self, command: str, description: str, epilog: str = "", *, arguments: str = "[FLAGS]"
    ) -> None:
        super().__init__(
            prog=f"{PROGRAM} {command}",
            usage=f"{PROGRAM} {command} {arguments}",
            description=description,
            epilog=epilog,
            allow_abbrev=False,
            formatter_class=_Formatter,
        )

    def error(self, message: str) -> NoReturn:
        """Refuse the command line.

        Raises:
            UsageError: always.

        """
        raise UsageError(message)

    def parse(self, argv: Sequence[str]) -> argparse.Namespace:
        """Parse a command line; a flag that does not exist is refused with the nearest one."""
        arguments, rest = self.parse_known_args(argv)
        if rest:
            word = rest[0].partition("=")[0]
            hint = meant(word, self._option_string_actions) if word.startswith("-") else ""
            self.error(f"{rest[0]!r} is not understood{hint}")
        return arguments


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help with flags and their meaning in two columns."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=34, width=100)

    def _split_lines(self, text: str, width: int) -> list[str]:
        # Names with hyphens stay whole.
        return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)

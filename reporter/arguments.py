"""Parses command lines, with errors of one line and help that begins with examples."""

import argparse
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NoReturn

from reporter.errors import UsageError
from reporter.model.text import meant

PROGRAM = "status-reporter"

CONFIG_VARIABLE = "STATUS_REPORTER_CONFIG"
"""Environment variable with the path of the file of settings, unless `--config` has one."""

USAGE_STATUS = 2
"""Exit status of a command that could not be carried out."""

NARROWEST: Final = 60
"""Columns below which output may not fit."""

WIDEST: Final = 100
"""Most columns of text for people; longer lines are hard to read."""

_FLAGS_COLUMNS: Final = 26
_HELP_COLUMNS: Final = 80
_COMMAND_DEPTH: Final = 2
_CONTINUED: Final = " \\"

Example = tuple[str, str]
"""A command, and what it shows."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and which does not accept abbreviated flags.

    `--help` shows examples and common flags; `--help-all` also shows the flags of groups made by
    `add_settings_group`.
    """

    def __init__(
        self,
        command: str,
        description: str,
        epilog: str = "",
        *,
        arguments: str = "[FLAGS]",
        examples: Sequence[Example] = (),
        program: str = PROGRAM,
    ) -> None:
        called = f"{program} {command}".rstrip()
        super().__init__(
            prog=called,
            usage=f"{called} {arguments}",
            description=description,
            epilog=epilog,
            allow_abbrev=False,
            add_help=False,
            formatter_class=_Formatter,
        )
        self._positionals.title, self._optionals.title = "arguments", "flags"
        self._examples = tuple(examples)
        self.former: Mapping[str, str] = {}
        """What to use instead of flags that are gone."""
        self._settings: list[argparse._ArgumentGroup] = []
        self._all = False
        self.add_argument("-h", "--help", action=_Help, nargs=0, help="show this help")
        self._help_all = self.add_argument(
            "--help-all", action=_Help, nargs=0, help=argparse.SUPPRESS
        )

    def add_settings_group(self, title: str) -> argparse._ArgumentGroup:
        """Return a group of flags that only `--help-all` shows."""
        self._help_all.help = "show the help of all flags"
        group = self.add_argument_group(title)
        self._settings.append(group)
        return group

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)

    def parse(self, argv: Sequence[str]) -> argparse.Namespace:
        """Parse a command line; the error about an unknown flag suggests the nearest one."""
        arguments, rest = self.parse_known_args(argv)
        if rest:
            word = rest[0].partition("=")[0]
            if instead := self.former.get(word):
                self.error(f"{word} is gone: {instead}")
            hint = meant(word, self._option_string_actions) if word.startswith("-") else ""
            self.error(f"{rest[0]!r} is not understood{hint}")
        return arguments

    def visible(self) -> Iterator[argparse.Action]:
        yield from (each for each in self._actions if each.help != argparse.SUPPRESS)

    def help_text(self, *, all_flags: bool) -> str:
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        formatter.add_text(self._examples_text())
        for group in self._action_groups:
            if all_flags or group not in self._settings:
                formatter.start_section(group.title)
                formatter.add_text(group.description)
                formatter.add_arguments(group._group_actions)  # noqa: SLF001 - argparse does so
                formatter.end_section()
        formatter.add_text(self.epilog if all_flags else self._more())
        return formatter.format_help()

    def format_help(self) -> str:
        return self.help_text(all_flags=False)

    def _examples_text(self) -> str:
        if not self._examples:
            return ""
        lines = [f"  {typed}\n      {shows}" for typed, shows in self._examples]
        return "\n".join(["examples:", *lines])

    def _more(self) -> str:
        hidden = [
            action
            for group in self._settings
            for action in group._group_actions  # noqa: SLF001 - argparse does so
            if action.help != argparse.SUPPRESS
        ]
        if not hidden:
            return self.epilog or ""
        return f"{len(hidden)} more settings, by flag, environment or file: {self.prog} --help-all"


class _Help(argparse.Action):
    def __call__(  # noqa: PLR0917 - argparse passes them by position
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        del namespace, values
        if isinstance(parser, Parser):
            sys.stdout.write(parser.help_text(all_flags=option_string == "--help-all"))
        parser.exit()


def help_columns() -> int:
    return text_columns(shutil.get_terminal_size().columns, most=_HELP_COLUMNS)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=_FLAGS_COLUMNS, width=help_columns())

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """Return the names of a flag, and its metavar only once."""
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        takes = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {takes}"

    def _split_lines(self, text: str, width: int) -> list[str]:
        # Do not break names at hyphens.
        return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Return text with its paragraphs wrapped; an indented line stays a line of its own."""
        lines: list[str] = []
        for line in text.splitlines():
            goes_on = lines and lines[-1] and not lines[-1].startswith(" ") and line[:1].strip()
            if goes_on and not lines[-1].endswith(":"):
                lines[-1] += f" {line}"
            else:
                lines.append(line)
        return "".join(f"{part}\n" for line in lines for part in _wrapped(line, width, indent))


def _wrapped(line: str, width: int, indent: str) -> list[str]:
    """Wrap a line; a command, which is indented by two, gets line continuations of the shell."""
    depth = len(line) - len(line.lstrip())
    own = indent + " " * depth
    is_command = depth == _COMMAND_DEPTH and len(own + line.strip()) > width
    lines = textwrap.wrap(
        line.strip(),
        width - len(_CONTINUED) * is_command,
        initial_indent=own,
        subsequent_indent=own + "  " * is_command,
        break_on_hyphens=False,
        break_long_words=False,
    )
    end = _CONTINUED if is_command else ""
    return [*(f"{each}{end}" for each in lines[:-1]), lines[-1]] if lines else [""]


def hanging(name: str, text: str, *, width: int, columns: int) -> str:
    """Return a name padded to `width` with a text beside it, wrapped with a hanging indent."""
    start = f"  {name:{width}}  "
    return textwrap.fill(text, columns, initial_indent=start, subsequent_indent=" " * len(start))


def text_columns(columns: int, *, most: int = WIDEST) -> int:
    return max(NARROWEST, min(columns, most))

"""The program `status-reporter`: finds a command, runs it, and returns its exit status."""

import errno
import os
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from io import TextIOWrapper
from traceback import extract_tb
from typing import TYPE_CHECKING, Final

from reporter.arguments import PROGRAM, USAGE_STATUS, hanging, help_columns
from reporter.errors import UsageError

if TYPE_CHECKING:
    from reporter.stacks.stack import Command

COMMANDS: Final = {
    "run": "the daemon: watch the cluster, write root causes as Events",
    "check": "one evaluation, of the live cluster or of a dump, without writing",
    "dump": "what check would read from the live cluster, in one archive",
    "explain": "what a reason means, what triggers it, what suppresses it, what to do",
    "status": "what a running daemon sees now",
    "history": "what fired during the last day, whom it hit, and what ended it",
    "completion": "the script that completes command lines in bash, zsh or fish",
    "mcp": "read-only tools for assistants, over standard input and output (an extra)",
}

LABORATORY: Final = {
    "sandbox": "the embedded API server alone, preloaded from a dump",
    "demo": "a sample stack in the sandbox, the real daemon, faults and recoveries",
}
"""Commands of the second distribution, which production does without."""

_LABORATORY: Final = "productionstack-status-reporter-lab"
_ADDED: Final = "status_reporter.commands"
"""Group of the entry points by which a distribution adds commands."""

_ERROR_BYTES: Final = 300

INTERRUPTED_STATUS: Final = 130
BROKEN_PIPE_STATUS: Final = 141
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})

_HELP: Final = """\
usage: {program} [--help] [--version] COMMAND ...

Say which one fault is behind the others.

examples:
  {program} check
      what is wrong in the cluster of the current context
  {program} check dump.tgz
      what is wrong in a dump
  {program} explain clusterKedaNotReady
      what a reason means, and what to do

commands:
{commands}

commands of {distribution}:
{laboratory}

{program} COMMAND --help shows the usage of a command,
--help-all all of its flags.
"""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    return exit_status(lambda: _dispatch(arguments), PROGRAM)


def exit_status(command: Callable[[], int], program: str) -> int:
    """Run a command and return its exit status; print its errors with the program's name."""
    _write_anything()
    try:
        status = command()
        sys.stdout.flush()
    except UsageError as error:
        message = str(error)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else USAGE_STATUS
    except KeyboardInterrupt:
        return INTERRUPTED_STATUS
    except BrokenPipeError:
        _write_no_more()
        return BROKEN_PIPE_STATUS
    except Exception as error:  # noqa: BLE001  # Python's exit status 1 means that a cause fires
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            _write_no_more()
            message = f"cannot write the output: {os.strerror(error.errno).lower()}"
        else:
            message = _asking_for_a_report(error)
    else:
        return status
    return _refuse(message, program)


def _asking_for_a_report(error: Exception) -> str:
    """Return a line about an unexpected error, with its traceback through this program."""
    from reporter import __version__
    from reporter.model.text import clean, cut

    way = (
        f"{frame.filename[each + 1 :]}:{frame.lineno}"
        for frame in extract_tb(error.__traceback__)
        if (each := frame.filename.rfind(f"{os.sep}reporter{os.sep}")) >= 0
    )
    what = cut(clean(f"{type(error).__name__}: {error}"), _ERROR_BYTES)
    return (
        f"an error in this program, {__version__}, and nothing was judged: {what} (at "
        f"{' > '.join(way)}). Please report this line as CONTRIBUTING.md of the project says"
    )


def _write_anything() -> None:
    """Write characters that the locale cannot express as escapes, so that no output breaks off."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _write_no_more() -> None:
    """Discard further output: Python flushes stdout again at exit, which must not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(arguments: Sequence[str]) -> int:
    command = arguments[0] if arguments else ""
    if command in {"-h", "--help", "--help-all", "help"}:
        sys.stdout.write(_help())
        return 0
    if command == "--version":
        from reporter import __version__
        from reporter.version import commit

        sys.stdout.write(f"{PROGRAM} {__version__} (commit {commit()})\n")
        return 0
    if command == "__complete":
        from reporter.cli.completion import complete

        return complete(arguments[1:], known_commands, main_of)
    try:
        return main_of(command)(arguments[1:])
    except UsageError as error:
        return _refuse(f"{command}: {error}" if command in known_commands() else str(error))


def main_of(command: str) -> Callable[[Sequence[str]], int]:
    run: Callable[[Sequence[str]], int]
    if command in COMMANDS:
        run = import_module(f"reporter.cli.{command}").main
        return run
    of_stacks = _of_stacks()
    if command in of_stacks:
        return of_stacks[command].main
    if command not in LABORATORY:
        raise UsageError(_unknown_command(command))
    added = tuple(entry_points(group=_ADDED, name=command))
    if added:
        run = added[0].load()
        return run
    raise UsageError(
        f"this is a command of {_LABORATORY}, which is not installed; in a checkout of the "
        "project: make setup"
    )


def _of_stacks() -> "dict[str, Command]":
    from reporter.stacks import STACKS

    return {each.name: each for stack in STACKS for each in stack.commands}


def known_commands() -> dict[str, str]:
    return COMMANDS | {name: each.summary for name, each in _of_stacks().items()} | LABORATORY


def _refuse(message: str, program: str = PROGRAM) -> int:
    from reporter.model.text import for_terminal

    sys.stderr.write(f"{program}: {for_terminal(message)}\n")
    return USAGE_STATUS


def _help() -> str:
    known, columns = known_commands(), help_columns()
    width = max(map(len, known))
    lines = {
        name: hanging(name, text, width=width, columns=columns) for name, text in known.items()
    }
    laboratory = "\n".join(lines.pop(name) for name in LABORATORY)
    return _HELP.format(
        program=PROGRAM,
        commands="\n".join(lines.values()),
        laboratory=laboratory,
        distribution=_LABORATORY,
    )


def _unknown_command(command: str) -> str:
    known = known_commands()
    hint = f"one of {', '.join(known)}"
    if not command:
        return f"no command given; {hint}"
    if near := get_close_matches(command, known, n=1):
        hint = f"did you mean {near[0]}?"
    return f"{command!r} is not a command; {hint}"

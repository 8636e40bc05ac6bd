"""`status-reporter check`: one evaluation of a dump or of live clusters, without writing."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from reporter.arguments import PROGRAM, Parser
from reporter.cli.configure import ProgramSettings, misspelt_variables
from reporter.cli.flags import EPILOG, add_setting_flags, settings_from
from reporter.cli.one_look import (
    CheckInput,
    compared,
    evaluate_look,
    judged,
    look_at_cluster,
    look_at_dump,
    with_manifests,
)
from reporter.cli.previewing import read_manifests
from reporter.cli.rendering import View, add_options, exit_status_of, require_sense, view_of, write
from reporter.errors import UsageError
from reporter.model.report import Report
from reporter.snapshot.inputs.reading import STDIN

__all__ = ["CheckInput", "evaluate_look", "main"]

DESCRIPTION: Final = "Say which one fault is behind the others. Nothing is written."
_EXAMPLES: Final = (
    ("status-reporter check", "the cluster of the current context"),
    ("status-reporter check -n chat-models", "one namespace, with the rights there"),
    ("status-reporter check --context prod-eu", "another cluster of the kubeconfig"),
    ("status-reporter check dump.tgz", "a dump: a file, a folder, an archive"),
    ("status-reporter check --with new.yaml", "as if a manifest had just been applied"),
)


def main(argv: Sequence[str]) -> int:
    """Evaluate and print the report, once or on every change.

    Returns:
        0 if nothing fires that counts, 1 if something does; `--fail-on` says what counts. 2 if nothing
        fires and a model has no verdict because something could not be read.

    Raises:
        UsageError: it could not be evaluated.

    """
    return check(command_parser().parse(argv), PROGRAM)


def command_parser() -> Parser:
    """Return the parser of the command."""
    parser = Parser("check", DESCRIPTION, EPILOG, arguments="[PATH...] [FLAGS]", examples=_EXAMPLES)
    add_check_flags(parser)
    return parser


def add_check_flags(parser: Parser) -> None:
    """Add all that `check` understands; the plugin for kubectl has the same."""
    parser.add_argument(
        "paths", metavar="PATH", nargs="*", help="a dump to look at, as with --from"
    )
    add_options(parser)
    add_setting_flags(parser, daemon=False)
    parser.add_argument(
        "--with",
        dest="manifests",
        metavar="FILE",
        action="append",
        default=[],
        help="as if FILE had just been applied: a file, a folder, or - for standard input; may be "
        "repeated",
    )
    group = parser.add_settings_group("a dump, and the time")
    group.add_argument(
        "--complete",
        action="store_true",
        help="the dump holds everything: what is not in it does not exist",
    )
    group.add_argument(
        "--now",
        metavar="RFC3339",
        help="time of the evaluation; for a dump its newest time by default",
    )
    group.add_argument(
        "--observed-for",
        metavar="SECONDS",
        help="how long findings without a time of their own have lasted; by default as long as "
        "they need to fire",
    )


def check(arguments: argparse.Namespace, program: str) -> int:
    """Carry out what was asked for on a command line."""
    require_sense(arguments)
    _require_paths(arguments.paths)
    arguments.sources = [*arguments.sources, *arguments.paths]
    _require_dump_flags(arguments)
    for warning in misspelt_variables():
        sys.stderr.write(f"{program}: {warning}\n")
    settings = settings_from(arguments)
    _log_little(arguments, settings)
    arguments.manifests = read_manifests(arguments.manifests)
    if arguments.watch:
        from reporter.cli.following import watch

        return watch(arguments, settings)
    return _look_once(arguments, settings)


def _require_paths(paths: Sequence[str]) -> None:
    """Refuse a word that is no file: whoever wrote it may have meant something else."""
    for path in paths:
        if path != STDIN and not Path(path).exists():
            raise UsageError(
                f"{path}: no such file or folder; a namespace is -n {path}, "
                f"and what a reason means says status-reporter explain {path}"
            )


def _require_dump_flags(arguments: argparse.Namespace) -> None:
    """Refuse what does not go with a dump, and what only goes with one."""
    for field in ("kubeconfig", "context"):
        if arguments.sources and getattr(arguments, field):
            raise UsageError(f"--{field} is not used where a dump is judged; leave out one of them")
    if arguments.complete and not arguments.sources:
        raise UsageError("--complete is about a dump; name it with --from")
    if [*arguments.manifests, *arguments.sources].count(STDIN) > 1:
        raise UsageError("standard input can be read once; name the other file")
    if arguments.watch and arguments.sources:
        raise UsageError("-w is about a cluster, and a dump does not change; leave out --watch")


def _log_little(arguments: argparse.Namespace, settings: ProgramSettings) -> None:
    """Log errors alone: what goes wrong stands in the answer, and would break its first line."""
    if arguments.sources:
        return
    from reporter.daemon import logs

    logs.configure("error", settings.log_format)


def _look_once(arguments: argparse.Namespace, settings: ProgramSettings) -> int:
    view = viewed(arguments, settings)
    write(view.text(arguments.output), arguments.output)
    return exit_status_of(view.report, arguments)


def viewed(arguments: argparse.Namespace, settings: ProgramSettings) -> View:
    """Look once.

    Raises:
        UsageError: nothing can be judged.

    """
    look = (
        look_at_dump(arguments, settings)
        if arguments.sources
        else asyncio.run(look_at_cluster(arguments, settings))
    )
    namespace = arguments.namespace or look.only
    look = with_manifests(look, arguments.manifests, settings, namespace=namespace)
    report = judged(look, arguments, settings)
    if settings.pod_logs and not arguments.sources:
        report = _with_last_lines(report, look, settings)
    look = compared(look, report, arguments, settings=settings)
    return view_of(report, look, settings, namespace=namespace)


def _with_last_lines(report: Report, look: CheckInput, settings: ProgramSettings) -> Report:
    from reporter.cli.one_look import read_crash_logs
    from reporter.sinks.pod_view import crashes_of, with_last_lines

    crashes = crashes_of(report, look.snapshot)
    return with_last_lines(report, asyncio.run(read_crash_logs(settings, crashes)))

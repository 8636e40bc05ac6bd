"""`status-reporter check`: one evaluation of a dump or of live clusters, without writing."""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from reporter.arguments import PROGRAM, Parser
from reporter.cli import single_pass
from reporter.cli.configure import EPILOG, ProgramSettings, add_setting_flags, settings_from
from reporter.cli.rendering import (
    View,
    add_options,
    exit_status_of,
    require_sense,
    view_of,
    watch,
    write,
)
from reporter.errors import UsageError
from reporter.snapshot.inputs.reading import STDIN

DESCRIPTION: Final = "Say which one fault is behind the others. Nothing is written."
_EXAMPLES: Final = (
    ("status-reporter check", "the cluster of the current context"),
    ("status-reporter check -n chat-models", "one namespace, with the rights there"),
    ("status-reporter check --context prod-eu", "another cluster of the kubeconfig"),
    ("status-reporter check dump.tgz", "a dump: a file, a folder, an archive"),
    ("status-reporter check --with new.yaml", "as if a manifest had just been applied"),
)


def main(argv: Sequence[str]) -> int:
    """Return 1 if something fires that counts by `--fail-on`; else 2 if a model has no verdict
    because something could not be read; else 0.
    """
    return check(command_parser().parse(argv), PROGRAM)


def command_parser() -> Parser:
    parser = Parser("check", DESCRIPTION, EPILOG, arguments="[PATH...] [FLAGS]", examples=_EXAMPLES)
    add_check_flags(parser)
    return parser


def add_check_flags(parser: Parser) -> None:
    """Add the flags of `check`, which the plugin for kubectl shares."""
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
        help="the dump is complete: what is not in it does not exist",
    )
    group.add_argument(
        "--now",
        metavar="RFC3339",
        help="time of the evaluation; by default the newest time in the dump",
    )
    group.add_argument(
        "--observed-for",
        metavar="SECONDS",
        help="how long findings without a known start have lasted; by default long enough to fire",
    )


def check(arguments: argparse.Namespace, program: str) -> int:
    require_sense(arguments)
    _require_paths(arguments.paths)
    arguments.sources = [*arguments.sources, *arguments.paths]
    _require_dump_flags(arguments)
    settings = settings_from(arguments, program)
    if not arguments.sources:
        from reporter.daemon import logs

        # The output reports errors; log lines would come before its first line.
        logs.configure("error")
    arguments.manifests = single_pass.read_manifests(arguments.manifests)
    if arguments.watch:
        return watch(arguments, settings)
    view = viewed(arguments, settings)
    write(view.text(arguments.output, full=arguments.full), arguments.output)
    return exit_status_of(view.report, arguments)


def _require_paths(paths: Sequence[str]) -> None:
    """Refuse a path that does not exist: it may be a namespace or a reason."""
    for path in paths:
        if path != STDIN and not Path(path).exists():
            raise UsageError(
                f"{path}: no such file or folder; for a namespace: -n {path}; "
                f"for what a reason means: status-reporter explain {path}"
            )


def _require_dump_flags(arguments: argparse.Namespace) -> None:
    for field in ("kubeconfig", "context"):
        if arguments.sources and getattr(arguments, field):
            raise UsageError(f"--{field} is not used with a dump; leave out one of them")
    if arguments.complete and not arguments.sources:
        raise UsageError("--complete is for dumps; name one with --from")
    if [*arguments.manifests, *arguments.sources].count(STDIN) > 1:
        raise UsageError("standard input can be read only once; name the other file")
    if arguments.watch and arguments.sources:
        raise UsageError("-w is for a cluster, and a dump does not change; leave out --watch")


def viewed(arguments: argparse.Namespace, settings: ProgramSettings) -> View:
    given = (
        single_pass.dump_input(arguments, settings)
        if arguments.sources
        else asyncio.run(single_pass.cluster_input(arguments, settings))
    )
    namespace = arguments.namespace or given.only
    given = single_pass.with_manifests(given, arguments.manifests, settings, namespace=namespace)
    report = single_pass.judged(given, arguments, settings)
    if arguments.sources or settings.pod_logs:
        from reporter.sinks.pod_view import crashes_of, with_last_lines

        crashes = crashes_of(report, given.snapshot)
        lines = (
            single_pass.lines_in_dump(given.snapshot, crashes, whole=settings.pod_logs)
            if arguments.sources
            else asyncio.run(single_pass.read_crash_logs(settings, crashes))
        )
        report = with_last_lines(report, lines)
    given = single_pass.compared(given, report, arguments, settings=settings)
    return view_of(report, given, settings, namespace=namespace)

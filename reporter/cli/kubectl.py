"""`kubectl status-reporter`: what is wrong in the cluster of the current context.

kubectl runs the executable `kubectl-status_reporter` that it finds on PATH; it passes on its
arguments and its environment, and its exit status.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from reporter.arguments import Parser
from reporter.cli.check import (
    NOTHING_FIRES,
    SOMETHING_FIRES,
    CheckInput,
    evaluate_look,
)
from reporter.cli.configure import ProgramSettings, misspelt_variables
from reporter.cli.flags import EPILOG, add_setting_flags, settings_from
from reporter.cli.main import exit_status
from reporter.cli.narrow import in_namespace, not_looked_at, require_namespace
from reporter.cli.redraw import Screen
from reporter.errors import UsageError
from reporter.interrupts import own_interrupts
from reporter.model.report import Report
from reporter.sinks.event_table import event_table
from reporter.sinks.events.render import events_of
from reporter.sinks.finding_table import finding_table
from reporter.sinks.junit import report_junit
from reporter.sinks.report_json import report_json
from reporter.sinks.report_text import report_text
from reporter.sinks.verdict import is_cause
from reporter.snapshot.snapshot import Served, Snapshot

PROGRAM: Final = "kubectl status-reporter"
SHORTEST_SECONDS: Final = 1.0
"""Evaluations of `--watch` follow each other at most this often."""

_ABOUT: Final = "the present"
_LOST: Final = (
    "The connection to the API server was lost: what was seen last may be old. Trying again."
)


@dataclass(frozen=True, slots=True)
class _View:
    """How a report is shown."""

    output: str
    namespace: str | None
    settings: ProgramSettings
    colour: bool

    def look(self, snapshot: Snapshot) -> Report:
        """Judge the cluster as it is now, and return the part that was asked for.

        Raises:
            UsageError: nothing can be judged, or the namespace does not exist.

        """
        if self.namespace:
            require_namespace(self.namespace, snapshot)
        look = CheckInput(snapshot=snapshot, now=datetime.now(UTC), about=_ABOUT)
        report = evaluate_look(look, self.settings)
        return in_namespace(report, self.namespace) if self.namespace else report

    @property
    def passed_over(self) -> tuple[str, ...]:
        """What is not looked at, in words."""
        return not_looked_at(metrics=False, namespace=self.namespace or "")

    def text(self, report: Report) -> str:
        """Return a report as it is printed."""
        return _RENDERED[self.output](report, self)


def program() -> int:
    """Run the plugin with the arguments of the process; the entry point of the executable."""
    return exit_status(lambda: main(sys.argv[1:]), PROGRAM)


def main(argv: Sequence[str]) -> int:
    """Evaluate and print, once or on every change.

    Returns:
        1 if a cause fires, unless `--fail-on none` was given; else 0.

    Raises:
        UsageError: it could not be evaluated.

    """
    arguments = _parser().parse(argv)
    if arguments.explain is not None:
        return _explain(arguments)
    if arguments.watch and arguments.output == "junit":
        raise UsageError("-o junit is one document; leave out --watch")
    from reporter.daemon import logs
    from reporter.kube.errors import KubeError

    for warning in misspelt_variables():
        sys.stderr.write(f"{PROGRAM}: {warning}\n")
    settings = settings_from(arguments)
    logs.configure("error", settings.log_format)
    view = _View(arguments.output, arguments.namespace, settings, _colour(arguments.output))
    try:
        if arguments.watch:
            return _watch(view)
        report = _once(view)
    except KubeError as error:
        raise UsageError(str(error)) from None
    sys.stdout.write(view.text(report))
    fails = arguments.fail_on != "none" and _fires(report)
    return SOMETHING_FIRES if fails else NOTHING_FIRES


def _parser() -> Parser:
    parser = Parser("", "Say which one fault is behind the others; nothing is written.", EPILOG)
    parser.prog = PROGRAM
    parser.usage = f"{PROGRAM} [FLAGS]"
    places = parser.add_mutually_exclusive_group()
    places.add_argument(
        "-n", "--namespace", help="read only this namespace, with the rights there (all namespaces)"
    )
    places.add_argument(
        "-A", "--all-namespaces", action="store_true", help="all namespaces, as without -n"
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=tuple(_RENDERED),
        default="text",
        help="text, wide, json, junit, or what kubectl get events would show (text)",
    )
    parser.add_argument(
        "-w", "--watch", action="store_true", help="again on every change, until Ctrl-C"
    )
    parser.add_argument(
        "--fail-on",
        choices=("warning", "none"),
        default="warning",
        help="what makes the exit status 1: a cause that fires, or nothing (warning)",
    )
    parser.add_argument(
        "--explain",
        metavar="REASON",
        nargs="?",
        const="",
        help="what a reason means and what to do; without one, all reasons in short",
    )
    add_setting_flags(parser, daemon=False)
    return parser


def _explain(arguments: argparse.Namespace) -> int:
    from reporter.cli import explain

    if arguments.output not in {"text", "json"}:
        raise UsageError(f"--explain: -o {arguments.output} is about a report; allowed: text, json")
    reason = [arguments.explain] if arguments.explain else []
    config = ["--config", arguments.config] if arguments.config else []
    return explain.main([*reason, *config, "-o", arguments.output])


def _once(view: _View) -> Report:
    from reporter.cli.cluster import read_cluster

    return view.look(asyncio.run(read_cluster(view.settings, namespace=view.namespace or "")))


def _watch(view: _View) -> int:
    """Show reports until Ctrl-C."""
    try:
        with own_interrupts():
            asyncio.run(_show_changes(view))
    except KeyboardInterrupt:
        sys.stdout.write("\n" if sys.stdout.isatty() else "")
    return NOTHING_FIRES


async def _show_changes(view: _View) -> None:
    from reporter.cli.cluster import watched_cluster

    screen = Screen(sys.stdout, sys.stderr)
    due = asyncio.Event()
    async with watched_cluster(view.settings, due.set, namespace=view.namespace or "") as cluster:
        while True:
            due.clear()
            snapshot = cluster.snapshot()
            try:
                if _is_lost(snapshot):
                    screen.remark(_LOST, keep=True)
                else:
                    report = await asyncio.to_thread(view.look, snapshot)
                    screen.show(view.text(report), _essence(report))
            except UsageError as error:
                screen.remark(str(error))
            await asyncio.sleep(SHORTEST_SECONDS)
            try:
                async with asyncio.timeout(view.settings.resync_seconds):
                    await due.wait()
            except TimeoutError:
                continue


def _is_lost(snapshot: Snapshot) -> bool:
    """Tell whether what was read may be old, as the connection was lost and nothing came since."""
    return any(
        state.served is Served.SERVED and not state.confirmed for state in snapshot.states.values()
    )


def _essence(report: Report) -> object:
    """Return what of a report is news; the time and ages are not."""
    findings = [(each.key, each.disposition, each.message, each.stale) for each in report.findings]
    mutes = (report.mutes, report.mute_faults)
    return findings, [each.subject for each in report.ready], report.unknown, mutes


def _fires(report: Report) -> bool:
    return any(map(is_cause, report.findings))


def _colour(output: str) -> bool:
    return output in {"text", "wide"} and sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _text(report: Report, view: _View) -> str:
    about = f"{_ABOUT}; namespace {view.namespace}" if view.namespace else _ABOUT
    return report_text(report, about=about, notes=view.passed_over, colour=view.colour)


def _wide(report: Report, view: _View) -> str:
    return finding_table(report, colour=view.colour) or "No findings.\n"


def _json(report: Report, view: _View) -> str:
    about = {"notLookedAt": list(view.passed_over)}
    return report_json(report, view.settings, about).decode()


def _junit(report: Report, _: _View) -> str:
    return report_junit(report)


def _events(report: Report, view: _View) -> str:
    return event_table(events_of(report, view.settings), report.now) or "No Events.\n"


_RENDERED: Final[dict[str, Callable[[Report, _View], str]]] = {
    "text": _text,
    "wide": _wide,
    "json": _json,
    "junit": _junit,
    "events": _events,
}

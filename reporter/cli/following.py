"""`--watch`: the report again on every change, of a cluster or of a daemon."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Final

from reporter.cli.configure import ProgramSettings
from reporter.cli.one_look import judged, live_look, with_manifests
from reporter.cli.redraw import Screen
from reporter.cli.rendering import View, view_of
from reporter.cli.report_options import NOTHING_FIRES
from reporter.errors import UsageError
from reporter.interrupts import own_interrupts
from reporter.model.report import Report
from reporter.snapshot.snapshot import Served, Snapshot

SHORTEST_SECONDS: Final = 1.0
"""Evaluations follow each other at most this often."""

_LOST: Final = (
    "The connection to the API server was lost: what was seen last may be old. Trying again."
)


def watch(arguments: argparse.Namespace, settings: ProgramSettings) -> int:
    """Show reports of the cluster until Ctrl-C.

    Raises:
        UsageError: there is no way to the cluster.

    """
    from reporter.kube.errors import KubeError

    try:
        return until_interrupted(lambda: _show_changes(arguments, settings))
    except KubeError as error:
        raise UsageError(str(error)) from None


def until_interrupted(showing: Callable[[], Awaitable[None]]) -> int:
    """Run what shows reports until Ctrl-C, which is how it ends."""

    async def run() -> None:
        await showing()

    try:
        with own_interrupts():
            asyncio.run(run())
    except KeyboardInterrupt:
        sys.stdout.write("\n" if sys.stdout.isatty() else "")
    return NOTHING_FIRES


def show(screen: Screen, view: View, output: str) -> None:
    """Show a report; where nothing can be redrawn, only if it has news."""
    text = view.text(output)
    if output == "events" and not text:
        text = "No Events.\n"
    if output == "yaml":
        text = f"---\n{text}"
    screen.show(text, essence(view.report))


def essence(report: Report) -> object:
    """Return what of a report is news; the time and ages are not."""
    findings = [(each.key, each.disposition, each.message, each.stale) for each in report.findings]
    mutes = (report.mutes, report.mute_faults)
    return findings, [each.subject for each in report.ready], report.unknown, mutes


async def _show_changes(arguments: argparse.Namespace, settings: ProgramSettings) -> None:
    from reporter.cli.cluster import watched_cluster
    from reporter.cli.live_evidence import evidence_of
    from reporter.diagnosis.wanted_evidence import wanted_evidence

    def view(snapshot: Snapshot) -> View:
        look = live_look(snapshot, arguments, settings)
        look = with_manifests(
            look, arguments.manifests, settings, namespace=arguments.namespace or ""
        )
        report = judged(look, arguments, settings)
        return view_of(report, look, settings, namespace=arguments.namespace or "")

    screen = Screen(sys.stdout, sys.stderr)
    due = asyncio.Event()
    namespace = arguments.namespace or ""
    async with (
        watched_cluster(settings, due.set, namespace=namespace) as cluster,
        evidence_of(cluster, settings, due.set) as evidence,
    ):
        while True:
            due.clear()
            snapshot = evidence.joined(cluster.snapshot())
            try:
                if _is_lost(snapshot):
                    screen.remark(_LOST, keep=True)
                else:
                    seen = await asyncio.to_thread(view, snapshot)
                    evidence.passed(wanted_evidence(seen.report, snapshot))
                    show(screen, seen, arguments.output)
            except UsageError as error:
                screen.remark(str(error))
            await asyncio.sleep(SHORTEST_SECONDS)
            try:
                async with asyncio.timeout(settings.resync_seconds):
                    await due.wait()
            except TimeoutError:
                continue


def _is_lost(snapshot: Snapshot) -> bool:
    """Tell whether what was read may be old, as the connection was lost and nothing came since."""
    return any(
        state.served is Served.SERVED and not state.confirmed for state in snapshot.states.values()
    )

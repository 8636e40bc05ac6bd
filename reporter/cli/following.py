"""`--watch`: the report again on every change, redrawn in place on a terminal, printed again elsewhere."""

import argparse
import asyncio
import math
import os
import re
import shutil
import sys
from collections.abc import Callable, Coroutine
from typing import Final, TextIO

from reporter.cli.configure import ProgramSettings
from reporter.cli.one_look import judged, live_look, with_manifests
from reporter.cli.rendering import NOTHING_FIRES, View, view_of
from reporter.errors import UsageError
from reporter.interrupts import own_interrupts
from reporter.model.report import Report
from reporter.sinks.report_text import news_text
from reporter.snapshot.snapshot import Served, Snapshot

_HOME: Final = "\x1b[H"
_CLEAR_LINE: Final = "\x1b[K"
_CLEAR_BELOW: Final = "\x1b[J"
_CLEAR: Final = "\x1b[2J"
_STYLE: Final = re.compile(r"\x1b\[[0-9;]*m")


class Screen:
    def __init__(self, stream: TextIO, errors: TextIO) -> None:
        self._stream = stream
        self._errors = errors
        self._terminal = stream.isatty()
        self._shown: object = None
        self._text = ""
        self._first = True
        self._report: Report | None = None
        self._before: Report | None = None

    def show(self, view: View, output: str, *, full: bool = True) -> None:
        """Show a report; where nothing can be redrawn, what of a text is news since the last."""
        now = essence(view.report)
        is_news = self._report is None or now != essence(self._report)
        if is_news:
            self._before, self._report = self._report, view.report
        text = view.text(output, full=full, before=self._before if self._terminal else None)
        if output == "events" and not text:
            text = "No Events.\n"
        if output == "yaml":
            text = f"---\n{text}"
        if self._terminal:
            self._draw(text)
        elif self._first or is_news or self._shown != now:
            if output == "text" and self._before and self._shown == essence(self._before):
                text = news_text(self._before, view.report)
            self._stream.write(text)
            self._stream.flush()
        self._first = False
        self._text, self._shown = text, now

    def remark(self, text: str, *, keep: bool = False) -> None:
        """Say why there is no newer text, above the last one if that is to be kept.

        Where nothing can be redrawn it is said once and among the errors, as it is not what was asked for.
        """
        if self._terminal:
            self._draw(f"{text}\n\n{self._text}" if keep else f"{text}\n")
        elif self._shown != text:
            self._errors.write(f"{text}\n")
            self._errors.flush()
        self._first = False
        self._shown = text

    def _draw(self, text: str) -> None:
        # Over the old text rather than on an empty screen, which would flicker.
        lines = fitting(text, shutil.get_terminal_size())
        drawn = "".join(f"{line}{_CLEAR_LINE}\n" for line in lines)
        self._stream.write(f"{_CLEAR if self._first else ''}{_HOME}{drawn}{_CLEAR_BELOW}")
        self._stream.flush()


def fitting(text: str, size: os.terminal_size) -> list[str]:
    lines = text.splitlines()
    heights = [max(1, math.ceil(len(_STYLE.sub("", line)) / size.columns)) for line in lines]
    # The cursor stands on a line of its own below.
    room = max(2, size.lines - 1)
    if sum(heights) <= room:
        return lines
    kept: list[str] = []
    for line, height in zip(lines, heights, strict=True):
        room -= height
        if room < 1:
            break
        kept.append(line)
    return [*kept, f"... {len(lines) - len(kept)} more lines; a larger terminal shows them"]


SHORTEST_SECONDS: Final = 1.0
"""Evaluations follow each other at most this often."""

_LOST: Final = (
    "The connection to the API server was lost: what was seen last may be old. Trying again."
)


def watch(arguments: argparse.Namespace, settings: ProgramSettings) -> int:
    from reporter.kube.errors import KubeError

    try:
        return until_interrupted(lambda: _show_changes(arguments, settings))
    except KubeError as error:
        raise UsageError(str(error)) from None


def until_interrupted(showing: Callable[[], Coroutine[object, object, None]]) -> int:
    try:
        with own_interrupts():
            asyncio.run(showing())
    except KeyboardInterrupt:
        sys.stdout.write("\n" if sys.stdout.isatty() else "")
    return NOTHING_FIRES


def essence(report: Report) -> object:
    """Return what of a report is news; the time and ages are not."""
    findings = [(each.key, each.disposition, each.message, each.stale) for each in report.findings]
    mutes = (report.mutes, report.mute_faults)
    return findings, [each.subject for each in report.ready], report.unknown, mutes


async def _show_changes(arguments: argparse.Namespace, settings: ProgramSettings) -> None:
    from reporter.cli.cluster import watched_cluster
    from reporter.cli.one_look import evidence_of
    from reporter.diagnosis.wanted_evidence import wanted_evidence
    from reporter.workload.components import with_verdicts

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
                if any(
                    state.served is Served.SERVED and not state.confirmed
                    for state in snapshot.states.values()
                ):
                    screen.remark(_LOST, keep=True)
                else:
                    seen = await asyncio.to_thread(view, snapshot)
                    wanted = wanted_evidence(seen.report, snapshot)
                    evidence.passed(with_verdicts(wanted, seen.report, snapshot, settings=settings))
                    screen.show(seen, arguments.output, full=arguments.full)
            except UsageError as error:
                screen.remark(str(error))
            await asyncio.sleep(SHORTEST_SECONDS)
            try:
                async with asyncio.timeout(settings.resync_seconds):
                    await due.wait()
            except TimeoutError:
                continue

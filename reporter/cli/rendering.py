"""A report in each format of `-o`, and the flags of every command that shows one.

The flags are one table, so that each means the same everywhere. A command that does not support a
flag says so, and what to write instead.

`--watch` shows the report again on every change: redrawn in place on a terminal, printed elsewhere.
"""

import argparse
import asyncio
import json
import os
import shutil
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from io import TextIOWrapper
from typing import Final, TextIO

import msgspec
import yaml

from reporter import __version__
from reporter.arguments import NARROWEST, PROGRAM, USAGE_STATUS, Parser
from reporter.cli.configure import ProgramSettings
from reporter.cli.single_pass import CheckInput, evidence_of, judged, live_input, with_manifests
from reporter.diagnosis.wanted_evidence import wanted_evidence
from reporter.errors import UsageError
from reporter.interrupts import own_interrupts
from reporter.kube.errors import KubeError
from reporter.model.report import Report
from reporter.model.text import clean, for_terminal, has_unseen, unseen_escaped
from reporter.sinks import words
from reporter.sinks.junit import report_junit
from reporter.sinks.report_json import report_json
from reporter.sinks.report_text import changes_text, event_table, report_text
from reporter.snapshot.snapshot import Served, Snapshot
from reporter.workload.components import with_verdicts

_FOR_PEOPLE: Final = frozenset({"text", "events"})
_UTF8: Final = frozenset({"json", "yaml", "html", "junit"})
"""Formats that declare themselves to be UTF-8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    report: Report
    document: Callable[[], bytes]
    page: Callable[[], str]
    about: str = ""
    notes: tuple[str, ...] = ()

    def text(self, output: str, *, full: bool = True, before: Report | None = None) -> str:
        """Return the report in a format of `-o`; a text lists the differences from `before`."""
        if output != "text":
            return _RENDERED[output](self)
        size = shutil.get_terminal_size() if sys.stdout.isatty() else None
        return report_text(
            self.report,
            about=self.about,
            notes=self.notes,
            colour=size is not None and not os.environ.get("NO_COLOR"),
            columns=max(NARROWEST, size.columns) if size else None,
            rows=size.lines if size and not full else None,
            before=before,
        )


def view_of(
    report: Report, given: CheckInput, settings: ProgramSettings, *, namespace: str = ""
) -> View:
    about = f"{given.about}; namespace {namespace}" if namespace else given.about
    notes = (*given.passed_over, *given.notes)

    def document() -> bytes:
        passed_over = {"notLookedAt": list(given.passed_over)} if given.passed_over else None
        return report_json(report, settings, passed_over)

    return View(
        report=report,
        document=document,
        page=lambda: page_of(report, given.about, notes, snapshot=given.snapshot),
        about=about,
        notes=notes,
    )


def write(text: str, output: str) -> None:
    if output in _UTF8 and isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    if output == "events" and not text:
        sys.stderr.write("No Events.\n")
    sys.stdout.write(for_terminal(text) if output in _FOR_PEOPLE else text)


def yaml_of(document: object) -> str:
    text = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6)
    return unseen_escaped(text)


class _Dumper(yaml.SafeDumper):
    """Writes texts with invisible characters in double quotes, where they can be escaped."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        return self.represent_scalar(_TEXT_TAG, text, style='"' if has_unseen(text) else None)


_TEXT_TAG: Final = "tag:yaml.org,2002:str"
_Dumper.add_representer(str, _Dumper.represent_text)


def page_of(
    report: Report, about: str, notes: tuple[str, ...] = (), *, snapshot: Snapshot | None = None
) -> str:
    """Return the page as one file; with a snapshot, its Events add earlier episodes."""
    from reporter.catalogue.resources import EVENTS
    from reporter.resolution.records import records_of
    from reporter.sinks.history import EpisodeHistory
    from reporter.sinks.page.build import page_view
    from reporter.sinks.page.document import page_html
    from reporter.sinks.page.view import ReportOrigin

    origin = ReportOrigin(time=about, version=__version__, notes=notes, saved=datetime.now(UTC))
    history = EpisodeHistory.of(report)
    if snapshot is not None and snapshot.known(EVENTS):
        history = history.with_records(records_of(snapshot), report.catalogue, report.now)
    return page_html(page_view(report, origin, history))


def _events(view: View) -> str:
    """Return the Events of a document, which may be anybody's answer, as a table."""
    try:
        document = msgspec.json.decode(view.document(), type=dict[str, object])
        events = msgspec.convert(document["events"], list[dict[str, object]])
        return event_table(events, view.report.now)
    except (KeyError, msgspec.DecodeError, RecursionError, ValueError) as error:
        raise UsageError(
            f"the answer has no Events that can be read: {clean(str(error))}"
        ) from None


_RENDERED: Final[dict[str, Callable[[View], str]]] = {
    "json": lambda view: view.document().decode(),
    "yaml": lambda view: yaml_of(json.loads(view.document())),
    "events": _events,
    "html": lambda view: view.page(),
    "junit": lambda view: report_junit(view.report),
}


OUTPUTS: Final = ("text", "json", "yaml", "events", "html", "junit")
"""Formats of `-o`."""

NOTHING_FIRES: Final = 0
SOMETHING_FIRES: Final = 1


class FailOn(StrEnum):
    CAUSE = "cause"
    NOTICE = "notice"
    UNKNOWN = "unknown"
    NONE = "none"


_FORMER: Final = {"warning": FailOn.CAUSE}
"""Former values of `--fail-on` in the plugin."""

OPTIONS: Final[tuple[tuple[tuple[str, ...], str, dict[str, object]], ...]] = (
    (
        ("-n", "--namespace"),
        "only this namespace: check needs rights only there, status shows the cluster layer too",
        {"metavar": "NAME"},
    ),
    (("-A", "--all-namespaces"), "all namespaces, as without -n", {"action": "store_true"}),
    (
        ("-o", "--output"),
        f"{', '.join(OUTPUTS)} (text)",
        {"choices": OUTPUTS, "default": "text", "metavar": "FORMAT"},
    ),
    (
        ("-w", "--watch"),
        "what is new (+), changed (~) and gone (-) on every change, until Ctrl-C",
        {"action": "store_true"},
    ),
    (
        ("--full",),
        "each cause with what to do, even if that does not fit the terminal",
        {"action": "store_true"},
    ),
    (
        ("--fail-on",),
        (
            "what makes the exit status 1: a cause that fires, a notice too, a cause or what "
            "cannot be read, or nothing; several with commas (cause)"
        ),
        {"metavar": "cause|notice|unknown|none", "default": "cause"},
    ),
    (
        ("--allow-unknown",),
        (
            "exit with 0, not 2, if nothing fires but a model has no verdict because something "
            "could not be read"
        ),
        {"action": "store_true"},
    ),
    (
        ("-f", "--from"),
        (
            "check a dump instead of a cluster: a file, a folder, an archive (.tgz, .tar, .zip, "
            ".gz), a must-gather, a support bundle, or - for standard input; may be repeated"
        ),
        {"dest": "sources", "metavar": "PATH", "action": "append", "default": []},
    ),
)
"""Names, help and argparse arguments of each flag, in the order of the help."""


def add_options(parser: Parser, *, dump: bool = True) -> None:
    """Add the shared flags; without `dump`, `--from` exists only to be refused with a hint."""
    for names, meaning, more in OPTIONS:
        shown = meaning if dump or "--from" not in names else argparse.SUPPRESS
        parser.add_argument(*names, help=shown, **more)  # type: ignore[arg-type]  # of mixed types


def require_sense(arguments: argparse.Namespace) -> None:
    if arguments.all_namespaces and arguments.namespace:
        raise UsageError("-A and -n contradict each other; leave one out")
    if arguments.watch and arguments.output in _ONE_DOCUMENT:
        raise UsageError(f"-o {arguments.output} is one document; leave out --watch")
    fail_on(arguments.fail_on)


_ONE_DOCUMENT: Final = frozenset({"html", "junit"})


def fail_on(text: str) -> frozenset[FailOn]:
    found = {_FORMER.get(word) or word for word in text.split(",")}
    if not found <= {*FailOn} or (FailOn.NONE in found and len(found) > 1):
        allowed = ", ".join(FailOn)
        raise UsageError(f"--fail-on: {text!r} is not allowed; allowed: one or more of {allowed}")
    return frozenset(map(FailOn, found))


def exit_status_of(report: Report, arguments: argparse.Namespace) -> int:
    """Return the exit status for a report, and print to standard error why it is 2.

    A cause counts with every `--fail-on` but `none`. If nothing that counts fires, a model without
    a verdict is still not a success: what it depends on could not be read, or no stack judges it.
    """
    wanted = fail_on(arguments.fail_on)
    if FailOn.NONE in wanted:
        return NOTHING_FIRES
    fails = (
        any(each.is_cause for each in report.findings)
        or (FailOn.NOTICE in wanted and any(map(words.is_notice, report.findings)))
        or (
            FailOn.UNKNOWN in wanted
            and (bool(report.unknown) or any(each.is_blind for each in report.findings))
        )
    )
    if fails:
        return SOMETHING_FIRES
    found = words.models_without_verdict(report)
    alone = "; ".join(str(each) for each in report.outside if each.is_model)
    if arguments.allow_unknown or not (found or alone):
        return NOTHING_FIRES
    sys.stderr.write(f"{PROGRAM}: {words.why_without_verdict(report, found) if found else alone}\n")
    return USAGE_STATUS


_HOME: Final = "\x1b[H"
_CLEAR_LINE: Final = "\x1b[K"
_CLEAR_BELOW: Final = "\x1b[J"
_CLEAR: Final = "\x1b[2J"


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
        """Show a report; without a terminal, a text is only what is new since the last one."""
        now = essence(view.report)
        is_changed = self._report is None or now != essence(self._report)
        if is_changed:
            self._before, self._report = self._report, view.report
        text = view.text(output, full=full, before=self._before if self._terminal else None)
        if output == "events" and not text:
            text = "No Events.\n"
        if output == "yaml":
            text = f"---\n{text}"
        if self._terminal:
            self._draw(text)
        elif self._first or is_changed or self._shown != now:
            if output == "text" and self._before and self._shown == essence(self._before):
                text = changes_text(self._before, view.report)
            self._stream.write(text)
            self._stream.flush()
        self._first = False
        self._text, self._shown = text, now

    def remark(self, text: str, *, keep: bool = False) -> None:
        """Show why there is no newer report, above the last one with `keep`.

        Without a terminal, print it once to the error stream, as it is not the requested output.
        """
        if self._terminal:
            self._draw(f"{text}\n\n{self._text}" if keep else f"{text}\n")
        elif self._shown != text:
            self._errors.write(f"{text}\n")
            self._errors.flush()
        self._first = False
        self._shown = text

    def _draw(self, text: str) -> None:
        # Overwrite the old text: clearing the screen would flicker.
        drawn = text.replace("\n", f"{_CLEAR_LINE}\n")
        self._stream.write(f"{_CLEAR if self._first else ''}{_HOME}{drawn}{_CLEAR_BELOW}")
        self._stream.flush()


SHORTEST_SECONDS: Final = 1.0
"""Least time between two evaluations."""

_LOST: Final = (
    "The connection to the API server was lost: this report may be outdated. Trying again."
)


def watch(arguments: argparse.Namespace, settings: ProgramSettings) -> int:
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
    """Return the part of a report whose change matters; times and ages are not."""
    findings = [(each.key, each.disposition, each.message, each.stale) for each in report.findings]
    mutes = (report.mutes, report.mute_faults)
    return findings, [each.subject for each in report.ready], report.unknown, mutes


async def _show_changes(arguments: argparse.Namespace, settings: ProgramSettings) -> None:
    from reporter.cli.cluster import watched_cluster

    def view(snapshot: Snapshot) -> View:
        given = live_input(snapshot, arguments, settings)
        given = with_manifests(
            given, arguments.manifests, settings, namespace=arguments.namespace or ""
        )
        report = judged(given, arguments, settings)
        return view_of(report, given, settings, namespace=arguments.namespace or "")

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

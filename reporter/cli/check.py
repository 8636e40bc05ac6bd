"""`status-reporter check`: one evaluation of a dump or of the live cluster, without writing."""

import argparse
import asyncio
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from io import TextIOWrapper
from pathlib import Path
from typing import Final

from reporter.arguments import PROGRAM, Parser
from reporter.cli.configure import ProgramSettings, misspelt_variables
from reporter.cli.flags import EPILOG, add_setting_flags, settings_from
from reporter.cli.judged import is_judged, reads_anything, why_nothing_is_judged
from reporter.cli.narrow import in_namespace, not_looked_at, require_namespace
from reporter.errors import UsageError
from reporter.evaluation import evaluate
from reporter.metrics.looks.samples import NONE, Samples
from reporter.model.instant import Instant, parse_rfc3339, rfc3339
from reporter.model.report import Report
from reporter.resolution import Memory, OneLook, resolve
from reporter.sinks.event_table import event_table
from reporter.sinks.events.render import events_of
from reporter.sinks.report_json import report_json
from reporter.sinks.report_text import report_text
from reporter.sinks.verdict import is_cause, is_notice
from reporter.snapshot.documents import DumpError, sources_of
from reporter.snapshot.not_served import unserved_notes
from reporter.snapshot.snapshot import Snapshot
from reporter.version import version

NOTHING_FIRES: Final = 0
SOMETHING_FIRES: Final = 1

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_OBSERVED_SECONDS: Final = 10 * 365 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckInput:
    """What is evaluated, when, and what the reader should know of it.

    `only` is the one namespace of a cluster that was read; it is empty where all were.
    """

    snapshot: Snapshot
    now: datetime
    about: str
    notes: tuple[str, ...] = ()
    samples: Samples = NONE
    only: str = ""

    @property
    def passed_over(self) -> tuple[str, ...]:
        """What was not looked at, in words."""
        return not_looked_at(metrics=self.samples.scraping, namespace=self.only)


def main(argv: Sequence[str]) -> int:
    """Evaluate once and print the report.

    Returns:
        0 if nothing fires, 1 if something does; what the reporter cannot see is no fault and does not count.

    Raises:
        UsageError: it could not be evaluated.

    """
    arguments = _parser().parse(argv)
    for warning in misspelt_variables():
        sys.stderr.write(f"{PROGRAM}: {warning}\n")
    settings = settings_from(arguments)
    asked = arguments.namespace or ""
    look = (
        _look_at_dump(arguments, settings)
        if arguments.sources
        else _look_at_cluster(arguments, settings, asked)
    )
    namespace = asked or look.only
    if namespace:
        require_namespace(namespace, look.snapshot, look.only)
    report = evaluate_look(
        look,
        settings,
        observed_for=_duration(arguments.observed_for),
        from_dump=bool(arguments.sources),
    )
    if namespace:
        report = in_namespace(report, namespace)
    _print(report, look, settings, output=arguments.output)
    fires = any(is_cause(each) or is_notice(each) for each in report.findings)
    return SOMETHING_FIRES if fires else NOTHING_FIRES


def _parser() -> Parser:
    parser = Parser(
        "check", "Evaluate the live cluster or a dump once; nothing is written.", EPILOG
    )
    parser.add_argument(
        "--from",
        dest="sources",
        metavar="PATH",
        action="append",
        default=[],
        help="a dump: a file, a folder, an archive (.tgz, .tar, .zip, .gz), a must-gather, a support "
        "bundle, or - for standard input; may be repeated",
    )
    parser.add_argument(
        "--complete",
        action="store_true",
        help="the dump holds everything: what is not in it does not exist",
    )
    parser.add_argument(
        "--now",
        metavar="RFC3339",
        help="time of the evaluation; for a dump its newest time by default",
    )
    parser.add_argument(
        "--observed-for",
        metavar="SECONDS",
        help="how long findings without a time of their own have lasted; by default as long as "
        "they need to fire",
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "json", "events", "html"),
        default="text",
        help="text, json, what kubectl get events would show, or a page in one file (text)",
    )
    parser.add_argument(
        "-n",
        "--namespace",
        help="only this namespace; of a cluster nothing else is read, so that rights there are enough",
    )
    add_setting_flags(parser, daemon=False)
    return parser


def _look_at_dump(arguments: argparse.Namespace, settings: ProgramSettings) -> CheckInput:
    from reporter.cli.saved_pages import find_pages, read_saved
    from reporter.metrics.scraping.targets import find_targets
    from reporter.snapshot.dump import load_dump

    sources = sources_of(arguments.sources)
    try:
        dump = load_dump(sources, settings.catalogue, complete=arguments.complete)
    except DumpError as error:
        raise UsageError(f"--from: {error}") from None
    pages, misnamed = find_pages((each for each in sources if isinstance(each, Path)), dump.pages)
    times = [page.at for page in pages] + ([dump.newest] if dump.newest else [])
    now, about = _time_of_dump(arguments, max(times, default=None))
    if dump.collected and not arguments.now:
        about = "the time of the dump"
    snapshot = replace(dump.snapshot, skipped=(*dump.snapshot.skipped, *misnamed))
    targets = find_targets(snapshot, settings) or ()
    return CheckInput(
        snapshot=snapshot,
        now=now,
        about=about,
        notes=(*dump.notes, *unserved_notes(snapshot, settings.catalogue)),
        samples=read_saved(pages, targets, now, settings=settings),
        only=dump.namespace,
    )


def _time_of_dump(arguments: argparse.Namespace, newest: datetime | None) -> tuple[datetime, str]:
    present = datetime.now(UTC)
    if arguments.now:
        return _moment(arguments.now), "--now"
    if newest is None:
        return present, "the present; no time stands in the dump"
    if newest > present:
        return present, "the present; the dump's newest time is later"
    return newest, "the newest time in the dump"


def _look_at_cluster(
    arguments: argparse.Namespace, settings: ProgramSettings, namespace: str
) -> CheckInput:
    from reporter.cli.cluster import read_cluster
    from reporter.daemon import logs
    from reporter.kube.errors import ConfigurationError, KubeError

    # What goes wrong stands in the answer; what is logged before it would break its first line.
    logs.configure("error", settings.log_format)
    if arguments.complete:
        raise UsageError("--complete is about a dump; name it with --from")
    try:
        snapshot = asyncio.run(read_cluster(settings, namespace=namespace))
    except ConfigurationError as error:
        raise UsageError(f"{error}; or name a dump with --from") from None
    except KubeError as error:
        raise UsageError(str(error)) from None
    now = _moment(arguments.now) if arguments.now else datetime.now(UTC)
    return CheckInput(
        snapshot=snapshot,
        now=now,
        about="--now" if arguments.now else "the present",
        notes=unserved_notes(snapshot, settings.catalogue),
        only=namespace,
    )


def evaluate_look(
    look: CheckInput,
    settings: ProgramSettings,
    *,
    observed_for: timedelta | None = None,
    from_dump: bool = False,
) -> Report:
    """Return what one look says; `observed_for` is how long findings without a time last already.

    Raises:
        UsageError: nothing can be judged.

    """
    snapshot = _awaiting_nothing(look.snapshot)
    evaluation = evaluate(snapshot, settings, look.samples)
    # Discovery answers everybody. Somebody who may read nothing else must not read "nothing fires".
    blind = not from_dump and not reads_anything(snapshot)
    if blind or not is_judged(evaluation, snapshot, settings):
        raise UsageError(why_nothing_is_judged(snapshot, settings, from_dump=from_dump))
    # One look needs a boot clock only to measure from.
    now = Instant(look.now, look.now - _EPOCH)
    one_look = OneLook(observed_for, metrics=look.samples.scraping)
    return resolve(
        evaluation, snapshot, Memory(), now=now, settings=settings, one_look=one_look
    ).report


def _awaiting_nothing(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot that is the last one: what could not be read is unknown, not awaited.

    Otherwise no fault that depends on it would fire, and it would look as if there were none. That it was
    refused a moment ago is no age either: nobody asked before.
    """
    return replace(
        snapshot,
        states={
            each: replace(state, confirmed=True, since=None)
            for each, state in snapshot.states.items()
        },
        discovery=replace(snapshot.discovery, confirmed=True),
    )


def _print(report: Report, look: CheckInput, settings: ProgramSettings, *, output: str) -> None:
    if output == "json":
        about = {"notLookedAt": list(look.passed_over)} if look.passed_over else None
        _write_utf8(report_json(report, settings, about).decode())
    elif output == "html":
        _write_utf8(_page(report, look))
    elif output == "events":
        table = event_table(events_of(report, settings), report.now)
        sys.stdout.write(table)
        if not table:
            sys.stderr.write("No Events.\n")
    else:
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        notes = (*look.passed_over, *look.notes)
        sys.stdout.write(report_text(report, about=look.about, notes=notes, colour=colour))


def _write_utf8(text: str) -> None:
    """Write a format that declares itself to be UTF-8, whatever the locale is."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(text)


def _page(report: Report, look: CheckInput) -> str:
    from reporter.catalogue.resources import EVENTS
    from reporter.resolution.records import records_of
    from reporter.sinks.page.build import page_view
    from reporter.sinks.page.document import page_html
    from reporter.sinks.page.episodes import EpisodeHistory
    from reporter.sinks.page.view import ReportOrigin

    about = ReportOrigin(time=look.about, version=version(), notes=(*look.passed_over, *look.notes))
    history = EpisodeHistory.of(report)
    if look.snapshot.known(EVENTS):
        history = history.with_records(records_of(look.snapshot), report.catalogue, report.now)
    return page_html(page_view(report, about, history))


def _moment(text: str) -> datetime:
    try:
        return parse_rfc3339(text)
    except (ValueError, OverflowError):
        raise UsageError(
            f"--now: {text!r} is not allowed; allowed: an RFC 3339 time with its zone, such as "
            f"{rfc3339(datetime(2026, 11, 20, 12, tzinfo=UTC))}"
        ) from None


def _duration(text: str | None) -> timedelta | None:
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= _MOST_OBSERVED_SECONDS:
        raise UsageError(f"--observed-for: {text!r} is not allowed; allowed: seconds, 0 or more")
    return timedelta(seconds=seconds)

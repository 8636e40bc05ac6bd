"""A report in each of the formats of `-o`."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import TextIOWrapper
from typing import Final, cast

import yaml

from reporter.arguments import NARROWEST
from reporter.cli.configure import ProgramSettings
from reporter.cli.one_look import CheckInput
from reporter.model.report import Report
from reporter.model.text import for_terminal, has_unseen, unseen_escaped
from reporter.sinks.junit import report_junit
from reporter.sinks.report_json import report_json
from reporter.sinks.report_text import event_table, finding_table, report_text
from reporter.sinks.subject_metrics import report_prometheus
from reporter.version import version

_FOR_PEOPLE: Final = frozenset({"text", "wide", "events"})
_UTF8: Final = frozenset({"json", "yaml", "html", "junit", "prometheus"})
"""Formats that declare themselves to be UTF-8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A report, and what is needed to show it.

    Attributes:
        report: what is shown.
        document: returns it as JSON.
        page: returns it as a page for browsers.
        about: where its time is from, for the first line of the text.
        notes: what the reader should know besides.

    """

    report: Report
    document: Callable[[], bytes]
    page: Callable[[], str]
    about: str = ""
    notes: tuple[str, ...] = ()

    def text(self, output: str) -> str:
        """Return it in one of the formats of `-o`."""
        return _RENDERED[output](self)


@dataclass(frozen=True, slots=True)
class Terminal:
    """What text for people is written to; `columns` is None where it is no terminal."""

    colour: bool = False
    columns: int | None = None


def terminal() -> Terminal:
    """Return what standard output is."""
    if not sys.stdout.isatty():
        return Terminal()
    columns = max(NARROWEST, shutil.get_terminal_size().columns)
    return Terminal(colour=not os.environ.get("NO_COLOR"), columns=columns)


def view_of(
    report: Report, look: CheckInput, settings: ProgramSettings, *, namespace: str = ""
) -> View:
    """Return the view of what one look says."""
    about = f"{look.about}; namespace {namespace}" if namespace else look.about

    def document() -> bytes:
        passed_over = {"notLookedAt": list(look.passed_over)} if look.passed_over else None
        return report_json(report, settings, passed_over)

    return View(
        report=report,
        document=document,
        page=lambda: _page(report, look),
        about=about,
        notes=(*look.passed_over, *look.notes),
    )


def write(text: str, output: str) -> None:
    """Write a report to standard output, in UTF-8 where its format says so."""
    if output in _UTF8 and isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    if output == "events" and not text:
        sys.stderr.write("No Events.\n")
    sys.stdout.write(for_terminal(text) if output in _FOR_PEOPLE else text)


def yaml_of(document: object) -> str:
    """Return a document as YAML, its keys in their order."""
    text = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6)
    return unseen_escaped(text)


class _Dumper(yaml.SafeDumper):
    """Writes texts with characters that nobody sees in double quotes, where they can be escaped."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        """Return the node of a text."""
        return self.represent_scalar(_TEXT_TAG, text, style='"' if has_unseen(text) else None)


_TEXT_TAG: Final = "tag:yaml.org,2002:str"
_Dumper.add_representer(str, _Dumper.represent_text)


def _page(report: Report, look: CheckInput) -> str:
    from reporter.catalogue.resources import EVENTS
    from reporter.resolution.records import records_of
    from reporter.sinks.page.build import page_view
    from reporter.sinks.page.document import page_html
    from reporter.sinks.page.episodes import EpisodeHistory
    from reporter.sinks.page.view import ReportOrigin

    about = ReportOrigin(
        time=look.about,
        version=version(),
        notes=(*look.passed_over, *look.notes),
        saved=datetime.now(UTC),
    )
    history = EpisodeHistory.of(report)
    if look.snapshot.known(EVENTS):
        history = history.with_records(records_of(look.snapshot), report.catalogue, report.now)
    return page_html(page_view(report, about, history))


def _text(view: View) -> str:
    shown = terminal()
    return report_text(
        view.report,
        about=view.about,
        notes=view.notes,
        colour=shown.colour,
        columns=shown.columns,
    )


def _wide(view: View) -> str:
    return finding_table(view.report, colour=terminal().colour) or "No findings.\n"


def _yaml(view: View) -> str:
    return yaml_of(json.loads(view.document()))


def _events(view: View) -> str:
    document: Mapping[str, object] = json.loads(view.document())
    events = cast("Sequence[Mapping[str, object]]", document["events"])
    return event_table(events, view.report.now)


_RENDERED: Final[dict[str, Callable[[View], str]]] = {
    "text": _text,
    "wide": _wide,
    "json": lambda view: view.document().decode(),
    "yaml": _yaml,
    "events": _events,
    "html": lambda view: view.page(),
    "junit": lambda view: report_junit(view.report),
    "prometheus": lambda view: report_prometheus(view.report),
}

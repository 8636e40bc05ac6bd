"""A report in each of the formats of `-o`.

The flags of every command that shows a report: `check`, `status` and the kubectl plugin.

One table, so that a flag means the same everywhere. What a command cannot do with one of them, it
says, with what to write instead.
"""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from io import TextIOWrapper
from typing import Final, cast

import yaml

from reporter.arguments import NARROWEST, PROGRAM, USAGE_STATUS, Parser
from reporter.cli.configure import ProgramSettings
from reporter.cli.one_look import CheckInput
from reporter.errors import UsageError
from reporter.model.report import Report
from reporter.model.text import for_terminal, has_unseen, unseen_escaped
from reporter.sinks.junit import report_junit
from reporter.sinks.report_json import report_json
from reporter.sinks.report_text import event_table, report_text
from reporter.sinks.words import (
    is_blind,
    is_cause,
    is_notice,
    models_without_verdict,
    why_without_verdict,
)
from reporter.version import version

_FOR_PEOPLE: Final = frozenset({"text", "events"})
_UTF8: Final = frozenset({"json", "yaml", "html", "junit"})
"""Formats that declare themselves to be UTF-8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A report, and what is needed to show it.

    Attributes:
        about: where its time is from, for the first line of the text.

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


def _yaml(view: View) -> str:
    return yaml_of(json.loads(view.document()))


def _events(view: View) -> str:
    document: Mapping[str, object] = json.loads(view.document())
    events = cast("Sequence[Mapping[str, object]]", document["events"])
    return event_table(events, view.report.now)


_RENDERED: Final[dict[str, Callable[[View], str]]] = {
    "text": _text,
    "json": lambda view: view.document().decode(),
    "yaml": _yaml,
    "events": _events,
    "html": lambda view: view.page(),
    "junit": lambda view: report_junit(view.report),
}


OUTPUTS: Final = ("text", "json", "yaml", "events", "html", "junit")
"""How a report can be printed; `rendering` does it."""

NOTHING_FIRES: Final = 0
SOMETHING_FIRES: Final = 1


class FailOn(StrEnum):
    """What makes the exit status 1."""

    CAUSE = "cause"
    NOTICE = "notice"
    UNKNOWN = "unknown"
    NONE = "none"


_FORMER: Final = {"warning": FailOn.CAUSE}
"""Values of `--fail-on` that the plugin had before."""


@dataclass(frozen=True, slots=True)
class Option:
    """One flag."""

    names: tuple[str, ...]
    meaning: str
    more: dict[str, object] = field(default_factory=dict)


OPTIONS: Final = (
    Option(
        ("-n", "--namespace"),
        "only this namespace: check needs rights there only, status shows the cluster layer too",
        {"metavar": "NAME"},
    ),
    Option(("-A", "--all-namespaces"), "all namespaces, as without -n", {"action": "store_true"}),
    Option(
        ("-o", "--output"),
        f"{', '.join(OUTPUTS)} (text)",
        {"choices": OUTPUTS, "default": "text", "metavar": "FORMAT"},
    ),
    Option(("-w", "--watch"), "again on every change, until Ctrl-C", {"action": "store_true"}),
    Option(
        ("--fail-on",),
        "what makes the exit status 1: a cause that fires, a notice too, a cause or what "
        "cannot be read, or nothing; several with commas (cause)",
        {"metavar": "cause|notice|unknown|none", "default": "cause"},
    ),
    Option(
        ("--allow-unknown",),
        "exit with 0, not 2, where nothing fires and a model has no verdict because something "
        "could not be read",
        {"action": "store_true"},
    ),
    Option(
        ("-f", "--from"),
        "look at a dump instead of a cluster: a file, a folder, an archive (.tgz, .tar, .zip, .gz), "
        "a must-gather, a support bundle, or - for standard input; may be repeated",
        {"dest": "sources", "metavar": "PATH", "action": "append", "default": []},
    ),
)
"""In the order of the help."""


def add_options(parser: Parser, *, dump: bool = True) -> None:
    """Add the flags that commands share; without `dump`, `--from` is understood only to be refused."""
    for option in OPTIONS:
        meaning = option.meaning if dump or "--from" not in option.names else argparse.SUPPRESS
        parser.add_argument(*option.names, help=meaning, **option.more)  # type: ignore[arg-type]


def require_sense(arguments: argparse.Namespace) -> None:
    """Refuse flags that contradict each other.

    Raises:
        UsageError: two of them do.

    """
    if arguments.all_namespaces and arguments.namespace:
        raise UsageError("-A and -n contradict each other; leave one out")
    if arguments.watch and arguments.output in _ONE_DOCUMENT:
        raise UsageError(f"-o {arguments.output} is one document; leave out --watch")
    fail_on(arguments.fail_on)


_ONE_DOCUMENT: Final = frozenset({"html", "junit"})


def fail_on(text: str) -> frozenset[FailOn]:
    """Return what makes the exit status 1.

    Raises:
        UsageError: it is none of what is allowed.

    """
    found = {_FORMER.get(word) or word for word in text.split(",")}
    if not found <= {*FailOn} or (FailOn.NONE in found and len(found) > 1):
        allowed = ", ".join(FailOn)
        raise UsageError(f"--fail-on: {text!r} is not allowed; allowed: one or more of {allowed}")
    return frozenset(map(FailOn, found))


def exit_status_of(report: Report, arguments: argparse.Namespace) -> int:
    """Return the exit status that a report has, and say on standard error why it is 2.

    A cause counts with every `--fail-on` but `none`. Where nothing that counts fires, a model without
    a verdict is no success: what it rests on could not be read.
    """
    wanted = fail_on(arguments.fail_on)
    if FailOn.NONE in wanted:
        return NOTHING_FIRES
    fails = (
        any(map(is_cause, report.findings))
        or (FailOn.NOTICE in wanted and any(map(is_notice, report.findings)))
        or (
            FailOn.UNKNOWN in wanted
            and (bool(report.unknown) or any(map(is_blind, report.findings)))
        )
    )
    if fails:
        return SOMETHING_FIRES
    found = models_without_verdict(report)
    if not found or arguments.allow_unknown:
        return NOTHING_FIRES
    sys.stderr.write(f"{PROGRAM}: {why_without_verdict(report, found)}\n")
    return USAGE_STATUS

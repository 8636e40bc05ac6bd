"""The report for people: the verdict first, then each cause and what to do, then notices and the rest.

Events as `kubectl get events` prints them.

The API server makes that table: Kubernetes, pkg/printers/internalversion/printers.go.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from reporter.model.instant import parse_rfc3339, rfc3339
from reporter.model.report import (
    NOT_IN_DUMP,
    SUPERSEDED,
    Disposition,
    Report,
    ResolvedFinding,
    skipped_line,
)
from reporter.model.text import clean, cut
from reporter.sinks.words import (
    NO_BREAK,
    NO_VERDICT,
    NOT_ALL_SEEN,
    NOT_SEEN,
    action_of,
    age,
    command_lines,
    further_changes,
    impact_line,
    is_blind,
    is_cause,
    is_notice,
    models_text,
    mute_fault_lines,
    mute_line,
    relation,
    stacked,
    table_rows,
    verdict,
    where_muted,
    without_verdict,
    wrapped,
)

_INDENT: Final = "    "
_LISTED: Final = 10
"""Most entries of a list that is not about causes: the report should fit on one screen."""

_QUIET_BYTES: Final = 300
_AGE_UNKNOWN: Final = "age unknown"
_COMMAND: Final = re.compile(r"kubectl (?:[^,;]|,(?=\S))*[^,;. ]")


class _Style(StrEnum):
    BAD = "\x1b[1;31m"
    GOOD = "\x1b[1;32m"
    HEAD = "\x1b[1m"


def report_text(
    report: Report,
    *,
    about: str = "",
    notes: Sequence[str] = (),
    colour: bool = False,
    columns: int | None = None,
) -> str:
    """Return the report as text; the same report gives the same text.

    Args:
        report: what a pass decided.
        about: where the time of the report is from, for the first line.
        notes: what else the reader should know, one sentence each.
        colour: use the colours of a terminal.
        columns: of the terminal; None where there is none, so that commands and rows stay whole.

    """
    page = _Page(report, _coloured if colour else _plain, columns)
    lines = [
        page.verdict(about),
        *page.models(),
        *page.causes(),
        *page.notices(),
        *page.others(),
        *page.ready(),
    ]
    lines += [*page.not_seen(), *page.unknown(), *page.skipped()]
    lines += page.section("Mutes", [mute_line(each) for each in report.mutes])
    lines += page.section("Errors in mutes", mute_fault_lines(report.mute_faults))
    said = [*map(str, report.outside), *notes]
    lines += page.section("Notes", said, counted=False)
    return "\n".join(lines) + "\n"


def _coloured(text: str, style: _Style) -> str:
    return f"{style}{text}\x1b[0m"


def _plain(text: str, style: _Style) -> str:
    del style
    return text


@dataclass(frozen=True, slots=True)
class _Page:
    report: Report
    paint: Callable[[str, _Style], str]
    columns: int | None

    def verdict(self, about: str) -> str:
        """Return the first line: how much fires, and the time that was used."""
        firing = [each for each in self._with(Disposition.FIRING) if not is_blind(each)]
        bad = any(map(is_cause, firing))
        without = without_verdict(self.report)
        style = _Style.BAD if bad else _Style.HEAD if firing or without else _Style.GOOD
        said = verdict(self.report)
        counts = Counter(each.disposition for each in self.report.findings if not is_blind(each))
        told = [
            f"{counts[each]} {each}"
            for each in Disposition
            if each is not Disposition.FIRING and counts[each]
        ]
        if firing and without:
            told.append(f"{len(without)} {NO_VERDICT}")
        if any(map(is_blind, self.report.findings)):
            told.append(NOT_ALL_SEEN)
        rest = ", ".join(told)
        time = f"at {rfc3339(self.report.now)}" + (f" ({about})" if about else "")
        line = f"{said} {time}" + (f"; {rest}." if rest else ".")
        lines = wrapped(line, self.columns) if self.columns else [line]
        return "\n".join(lines).replace(said, self.paint(said, style), 1)

    def models(self) -> Iterator[str]:
        """Yield how many models serve."""
        if text := models_text(self.report):
            yield text

    def causes(self) -> Iterator[str]:
        """Yield the faults that fire, in the order of the report: by layer, and by whom they hit."""
        for finding in filter(is_cause, self.report.findings):
            yield ""
            yield from self._firing(finding, _Style.BAD)

    def notices(self) -> Iterator[str]:
        """Yield what fires and is no fault."""
        notices = [*filter(is_notice, self._with(Disposition.FIRING))]
        if notices:
            yield from self._title("Notices, which are no faults")
        for number, finding in enumerate(notices):
            if number:
                yield ""
            yield from self._firing(finding, _Style.HEAD)

    def not_seen(self) -> Iterator[str]:
        """Yield what the reporter cannot see, and why: no cause of the stack."""
        findings = [*filter(is_blind, self._with(*Disposition))]
        if findings:
            yield from self._title(f"{NOT_SEEN}, which is no cause")
        for finding in findings:
            firing = finding.disposition is Disposition.FIRING
            state = "" if firing else f"  {finding.disposition}"
            lasts = self._lasts(finding)
            told = [finding.reason, f"{lasts}{state}"]
            yield from self._head(told, _Style.HEAD, _INDENT)
            yield from self._wrapped(self._unbroken(clean(finding.message)))

    def unknown(self) -> Iterator[str]:
        """Yield in one line for each cause which resources are unknown for it."""
        by_cause: dict[str, list[str]] = defaultdict(list)
        for each in self.report.unknown:
            by_cause[each.cause].append(each.resource)
        if not by_cause:
            return
        yield from self._title(f"Unknown ({len(self.report.unknown)})")
        # What nobody put into the dump is the longest list, and the least news.
        for cause, names in sorted(by_cause.items(), key=lambda each: each[0] == NOT_IN_DUMP):
            more = len(names) - _LISTED
            rest = f" and {more} more (-o json lists all)" if more > 0 else ""
            yield from self._wrapped(f"{', '.join(names[:_LISTED])}{rest}: {cause}")

    def _firing(self, finding: ResolvedFinding, style: _Style) -> Iterator[str]:
        lasts = self._lasts(finding)
        last = f"{lasts}{'  (stale)' if finding.stale else ''}"
        yield from self._head([finding.reason, clean(str(finding.subject)), last], style)
        yield from self._wrapped(clean(finding.message))
        if told := impact_line(finding, self.report):
            yield from self._wrapped(told)
        for line in further_changes(finding):
            yield from self._wrapped(f"Changed before: {line}")
        if finding.last_lines:
            yield from self._wrapped("Last lines before the crash:")
            for each in finding.last_lines:
                yield from self._quoted(each)
        if finding.mutes:
            yield from self._wrapped(f"Not told here: {where_muted(finding)}")
        yield from self._wrapped(
            f"To do: {self._unbroken(action_of(finding, self.report.catalogue))}"
        )
        for each in finding.commands:
            yield from command_lines(each, self.columns, _INDENT)

    def _head(self, cells: list[str], style: _Style, indent: str = "") -> Iterator[str]:
        first, *rest = stacked(cells, self.columns, indent)
        yield first.replace(cells[0], self.paint(cells[0], style), 1)
        yield from rest

    def others(self) -> Iterator[str]:
        """Yield what is not a cause: why in one line, and below it the object and what is wrong.

        After the repair of the cause this may be all that remains to be seen: the image, the quota.
        """
        found = [
            each
            for each in self._with(*(set(Disposition) - {Disposition.FIRING}))
            if not is_blind(each)
        ]
        if not found:
            return
        rows = [self._row(each) for each in found]
        yield from self._title("Not causes")
        for finding, lines in zip(found, table_rows(rows, self.columns, _INDENT), strict=True):
            yield from lines
            text = cut(clean(finding.message), _QUIET_BYTES)
            yield from self._wrapped(text, indent=2 * _INDENT)

    def _row(self, finding: ResolvedFinding) -> tuple[str, str, str, str, str]:
        lasts = self._lasts(finding).removeprefix("for ")
        subject = clean(str(finding.subject))
        return str(finding.disposition), finding.reason, subject, lasts, self._why(finding)

    def ready(self) -> Iterator[str]:
        """Yield the subjects that are ready by the rules, and those that are neither that nor at fault."""
        subjects = [
            f"{clean(str(each.subject))}{f' ({each.caveat})' if each.caveat else ''}"
            for each in self.report.ready
        ]
        yield from self.section("Ready", subjects)
        without = [clean(str(each)) for each in without_verdict(self.report)]
        yield from self.section(NO_VERDICT.capitalize(), without, rest="the page lists all")

    def skipped(self) -> Iterator[str]:
        """Yield what was left out and why; of older copies only how many."""
        skipped = self.report.skipped
        lines = [skipped_line(each) for each in skipped if each.cause != SUPERSEDED]
        if older := len(skipped) - len(lines):
            lines.append(f"older copies of {older} object(s); the newest of each counts")
        title = f"Skipped ({len(skipped)})"
        yield from self.section(title, lines, counted=False)

    def section(
        self,
        title: str,
        entries: Sequence[str],
        *,
        rest: str = "-o json lists all",
        counted: bool = True,
    ) -> Iterator[str]:
        """Yield a titled list, cut where it is long; nothing where it is empty."""
        if not entries:
            return
        yield from self._title(f"{title} ({len(entries)})" if counted else title)
        for entry in entries[:_LISTED]:
            yield from self._wrapped(entry)
        if len(entries) > _LISTED:
            yield f"{_INDENT}and {len(entries) - _LISTED} more; {rest}"

    def _title(self, title: str) -> Iterator[str]:
        yield ""
        yield self.paint(f"{title}:", _Style.HEAD)

    def _with(self, *dispositions: Disposition) -> list[ResolvedFinding]:
        found = (each for each in self.report.findings if each.disposition in dispositions)
        return sorted(found, key=lambda each: (self.report.catalogue.rank(each.reason), each.key))

    def _lasts(self, finding: ResolvedFinding) -> str:
        if finding.age_known:
            return f"for {age(self.report.now - finding.since)}"
        if finding.not_before:
            return f"for at most {age(self.report.now - finding.not_before)}"
        return _AGE_UNKNOWN

    def _unbroken(self, text: str) -> str:
        """Return a text of which each command stays on one line, to be copied."""
        return _COMMAND.sub(lambda command: command[0].replace(" ", NO_BREAK), text)

    def _why(self, finding: ResolvedFinding) -> str:
        told = ["stale"] if finding.stale else []
        if finding.mutes:
            told.append(where_muted(finding))
        elif finding.by:
            told.append(relation(finding))
        elif finding.fires_at:
            wait = age(finding.fires_at - self.report.now)
            told.append(f"fires in {wait} at the earliest")
        return ", ".join(told)

    def _quoted(self, line: str) -> list[str]:
        """Return a line of a log, whole where there is no terminal."""
        quote = f"{_INDENT}| "
        return wrapped(line, self.columns, quote) if self.columns else [f"{quote}{line}"]

    def _wrapped(self, text: str, indent: str = _INDENT) -> list[str]:
        return wrapped(text, self.columns, indent)


_EVENT_COLUMNS: Final = ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")
_PADDING: Final = 3


def event_table(events: Iterable[Mapping[str, object]], now: datetime) -> str:
    """Return core/v1 Events as a table, in the order of their names; empty where there are none."""
    rows = [_event_row(event, now) for event in sorted(events, key=_name)]
    if not rows:
        return ""
    table = [_EVENT_COLUMNS, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(_EVENT_COLUMNS))]
    return "".join(
        "".join(f"{cell:{width + _PADDING}}" for cell, width in zip(row[:-1], widths, strict=False))
        + row[-1]
        + "\n"
        for row in table
    )


def _event_row(event: Mapping[str, object], now: datetime) -> tuple[str, ...]:
    involved = event["involvedObject"]
    target = involved if isinstance(involved, dict) else {}
    kind, name = str(target.get("kind", "")).lower(), clean(str(target.get("name", "")))
    last_seen = age(now - parse_rfc3339(str(event["lastTimestamp"])))
    return (
        last_seen,
        str(event["type"]),
        str(event["reason"]),
        f"{kind}/{name}" if name else kind,
        clean(str(event["message"])),
    )


def _name(event: Mapping[str, object]) -> str:
    metadata = event["metadata"]
    return str(metadata["name"]) if isinstance(metadata, dict) else ""

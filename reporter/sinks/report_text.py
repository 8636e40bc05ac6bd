"""The report for people: the verdict, each cause and what to do, then notices and the rest.

It also prints Events as `kubectl get events` does; the API server makes that table (Kubernetes,
pkg/printers/internalversion/printers.go).
"""

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from itertools import chain
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
from reporter.model.subject import Layer
from reporter.model.text import clean, cut
from reporter.sinks import words
from reporter.sinks.report_json import event_name

_INDENT: Final = "    "
_LISTED: Final = 10
"""Most entries of a list of anything but causes: the report should fit on one screen."""

_SEVERAL: Final = 2
_LEAST: Final = 3
"""Causes that get a line each, however few rows the terminal has."""

_TAIL: Final = 2
_QUIET_BYTES: Final = 300
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
    rows: int | None = None,
    before: Report | None = None,
) -> str:
    """Return the report as text; equal reports give equal text. `notes` are further sentences for
    the reader. Without `columns`, commands and rows stay whole. Differences from the report
    `before` get a section.
    """
    page = _Page(report, colour, columns)
    head = page.verdict(about).splitlines()
    if models := words.models_text(report):
        head.append(models)
    if before is not None:
        head += page.section(
            f"Since {rfc3339(before.now)}", page.changes_since(before), counted=False
        )
    rest = [*page.notices(), *page.others(), *page.ready()]
    rest += [*page.not_seen(), *page.unknown(), *page.skipped()]
    rest += page.section("Mutes", [words.mute_line(each) for each in report.mutes])
    rest += page.section("Errors in mutes", words.mute_fault_lines(report.mute_faults))
    rest += page.section("Notes", [*map(str, report.outside), *notes], counted=False)
    # The prompt takes one row.
    room = sys.maxsize if rows is None else rows - 1 - len(head)
    causes = [["", *page.firing(each, _Style.BAD)] for each in page.causes]
    return "\n".join([*head, *_fitting([*page.summary()], causes, rest, room=room)]) + "\n"


def changes_text(before: Report, report: Report) -> str:
    """Return the verdict, and a line for each entry that is new (+), changed (~) or gone (-)."""
    page = _Page(report, False, None)
    return "\n".join([page.verdict(""), *page.changes_since(before)]) + "\n"


def _fitting(
    summary: list[str], blocks: list[list[str]], rest: list[str], *, room: int
) -> Iterator[str]:
    """Yield as many lines as fit into `room`, at least the first block, and how to see the rest."""
    size = sum(map(len, blocks)) + len(rest) + len(summary) + bool(summary)
    least = max(_LEAST, min(room // 3, room - len(blocks[0]) - 2 * _TAIL)) if blocks else 0
    if size > room and len(summary) > least:
        summary = [*summary[:least], f"{_INDENT}and {len(summary) - least} more"]
    if summary:
        yield from ["", *summary]
        room -= 1 + len(summary)
    if sum(map(len, blocks)) + len(rest) <= room:
        yield from [*chain.from_iterable(blocks), *rest]
        return
    room -= _TAIL
    for number, block in enumerate(blocks):
        room -= len(block)
        if number and room < 0:
            yield from ["", f"{len(blocks) - number} more in full, and the rest: --full"]
            return
        yield from block
    yield from rest if len(rest) <= room else ["", "The rest: --full"]


def _entries(report: Report) -> dict[tuple[str, str], str]:
    entries = {
        (f"{each.reason}  {clean(str(each.subject))}", str(each.involved)): "  ".join(
            [str(each.disposition), *(["(stale)"] if each.stale else []), clean(each.message)]
        )
        for each in report.findings
    }
    entries |= {(f"ready  {clean(str(each.subject))}", ""): each.caveat for each in report.ready}
    entries |= {(f"unknown  {each.resource}", ""): each.cause for each in report.unknown}
    entries |= {(f"muted  {words.mute_line(each)}", ""): "" for each in report.mutes}
    faults = words.mute_fault_lines(report.mute_faults)
    return entries | {(f"mute  {each}", ""): "" for each in faults}


@dataclass(frozen=True)
class _Page:
    report: Report
    colour: bool
    columns: int | None

    def paint(self, text: str, style: _Style) -> str:
        return f"{style}{text}\x1b[0m" if self.colour else text

    @cached_property
    def causes(self) -> list[ResolvedFinding]:
        return words.by_impact(each for each in self.report.findings if each.is_cause)

    @cached_property
    def ranked(self) -> list[ResolvedFinding]:
        rank = self.report.catalogue.rank
        return sorted(self.report.findings, key=lambda each: (rank(each.reason), each.key))

    def verdict(self, about: str) -> str:
        """Return the first line: how much fires, and the time of the evaluation."""
        without = words.without_verdict(self.report)
        verdict = words.verdict(self.report)
        counts = Counter(each.disposition for each in self.report.findings if not each.is_blind)
        firing = counts.pop(Disposition.FIRING, 0)
        style = _Style.HEAD if firing or without else _Style.GOOD
        if self.causes:
            style = _Style.BAD
        others = [f"{counts[each]} {each}" for each in Disposition if counts[each]]
        if firing and without:
            others.append(f"{len(without)} {words.NO_VERDICT}")
        if any(each.is_blind for each in self.report.findings):
            others.append(words.NOT_ALL_SEEN)
        rest = ", ".join(others)
        time = f"at {rfc3339(self.report.now)}" + (f" ({about})" if about else "")
        line = f"{verdict} {time}" + (f"; {rest}." if rest else ".")
        lines = words.wrapped(line, self.columns) if self.columns else [line]
        return "\n".join(lines).replace(verdict, self.paint(verdict, style), 1)

    def changes_since(self, before: Report) -> list[str]:
        """Return new, changed and gone entries since a report, each with its mark."""
        then, now = _entries(before), _entries(self.report)
        gone = [f"- {about}" for about, _ in then.keys() - now.keys()]
        marked = [
            f"{'~' if key in then else '+'} {'  '.join(filter(None, (key[0], text)))}"
            for key, text in now.items()
            if then.get(key) != text
        ]
        return [*marked, *sorted(gone)]

    def summary(self) -> Iterator[str]:
        """Yield a line for each of several causes, the largest impact first."""
        if len(self.causes) < _SEVERAL:
            return
        for each in self.causes:
            impact, state = each.impact, self.report.state_of.get(each.subject)
            hit = "what needs it" if words.is_needed(each) else "nobody yet"
            if each.layer is Layer.DEPLOYMENT and state:
                hit = state.state.word
            elif impact and (impact.not_serving or impact.degraded):
                of = f"{impact.not_serving} not serving", f"{impact.degraded} degraded"
                hit = of[not impact.not_serving]
            line = f"{_INDENT}{hit:14}  {words.in_one_line(each)} ({each.reason})"
            yield line if self.columns is None else cut(line, self.columns)

    def notices(self) -> Iterator[str]:
        for number, finding in enumerate(filter(words.is_notice, self.ranked)):
            yield from [""] if number else self._title("Notices, which are not faults")
            yield from self.firing(finding, _Style.HEAD)

    def not_seen(self) -> Iterator[str]:
        """Yield what the reporter cannot see, and why; it is not a cause in the stack."""
        findings = [each for each in self.ranked if each.is_blind]
        if findings:
            yield from self._title(f"{words.NOT_SEEN}, which is not a cause")
        for finding in findings:
            state = "" if finding.fires else f"  {finding.disposition}"
            cells = [finding.reason, f"{self._lasts(finding)}{state}"]
            yield from self._head(cells, _Style.HEAD, _INDENT)
            yield from self._wrapped(_unbroken(clean(finding.message)))

    def unknown(self) -> Iterator[str]:
        by_cause: dict[str, list[str]] = defaultdict(list)
        for each in self.report.unknown:
            by_cause[each.cause].append(each.resource)
        if not by_cause:
            return
        yield from self._title(f"Unknown ({len(self.report.unknown)})")
        # What the dump lacks is the longest list, and the least interesting.
        for cause, names in sorted(by_cause.items(), key=lambda each: each[0] == NOT_IN_DUMP):
            more = len(names) - _LISTED
            rest = f" and {more} more (-o json lists all)" if more > 0 else ""
            yield from self._wrapped(f"{', '.join(names[:_LISTED])}{rest}: {cause}")

    def firing(self, finding: ResolvedFinding, style: _Style) -> Iterator[str]:
        lasts = f"{self._lasts(finding)}{'  (stale)' if finding.stale else ''}"
        yield from self._head([finding.reason, clean(str(finding.subject)), lasts], style)
        yield from self._wrapped(clean(finding.message))
        if impact := words.impact_line(finding, self.report):
            yield from self._wrapped(impact)
        for line in words.further_changes(finding):
            yield from self._wrapped(f"Changed before: {line}")
        if finding.last_lines:
            yield from self._wrapped("From its log:")
            quote = f"{_INDENT}| "
            for each in finding.last_lines:
                yield from self._wrapped(each, quote) if self.columns else [f"{quote}{each}"]
        if finding.mutes:
            yield from self._wrapped(f"Not reported here: {words.where_muted(finding)}")
        action = words.action_of(finding, self.report.catalogue)
        yield from self._wrapped(f"To do: {_unbroken(action)}")
        for each in finding.commands:
            yield from words.command_lines(each, self.columns, _INDENT)

    def _head(self, cells: list[str], style: _Style, indent: str = "") -> Iterator[str]:
        first, *rest = words.stacked(cells, self.columns, indent)
        yield first.replace(cells[0], self.paint(cells[0], style), 1)
        yield from rest

    def others(self) -> Iterator[str]:
        """Yield the findings that are not causes: why, in one line, and below it the message.

        Once the cause is repaired, these may be all that remains: the image, the quota.
        """
        found = [each for each in self.ranked if not each.fires and not each.is_blind]
        if not found:
            return
        rows = [
            (
                str(each.disposition),
                each.reason,
                clean(str(each.subject)),
                self._lasts(each).removeprefix("for "),
                self._why(each),
            )
            for each in found
        ]
        yield from self._title("Not causes")
        table = words.table_rows(rows, self.columns, _INDENT)
        for finding, lines in zip(found, table, strict=True):
            yield from lines
            text = cut(clean(finding.message), _QUIET_BYTES)
            yield from self._wrapped(text, indent=2 * _INDENT)

    def ready(self) -> Iterator[str]:
        """Yield the ready subjects, and those without a verdict."""
        subjects = [
            f"{clean(str(each.subject))}{f' ({each.caveat})' if each.caveat else ''}"
            for each in self.report.ready
        ]
        yield from self.section("Ready", subjects)
        without = [clean(str(each)) for each in words.without_verdict(self.report)]
        yield from self.section(words.NO_VERDICT.capitalize(), without, rest="the page lists all")

    def skipped(self) -> Iterator[str]:
        skipped = self.report.skipped
        lines = [skipped_line(each) for each in skipped if each.cause != SUPERSEDED]
        if older := len(skipped) - len(lines):
            lines.append(f"older copies of {older} object(s); the newest of each counts")
        yield from self.section(f"Skipped ({len(skipped)})", lines, counted=False)

    def section(
        self,
        title: str,
        entries: Sequence[str],
        *,
        rest: str = "-o json lists all",
        counted: bool = True,
    ) -> Iterator[str]:
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

    def _lasts(self, finding: ResolvedFinding) -> str:
        if finding.age_known:
            return f"for {words.age(self.report.now - finding.since)}"
        if finding.not_before:
            return f"for at most {words.age(self.report.now - finding.not_before)}"
        return "age unknown"

    def _why(self, finding: ResolvedFinding) -> str:
        why = ["stale"] if finding.stale else []
        if finding.mutes:
            why.append(words.where_muted(finding))
        elif finding.by:
            why.append(words.relation(finding))
        elif finding.fires_at:
            wait = words.age(finding.fires_at - self.report.now)
            why.append(f"fires in {wait} at the earliest")
        return ", ".join(why)

    def _wrapped(self, text: str, indent: str = _INDENT) -> list[str]:
        return words.wrapped(text, self.columns, indent)


def _unbroken(text: str) -> str:
    """Return a text in which each command stays on one line, so that it can be copied."""
    return _COMMAND.sub(lambda command: command[0].replace(" ", words.NO_BREAK), text)


_EVENT_COLUMNS: Final = ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")
_PADDING: Final = 3


def event_table(events: Iterable[Mapping[str, object]], now: datetime) -> str:
    rows = [_event_row(event, now) for event in sorted(events, key=event_name)]
    if not rows:
        return ""
    table = words.table_rows([_EVENT_COLUMNS, *rows], None, gap=_PADDING)
    return "".join(f"{line}\n" for lines in table for line in lines)


def _event_row(event: Mapping[str, object], now: datetime) -> tuple[str, ...]:
    involved = event["involvedObject"]
    target = involved if isinstance(involved, dict) else {}
    kind, name = str(target.get("kind", "")).lower(), clean(str(target.get("name", "")))
    return (
        words.age(now - parse_rfc3339(str(event["lastTimestamp"]))),
        str(event["type"]),
        str(event["reason"]),
        f"{kind}/{name}" if name else kind,
        clean(str(event["message"])),
    )

"""Logging: for people on a terminal, JSON lines otherwise; each change is logged once."""

import logging
import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, TypeVar

import structlog

from reporter.metrics.samples.sample import Scrape, Target
from reporter.model.finding import FindingKey
from reporter.model.report import Report, ResolvedFinding
from reporter.model.subject import Subject
from reporter.model.text import redact
from reporter.sinks.words import mute_place

MUTES_LOGGED: Final = 10
"""Most mutes named in the line of a finding: thousands of pods may carry one."""

LINES: Final = 50
"""Most lines of one kind per pass: at the first start thousands of subjects are ready, and writing
that many lines would block the event loop. Events and the report have them all."""

_ChangeT = TypeVar("_ChangeT")


def configure(level: str) -> None:
    """Log to stderr: for people if it is a terminal, else a JSON object on each line."""
    processors: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _redact,
    ]
    renderer: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer()
        if sys.stderr.isatty()
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[*processors, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level.upper())),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
    )


def _redact(
    _logger: object, _method: str, event: structlog.types.EventDict
) -> structlog.types.EventDict:
    """Remove credentials from a log line, whatever an error or an object contains."""
    for key, value in event.items():
        if isinstance(value, str):
            event[key] = redact(value)
    return event


class ChangeLog:
    """Logs each change of a disposition, a subject's readiness, unknown resources and the like."""

    def __init__(self) -> None:
        self._log = structlog.get_logger("report")
        self._findings: dict[FindingKey, ResolvedFinding] = {}
        self._ready: frozenset[Subject] = frozenset()
        self._seen: dict[str, frozenset[object]] = {}

    def note(self, report: Report) -> None:
        known, findings = self._findings, {each.key: each for each in report.findings}
        changed = [
            each
            for key, each in findings.items()
            if key not in known or _logged(known[key]) != _logged(each)
        ]
        for finding in self._some(sorted(changed, key=lambda each: not each.fires), "findings"):
            self._finding(finding, known.get(finding.key))
        gone = [each for key, each in known.items() if key not in findings]
        for finding in self._some(gone, "findings that are over"):
            self._log.info(
                "finding", **_about(finding), disposition="none", was=str(finding.disposition)
            )
        ready = frozenset(each.subject for each in report.ready)
        for subject in self._some([*(ready - self._ready)], "subjects that are ready"):
            self._log.info("subject_ready", subject=str(subject))
        lost = [*(self._ready - ready)]
        for subject in self._some(lost, "subjects that are not ready any more"):
            self._log.info("subject_not_ready", subject=str(subject))
        self._findings, self._ready = findings, ready
        for unknown in self._new("unknown", report.unknown):
            self._log.warning("resource_unknown", resource=unknown.resource, cause=unknown.cause)
        for skipped in self._new("skipped", report.skipped):
            self._log.warning(
                "object_skipped",
                resource=skipped.resource,
                namespace=skipped.namespace,
                object_name=skipped.name,
                cause=skipped.cause,
            )
        for fault in self._new("mute_faults", report.mute_faults):
            self._log.warning("mute_faulty", object=str(fault.object), cause=fault.text)

    def _new(self, what: str, entries: Iterable[_ChangeT]) -> set[_ChangeT]:
        found = frozenset(entries)
        before, self._seen[what] = self._seen.get(what, frozenset()), found
        return {each for each in found if each not in before}

    def _some(self, changes: Sequence[_ChangeT], what: str) -> Iterable[_ChangeT]:
        if len(changes) > LINES:
            self._log.info("more_changes", of=what, count=len(changes) - LINES)
        return islice(changes, LINES)

    def _finding(self, finding: ResolvedFinding, before: ResolvedFinding | None) -> None:
        log = self._log.warning if finding.fires else self._log.info
        log(
            "finding",
            **_about(finding),
            disposition=str(finding.disposition),
            was=str(before.disposition) if before else "none",
            stale=finding.stale,
            by=list(finding.by),
            mutes=[mute_place(each) for each in finding.mutes[:MUTES_LOGGED]],
            message=finding.message,
        )


def _about(finding: ResolvedFinding) -> dict[str, str]:
    subject, related = str(finding.subject), str(finding.related)
    return {"reason": finding.reason, "subject": subject, "object": related}


def _logged(finding: ResolvedFinding) -> tuple[object, ...]:
    return (finding.disposition, finding.stale, finding.by, finding.mutes)


def note_scrape(target: Target, scrape: Scrape) -> None:
    """Log the result of a scrape, for debugging one pod with `--log-level debug`."""
    structlog.get_logger("scraper").debug(
        "pod_scraped",
        namespace=target.namespace,
        pod=target.name,
        failure=str(scrape.failure or ""),
        detail=scrape.detail,
        seconds=round(scrape.seconds, 3),
    )

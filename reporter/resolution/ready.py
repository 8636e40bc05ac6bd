"""Rule 7: Ready needs positive evidence, and is told once."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from reporter.catalogue.reasons import BY_NAME, REASONS, Reason
from reporter.catalogue.resources import EVENTS
from reporter.model.finding import Evaluation, KnownSubject, ReadyEvidence
from reporter.model.instant import Instant, rfc3339_micro
from reporter.model.report import EventType, ReadySubject, ResolvedFinding
from reporter.model.subject import Subject, SubjectKind
from reporter.resolution.memory import Memory
from reporter.resolution.records import Record
from reporter.resolution.unknown import confirmed, reads_unknown, records_known
from reporter.snapshot.snapshot import Snapshot

EVENT_LIFETIME = timedelta(hours=1)
"""How long the API server keeps an Event by default (`--event-ttl`)."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """The ready subjects, and for the next pass when each was last found told."""

    ready: tuple[ReadySubject, ...]
    told: Mapping[Subject, datetime]


def find_ready(
    evaluation: Evaluation,
    findings: Collection[ResolvedFinding],
    records: Iterable[Record],
    snapshot: Snapshot,
    memory: Memory,
    now: Instant,
) -> Readiness:
    """Return which subjects are ready and whether their Event is due."""
    blocked = {finding.subject for finding in findings if BY_NAME[finding.reason].blocks_ready}
    known = {each.subject: each for each in evaluation.subjects}
    newest = _newest(records, known)
    blind = {kind: _blind(kind, snapshot) for kind in SubjectKind}
    told = {subject: at for subject, at in memory.told.items() if subject in known}
    ready: list[ReadySubject] = []
    for evidence in sorted(evaluation.ready, key=lambda each: each.subject):
        subject = evidence.subject
        if subject in blocked or subject not in known or blind[subject.kind]:
            continue
        if subject not in told and not ready_confirmed(subject.kind, snapshot):
            continue
        record = newest.get(subject)
        due = records_known(snapshot) and _is_due(known[subject], record, told.get(subject), now)
        if records_known(snapshot) and not due:
            told[subject] = _told(record, told.get(subject), now)
        ready.append(_ready(evidence, _episode(known[subject], record), due=due))
    return Readiness(tuple(ready), told)


def _told(record: Record | None, told: datetime | None, now: Instant) -> datetime:
    """Return the time that a Warning must be newer than to call for another Ready."""
    if record is not None and record.event.type == EventType.NORMAL:
        return record.written
    return now.wall if told is None else told


def _is_due(
    subject: KnownSubject, record: Record | None, told: datetime | None, now: Instant
) -> bool:
    if record is not None and record.event.type == EventType.WARNING:
        return told is None or record.written > told
    if record is not None or told is not None:
        return False
    return subject.created is None or now.wall - subject.created < EVENT_LIFETIME


def _newest(
    records: Iterable[Record], known: Mapping[Subject, KnownSubject]
) -> dict[Subject, Record]:
    """Return the newest Event of each subject that speaks for or against its being ready.

    Those written before the subject was created are about another of the same name. Of a Ready
    and a Warning of the same instant, Ready counts as the newer: it ends what the Warning told.
    """
    newest: dict[Subject, Record] = {}
    for record in records:
        subject = known.get(record.key.subject)
        if subject is None or not _speaks_of_ready(record):
            continue
        if subject.created is not None and record.written < subject.created:
            continue
        other = newest.get(subject.subject)
        if other is None or _recency(record) > _recency(other):
            newest[subject.subject] = record
    return newest


def _recency(record: Record) -> tuple[datetime, bool, str]:
    return (record.written, record.event.type == EventType.NORMAL, record.event.name)


def _speaks_of_ready(record: Record) -> bool:
    reason = BY_NAME[record.key.reason]
    return reason.blocks_ready or reason.type is EventType.NORMAL


def _blind(kind: SubjectKind, snapshot: Snapshot) -> bool:
    return any(reads_unknown(reason.name, snapshot) for reason in _of(kind))


def ready_confirmed(kind: SubjectKind, snapshot: Snapshot) -> bool:
    """Tell whether everything that decides about a kind of subject being ready is confirmed."""
    return snapshot.state(EVENTS).confirmed and all(
        confirmed(reason.name, snapshot) for reason in _of(kind)
    )


def _of(kind: SubjectKind) -> tuple[Reason, ...]:
    """Return the reasons that decide whether subjects of a kind are ready."""
    return tuple(
        reason
        for reason in REASONS
        if reason.subject_kind is kind and (reason.blocks_ready or reason.type is EventType.NORMAL)
    )


def _episode(subject: KnownSubject, record: Record | None) -> str:
    """Return what tells this recovery from the next: the Warning it ends, or the beginning."""
    if record is not None:
        return record.event.name
    return rfc3339_micro(subject.created) if subject.created else "first"


def _ready(evidence: ReadyEvidence, episode: str, *, due: bool) -> ReadySubject:
    return ReadySubject(
        reason=evidence.reason,
        layer=BY_NAME[evidence.reason].layer,
        subject=evidence.subject,
        involved=evidence.involved,
        related=evidence.related,
        message=evidence.message,
        due=due,
        episode=episode,
    )

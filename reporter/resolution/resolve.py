"""Findings + memory + now → report: grace, hold, suppression, mutes, priority, recovery, Ready.

Every finding leaves with exactly one disposition. The same input gives the same report, in
whatever order it comes.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from operator import attrgetter

from reporter.model.catalogue import Catalogue
from reporter.model.finding import Evaluation, Finding, FindingKey
from reporter.model.instant import Instant
from reporter.model.report import Disposition, Report, ResolvedFinding
from reporter.model.subject import Subject
from reporter.resolution.candidate import Candidate, worst_first
from reporter.resolution.grace import (
    ZERO,
    Fault,
    OneLook,
    place_in_time,
    severity_key,
    sustained,
)
from reporter.resolution.hold import Upstreams, judge, survey
from reporter.resolution.memory import Episode, FaultKey, Memory, fault_key
from reporter.resolution.message import compose, suppression_suffixes
from reporter.resolution.mute import mute, mute_unseen
from reporter.resolution.mutes import Mutes, find_mutes
from reporter.resolution.priority import outrank
from reporter.resolution.ready import find_ready
from reporter.resolution.records import records_of
from reporter.resolution.recovery import Absence, as_clearing, look_for_absence, take_up
from reporter.resolution.remember import remember
from reporter.resolution.silence import silence
from reporter.resolution.undecided import sustaining
from reporter.resolution.unknown import confirmed, unknown_resources
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Resolution:
    """The result of a pass.

    Attributes:
        report: what every sink renders.
        memory: what the next pass is given.
        wake_in: time until something changes by itself, None where nothing does.

    """

    report: Report
    memory: Memory
    wake_in: timedelta | None


def resolve(
    evaluation: Evaluation,
    snapshot: Snapshot,
    memory: Memory,
    now: Instant,
    settings: EvaluationSettings,
    *,
    one_look: OneLook | None = None,
) -> Resolution:
    """Decide what becomes of each finding (design section 5)."""
    catalogue = settings.catalogue
    records = records_of(snapshot)
    memory = take_up(records, memory, evaluation, snapshot, now, catalogue)
    findings_seen = (*evaluation.findings, *sustaining(evaluation.undecided, memory.episodes))
    merged = _merge(findings_seen, memory.episodes, now, settings, one_look)
    candidates = [each for each in merged if not each.under_an_episode]
    seen = {candidate.key for candidate in candidates}
    unseen = {key: episode for key, episode in memory.episodes.items() if key not in seen}
    if one_look is None:
        absence = look_for_absence(unseen, evaluation, snapshot, now, settings)
    else:  # a look without earlier passes sees nothing recover
        absence = Absence(ended=frozenset(unseen))
        memory = replace(memory, governing=frozenset())
    undercurrents, surfaced = _beneath(merged, absence)
    candidates = [_in_time(candidate, snapshot, catalogue) for candidate in candidates + surfaced]
    upstreams = survey(
        [*candidates, *undercurrents], absence.kept, absence.stale, memory, now, settings
    )
    candidates = [judge(candidate, upstreams, catalogue) for candidate in candidates]
    candidates = silence(candidates, absence.kept, catalogue)
    mutes = find_mutes(snapshot, memory.mutes, now.wall, catalogue)
    candidates = [mute(candidate, mutes, now, settings) for candidate in candidates]
    absence = replace(absence, kept=mute_unseen(absence.kept, mutes))
    candidates = _by_priority(candidates, absence.outranking, settings)
    findings = _render(candidates, absence.listed, now, catalogue)
    readiness = find_ready(evaluation, findings, records, snapshot, memory, now, catalogue)
    report = Report(
        catalogue=catalogue,
        now=now.wall,
        findings=findings,
        ready=readiness.ready,
        unknown=unknown_resources(snapshot),
        skipped=tuple(sorted(set(snapshot.skipped))),
        derived=tuple(
            each.dated(now.wall) for each in sorted(evaluation.derived, key=attrgetter("object"))
        ),
        subjects=tuple(sorted({each.subject for each in evaluation.subjects})),
        mutes=mutes.all,
        mute_faults=mutes.faults,
    )
    kept = remember(
        candidates,
        undercurrents,
        findings,
        absence,
        upstreams,
        memory,
        records,
        readiness.told,
        mutes.all,
        now,
        settings,
    )
    changes = _changes(candidates + undercurrents, absence, upstreams, mutes, now)
    return Resolution(report, kept, min(changes, default=None))


def _merge(
    findings: Iterable[Finding],
    known: Mapping[FindingKey, Episode],
    now: Instant,
    settings: EvaluationSettings,
    one_look: OneLook | None,
) -> list[Candidate]:
    """Return a candidate for each key, in the order of the keys."""
    groups: dict[FindingKey, list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[finding.key].append(finding)
    candidates: list[Candidate] = []
    for key in sorted(groups):
        episode = known.get(key)
        faults = _faults(groups[key], episode, now, settings, one_look)
        if faults:
            reason = settings.catalogue[key.reason]
            candidates.append(Candidate(key, reason, worst_first(faults), episode))
    return candidates


def _faults(
    findings: Iterable[Finding],
    episode: Episode | None,
    now: Instant,
    settings: EvaluationSettings,
    one_look: OneLook | None,
) -> list[Fault]:
    """Return the faults of a key: one for each clock, or the earlier one that it continues."""
    remembered = episode.faults if episode else {}
    clocks: dict[FaultKey, list[Finding]] = defaultdict(list)
    sustaining: list[Finding] = []
    for finding in sorted(findings, key=severity_key):
        if finding.sustains:
            sustaining.append(finding)
        else:
            clocks[fault_key(finding)].append(finding)
    faults = {
        clock: place_in_time(group, remembered.get(clock), now, settings, one_look)
        for clock, group in clocks.items()
    }
    if episode is None or not episode.fired:
        return list(faults.values())
    for clock, fault in list(faults.items()):
        earlier = None if fault.ripe else sustained(fault.finding, remembered, fault)
        if earlier is not None:
            del faults[clock]
            faults.setdefault(earlier.clock, earlier)
    if episode.active:
        for finding in sustaining:
            earlier = sustained(finding, remembered, None)
            if earlier is not None:
                faults.setdefault(earlier.clock, earlier)
    return list(faults.values())


def _beneath(
    merged: Iterable[Candidate], absence: Absence
) -> tuple[list[Candidate], list[Candidate]]:
    """Split faults in grace under a key that fired into those hidden by it and those on their own.

    While the earlier fault is clearing the key's one place in the report is taken. Once that is
    over, the younger fault stands for itself, in an episode of its own.
    """
    hidden: list[Candidate] = []
    surfaced: list[Candidate] = []
    for candidate in merged:
        if not candidate.under_an_episode:
            continue
        if candidate.key in absence.listed:
            hidden.append(candidate)
        elif candidate.key in absence.kept:
            surfaced.append(candidate)
        else:
            surfaced.append(replace(candidate, episode=None))
    return hidden, surfaced


def _in_time(candidate: Candidate, snapshot: Snapshot, catalogue: Catalogue) -> Candidate:
    """Mark a candidate pending that is in grace, or that may not start to fire yet."""
    waits = not candidate.was_active and not confirmed(candidate.key.reason, snapshot, catalogue)
    if not candidate.ripe or waits:
        return replace(candidate, disposition=Disposition.PENDING)
    return candidate


def _by_priority(
    candidates: Iterable[Candidate], going_on: Iterable[FindingKey], settings: EvaluationSettings
) -> list[Candidate]:
    active: dict[Subject, list[Candidate]] = defaultdict(list)
    decided: list[Candidate] = []
    for candidate in candidates:
        if candidate.disposition is None:
            active[candidate.key.subject].append(candidate)
        else:
            decided.append(candidate)
    clearing: dict[Subject, list[FindingKey]] = defaultdict(list)
    beside = (each.key for each in decided if each.disposition is Disposition.CLEARING)
    for key in (*going_on, *beside):
        clearing[key.subject].append(key)
    for subject, group in active.items():
        decided += outrank(group, clearing[subject], settings.emit, settings.catalogue)
    return sorted(decided, key=lambda candidate: candidate.key)


def _render(
    candidates: Sequence[Candidate],
    unseen: Mapping[FindingKey, ResolvedFinding],
    now: Instant,
    catalogue: Catalogue,
) -> tuple[ResolvedFinding, ...]:
    suffixes = suppression_suffixes(candidates, catalogue.suppression)
    by_subject: dict[Subject, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_subject[candidate.key.subject].append(candidate)
    findings = list(unseen.values())
    for group in by_subject.values():
        firing = [each for each in group if each.disposition is Disposition.FIRING]
        primary = min(
            firing, key=lambda each: (catalogue.priority(each.key.reason), each.key), default=None
        )
        for candidate in group:
            if candidate.disposition is Disposition.CLEARING and candidate.episode is not None:
                shown = as_clearing(candidate.episode).shown
                findings.append(replace(shown, mutes=candidate.mutes))
                continue
            message = compose(candidate, group, suffixes)
            findings.append(_resolved(candidate, message, now, primary=candidate is primary))
    return tuple(
        sorted(findings, key=lambda each: (each.subject, catalogue.rank(each.reason), each.key))
    )


def _resolved(
    candidate: Candidate, message: str, now: Instant, *, primary: bool
) -> ResolvedFinding:
    reason = candidate.reason
    worst = candidate.worst.says
    wait = _fires_in(candidate, now)
    return ResolvedFinding(
        reason=reason.name,
        layer=reason.layer,
        type=reason.type,
        subject=candidate.key.subject,
        involved=worst.involved,
        related=worst.related,
        disposition=candidate.disposition or Disposition.FIRING,
        message=message,
        cause=worst.cause,
        since=candidate.since(now),
        fires_at=None if wait is None else now.wall + wait,
        by=candidate.by,
        mutes=candidate.mutes,
        primary=primary,
    )


def _fires_in(candidate: Candidate, now: Instant) -> timedelta | None:
    """Return how long until it fires or its hold ends at the earliest."""
    held = candidate.holds_until - now.boot if candidate.holds_until is not None else None
    if candidate.disposition is Disposition.HELD:
        return held
    if candidate.disposition is Disposition.PENDING and not candidate.ripe:
        return min(
            fault.remaining if fault.finding.independent else max(fault.remaining, held or ZERO)
            for fault in candidate.faults
        )
    return None


def _changes(
    candidates: Iterable[Candidate],
    absence: Absence,
    upstreams: Upstreams,
    mutes: Mutes,
    now: Instant,
) -> Iterator[timedelta]:
    """Yield the times after which something changes without the cluster changing."""
    for candidate in candidates:
        for fault in candidate.faults:
            if fault.next_in is not None:
                yield fault.next_in
        if candidate.clears_at is not None:
            yield candidate.clears_at - now.boot
    for until in upstreams.released.values():
        yield until - now.boot
    if absence.wake_in is not None:
        yield absence.wake_in
    if mutes.next_in is not None:
        yield mutes.next_in

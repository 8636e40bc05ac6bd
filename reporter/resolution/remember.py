"""What the next pass is given."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from reporter.model.finding import FindingKey
from reporter.model.instant import Instant
from reporter.model.report import Disposition, Mute, ResolvedFinding
from reporter.model.subject import Subject
from reporter.resolution.candidate import Candidate
from reporter.resolution.grace import Fault, recovery_time
from reporter.resolution.hold import Upstreams
from reporter.resolution.memory import Episode, FaultKey, FaultMemory, Memory, Writing
from reporter.resolution.records import Record
from reporter.resolution.recovery import Absence
from reporter.settings import EvaluationSettings

_IN_FLIGHT = timedelta(minutes=2)
"""How long an ended episode is kept in mind although no record says it goes on: a write of ours
may still be on its way."""


def remember(
    candidates: Sequence[Candidate],
    undercurrents: Sequence[Candidate],
    findings: Iterable[ResolvedFinding],
    absence: Absence,
    upstreams: Upstreams,
    known: Memory,
    records: Iterable[Record],
    told: Mapping[Subject, frozenset[Writing]],
    mutes: tuple[Mute, ...],
    now: Instant,
    settings: EvaluationSettings,
) -> Memory:
    """Return the memory after a pass.

    `undercurrents` are candidates of a key whose earlier fault is clearing: faults in grace, which
    the report does not list beside it.
    """
    shown = {finding.key: finding for finding in findings}
    episodes = dict(absence.kept)
    for candidate in candidates:
        episodes[candidate.key] = _episode(candidate, shown[candidate.key], now, settings)
    for candidate in undercurrents:
        below = episodes[candidate.key]
        faults = _faults(candidate, now, settings)
        episodes[candidate.key] = replace(below, faults=faults)
    return Memory(
        episodes=episodes,
        ended=_ended(known, absence, episodes, records, now),
        governing=upstreams.governing,
        released=upstreams.released,
        told=told,
        mutes=mutes,
    )


def _episode(
    candidate: Candidate, shown: ResolvedFinding, now: Instant, settings: EvaluationSettings
) -> Episode:
    before = candidate.episode
    fired_before = before is not None and before.fired
    since = shown.since
    last_seen = now.boot
    exempt = any(fault.says.exempt for fault in candidate.ripe)
    clearing = shown.disposition is Disposition.CLEARING
    if before is not None and fired_before and (clearing or not candidate.ripe):
        since, last_seen, exempt = before.since, before.last_seen, before.exempt
    return Episode(
        since=since,
        last_seen=last_seen,
        fired=fired_before or shown.disposition in {Disposition.FIRING, Disposition.MUTED},
        listed=True,
        shown=shown,
        faults=_faults(candidate, now, settings),
        exempt=exempt,
    )


def _faults(
    candidate: Candidate, now: Instant, settings: EvaluationSettings
) -> dict[FaultKey, FaultMemory]:
    beneath = [fault.beneath for fault in candidate.faults if fault.beneath]
    faults = {fault.clock: _fault(fault, now) for fault in (*beneath, *candidate.faults)}
    if candidate.episode is not None:
        for clock, fault in candidate.episode.faults.items():
            keep = recovery_time(candidate.key.reason, settings, exempt=fault.exempt)
            if clock not in faults and now.boot - fault.last_seen < keep:
                faults[clock] = fault
    return faults


def _fault(fault: Fault, now: Instant) -> FaultMemory:
    return FaultMemory(
        since=fault.since,
        first_seen=fault.first_seen,
        last_seen=now.boot,
        ripe=fault.ripe,
        uid=fault.finding.related.uid,
        finding=fault.says,
        began_seen=fault.began_seen,
    )


def _ended(
    known: Memory,
    absence: Absence,
    episodes: Mapping[FindingKey, Episode],
    records: Iterable[Record],
    now: Instant,
) -> dict[tuple[FindingKey, datetime], timedelta]:
    going_on = {(record.key, record.since) for record in records if record.goes_on}
    ended = {
        each: at
        for each, at in known.ended.items()
        if each in going_on or now.boot - at < _IN_FLIGHT
    }
    for key in absence.ended:
        episode = known.episodes[key]
        if episode.fired:
            ended[key, episode.since] = now.boot
    for key, episode in episodes.items():
        before = known.episodes.get(key)
        if before is not None and before.fired and before.since != episode.since:
            ended[key, before.since] = now.boot  # all of it was muted; what is told began later
        ended.pop((key, episode.since), None)
    return ended

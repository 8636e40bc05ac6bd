"""What the next pass is given."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from reporter.model.finding import FindingKey
from reporter.model.instant import Instant
from reporter.model.report import Disposition, ResolvedFinding
from reporter.resolution.candidate import Candidate
from reporter.resolution.grace import Fault, recovery_time
from reporter.resolution.impact import Impacts
from reporter.resolution.memory import Episode, FaultKey, FaultMemory, Memory
from reporter.resolution.ready import Readiness
from reporter.resolution.state import PassState
from reporter.resolution.unknown import confirmed, reads_unknown

_IN_FLIGHT = timedelta(minutes=2)
"""How long an ended episode is kept in mind although no record says it goes on: a write of ours
may still be on its way."""


def remember(
    state: PassState,
    judged: Impacts,
    readiness: Readiness,
) -> Memory:
    """Return the memory after a pass that came to these findings and states, and who is ready."""
    shown = {finding.key: finding for finding in judged.findings}
    episodes = dict(state.absence.kept)
    for candidate in state.candidates:
        episodes[candidate.key] = _episode(candidate, shown[candidate.key], state)
    for candidate in state.undercurrents:
        below = episodes[candidate.key]
        episodes[candidate.key] = replace(
            below, faults=_faults(candidate, state, fired=below.fired)
        )
    return Memory(
        episodes=episodes,
        ended=_ended(state, episodes),
        governing=state.upstreams.governing,
        released=state.upstreams.released,
        told=readiness.told,
        standing=readiness.standing,
        mutes=state.mutes.all,
        states=state.steps.take(
            "states by subject",
            (judged.states,),
            lambda: {each.subject: each for each in judged.states},
        ),
        changes=state.changes,
        primaries=judged.primaries,
        judged={**state.memory.judged, **dict.fromkeys(_judged(state), state.now.wall)},
        steps=state.steps.taken,
    )


def _judged(state: PassState) -> tuple[str, ...]:
    """Return the reasons that this pass could judge."""
    snapshot, catalogue = state.snapshot, state.catalogue
    return state.steps.take(
        "judged",
        (snapshot.states, snapshot.discovery.confirmed, catalogue),
        lambda: tuple(
            reason.name
            for reason in catalogue
            if not reads_unknown(reason, snapshot) and confirmed(reason.name, snapshot, catalogue)
        ),
    )


def _episode(candidate: Candidate, shown: ResolvedFinding, state: PassState) -> Episode:
    known = candidate.episode
    before = known if known is not None and known.fired else None
    since = shown.since
    last_seen = state.now.boot
    exempt = any(fault.says.exempt for fault in candidate.ripe)
    clearing = shown.disposition is Disposition.CLEARING
    if before is not None and (clearing or not candidate.ripe):
        since, last_seen, exempt = before.since, before.last_seen, before.exempt
    fired = before is not None or shown.disposition in {Disposition.FIRING, Disposition.MUTED}
    return Episode(
        since=since,
        last_seen=last_seen,
        fired=fired,
        listed=True,
        shown=shown,
        faults=_faults(candidate, state, fired=fired),
        exempt=exempt,
    )


def _faults(candidate: Candidate, state: PassState, *, fired: bool) -> dict[FaultKey, FaultMemory]:
    now = state.now
    faults = {fault.clock: _fault(fault, now, fired=fired) for fault in candidate.faults}
    if candidate.episode is not None:
        for clock, fault in candidate.episode.faults.items():
            keep = recovery_time(candidate.key.reason, state.settings, exempt=fault.exempt)
            if clock not in faults and now.boot - fault.last_seen < keep:
                faults[clock] = fault
    return faults


def _fault(fault: Fault, now: Instant, *, fired: bool) -> FaultMemory:
    return FaultMemory(
        since=fault.since,
        first_seen=fault.first_seen,
        last_seen=now.boot,
        ripe=fault.ripe,
        told=fault.ripe and fired,
        uid=fault.finding.related.uid,
        finding=fault.says,
        began_seen=fault.began_seen,
        passing_since=fault.passing_since,
    )


def _ended(
    state: PassState, episodes: Mapping[FindingKey, Episode]
) -> dict[tuple[FindingKey, datetime], timedelta]:
    known, now = state.memory, state.now
    going_on = {(record.key, record.since) for record in state.records.going_on}
    ended = {
        each: at
        for each, at in known.ended.items()
        if each in going_on or now.boot - at < _IN_FLIGHT
    }
    for key in state.absence.ended:
        episode = known.episodes[key]
        if episode.fired:
            ended[key, episode.since] = now.boot
    for key, episode in episodes.items():
        before = known.episodes.get(key)
        if before is not None and before.fired:
            ended[key, before.since] = now.boot  # all of it was muted; what is told began later
        ended.pop((key, episode.since), None)
    return ended

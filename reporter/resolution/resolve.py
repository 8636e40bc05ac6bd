"""Findings + memory + now → report, by the rules of docs/architecture.md.

Every finding leaves with exactly one disposition. The same input gives the same report, in
whatever order it comes.

What the next pass is given.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain
from operator import attrgetter
from typing import Final

from reporter.model.finding import Evaluation, FindingKey
from reporter.model.instant import Instant
from reporter.model.report import Disposition, ReadySubject, Report, ResolvedFinding, ServingState
from reporter.model.text import with_suffix
from reporter.resolution.candidate import Candidate
from reporter.resolution.grace import Fault, OneLook, recovery_time
from reporter.resolution.handing_on import NOTHING, Handed
from reporter.resolution.hold import hold_and_suppress, suppress_by_nodes, suppress_within_pods
from reporter.resolution.impact import Impacts, judge_impact
from reporter.resolution.memory import Episode, FaultKey, FaultMemory, Memory
from reporter.resolution.merge import mark_pending, merge_findings
from reporter.resolution.message import changes, list_findings
from reporter.resolution.mute import mute
from reporter.resolution.priority import outrank
from reporter.resolution.ready import Readiness, find_ready
from reporter.resolution.records import Records, records_of
from reporter.resolution.recovery import look_for_absence, take_up
from reporter.resolution.seen_changes import look_for_changes
from reporter.resolution.state import PassState, Rule
from reporter.resolution.steps import Steps
from reporter.resolution.unknown import (
    confirmed,
    outside_of,
    reads_unknown,
    tables_of_stacks,
    unknown_resources,
)
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot

_RULES: Final[tuple[Rule, ...]] = (
    merge_findings,  # 1 Since, 2 Grace and budget
    look_for_absence,  # 6 Recovery; before rule 3, for what is clearing still suppresses
    mark_pending,  # 2 Grace and budget; also of what comes to light because another fault is over
    hold_and_suppress,  # 3 Hold and suppression
    suppress_by_nodes,  # 3 Hold and suppression
    suppress_within_pods,  # 3 Hold and suppression
    mute,  # 4 Mutes
    outrank,  # 5 Priority
)
"""What a pass goes through before it is decided who is ready, which is rule 7, and whom each cause
hits, which is rule 8."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The result of a pass.

    Attributes:
        wake_in: time until something changes by itself, None where nothing does.

    """

    report: Report
    memory: Memory
    wake_in: timedelta | None


def resolve(
    evaluation: Evaluation,
    snapshot: Snapshot,
    memory: Memory,
    *,
    now: Instant,
    settings: EvaluationSettings,
    one_look: OneLook | None = None,
    records: Records | None = None,
    handed: Handed = NOTHING,
) -> Resolution:
    """Decide what becomes of each finding, and who is ready.

    Args:
        evaluation: what the probes found.
        snapshot: the cluster, with our Events on record.
        memory: what the last pass returned.
        now: the time of the pass.
        settings: graces, what is written, and the catalogue.
        one_look: set where there are no passes before and after this one.
        records: our Events of the snapshot, where they have been read already.
        handed: since when faults last by what another process handed on.

    """
    records = records_of(snapshot) if records is None else records
    state = PassState(
        evaluation=evaluation,
        snapshot=snapshot,
        now=now,
        settings=settings,
        one_look=one_look,
        memory=take_up(records, memory, evaluation, now=now, catalogue=settings.catalogue),
        records=records,
        handed=handed,
        changes=look_for_changes(
            memory.changes,
            snapshot,
            now,
            window=timedelta(seconds=settings.change_window_seconds),
        ),
        steps=Steps(memory.steps),
    )
    for rule in _RULES:
        state = rule(state)
    listed = list_findings(state)
    readiness = find_ready(state, listed)
    judged = judge_impact(state, listed)
    return Resolution(
        report=_report(state, judged, readiness.ready),
        memory=remember(state, judged, readiness),
        wake_in=min(chain(changes(state), _wakes(judged)), default=None),
    )


def _wakes(judged: Impacts) -> Iterator[timedelta]:
    if judged.wake_in is not None:
        yield judged.wake_in


def _report(state: PassState, judged: Impacts, ready: tuple[ReadySubject, ...]) -> Report:
    evaluation, snapshot, now = state.evaluation, state.snapshot, state.now
    return Report(
        catalogue=state.catalogue,
        now=now.wall,
        findings=judged.findings,
        ready=state.steps.take(
            "ready with states", (ready, judged.states), lambda: tuple(_with_state(ready, judged))
        ),
        unknown=unknown_resources(snapshot),
        skipped=tuple(sorted({*snapshot.skipped, *snapshot.superseded})),
        derived=tuple(
            each.dated(now.wall) for each in sorted(evaluation.derived, key=attrgetter("object"))
        ),
        subjects=state.subjects,
        mutes=state.mutes.all,
        mute_faults=state.mutes.faults,
        outside=state.steps.take(
            "outside",
            (evaluation.subjects, state.settings, *tables_of_stacks(snapshot, state.settings)),
            lambda: outside_of(evaluation.subjects, snapshot, state.settings),
        ),
        states=judged.states,
    )


def _with_state(ready: Iterable[ReadySubject], judged: Impacts) -> Iterator[ReadySubject]:
    """Yield who is ready; an Event says so of what serves degraded, and none is due of what does not serve."""
    states = {each.subject: each.state for each in judged.states}
    for each in ready:
        state = states.get(each.subject, ServingState.UNKNOWN)
        if state is each.state is ServingState.SERVING:
            yield each
            continue
        told = replace(each, state=state)
        suffix = f" ({told.caveat})" if state.is_impaired else ""
        due = each.due and state is not ServingState.NOT_SERVING
        yield replace(told, message=with_suffix(each.message, suffix), due=due)


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

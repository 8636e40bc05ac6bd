"""Findings + memory + now → report, by the rules of docs/architecture.md.

There is one candidate per key. It is pending or not (rules 1 and 2), held, suppressed, muted (rule
4) or reported, and ends with exactly one disposition. The same input gives the same report,
whatever the order of the findings.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Final

from msgspec import structs

from reporter.model.finding import Evaluation, Finding, FindingKey
from reporter.model.instant import Instant
from reporter.model.report import (
    Disposition,
    ReadySubject,
    Report,
    ResolvedFinding,
    ServingState,
    SubjectState,
)
from reporter.model.subject import Subject
from reporter.model.text import with_suffix
from reporter.resolution import grace, unknown
from reporter.resolution.hold import hold_and_suppress, suppress_by_nodes, suppress_within_pods
from reporter.resolution.impact import Impacts, judge_impact
from reporter.resolution.memory import Episode, FaultKey, FaultMemory, Memory, Steps, fault_key
from reporter.resolution.message import changes, list_findings
from reporter.resolution.mutes import Mutes, find_mutes
from reporter.resolution.priority import outrank
from reporter.resolution.ready import Readiness, find_ready
from reporter.resolution.records import Records, records_of
from reporter.resolution.recovery import look_for_absence, take_up
from reporter.resolution.seen_changes import look_for_changes
from reporter.resolution.state import Candidate, PassState, Rule, sustaining, worst_first
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot

_REPORTED: Final = frozenset({Disposition.FIRING, Disposition.CLEARING})
_UNMUTED: Final = _REPORTED | {Disposition.SECONDARY}


def mute(state: PassState) -> PassState:
    """Mute candidates that would be reported, and clearing or stale episodes, by annotations."""
    mutes = find_mutes(
        state.snapshot, state.memory.mutes, state.now.wall, catalogue=state.catalogue
    )
    kept = {key: _unseen(episode, mutes) for key, episode in state.absence.kept.items()}
    return replace(
        state,
        candidates=tuple(_seen(each, mutes, state) for each in state.candidates),
        absence=replace(state.absence, kept=kept),
        mutes=mutes,
    )


def _seen(candidate: Candidate, mutes: Mutes, state: PassState) -> Candidate:
    """Return the candidate without its muted faults, or as muted if no others remain.

    A pending, held or suppressed candidate stays so: it would not be reported anyway. Suppression
    was decided before, because a muted cause is known and its symptoms are not news. A muted cause
    outranks nothing, because priority is an order, not an explanation.

    If another fault of the key was reported and is gone, the key is clearing until that fault has
    recovered: a pod that comes and goes next to a muted one must not end its Event each time.
    """
    if candidate.disposition is not None:
        return candidate
    by_fault = [(fault, mutes.of(fault.says)) for fault in candidate.reported]
    found = tuple(dict.fromkeys(each for _, by in by_fault for each in by))
    reported = tuple(fault for fault, by in by_fault if not by)
    if reported:
        return structs.replace(candidate, reported=reported, mutes=found)
    clears_at = _clears_at(candidate, mutes, state)
    if clears_at is not None and state.now.boot < clears_at:
        return structs.replace(
            candidate, disposition=Disposition.CLEARING, mutes=found, clears_at=clears_at
        )
    return structs.replace(candidate, disposition=Disposition.MUTED, mutes=found)


def _clears_at(candidate: Candidate, mutes: Mutes, state: PassState) -> timedelta | None:
    """Return when the reported fault has recovered; None if it is muted or none was reported."""
    episode = candidate.episode
    if episode is None or episode.shown.disposition not in _REPORTED or mutes.of(episode.shown):
        return None
    wait = grace.recovery_time(candidate.key.reason, state.settings, exempt=episode.exempt)
    return episode.last_seen + wait


def _unseen(episode: Episode, mutes: Mutes) -> Episode:
    """Return a clearing or stale episode, as muted if all of its faults are."""
    shown = episode.shown
    if not episode.listed or shown.disposition not in _UNMUTED:
        return episode
    by_fault = [mutes.of(each.finding or shown) for each in episode.faults.values() if each.ripe]
    if not by_fault or not all(by_fault):
        return episode
    found = tuple(dict.fromkeys(each for by in by_fault for each in by))
    shown = structs.replace(shown, disposition=Disposition.MUTED, mutes=found, by=())
    return structs.replace(episode, shown=shown)


def merge_findings(state: PassState) -> PassState:
    """Merge the findings of each key into a candidate."""
    catalogue, known = state.catalogue, state.memory.episodes
    groups: dict[FindingKey, list[Finding]] = defaultdict(list)
    for finding in (*state.evaluation.findings, *sustaining(state.evaluation.inconclusive, known)):
        groups[finding.key].append(finding)
    candidates: list[Candidate] = []
    for key, found in groups.items():
        episode = known.get(key)
        # Passes of a daemon see for themselves when a fault begins.
        about = state.known.get(key.subject) if state.single_pass is not None else None
        created = about.created if about is not None else None
        faults = _merged_faults(found, episode, state, subject_created=created)
        if faults:
            candidates.append(Candidate(key, catalogue[key.reason], worst_first(faults), episode))
    return replace(state, candidates=tuple(candidates))


def _merged_faults(
    findings: Iterable[Finding],
    episode: Episode | None,
    state: PassState,
    *,
    subject_created: datetime | None,
) -> list[grace.Fault]:
    """Return the faults of a key: one for each clock, or an earlier fault that it continues."""
    remembered = episode.faults if episode else {}
    clocks: dict[FaultKey, list[Finding]] = defaultdict(list)
    sustaining: list[Finding] = []
    for finding in sorted(findings, key=grace.severity_key):
        if finding.sustains:
            sustaining.append(finding)
        else:
            clocks[fault_key(finding)].append(finding)
    faults = {
        clock: grace.place_in_time(
            group,
            remembered.get(clock),
            state.now,
            settings=state.settings,
            single_pass=state.single_pass,
            subject_created=subject_created,
            judged=state.memory.judged.get(group[0].reason),
            handed=grace.since_of(state.handed, group[0].key, (group[0].related, clock[1])),
        )
        for clock, group in clocks.items()
    }
    if episode is not None:
        _go_on(faults, sustaining, episode)
    return list(faults.values())


def _go_on(
    faults: dict[FaultKey, grace.Fault], sustaining: Iterable[Finding], episode: Episode
) -> None:
    """Continue fired faults for which the same object has a young or inconclusive fault.

    If another fault of the object is ripe, that one is reported, and the young one has its grace.
    """
    ripe = {related for (related, _), fault in faults.items() if fault.ripe}
    for clock, fault in list(faults.items()):
        if clock[0] in ripe:
            continue
        earlier = grace.sustained(fault.finding, episode.faults, fault.next_in)
        if earlier is not None and (earlier.clock == clock or earlier.clock not in faults):
            faults[earlier.clock] = earlier
    for finding in sustaining if episode.active else ():
        earlier = None if finding.related in ripe else grace.sustained(finding, episode.faults)
        if earlier is not None:
            faults.setdefault(earlier.clock, earlier)


def mark_pending(state: PassState) -> PassState:
    """Mark the candidates that are in grace, or that may not start to fire yet."""
    candidates = tuple(
        each
        if each.ripe
        and (each.was_active or unknown.confirmed(each.key.reason, state.snapshot, state.catalogue))
        else structs.replace(each, disposition=Disposition.PENDING)
        for each in state.candidates
    )
    return replace(state, candidates=candidates)


_RULES: Final[tuple[Rule, ...]] = (
    merge_findings,  # 1 Since, 2 Grace and budget
    look_for_absence,  # 6 Recovery; before rule 3, because clearing upstreams still suppress
    mark_pending,  # 2 Grace and budget; includes faults that surface as another one is over
    hold_and_suppress,  # 3 Hold and suppression
    suppress_by_nodes,  # 3 Hold and suppression
    suppress_within_pods,  # 3 Hold and suppression
    mute,  # 4 Mutes
    outrank,  # 5 Priority
)
"""The rules up to the dispositions. Ready (rule 7) and impact (rule 8) follow."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The result of a pass, and the time until something changes by itself, or None."""

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
    single_pass: grace.SinglePass | None = None,
    records: Records | None = None,
    handed: grace.Handed = grace.NOTHING,
) -> Resolution:
    """Decide the disposition of each finding, and which subjects are ready.

    `single_pass` is set if there are no passes before and after this one. `records` are our Events
    of the snapshot, if already parsed; `handed` are the starts that another process handed on.
    """
    records = records_of(snapshot) if records is None else records
    steps, subjects = Steps(memory.steps), evaluation.subjects
    known = steps.take("known", (subjects,), lambda: {each.subject: each for each in subjects})
    state = PassState(
        evaluation=evaluation,
        snapshot=snapshot,
        now=now,
        settings=settings,
        single_pass=single_pass,
        memory=take_up(records, memory, known, now=now, catalogue=settings.catalogue),
        records=records,
        handed=handed,
        changes=look_for_changes(memory.changes, snapshot, now),
        steps=steps,
        known=known,
    )
    for rule in _RULES:
        state = rule(state)
    listed = list_findings(state)
    readiness = find_ready(state, listed)
    judged = judge_impact(state, listed)
    return Resolution(
        report=_report(state, judged, readiness.ready),
        memory=remember(state, judged, readiness),
        wake_in=min(changes(state, judged.wake_in), default=None),
    )


def _report(state: PassState, judged: Impacts, ready: tuple[ReadySubject, ...]) -> Report:
    evaluation, snapshot, now = state.evaluation, state.snapshot, state.now
    return Report(
        catalogue=state.catalogue,
        now=now.wall,
        findings=judged.findings,
        ready=state.steps.take(
            "ready with states",
            (ready, judged.states),
            lambda: tuple(_with_state(ready, judged.by_subject)),
        ),
        unknown=unknown.unknown_resources(snapshot),
        skipped=tuple(sorted({*snapshot.skipped, *snapshot.superseded})),
        derived=tuple(
            each.dated(now.wall) for each in sorted(evaluation.derived, key=attrgetter("object"))
        ),
        subjects=state.subjects,
        mutes=state.mutes.all,
        mute_faults=state.mutes.faults,
        outside=state.steps.take(
            "outside",
            (
                evaluation.subjects,
                state.settings,
                *unknown.tables_of_stacks(snapshot, state.settings),
            ),
            lambda: unknown.outside_of(evaluation.subjects, snapshot, state.settings),
        ),
        states=judged.states,
    )


def _with_state(
    ready: Iterable[ReadySubject], states: Mapping[Subject, SubjectState]
) -> Iterator[ReadySubject]:
    """Yield the ready subjects; the Event mentions degraded, and is not due if not serving."""
    for each in ready:
        found = states.get(each.subject)
        state = found.state if found is not None else ServingState.UNKNOWN
        if state is each.state is ServingState.SERVING:
            yield each
            continue
        annotated = replace(each, state=state)
        suffix = f" ({annotated.caveat})" if state.is_impaired else ""
        due = each.due and state is not ServingState.NOT_SERVING
        yield replace(annotated, message=with_suffix(each.message, suffix), due=due)


_IN_FLIGHT = timedelta(minutes=2)
"""How long an ended episode is remembered after its record ends: a write may be in flight."""


def remember(state: PassState, judged: Impacts, readiness: Readiness) -> Memory:
    shown = {finding.key: finding for finding in judged.findings}
    episodes = dict(state.absence.kept)
    for candidate in state.candidates:
        episodes[candidate.key] = _episode(candidate, shown[candidate.key], state)
    for candidate in state.undercurrents:
        below = episodes[candidate.key]
        episodes[candidate.key] = structs.replace(
            below, faults=_faults(candidate, state, fired=below.fired)
        )
    snapshot, catalogue = state.snapshot, state.catalogue
    could_judge = state.steps.take(
        "judged",
        (snapshot.states, snapshot.discovery.confirmed, catalogue),
        lambda: tuple(
            reason.name
            for reason in catalogue
            if not unknown.reads_unknown(reason, snapshot)
            and unknown.confirmed(reason.name, snapshot, catalogue)
        ),
    )
    return Memory(
        episodes=episodes,
        ended=_ended(state, episodes),
        governing=state.upstreams.governing,
        released=state.upstreams.released,
        answered=readiness.answered,
        cached_ready=readiness.cached,
        mutes=state.mutes.all,
        states=judged.by_subject,
        changes=state.changes,
        primaries=judged.primaries,
        judged={**state.memory.judged, **dict.fromkeys(could_judge, state.now.wall)},
        steps=state.steps.taken,
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
    faults = {
        fault.clock: FaultMemory(
            since=fault.since,
            first_seen=fault.first_seen,
            last_seen=now.boot,
            ripe=fault.ripe,
            fired=fault.ripe and fired,
            uid=fault.finding.related.uid,
            finding=fault.says,
            began_seen=fault.began_seen,
            passing_since=fault.passing_since,
        )
        for fault in candidate.faults
    }
    if candidate.episode is not None:
        for clock, remembered in candidate.episode.faults.items():
            keep = grace.recovery_time(
                candidate.key.reason, state.settings, exempt=remembered.exempt
            )
            if clock not in faults and now.boot - remembered.last_seen < keep:
                faults[clock] = remembered
    return faults


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
    # Episodes that continue may have a new start too: after a mute of all faults, a later fault
    # begins the episode.
    for key in (*state.absence.ended, *episodes):
        before = known.episodes.get(key)
        if before is not None and before.fired:
            ended[key, before.since] = now.boot
    for key, episode in episodes.items():
        ended.pop((key, episode.since), None)
    return ended

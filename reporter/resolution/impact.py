"""Rule 8: the state of each subject, the models that each cause affects, and the order of causes.

States come from the same evidence as Ready. The number of findings says nothing about service: one
failing pod next to three Ready ones takes nothing from users, and a model that has lost all its
replicas may have a single finding, which is suppressed. So states are not counted from findings.
Probes say how many replicas work and whether requests reach them (`ServingEvidence`); findings only
decide whether a model that serves is degraded.

Suppressed findings take no part in this: their evidence may be as stale as the status that it was
read from.

A cause affects the models that it explains, which have a finding that it suppresses or holds, and
those that depend on the object at fault: its own subject; the models behind a Gateway; and, for a
part of the cluster that requests pass through, every model that is reached through a Gateway. Only
those that do not serve or are degraded are counted.

A model that does not serve is charged to what stops it: the nearest of its own faults and its
dependencies without which it would serve. Other causes that affect it count it as `otherwise`.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import chain
from typing import Final, TypeAlias

from msgspec import structs

from reporter.catalogue.reasons import CLUSTER_SHARED, HARNESS_GATEWAY_DATA_PLANE
from reporter.model.catalogue import Catalogue, Priority
from reporter.model.finding import Entrance, FindingKey, ServingEvidence
from reporter.model.reason import EventType
from reporter.model.report import Disposition, Impact, ResolvedFinding, ServingState, SubjectState
from reporter.model.subject import (
    CLUSTER_KIND,
    NAMESPACE_KIND,
    Layer,
    ObjectRef,
    RequestStage,
    Subject,
)
from reporter.resolution.hold import explainers, upstream_key
from reporter.resolution.memory import Primary, UpstreamKey
from reporter.resolution.priority import mark_primary
from reporter.resolution.state import Candidate, PassState
from reporter.workload.passing import Loss, losses

_AT_FAULT: Final = frozenset(
    {Disposition.FIRING, Disposition.SECONDARY, Disposition.CLEARING, Disposition.MUTED}
)
_DATES_STATE: Final = _AT_FAULT | {Disposition.SUPPRESSED}


@dataclass(frozen=True)
class PassEvidence:
    """What the probes know about how much of each subject works."""

    serving: Mapping[Subject, ServingEvidence]
    ready: frozenset[Subject]

    @classmethod
    def of(cls, state: PassState) -> "PassEvidence":
        serving, ready = state.evaluation.serving, state.evaluation.ready
        return state.steps.take(
            "evidence",
            (serving, ready),
            lambda: cls(
                {each.subject: each for each in serving}, frozenset(each.subject for each in ready)
            ),
        )

    @cached_property
    def entering(self) -> Mapping[Entrance, tuple[Subject, ...]]:
        """The models whose requests come through each Gateway."""
        found: dict[Entrance, list[Subject]] = defaultdict(list)
        for each in self.serving.values():
            for entrance in each.entrances:
                found[entrance].append(each.subject)
        return {entrance: tuple(subjects) for entrance, subjects in found.items()}

    @cached_property
    def _entering_at(self) -> Mapping[str, frozenset[Subject]]:
        """The models whose requests come through a Gateway of each namespace."""
        found: dict[str, set[Subject]] = defaultdict(set)
        for (namespace, _), subjects in self.entering.items():
            found[namespace].update(subjects)
        return {namespace: frozenset(subjects) for namespace, subjects in found.items()}

    def reached_through(self, namespace: str) -> bool:
        """Tell whether models of other namespaces are reached through a Gateway in this one."""
        return any(each.namespace != namespace for each in self._entering_at.get(namespace, ()))

    @cached_property
    def shut(self) -> frozenset[Subject]:
        """The models whose Gateways all let nothing through."""
        closed = frozenset[Entrance]().union(*(each.closed for each in self.serving.values()))
        return frozenset(
            each.subject
            for each in (self.serving.values() if closed else ())
            if each.entrances and each.entrances <= closed
        )

    @cached_property
    def out(self) -> tuple[ServingEvidence, ...]:
        """The evidence of models that should serve and do not."""
        return tuple(
            each
            for each in self.serving.values()
            if each.wanted and not (each.serving and each.reached)
        )

    def behind(self, finding: ResolvedFinding) -> Iterable[Subject]:
        """Return the models whose requests pass the Gateways that a finding is about."""
        place, at_fault = finding.subject.namespace, finding.related
        if at_fault.kind == "Gateway":
            return self.entering.get((at_fault.namespace, at_fault.name), ())
        return self._entering_at.get(place, ())


def judge_states(
    state: PassState,
    findings: Iterable[ResolvedFinding],
    evidence: PassEvidence,
    *,
    hit: Iterable[Subject],
    lost: Mapping[Subject, Loss],
) -> tuple[SubjectState, ...]:
    """Return the state of each subject, and when it began.

    `hit` are subjects that depend on something at fault, which need not be their own. `lost` is the
    loss of subjects whose requests pass through a part of the cluster that is down.
    """
    faults: dict[Subject, list[ResolvedFinding]] = defaultdict(list)
    for finding in findings:
        counts = finding.disposition in _DATES_STATE and not finding.is_blind
        # An object that several models need is not part of the control plane.
        counts &= finding.reason != CLUSTER_SHARED
        if counts and finding.type is EventType.WARNING:
            faults[finding.subject].append(finding)
    burdened = {
        subject
        for subject, each in faults.items()
        if any(finding.disposition in _AT_FAULT for finding in each)
    }.union(hit)
    return state.steps.take(
        "states",
        (state.subjects, evidence, burdened, lost, state.memory.states),
        lambda: tuple(_states(state, evidence, faults, burdened=burdened, lost=lost)),
        # A later fault may still date a state that has no start yet.
        lasts=lambda found: (
            not any(each.since is None and each.state.is_impaired for each in found)
        ),
    )


def _states(
    state: PassState,
    evidence: PassEvidence,
    faults: Mapping[Subject, Sequence[ResolvedFinding]],
    *,
    burdened: Collection[Subject],
    lost: Mapping[Subject, Loss],
) -> Iterator[SubjectState]:
    for subject in state.subjects:
        now = _state(subject, evidence, burdened=subject in burdened, loss=lost.get(subject))
        before = state.memory.states.get(subject)
        stays = before is not None and before.state is now
        if before is not None and stays and (before.since is not None or not now.is_impaired):
            yield before
            continue
        began = _began(faults.get(subject, ()), before) if now.is_impaired else None
        if began is None and before is not None and not stays:
            began = state.now.wall
        yield SubjectState(subject, now, began)


def _state(
    subject: Subject, evidence: PassEvidence, *, burdened: bool, loss: Loss | None
) -> ServingState:
    serving = evidence.serving.get(subject)
    if subject.kind == CLUSTER_KIND:  # the shared control plane as a whole is never without service
        ready = any(each.kind == CLUSTER_KIND for each in evidence.ready)
        seen = ServingState.SERVING if ready else ServingState.UNKNOWN
        return ServingState.DEGRADED if burdened else seen
    if serving is None:
        return ServingState.UNKNOWN
    if serving.wanted == 0:
        return ServingState.IDLE
    stopped = subject in evidence.shut or loss is Loss.STOPPED
    if serving.serving == 0 or not serving.reached or stopped:
        return ServingState.NOT_SERVING
    if loss is Loss.UNCLEAR:
        return ServingState.UNKNOWN
    whole = subject in evidence.ready and serving.serving >= serving.wanted
    return ServingState.SERVING if whole and not burdened else ServingState.DEGRADED


def _began(faults: Iterable[ResolvedFinding], before: SubjectState | None) -> datetime | None:
    """Return when the first fault since the previous state began, or None if unknown."""
    after = before.since if before is not None else None
    times = (each.since for each in faults if each.age_known)
    return min((each for each in times if after is None or each >= after), default=None)


def is_deployment(subject: Subject) -> bool:
    """Tell whether a subject is the deployment of a model."""
    return subject.kind not in {CLUSTER_KIND, NAMESPACE_KIND}


_Order: TypeAlias = tuple[int, bool, int, int, Priority, datetime, FindingKey]

_BEHIND: Final = frozenset({Disposition.SUPPRESSED, Disposition.HELD, Disposition.PENDING})
"""Dispositions of findings behind an upstream, as opposed to those outranked in their subject."""


@dataclass(frozen=True, slots=True)
class Impacts:
    """The findings, with the causes and their impact first, and the state of each subject.

    `primaries` are to be remembered; `wake_in` is the time until one of them changes by itself.
    """

    findings: tuple[ResolvedFinding, ...]
    states: tuple[SubjectState, ...]
    by_subject: Mapping[Subject, SubjectState]
    primaries: Mapping[Subject, Primary] = field(default_factory=dict)
    wake_in: timedelta | None = None


def judge_impact(state: PassState, findings: Iterable[ResolvedFinding]) -> Impacts:
    """Determine the impact of each cause, sort the causes, and mark the primary ones."""
    listed = tuple(findings)
    evidence = PassEvidence.of(state)
    causes = [each for each in listed if each.is_cause]
    down = _down(state.candidates)
    passed = {each.key: _passed(each, down, state=state, evidence=evidence) for each in causes}
    resting = {each.key: _resting(each, evidence, passed[each.key]) for each in causes}
    burdened = frozenset[Subject]().union(*resting.values())
    worst: dict[Subject, Loss] = {}
    for subject, loss in chain.from_iterable(each.items() for each in passed.values()):
        worst[subject] = max(loss, worst.get(subject, loss))
    states = judge_states(state, listed, evidence, hit=burdened, lost=worst)
    explained = _explained(listed, evidence, state.catalogue)
    # Usually nothing fires, and there are thousands of subjects.
    serving = {each.subject: each.state for each in states} if causes else {}
    stops = _Stops.of(listed, evidence, state.catalogue) if causes else _Stops()
    hit: dict[FindingKey, Mapping[Subject, bool]] = {}
    for each in causes:
        behind = explained.get(upstream_key(each.key), {})
        hit[each.key] = {
            subject: stops.by(
                each, subject, explained=behind.get(subject, ()), passed=passed[each.key]
            )
            for subject in resting[each.key].union(behind)
        }
    weighed = [structs.replace(each, impact=_impact(hit[each.key], serving)) for each in causes]
    apart = _apart(state.candidates, states, evidence) if causes else frozenset()
    unneeded = {
        each.key for each in state.candidates if all(fault.says.unneeded for fault in each.faults)
    }
    weighed.sort(key=lambda each: _order(each, unneeded | apart, state.catalogue))
    rest = (
        structs.replace(each, impact=None, primary=False) for each in listed if not each.is_cause
    )
    marked = mark_primary(weighed, state, apart=apart)
    first = _first_causes((*weighed, *listed), hit, serving=serving, stops=stops)
    with_causes = state.steps.take(
        "states with causes",
        (states, first),
        lambda: tuple(_with_cause(each, first.get(each.subject, "")) for each in states),
    )
    by_subject = state.steps.take(
        "states by subject", (with_causes,), lambda: {each.subject: each for each in with_causes}
    )
    return Impacts((*marked.causes, *rest), with_causes, by_subject, marked.held, marked.wake_in)


def _down(candidates: Iterable[Candidate]) -> Mapping[FindingKey, tuple[ObjectRef, ...]]:
    """Return the Deployments that are fully down, for each part on the request path.

    Controllers that only write statuses (`governs`) are left out: no request passes them.
    """
    return {
        each.key: tuple(
            fault.says.related for fault in each.ripe if fault.says.down and not fault.says.governs
        )
        for each in candidates
        if each.reason.on_path
    }


def _apart(
    candidates: Iterable[Candidate], states: Iterable[SubjectState], evidence: PassEvidence
) -> frozenset[FindingKey]:
    """Return the candidates that only one namespace needs, while models of others serve.

    A tenant who can write objects in one namespace must not direct everybody's attention to it.
    Models of other namespaces that are reached through a Gateway there need what it needs.
    """
    places = {each.key: each.sole_place for each in candidates if each.sole_place}
    if not places:
        return frozenset()
    works = {ServingState.SERVING, ServingState.DEGRADED}
    serving = {
        each.subject.namespace
        for each in states
        if each.state in works and is_deployment(each.subject)
    }
    return frozenset(
        key
        for key, place in places.items()
        if serving - {place} and not evidence.reached_through(place)
    )


_Lost: TypeAlias = Mapping[Subject, Loss]


def _passed(
    cause: ResolvedFinding,
    down: Mapping[FindingKey, tuple[ObjectRef, ...]],
    *,
    state: PassState,
    evidence: PassEvidence,
) -> _Lost:
    """Return the loss of each model whose requests pass through Deployments that are down.

    A model that is reached through several Gateways is stopped only if all of them are.
    """
    refs = down.get(cause.key)
    if not refs:
        return {}
    entering = {each for subjects in evidence.entering.values() for each in subjects}
    lost = losses(state.snapshot, state.settings, reason=cause.reason, down=refs)
    if lost is None:
        return dict.fromkeys(entering, Loss.UNCLEAR)
    found: dict[Subject, Loss] = {}
    for subject in entering:
        ways = {lost(each) for each in evidence.serving[subject].entrances}
        if ways == {Loss.STOPPED}:
            found[subject] = Loss.STOPPED
        elif ways != {None}:
            found[subject] = Loss.SLOWED
    return found


def _resting(cause: ResolvedFinding, evidence: PassEvidence, passed: _Lost) -> frozenset[Subject]:
    """Return the models that depend on the object at fault."""
    match cause.layer:
        case Layer.DEPLOYMENT:
            return frozenset((cause.subject,))
        case Layer.HARNESS:
            return frozenset(evidence.behind(cause))
        case _:
            return frozenset(passed)


@dataclass(frozen=True, slots=True)
class _Stops:
    """What stops the models that do not work or are not reached, by their own evidence.

    `own` has the reasons of their own faults that stop them. The Gateways of models in `shut` let
    nothing through.
    """

    own: Mapping[Subject, frozenset[str]] = field(default_factory=dict)
    shut: frozenset[Subject] = frozenset()

    @classmethod
    def of(
        cls, findings: Iterable[ResolvedFinding], evidence: PassEvidence, catalogue: Catalogue
    ) -> "_Stops":
        """Attribute models without working pods to faults of pods, the others to faults of the
        request path.
        """
        found: dict[Subject, set[str]] = defaultdict(set)
        for each in findings:
            counts = each.by or each.disposition is not Disposition.PENDING
            if counts and each.layer is Layer.DEPLOYMENT:
                found[each.subject].add(each.reason)
        own: dict[Subject, frozenset[str]] = {}
        for serving in evidence.out:
            rows = [catalogue[each] for each in found.get(serving.subject, ())]
            may = [each for each in rows if each.may_stop]
            pods = serving.serving == 0
            at = [each for each in may if (each.way is RequestStage.PODS) is pods]
            own[serving.subject] = frozenset(each.name for each in at or may)
        return cls(own, evidence.shut)

    def by(
        self, cause: ResolvedFinding, subject: Subject, *, explained: Iterable[str], passed: _Lost
    ) -> bool:
        """Tell whether a cause is the nearest that stops a model."""
        if subject in self.own:
            return not {cause.reason, *explained}.isdisjoint(self.own[subject])
        if subject in self.shut:
            return HARNESS_GATEWAY_DATA_PLANE in {cause.reason, *explained}
        return passed.get(subject) is Loss.STOPPED


def _explained(
    findings: Iterable[ResolvedFinding], evidence: PassEvidence, catalogue: Catalogue
) -> Mapping[UpstreamKey, Mapping[Subject, set[str]]]:
    """Return the models whose findings each upstream suppresses or holds, with their reasons."""
    explained: dict[UpstreamKey, dict[Subject, set[str]]] = defaultdict(lambda: defaultdict(set))
    for finding in findings:
        if not finding.by or finding.disposition not in _BEHIND:
            continue
        of_deployment = is_deployment(finding.subject)
        hit = (finding.subject,) if of_deployment else evidence.behind(finding)
        for upstream in explainers(
            finding.reason, finding.by, catalogue, rests_on=finding.rests_on
        ):
            for subject in hit:
                explained[upstream][subject].add(finding.reason)
    return explained


def _first_causes(
    findings: Iterable[ResolvedFinding],
    hit: Mapping[FindingKey, Mapping[Subject, bool]],
    *,
    serving: Mapping[Subject, ServingState],
    stops: _Stops,
) -> dict[Subject, str]:
    """Return the first cause of each subject: one that stops it, or, if it serves, one that hits
    it. A cause that stops it may be outranked by another of its faults, which has the Event.
    """
    first: dict[Subject, str] = {}
    for each in findings:
        if not is_deployment(each.subject) and each.is_cause:
            first.setdefault(each.subject, each.reason)
        for subject, is_stopped in hit[each.key].items() if each.is_cause else ():
            if is_stopped or serving.get(subject) is not ServingState.NOT_SERVING:
                first.setdefault(subject, each.reason)
        outranked = each.disposition is Disposition.SECONDARY
        if outranked and each.reason in stops.own.get(each.subject, ()):
            first.setdefault(each.subject, each.reason)
    return first


def _with_cause(state: SubjectState, first: str) -> SubjectState:
    cause = first if state.state.is_impaired else ""
    # A lasting state is taken from the last pass, with its former cause.
    return state if state.cause == cause else replace(state, cause=cause)


def _impact(hit: Mapping[Subject, bool], serving: Mapping[Subject, ServingState]) -> Impact:
    out = [each for each in hit if serving.get(each) is ServingState.NOT_SERVING]
    stopped = [each for each in out if hit[each]]
    worse = [each for each in hit if serving.get(each) is ServingState.DEGRADED]
    return Impact(
        not_serving=len(stopped),
        degraded=len(worse),
        namespaces=len({each.namespace for each in (*stopped, *worse)}),
        otherwise=len(out) - len(stopped),
        hit=(*sorted(stopped), *sorted(worse)),
    )


def _order(cause: ResolvedFinding, last: AbstractSet[FindingKey], catalogue: Catalogue) -> _Order:
    """Return the sort key of a cause; in its layer, causes in `last` come last."""
    impact = cause.impact or Impact()
    return (
        list(Layer).index(cause.layer),
        cause.key in last,
        -impact.not_serving,
        -impact.degraded,
        catalogue.priority(cause.reason),
        cause.since,
        cause.key,
    )

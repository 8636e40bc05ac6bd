"""Rule 8: the state of each subject, whom each cause hits, and the order of causes that follows.

A state goes by the evidence that Ready rests on. That many findings are listed says nothing of what
serves: a pod that fails next to three that are Ready takes nothing from users, and a model whose
replicas are all gone may have one finding that is suppressed. So states are not counted from
findings. Probes say how many replicas work and whether requests reach them (`ServingEvidence`);
findings decide only whether what serves is degraded.

What an upstream suppresses takes part in nothing here: its own evidence may be as stale as the
status that it was read from.

A cause hits the deployments that it explains, that is those with a finding that it suppresses or
holds, and those that rest on what is at fault: its own subject, the models behind a Gateway, and
for a part of the cluster that requests pass through every model that is reached through a Gateway.
Of those only the ones count that do not serve, or serve degraded.

A model does not serve because of what stops it: of its own faults and of what it rests on the
nearest without which it would serve. Any other cause that hits it counts it separately.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import chain
from typing import Final, TypeAlias

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
_TELLS_SINCE: Final = _AT_FAULT | {Disposition.SUPPRESSED}


@dataclass(frozen=True)
class PassEvidence:
    """What the probes say of how much works, of each subject where that is known."""

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
        """The deployments whose requests come through each Gateway."""
        found: dict[Entrance, list[Subject]] = defaultdict(list)
        for each in self.serving.values():
            for entrance in each.entrances:
                found[entrance].append(each.subject)
        return {entrance: tuple(subjects) for entrance, subjects in found.items()}

    @cached_property
    def _entering_at(self) -> Mapping[str, frozenset[Subject]]:
        """The deployments whose requests come through a Gateway of each namespace."""
        found: dict[str, set[Subject]] = defaultdict(set)
        for (namespace, _), subjects in self.entering.items():
            found[namespace].update(subjects)
        return {namespace: frozenset(subjects) for namespace, subjects in found.items()}

    def reached_through(self, namespace: str) -> bool:
        """Tell whether models of other namespaces are reached through a Gateway of this one."""
        return any(each.namespace != namespace for each in self._entering_at.get(namespace, ()))

    @cached_property
    def shut(self) -> frozenset[Subject]:
        """The deployments all of whose Gateways let nothing through."""
        closed = frozenset[Entrance]().union(*(each.closed for each in self.serving.values()))
        return frozenset(
            each.subject
            for each in (self.serving.values() if closed else ())
            if each.entrances and each.entrances <= closed
        )

    @cached_property
    def out(self) -> tuple[ServingEvidence, ...]:
        """Those that want to serve and do not."""
        return tuple(
            each
            for each in self.serving.values()
            if each.wanted and not (each.serving and each.reached)
        )

    def behind(self, finding: ResolvedFinding) -> Iterable[Subject]:
        """Return the deployments whose requests pass the entrance that a finding is about."""
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
    """Return the state of each subject, and since when it is in it.

    Those `hit` rest on a part at fault, which need not be their own. `lost` is what those of them
    lose that pass a part of the cluster.
    """
    faults: dict[Subject, list[ResolvedFinding]] = defaultdict(list)
    for finding in findings:
        told = finding.disposition in _TELLS_SINCE and not finding.is_blind
        # An object that several models need is no part of the control plane.
        told &= finding.reason != CLUSTER_SHARED
        if told and finding.type is EventType.WARNING:
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
        # Of one without a time of its beginning a fault may still come to light that tells it.
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
    """Return when the first fault began of those that came since the state before."""
    after = before.since if before is not None else None
    times = (each.since for each in faults if each.age_known)
    return min((each for each in times if after is None or each >= after), default=None)


def is_deployment(subject: Subject) -> bool:
    """Tell whether a subject is the deployment of a model."""
    return subject.kind not in {CLUSTER_KIND, NAMESPACE_KIND}


_Order: TypeAlias = tuple[int, bool, int, int, Priority, datetime, FindingKey]

_BEHIND: Final = frozenset({Disposition.SUPPRESSED, Disposition.HELD, Disposition.PENDING})
"""Dispositions of what an upstream keeps from being told; not of what its own subject outranks."""


@dataclass(frozen=True, slots=True)
class Impacts:
    """The findings, the causes in front with whom they hit, and the state of each subject.

    `primaries` are to be remembered, and `wake_in` is the time until one of them changes by itself.
    """

    findings: tuple[ResolvedFinding, ...]
    states: tuple[SubjectState, ...]
    by_subject: Mapping[Subject, SubjectState]
    primaries: Mapping[Subject, Primary] = field(default_factory=dict)
    wake_in: timedelta | None = None


def judge_impact(state: PassState, findings: Iterable[ResolvedFinding]) -> Impacts:
    """Return whom each cause hits, put the causes into their order, and mark the primary ones."""
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
    # Nearly always nothing fires, and there are thousands of subjects.
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
    weighed = [replace(each, impact=_impact(hit[each.key], serving)) for each in causes]
    apart = _apart(state.candidates, states, evidence) if causes else frozenset()
    unneeded = {
        each.key for each in state.candidates if all(fault.says.unneeded for fault in each.faults)
    }
    weighed.sort(key=lambda each: _order(each, unneeded | apart, state.catalogue))
    rest = (replace(each, impact=None, primary=False) for each in listed if not each.is_cause)
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
    """Return of the parts that requests pass through the Deployments of which nothing works.

    The one that only writes statuses is in no request's way.
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
    """Return what is at fault for one namespace alone, while models of others serve.

    Whoever may write objects in one namespace must not point everybody to it. Models that are
    reached through a Gateway there need what it needs.
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
    """Return what each deployment loses whose requests pass Deployments of a part that are down.

    One that is reached through several Gateways is stopped only where all of them are.
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
    """Return the deployments that rest on what is at fault."""
    match cause.layer:
        case Layer.DEPLOYMENT:
            return frozenset((cause.subject,))
        case Layer.HARNESS:
            return frozenset(evidence.behind(cause))
        case _:
            return frozenset(passed)


@dataclass(frozen=True, slots=True)
class _Stops:
    """What stops each model that works not, or that no request reaches, by its own evidence.

    These are its `own` faults, where any is known. Of those `shut` the Gateways let nothing
    through.
    """

    own: Mapping[Subject, frozenset[str]] = field(default_factory=dict)
    shut: frozenset[Subject] = frozenset()

    @classmethod
    def of(
        cls, findings: Iterable[ResolvedFinding], evidence: PassEvidence, catalogue: Catalogue
    ) -> "_Stops":
        """Return it: pods stop what has none that works, and the way there what is not reached."""
        found: dict[Subject, set[str]] = defaultdict(set)
        for each in findings:
            told = each.by or each.disposition is not Disposition.PENDING
            if told and each.layer is Layer.DEPLOYMENT:
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
        """Tell whether a cause is what stops a model: the nearest of what does."""
        if subject in self.own:
            return not {cause.reason, *explained}.isdisjoint(self.own[subject])
        if subject in self.shut:
            return HARNESS_GATEWAY_DATA_PLANE in {cause.reason, *explained}
        return passed.get(subject) is Loss.STOPPED


def _explained(
    findings: Iterable[ResolvedFinding], evidence: PassEvidence, catalogue: Catalogue
) -> Mapping[UpstreamKey, Mapping[Subject, set[str]]]:
    """Return the deployments with findings that each upstream suppresses or holds, with reasons."""
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
    """Return of each subject the first, in order, that stops it, or that hits what serves.

    What stops it may be outranked by another of its faults, which is the one that is written.
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
    # A state that lasts is the one of the pass before, with the cause of then.
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
    """Return the place of a cause: in its layer, what nothing uses, or one namespace, is last."""
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

"""Rule 8: whom each cause hits, and the order of causes that follows from it.

A cause hits the deployments that it explains, that is those with a finding that it suppresses or
holds, and those that rest on what is at fault: its own subject, the models behind a Gateway, and for
a part of the cluster that requests pass through every model that is reached through a Gateway. Of
those only the ones count that do not serve, or serve degraded.

A model does not serve because of what stops it: of its own faults and of what it rests on the nearest
without which it would serve. Any other cause that hits it counts it separately.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from reporter.catalogue.reasons import HARNESS_GATEWAY_DATA_PLANE
from reporter.model.catalogue import Catalogue, Priority
from reporter.model.finding import FindingKey
from reporter.model.report import Disposition, Impact, ResolvedFinding, ServingState, SubjectState
from reporter.model.subject import Layer, ObjectRef, RequestStage, Subject
from reporter.resolution.hold import explainers, upstream_key
from reporter.resolution.memory import Primary, UpstreamKey
from reporter.resolution.priority import mark_primary
from reporter.resolution.state import PassState
from reporter.resolution.subject_states import PassEvidence, is_deployment, judge_states, layer_rank
from reporter.workload.passing import Loss, losses

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
    primaries: Mapping[Subject, Primary] = field(default_factory=dict)
    wake_in: timedelta | None = None


def judge_impact(state: PassState, findings: Iterable[ResolvedFinding]) -> Impacts:
    """Return whom each cause hits, put the causes into their order, and mark the primary ones."""
    listed = tuple(findings)
    evidence = PassEvidence.of(state)
    faults = _Faults.of(state)
    causes = [each for each in listed if each.is_cause]
    passed = {each.key: _passed(each, faults, state=state, evidence=evidence) for each in causes}
    resting = {each.key: _resting(each, evidence, passed[each.key]) for each in causes}
    burdened = frozenset[Subject]().union(*resting.values())
    states = judge_states(state, listed, evidence, hit=burdened, lost=_worst(passed.values()))
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
    apart = faults.apart(states, evidence) if causes else frozenset()
    weighed.sort(key=lambda each: _order(each, faults.unneeded | apart, state.catalogue))
    rest = (replace(each, impact=None, primary=False) for each in listed if not each.is_cause)
    marked = mark_primary(weighed, state, apart=apart)
    first = _first_causes((*weighed, *listed), hit, serving=serving, stops=stops)
    with_causes = state.steps.take(
        "states with causes", (states, first), lambda: tuple(_with_causes(states, first))
    )
    return Impacts((*marked.causes, *rest), with_causes, marked.held, marked.wake_in)


@dataclass(frozen=True, slots=True)
class _Faults:
    """What the faults that are seen say beyond the findings.

    Attributes:
        down: of parts that requests pass through, the Deployments of which nothing works.
        unneeded: what nothing in the cluster uses.
        places: of what one namespace alone needs, that namespace.

    """

    down: Mapping[FindingKey, tuple[ObjectRef, ...]]
    unneeded: frozenset[FindingKey]
    places: Mapping[FindingKey, str]

    @classmethod
    def of(cls, state: PassState) -> "_Faults":
        """Return them; the part that only writes statuses is in no request's way."""
        return cls(
            down={
                each.key: found
                for each in state.candidates
                if each.reason.on_path
                and (
                    found := tuple(
                        fault.says.related
                        for fault in each.ripe
                        if fault.says.down and not fault.says.governs
                    )
                )
            },
            unneeded=frozenset(
                each.key
                for each in state.candidates
                if all(fault.says.unneeded for fault in each.faults)
            ),
            places={each.key: each.sole_place for each in state.candidates if each.sole_place},
        )

    def apart(
        self, states: Iterable[SubjectState], evidence: PassEvidence
    ) -> frozenset[FindingKey]:
        """Return what is at fault for one namespace alone, while models of others serve.

        Whoever may write objects in one namespace must not point everybody to it. Models that are
        reached through a Gateway there need what it needs.
        """
        if not self.places:
            return frozenset()
        serving = {each.subject.namespace for each in states if _works(each)}
        return frozenset(
            key
            for key, place in self.places.items()
            if serving - {place} and not evidence.reached_through(place)
        )


def _works(state: SubjectState) -> bool:
    is_told = state.state in {ServingState.SERVING, ServingState.DEGRADED}
    return is_told and is_deployment(state.subject)


_Lost: TypeAlias = Mapping[Subject, Loss]


def _passed(
    cause: ResolvedFinding, faults: "_Faults", *, state: PassState, evidence: PassEvidence
) -> _Lost:
    """Return what each deployment loses whose requests pass Deployments of a part that are down.

    One that is reached through several Gateways is stopped only where all of them are.
    """
    down = faults.down.get(cause.key)
    if not down:
        return {}
    entering = {each for subjects in evidence.entering.values() for each in subjects}
    lost = losses(state.snapshot, state.settings, reason=cause.reason, down=down)
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


def _worst(lost: Iterable[_Lost]) -> _Lost:
    """Return the worst that each deployment loses."""
    worst: dict[Subject, Loss] = {}
    for each in lost:
        for subject, loss in each.items():
            worst[subject] = max(loss, worst.get(subject, loss))
    return worst


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

    Attributes:
        own: its own faults that do; empty where none is known.
        shut: those whose Gateways let nothing through.

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
        shut: set[Subject] = set()
        for subject, serving in evidence.serving.items():
            if serving.entrances and serving.entrances <= evidence.closed:
                shut.add(subject)
            if serving.wanted and not (serving.serving and serving.reached):
                rows = [catalogue[each] for each in found.get(subject, ())]
                may = [each for each in rows if each.may_stop]
                pods = serving.serving == 0
                at = [each for each in may if (each.way is RequestStage.PODS) is pods]
                own[subject] = frozenset(each.name for each in at or may)
        return cls(own, frozenset(shut))

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
    """Return the deployments with findings that each upstream suppresses or makes wait, and their reasons."""
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


def _with_causes(
    states: Iterable[SubjectState], first: Mapping[Subject, str]
) -> Iterator[SubjectState]:
    """Yield the states, of what is impaired with its first cause."""
    for each in states:
        reason = first.get(each.subject, "") if each.state.is_impaired else ""
        # A state that lasts is the one of the pass before, with the cause of then.
        yield each if each.cause == reason else replace(each, cause=reason)


def _impact(hit: Mapping[Subject, bool], serving: Mapping[Subject, ServingState]) -> Impact:
    states = {each: serving.get(each) for each in hit}
    out = [each for each, state in states.items() if state is ServingState.NOT_SERVING]
    stopped = [each for each in out if hit[each]]
    worse = [each for each, state in states.items() if state is ServingState.DEGRADED]
    return Impact(
        not_serving=len(stopped),
        degraded=len(worse),
        namespaces=len({each.namespace for each in (*stopped, *worse)}),
        otherwise=len(out) - len(stopped),
        hit=(*sorted(stopped), *sorted(worse)),
    )


def _order(cause: ResolvedFinding, last: AbstractSet[FindingKey], catalogue: Catalogue) -> _Order:
    """Return the place of a cause: what nothing uses, or one namespace alone, comes last in its layer."""
    impact = cause.impact or Impact()
    return (
        layer_rank(cause.layer),
        cause.key in last,
        -impact.not_serving,
        -impact.degraded,
        catalogue.priority(cause.reason),
        cause.since,
        cause.key,
    )

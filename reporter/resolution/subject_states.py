"""Rule 8: the state of each subject, by the evidence that its Ready rests on.

That many findings are listed says nothing of what serves: a pod that fails next to three that are
Ready takes nothing from users, and a model whose replicas are all gone may have one finding that is
suppressed. So states are not counted from findings. Probes say how many replicas work and whether
requests reach them (`ServingEvidence`); findings decide only whether what serves is degraded.

What an upstream suppresses takes part in nothing here: its own evidence may be as stale as the
status that it was read from.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from reporter.catalogue.reasons import CLUSTER_SHARED
from reporter.model.finding import Entrance, ServingEvidence
from reporter.model.reason import EventType
from reporter.model.report import Disposition, ResolvedFinding, ServingState, SubjectState
from reporter.model.subject import CLUSTER_KIND, NAMESPACE_KIND, Layer, Subject
from reporter.resolution.state import PassState
from reporter.workload.passing import Loss

_AT_FAULT: Final = frozenset(
    {Disposition.FIRING, Disposition.SECONDARY, Disposition.CLEARING, Disposition.MUTED}
)
_TELLS_SINCE: Final = _AT_FAULT | {Disposition.SUPPRESSED}


@dataclass(frozen=True)
class PassEvidence:
    """What the probes say of how much works, for a whole pass.

    Attributes:
        serving: of each subject, where that is known.

    """

    serving: Mapping[Subject, ServingEvidence]
    ready: frozenset[Subject]

    @classmethod
    def of(cls, state: PassState) -> "PassEvidence":
        """Return the evidence of a pass."""
        serving, ready = state.evaluation.serving, state.evaluation.ready
        return state.steps.take(
            "evidence",
            (serving, ready),
            lambda: cls(
                {each.subject: each for each in serving},
                frozenset(each.subject for each in ready),
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
    def closed(self) -> frozenset[Entrance]:
        """The Gateways that let nothing through."""
        return frozenset().union(*(each.closed for each in self.serving.values()))

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

    Args:
        state: of the pass.
        findings: what was decided of each.
        evidence: of the pass.
        hit: deployments that rest on a part at fault, which is not their own.
        lost: what those of them lose that pass a part of the cluster.

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
    if subject.kind == CLUSTER_KIND:
        return _of_cluster(evidence, burdened=burdened)
    if serving is None:
        return ServingState.UNKNOWN
    if serving.wanted == 0:
        return ServingState.IDLE
    shut = bool(serving.entrances) and serving.entrances <= evidence.closed
    if serving.serving == 0 or not serving.reached or shut or loss is Loss.STOPPED:
        return ServingState.NOT_SERVING
    if loss is Loss.UNCLEAR:
        return ServingState.UNKNOWN
    whole = subject in evidence.ready and serving.serving >= serving.wanted
    return ServingState.SERVING if whole and not burdened else ServingState.DEGRADED


def _of_cluster(evidence: PassEvidence, *, burdened: bool) -> ServingState:
    """Judge the shared control plane, which as a whole is never without service."""
    if burdened:
        return ServingState.DEGRADED
    ready = any(each.kind == CLUSTER_KIND for each in evidence.ready)
    return ServingState.SERVING if ready else ServingState.UNKNOWN


def _began(faults: Iterable[ResolvedFinding], before: SubjectState | None) -> datetime | None:
    """Return when the first fault began of those that came since the state before."""
    after = before.since if before is not None else None
    times = (each.since for each in faults if each.age_known)
    return min((each for each in times if after is None or each >= after), default=None)


def is_deployment(subject: Subject) -> bool:
    """Tell whether a subject is the deployment of a model."""
    return subject.kind not in {CLUSTER_KIND, NAMESPACE_KIND}


def layer_rank(layer: Layer) -> int:
    """Return the place of a layer: the cluster comes first."""
    return tuple(Layer).index(layer)

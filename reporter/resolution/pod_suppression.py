"""Rule 3 between the faults of one pod: one of them explains others."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from reporter.model.catalogue import Catalogue
from reporter.model.finding import FindingKey
from reporter.model.report import Disposition
from reporter.model.subject import ObjectRef
from reporter.resolution.candidate import Candidate
from reporter.resolution.memory import Episode
from reporter.resolution.state import PassState

_PodsByReason: TypeAlias = Mapping[str, frozenset[ObjectRef]]


def suppress_within_pods(state: PassState) -> PassState:
    """Take from the candidates the faults that another fault of the same pod explains.

    Where all of its faults are explained, a candidate is suppressed. A fault explains others
    also while it is itself explained, and while it is clearing: the numbers are no better then.
    """
    upstreams = frozenset(row.upstream for row in state.catalogue.pod_suppression)
    pods = _pods_by_reason(state.candidates, state.absence.kept, upstreams)
    return replace(
        state,
        candidates=tuple(_explained(each, pods, state.catalogue) for each in state.candidates),
    )


def _pods_by_reason(
    candidates: Iterable[Candidate],
    unseen: Mapping[FindingKey, Episode],
    upstreams: frozenset[str],
) -> _PodsByReason:
    """Return for each reason that can explain others the pods that have it."""
    found: dict[str, set[ObjectRef]] = defaultdict(set)
    for candidate in candidates:
        if candidate.key.reason in upstreams and candidate.disposition is not Disposition.PENDING:
            found[candidate.key.reason].update(fault.says.related for fault in candidate.ripe)
    for key, episode in unseen.items():
        if key.reason in upstreams and episode.active:
            ripe = (pod for (pod, _), fault in episode.faults.items() if fault.ripe)
            found[key.reason].update(ripe)
    return {reason: frozenset(pods) for reason, pods in found.items()}


def _explained(candidate: Candidate, pods: _PodsByReason, catalogue: Catalogue) -> Candidate:
    if candidate.disposition is not None:
        return candidate
    rows = catalogue.pod_upstreams_of(candidate.key.reason)
    by: set[str] = set()
    told = []
    for fault in candidate.told or candidate.ripe:
        causes = {
            row.upstream
            for row in rows
            if fault.says.related in pods.get(row.upstream, frozenset())
        }
        by |= causes
        if not causes:
            told.append(fault)
    if told:
        return replace(candidate, told=tuple(told))
    return replace(candidate, disposition=Disposition.SUPPRESSED, by=tuple(sorted(by)))

"""Rule 5: which of several faults of a subject is the one to look at."""

from collections import defaultdict
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from reporter.catalogue.reasons import CLUSTER_STATUS_UNKNOWN
from reporter.model.catalogue import Priority
from reporter.model.report import Disposition
from reporter.model.subject import Layer, Subject
from reporter.resolution.candidate import Candidate
from reporter.resolution.state import PassState
from reporter.setting_types import Emit


@dataclass(frozen=True, slots=True)
class _Rivals:
    """What a fault is compared with.

    Attributes:
        first: the highest of the subject's faults that are seen and active.
        reasons: of all that are active or clearing.
        order: the priority of a reason.

    """

    first: Candidate
    reasons: AbstractSet[str]
    order: Callable[[str], Priority]


def outrank(state: PassState) -> PassState:
    """Decide of what nothing has been decided yet: it fires, or is secondary to what does.

    What is clearing still outranks the others of its subject, or a fault that comes and goes would
    make its followers come and go too. What the reporter cannot see is no cause of the stack: it is told
    apart from the causes, and neither outranks them nor is outranked.
    """
    active: dict[Subject, list[Candidate]] = defaultdict(list)
    decided: list[Candidate] = []
    for candidate in state.candidates:
        if candidate.disposition is None and candidate.key.reason == CLUSTER_STATUS_UNKNOWN:
            decided.append(replace(candidate, disposition=Disposition.FIRING))
        elif candidate.disposition is None:
            active[candidate.key.subject].append(candidate)
        else:
            decided.append(candidate)
    clearing: dict[Subject, set[str]] = defaultdict(set)
    seen = (each.key for each in decided if each.disposition is Disposition.CLEARING)
    for key in (*state.absence.outranking, *seen):
        if key.reason != CLUSTER_STATUS_UNKNOWN:
            clearing[key.subject].add(key.reason)
    rule, order = _RULES[state.settings.emit], state.catalogue.priority
    for subject, group in active.items():
        group.sort(key=lambda each: (order(each.key.reason), each.key))
        reasons = {each.key.reason for each in group} | clearing.get(subject, set())
        rivals = _Rivals(group[0], reasons, order)
        decided += [rule(each, rivals) for each in group]
    return replace(state, candidates=tuple(decided))


def _as_causes(candidate: Candidate, rivals: _Rivals) -> Candidate:
    order = rivals.order
    if candidate.reason.layer is Layer.CLUSTER or not candidate.reason.chain:
        return replace(candidate, disposition=Disposition.FIRING)
    above = [name for name in rivals.reasons if order(name) < order(candidate.key.reason)]
    if not above:
        return replace(candidate, disposition=Disposition.FIRING)
    return replace(candidate, disposition=Disposition.SECONDARY, by=(min(above, key=order),))


def _as_primary(candidate: Candidate, rivals: _Rivals) -> Candidate:
    top = min(rivals.reasons, key=rivals.order)
    if candidate is rivals.first and candidate.key.reason == top:
        return replace(candidate, disposition=Disposition.FIRING)
    return replace(candidate, disposition=Disposition.SECONDARY, by=(top,))


def _as_firing(candidate: Candidate, _rivals: _Rivals) -> Candidate:
    return replace(candidate, disposition=Disposition.FIRING)


_RULES: Final[dict[Emit, Callable[[Candidate, _Rivals], Candidate]]] = {
    Emit.CAUSES: _as_causes,
    Emit.PRIMARY: _as_primary,
    Emit.FIRING: _as_firing,
}

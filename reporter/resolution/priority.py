"""Rule 5: which of several faults of a subject is the one to look at.

Rule 8: which cause of a subject is the one to look at first, and for how long.

The order of causes follows the impact, and the impact follows each model that comes and goes. If the
mark followed the order, two causes and one model that is ready and not ready by turns would pass it
to and fro: two Events are written each time, and whoever is called by it is sent from one to the other.
So it stays where it is until others have been in front for a grace without a break. The order itself
is not held: it says what is true now.

A cause that was not there before is news, and takes the mark at once if it comes first. One that ends, or
cannot be judged any more while another can, gives it up at once.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from reporter.catalogue.reasons import CLUSTER_STATUS_UNKNOWN
from reporter.model.catalogue import Priority
from reporter.model.finding import FindingKey
from reporter.model.report import Disposition, ResolvedFinding
from reporter.model.subject import Layer, Subject
from reporter.resolution.candidate import Candidate
from reporter.resolution.grace import global_grace
from reporter.resolution.hold import OF_FAULTS
from reporter.resolution.memory import Primary
from reporter.resolution.state import PassState
from reporter.setting_types import Emit


@dataclass(frozen=True, slots=True)
class _Rivals:
    """What a fault is compared with.

    Attributes:
        first: the highest of the subject's faults that are seen and active.
        reasons: of all that are active or clearing, or suppressed by a node.
        held: of those that a node holds; what fires already goes on next to them.

    """

    first: Candidate
    reasons: AbstractSet[str]
    held: AbstractSet[str]
    order: Callable[[str], Priority]

    def of(self, candidate: Candidate) -> AbstractSet[str]:
        """Return the reasons that a candidate is compared with."""
        return self.reasons if candidate.was_told else self.reasons | self.held


def outrank(state: PassState) -> PassState:
    """Decide of what nothing has been decided yet: it fires, or is secondary to what does.

    What is clearing still outranks the others of its subject, or a fault that comes and goes would
    make its followers come and go too. So does the fault of a model that a node explains: what it would
    outrank is no more the one to look at while the node is told instead. What fires already is not taken
    back while the node only holds. What the reporter cannot see is no cause of the stack: it is told
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
    suppressed = _on_nodes(decided, Disposition.SUPPRESSED)
    held = _on_nodes(decided, Disposition.HELD)
    rule, order = _RULES[state.settings.emit], state.catalogue.priority
    for subject, group in active.items():
        # What one namespace alone needs outranks nothing that others need.
        group.sort(key=lambda each: (bool(each.sole_place), order(each.key.reason), each.key))
        ranked = [each for each in group if bool(each.sole_place) == bool(group[0].sole_place)]
        reasons = {each.key.reason for each in ranked} | clearing[subject]
        rivals = _Rivals(group[0], reasons | suppressed[subject], held[subject], order)
        decided += [rule(each, rivals) for each in group]
    return replace(state, candidates=tuple(decided))


def _on_nodes(candidates: Iterable[Candidate], disposition: Disposition) -> dict[Subject, set[str]]:
    """Return the reasons of each model that a node suppresses, or holds."""
    found: dict[Subject, set[str]] = defaultdict(set)
    for each in candidates:
        on_node = (
            each.disposition is disposition and bool(each.by) and OF_FAULTS.issuperset(each.by)
        )
        if on_node and each.reason.layer is Layer.DEPLOYMENT:
            found[each.key.subject].add(each.key.reason)
    return found


def _as_causes(candidate: Candidate, rivals: _Rivals) -> Candidate:
    order = rivals.order
    if candidate.reason.layer is Layer.CLUSTER or not candidate.reason.chain:
        return replace(candidate, disposition=Disposition.FIRING)
    above = [name for name in rivals.of(candidate) if order(name) < order(candidate.key.reason)]
    if not above:
        return replace(candidate, disposition=Disposition.FIRING)
    return replace(candidate, disposition=Disposition.SECONDARY, by=(min(above, key=order),))


def _as_primary(candidate: Candidate, rivals: _Rivals) -> Candidate:
    top = min(rivals.of(candidate), key=rivals.order)
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


_NEXT_PASS: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Primaries:
    """The causes with the primary ones marked, and what is to be remembered of these.

    Attributes:
        causes: in the order that they came in.

    """

    causes: tuple[ResolvedFinding, ...]
    held: Mapping[Subject, Primary]
    wake_in: timedelta | None


def mark_primary(
    causes: Iterable[ResolvedFinding],
    state: PassState,
    *,
    apart: AbstractSet[FindingKey] = frozenset(),
) -> Primaries:
    """Mark of each subject one of its causes, which come in their order; one that is stale only where all are.

    What is set apart is never marked.
    """
    ordered = tuple(causes)
    by_subject: dict[Subject, list[FindingKey]] = {}
    for cause in sorted(ordered, key=lambda each: each.stale):
        if cause.key not in apart:
            by_subject.setdefault(cause.subject, []).append(cause.key)
    stale = {each.key for each in ordered if each.stale}
    before = {**_on_record(state), **state.memory.primaries}
    held = {
        subject: _held(before.get(subject), keys, stale, state=state)
        for subject, keys in by_subject.items()
    }
    marked = {each.key for each in held.values()}
    return Primaries(
        causes=tuple(replace(each, primary=each.key in marked) for each in ordered),
        held=held,
        wake_in=min(_waits(held.values(), state), default=None),
    )


def _held(
    before: Primary | None, keys: Sequence[FindingKey], stale: set[FindingKey], *, state: PassState
) -> Primary:
    first = Primary(keys[0])
    if before is None or before.key == first.key or before.key not in keys:
        return first
    episode = state.memory.episodes.get(first.key)
    is_news = episode is None or not episode.fired
    if is_news or (before.key in stale and first.key not in stale):
        return first
    since = state.now.boot if before.behind_since is None else before.behind_since
    if state.now.boot - since >= _grace(state):
        return first
    return Primary(before.key, since)


def _on_record(state: PassState) -> dict[Subject, Primary]:
    """Return the ones that our Events on record say are primary; a single look follows the order alone."""
    if state.one_look is not None:
        return {}
    marked = [each for each in state.records.going_on if each.live and each.primary]
    return {each.key.subject: Primary(each.key) for each in reversed(marked)}


def _waits(held: Iterable[Primary], state: PassState) -> Iterator[timedelta]:
    for each in held:
        if each.behind_since is not None:
            yield each.behind_since + _grace(state) - state.now.boot


def _grace(state: PassState) -> timedelta:
    """Return how long others must be in front; without graces until the next pass."""
    return max(global_grace(state.settings), _NEXT_PASS)

"""Rule 5: which of several faults of a subject to look at. Rule 8: which cause of a subject is
primary, and for how long.

The order of causes depends on impact, and impact depends on each model that comes and goes. If the
primary mark followed the order, it would alternate between two causes with one model that is ready
and not ready by turns: each time two Events are written, and whoever is on call is sent from one to
the other. So a cause stays primary until others have been ordered before it for a whole grace. The
order itself shows the current state.

A new cause becomes primary at once if it comes first. A cause that ends, or cannot be judged any
more while another can, loses the mark at once.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Final

from msgspec import structs

from reporter.catalogue.reasons import CLUSTER_STATUS_UNKNOWN
from reporter.catalogue.resources import DEPLOYMENTS
from reporter.model.finding import FindingKey
from reporter.model.report import Disposition, ResolvedFinding
from reporter.model.subject import Layer, Subject
from reporter.resolution.grace import global_grace
from reporter.resolution.hold import OF_FAULTS
from reporter.resolution.memory import Primary
from reporter.resolution.state import Candidate, PassState, rests_on
from reporter.setting_types import Emit


def outrank(state: PassState) -> PassState:
    """Decide the remaining candidates: each one fires, or is secondary to one that does.

    A clearing candidate still outranks the others of its subject; otherwise a fault that comes and
    goes would make them come and go too. So does a model's fault that a node explains: the reasons
    it outranks are no better to look at while the node is reported instead. A candidate that fires
    already is not withdrawn while the node only holds. Statuses are written a moment after the pods
    are Ready again, so a fault that only the model's own object or the Deployment of these pods
    shows stays outranked for that long. Findings about what the reporter cannot see are not faults
    of the stack: they neither outrank others nor are outranked.
    """
    active: dict[Subject, list[Candidate]] = defaultdict(list)
    decided: list[Candidate] = []
    for candidate in state.candidates:
        if candidate.disposition is None and candidate.key.reason == CLUSTER_STATUS_UNKNOWN:
            decided.append(structs.replace(candidate, disposition=Disposition.FIRING))
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
    left = _left_by_nodes(state)
    order = state.catalogue.priority
    for subject, group in active.items():
        # What only one namespace needs does not outrank what others need.
        group.sort(key=lambda each: (bool(each.sole_place), order(each.key.reason), each.key))
        ranked = [each for each in group if bool(each.sole_place) == bool(group[0].sole_place)]
        rivals = {each.key.reason for each in ranked} | clearing[subject] | suppressed[subject]
        for each in group:
            # A candidate that fires already continues next to those that a node holds.
            others = rivals if each.was_reported else rivals | held[subject]
            if not each.was_reported:
                sums_up = partial(_sums_up, each, state)
                others = others | {
                    reason for reason, pods in left[subject].items() if sums_up(pods)
                }
            if above := _above(each, others, state, is_first=each is group[0]):
                judged = structs.replace(each, disposition=Disposition.SECONDARY, by=(above,))
            else:
                judged = structs.replace(each, disposition=Disposition.FIRING)
            decided.append(judged)
    return replace(state, candidates=tuple(decided))


def _on_nodes(candidates: Iterable[Candidate], disposition: Disposition) -> dict[Subject, set[str]]:
    """Return the reasons, by model, that a node or shared object suppresses or holds."""
    found: dict[Subject, set[str]] = defaultdict(set)
    for each in candidates:
        causes = OF_FAULTS.union(reason for reason, _ in each.rests_on)
        on_node = each.by and causes.issuperset(each.by) and each.disposition is disposition
        if on_node and each.reason.layer is Layer.DEPLOYMENT:
            found[each.key.subject].add(each.key.reason)
    return found


def _left_by_nodes(state: PassState) -> Mapping[Subject, Mapping[str, Collection[str]]]:
    """Return the unseen reasons, by model, that a node explained until just now, with the pods."""
    found: dict[Subject, dict[str, Collection[str]]] = defaultdict(dict)
    causes = state.upstreams.firing | state.upstreams.waiting
    for key, episode in state.absence.kept.items():
        faults = [each.finding for each in episode.faults.values() if each.finding]
        if not episode.active and any(rests_on(each) in causes for each in faults):
            found[key.subject][key.reason] = {each.related.name for each in faults}
    return found


def _sums_up(candidate: Candidate, state: PassState, pods: Collection[str]) -> bool:
    """Tell whether its faults are seen only in objects that sum up these pods: the model's own
    object, or the pods' Deployment.
    """
    subject = candidate.key.subject
    own = {
        each.ref_named(subject.namespace, subject.name).place
        for each in state.catalogue.of_subject(subject.kind)
    }
    return all(
        each.place in own
        or (each.kind == DEPLOYMENTS.kind and any(pod.startswith(f"{each.name}-") for pod in pods))
        for each in (fault.says.related for fault in candidate.ripe)
    )


def _above(candidate: Candidate, rivals: Iterable[str], state: PassState, *, is_first: bool) -> str:
    """Return the reason that outranks a candidate under `--emit`, or an empty string."""
    order, own = state.catalogue.priority, candidate.key.reason
    top = min(rivals, key=order)
    match state.settings.emit:
        case Emit.CAUSES:
            ranks = candidate.reason.layer is not Layer.CLUSTER and candidate.reason.chain
            return top if ranks and order(top) < order(own) else ""
        case Emit.PRIMARY:
            return "" if is_first and own == top else top
        case Emit.FIRING:
            return ""


_NEXT_PASS: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Primaries:
    """The causes in their order, marked; the primary ones to remember."""

    causes: tuple[ResolvedFinding, ...]
    held: Mapping[Subject, Primary]
    wake_in: timedelta | None


def mark_primary(
    causes: Iterable[ResolvedFinding],
    state: PassState,
    *,
    apart: AbstractSet[FindingKey] = frozenset(),
) -> Primaries:
    """Mark one cause of each subject, by their order; a stale one only if all are stale.

    Causes in `apart` are never marked.
    """
    ordered = tuple(causes)
    by_subject: dict[Subject, list[FindingKey]] = {}
    for cause in sorted(ordered, key=lambda each: each.stale):
        if cause.key not in apart:
            by_subject.setdefault(cause.subject, []).append(cause.key)
    stale = {each.key for each in ordered if each.stale}
    before = dict(state.memory.primaries)
    # Our recorded Events say which were primary; a single pass uses the order only.
    for record in state.records.going_on if state.single_pass is None else ():
        if record.live and record.primary:
            before.setdefault(record.key.subject, Primary(record.key))
    # Others must come first for a grace; without graces, until the next pass.
    grace = max(global_grace(state.settings), _NEXT_PASS)
    held = {
        subject: _held(before.get(subject), keys, stale, state=state, grace=grace)
        for subject, keys in by_subject.items()
    }
    marked = {each.key for each in held.values()}
    behind = (each.behind_since for each in held.values() if each.behind_since is not None)
    return Primaries(
        causes=tuple(structs.replace(each, primary=each.key in marked) for each in ordered),
        held=held,
        wake_in=min((since + grace - state.now.boot for since in behind), default=None),
    )


def _held(
    before: Primary | None,
    keys: Sequence[FindingKey],
    stale: set[FindingKey],
    *,
    state: PassState,
    grace: timedelta,
) -> Primary:
    first = Primary(keys[0])
    if before is None or before.key == first.key or before.key not in keys:
        return first
    episode = state.memory.episodes.get(first.key)
    is_new = episode is None or not episode.fired
    if is_new or (before.key in stale and first.key not in stale):
        return first
    since = state.now.boot if before.behind_since is None else before.behind_since
    return first if state.now.boot - since >= grace else Primary(before.key, since)

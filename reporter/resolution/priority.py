"""Rule 5: which of several faults of a subject is the one to look at.

Rule 8: which cause of a subject is the one to look at first, and for how long.

The order of causes follows the impact, and the impact follows each model that comes and goes. If
the mark followed the order, two causes and one model that is ready and not ready by turns would
pass it to and fro: two Events are written each time, and whoever is called by it is sent from one
to the other. So it stays where it is until others have been in front for a grace without a break.
The order itself is not held: it says what is true now.

A cause that was not there before is news, and takes the mark at once if it comes first. One that
ends, or cannot be judged any more while another can, gives it up at once.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Final

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
    """Decide of what nothing has been decided yet: it fires, or is secondary to what does.

    What is clearing still outranks the others of its subject, or a fault that comes and goes would
    make its followers come and go too. So does the fault of a model that a node explains: what it
    would outrank is no more the one to look at while the node is told instead. What fires already
    is not taken back while the node only holds. A status is written a moment after the pods are
    Ready again: what is only said by the model's own object, or by the Deployment of these pods,
    stays behind what it was outranked by. What the reporter cannot see is no cause of the stack: it
    is told apart from the causes, and neither outranks them nor is outranked.
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
    left = _left_by_nodes(state)
    order = state.catalogue.priority
    for subject, group in active.items():
        # What one namespace alone needs outranks nothing that others need.
        group.sort(key=lambda each: (bool(each.sole_place), order(each.key.reason), each.key))
        ranked = [each for each in group if bool(each.sole_place) == bool(group[0].sole_place)]
        rivals = {each.key.reason for each in ranked} | clearing[subject] | suppressed[subject]
        for each in group:
            # What fires already goes on next to what a node holds.
            others = rivals if each.was_told else rivals | held[subject]
            if not each.was_told:
                sums_up = partial(_sums_up, each, state)
                others = others | {
                    reason for reason, pods in left[subject].items() if sums_up(pods)
                }
            if above := _above(each, others, state, is_first=each is group[0]):
                told = replace(each, disposition=Disposition.SECONDARY, by=(above,))
            else:
                told = replace(each, disposition=Disposition.FIRING)
            decided.append(told)
    return replace(state, candidates=tuple(decided))


def _on_nodes(candidates: Iterable[Candidate], disposition: Disposition) -> dict[Subject, set[str]]:
    """Return the reasons of each model that a node, or what its faults rest on, suppresses or
    holds.
    """
    found: dict[Subject, set[str]] = defaultdict(set)
    for each in candidates:
        causes = OF_FAULTS.union(reason for reason, _ in each.rests_on)
        on_node = each.by and causes.issuperset(each.by) and each.disposition is disposition
        if on_node and each.reason.layer is Layer.DEPLOYMENT:
            found[each.key.subject].add(each.key.reason)
    return found


def _left_by_nodes(state: PassState) -> Mapping[Subject, Mapping[str, Collection[str]]]:
    """Return the reasons of each model that a node explained until just now, with its pods.

    They are not seen any more.
    """
    found: dict[Subject, dict[str, Collection[str]]] = defaultdict(dict)
    causes = state.upstreams.firing | state.upstreams.waiting
    for key, episode in state.absence.kept.items():
        faults = [each.finding for each in episode.faults.values() if each.finding]
        if not episode.active and any(rests_on(each) in causes for each in faults):
            found[key.subject][key.reason] = {each.related.name for each in faults}
    return found


def _sums_up(candidate: Candidate, state: PassState, pods: Collection[str]) -> bool:
    """True if its faults are said by what sums up these pods: its own object, or their
    Deployment.
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
    """Return the reason that outranks a candidate, by what is written; empty where it fires."""
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
    """The causes in the order they came in, marked, and what is remembered of primary ones."""

    causes: tuple[ResolvedFinding, ...]
    held: Mapping[Subject, Primary]
    wake_in: timedelta | None


def mark_primary(
    causes: Iterable[ResolvedFinding],
    state: PassState,
    *,
    apart: AbstractSet[FindingKey] = frozenset(),
) -> Primaries:
    """Mark one cause of each subject, in their order; a stale one only where all are.

    What is set apart is never marked.
    """
    ordered = tuple(causes)
    by_subject: dict[Subject, list[FindingKey]] = {}
    for cause in sorted(ordered, key=lambda each: each.stale):
        if cause.key not in apart:
            by_subject.setdefault(cause.subject, []).append(cause.key)
    stale = {each.key for each in ordered if each.stale}
    before = dict(state.memory.primaries)
    # Our Events on record say which were; a single look follows the order alone.
    for record in state.records.going_on if state.one_look is None else ():
        if record.live and record.primary:
            before.setdefault(record.key.subject, Primary(record.key))
    # Others must be in front for a grace; without graces until the next pass.
    grace = max(global_grace(state.settings), _NEXT_PASS)
    held = {
        subject: _held(before.get(subject), keys, stale, state=state, grace=grace)
        for subject, keys in by_subject.items()
    }
    marked = {each.key for each in held.values()}
    behind = (each.behind_since for each in held.values() if each.behind_since is not None)
    return Primaries(
        causes=tuple(replace(each, primary=each.key in marked) for each in ordered),
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
    is_news = episode is None or not episode.fired
    if is_news or (before.key in stale and first.key not in stale):
        return first
    since = state.now.boot if before.behind_since is None else before.behind_since
    return first if state.now.boot - since >= grace else Primary(before.key, since)

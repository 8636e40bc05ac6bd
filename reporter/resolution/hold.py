"""Rule 3: a cause is told before its symptoms, and instead of them.

A controller that is down leaves dozens of objects in a state that looks like as many faults.
Alertmanager's inhibition mutes a target while a source fires, and that is not enough: while the
cause is still in its grace the symptom is told first; and once the cause is over the symptoms are
told at once, although the controller that is back has not looked at its objects yet. So an upstream
goes through three states here:

- pending: it holds. Only what does not fire yet is held. To take back what was told would close an
  Event and write it again each time that a component restarts for a few seconds.
- firing, and clearing as well: it suppresses, also what fired before. To let go of the symptoms
  while it is clearing would tell them each time that the component comes and goes.
- released, for a grace after it recovered: it holds again, until statuses have been rewritten.

What a finding is held or suppressed by is part of it, and the cause's message names the reasons
that it hides.

Not every fault of an upstream stops work: `governs` says whether it does, and one that only
lacks a replica suppresses nothing. Not every fault of a downstream reason is explained either: a
pod that was Ready does not need the node provisioner any more. Such a fault is `independent`, and
a candidate that has one is told with it alone; to suppress by key would hide it.

What is known of an upstream may be less than its state. One that nobody can read now neither
suppresses nor holds, for nothing is known of it; if it turns out to have recovered, it holds from
then on. One that is known from our Event alone only holds: the Event does not say whether it
governs, and what fires must not be taken back on a guess.

Rule 3 for nodes: what is on a node at fault, or waits for it, is explained by the node.

One lost node, or one Secret that several models wait for, would else be told once for each part and each
model that needs it. Unlike a controller, it explains single faults: those that rest on it, or are about it. So which fault it is decides, and not only which reason;
a candidate with another fault is told with that one.

While the node is seen at fault, what is seen of a fault now says whether it rests on it: a pod that was
made again elsewhere does not. A node that is back leaves its pods not Ready for a while, and nothing in
them speaks of it any more. So until the node is recovered and released, the faults that rested on it
still do. What such a fault outranks stays behind it (rule 5).

Rule 3 between the faults of one pod: one of them explains others.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, TypeAlias

from reporter.catalogue.reasons import CLUSTER_NODE, CLUSTER_SHARED
from reporter.catalogue.resources import NODES
from reporter.model.catalogue import Catalogue
from reporter.model.finding import FindingKey
from reporter.model.reason import SuppressionRow
from reporter.model.report import Disposition
from reporter.model.subject import ObjectRef
from reporter.resolution.candidate import Candidate, rests_on
from reporter.resolution.grace import Fault, global_grace
from reporter.resolution.memory import Episode, UpstreamKey
from reporter.resolution.state import PassState, Upstreams

OF_FAULTS: Final = frozenset({CLUSTER_NODE, CLUSTER_SHARED})
"""Reasons of causes that explain single faults, not all of a reason: those that rest on them."""


def upstream_key(key: FindingKey) -> UpstreamKey:
    """Return what the rows of the suppression table are matched with."""
    if key.reason == CLUSTER_SHARED:
        return (key.reason, str(key.involved))
    of_one = key.involved.kind in {"CustomResourceDefinition", "Node"}
    return (key.reason, key.involved.name if of_one else "")


def hold_and_suppress(state: PassState) -> PassState:
    """Suppress and hold the candidates that an upstream explains, or may soon explain."""
    upstreams, catalogue = _survey(state), state.catalogue
    judged = (_judge(each, upstreams, catalogue) for each in state.candidates)
    return replace(state, candidates=tuple(judged), upstreams=upstreams)


def explainers(
    reason: str, by: Container[str], catalogue: Catalogue, *, rests_on: Iterable[UpstreamKey]
) -> set[UpstreamKey]:
    """Return which upstreams a finding of a reason waits for, given its `by` and `rests_on`."""
    rows = catalogue.upstreams_of(reason)
    found = {_key(row) for row in rows if row.upstream in by and row.upstream not in OF_FAULTS}
    return found | {each for each in rests_on if each[0] in by}


def _survey(state: PassState) -> Upstreams:
    """Return which upstreams suppress and hold in this pass.

    An upstream that is clearing still suppresses: its episode goes on, and a component that comes
    and goes must not let the symptoms through in between. One that is known from its Event only,
    which does not say whether it governs, holds instead. An unknown one does neither; should it
    be found recovered once it is known, it holds then.
    """
    governing, boot = state.memory.governing, state.now.boot
    firing: set[UpstreamKey] = set()
    pending: set[UpstreamKey] = set()
    recorded: set[UpstreamKey] = set()
    unknown = {upstream_key(key) for key in state.absence.stale}
    can_suppress = state.catalogue.upstream_reasons
    for candidate in (*state.candidates, *state.undercurrents):
        if candidate.key.reason not in can_suppress:
            continue
        waits = candidate.disposition is Disposition.PENDING
        if not waits and any(fault.says.governs for fault in candidate.ripe):
            firing.add(upstream_key(candidate.key))
        elif any(fault.says.governs for fault in candidate.faults):
            pending.add(upstream_key(candidate.key))
    for key, episode in state.absence.kept.items():
        if key in state.absence.stale:
            continue
        if upstream_key(key) in governing:
            (
                recorded
                if all(fault.finding is None for fault in episode.faults.values())
                else firing
            ).add(upstream_key(key))
        elif not episode.active and any(
            fault.finding and fault.finding.governs for fault in episode.faults.values()
        ):
            pending.add(upstream_key(key))
    length = max(global_grace(state.settings), timedelta(seconds=1))
    released = {key: until for key, until in state.memory.released.items() if boot < until}
    for upstream in governing - firing - recorded - unknown:
        released[upstream] = boot + length
    return Upstreams(
        firing=frozenset(firing),
        pending=frozenset(pending | recorded),
        released=released,
        governing=frozenset(firing | recorded | (governing & unknown)),
    )


def _judge(candidate: Candidate, upstreams: Upstreams, catalogue: Catalogue) -> Candidate:
    """Return the candidate suppressed, held, or untouched.

    One that may not start to fire because its data is unconfirmed is suppressed and held the same.
    """
    rows = catalogue.upstreams_of(candidate.key.reason)
    if not candidate.ripe:
        return _wait_for_hold(candidate, upstreams, rows)
    by = _matching(rows, upstreams.firing)
    if by:
        return _leave(candidate, Disposition.SUPPRESSED, by)
    if candidate.was_active:
        return candidate
    by, until = _holders(rows, upstreams)
    if by:
        return _leave(candidate, Disposition.HELD, by, until=until)
    return candidate


def _leave(
    candidate: Candidate,
    disposition: Disposition,
    by: tuple[str, ...],
    *,
    until: timedelta | None = None,
) -> Candidate:
    """Return the candidate without the faults that an upstream explains, if others remain."""
    independent = tuple(fault for fault in candidate.ripe if fault.says.independent)
    if independent:
        return replace(candidate, told=independent)
    return replace(candidate, disposition=disposition, by=by, holds_until=until)


def _wait_for_hold(
    candidate: Candidate, upstreams: Upstreams, rows: Sequence[SuppressionRow]
) -> Candidate:
    """Return a pending candidate that knows what it waits for apart from its grace.

    Behind an upstream that fires it is never told, and behind one that is pending it is held next.
    """
    by, until = _holders(rows, upstreams)
    if any(fault.says.independent for fault in candidate.faults):
        return replace(candidate, holds_until=until)
    if firing := _matching(rows, upstreams.firing):
        return replace(candidate, by=firing)
    return replace(candidate, by=() if candidate.was_active else by, holds_until=until)


def _holders(
    rows: Sequence[SuppressionRow], upstreams: Upstreams
) -> tuple[tuple[str, ...], timedelta | None]:
    by = _matching(rows, upstreams.pending | upstreams.released.keys())
    if any(_key(row) in upstreams.pending for row in rows):
        return by, None
    ends = (upstreams.released[_key(row)] for row in rows if _key(row) in upstreams.released)
    return by, max(ends, default=None)


def _matching(rows: Iterable[SuppressionRow], upstreams: Container[UpstreamKey]) -> tuple[str, ...]:
    return tuple(sorted(dict.fromkeys(row.upstream for row in rows if _key(row) in upstreams)))


def _key(row: SuppressionRow) -> UpstreamKey:
    return (row.upstream, row.crd)


@dataclass(frozen=True, slots=True)
class _Nodes:
    """What suppresses and holds, looked up for many candidates.

    Attributes:
        unseen: the nodes that are not seen at fault any more, and still suppress or hold.

    """

    upstreams: Upstreams
    waiting: AbstractSet[UpstreamKey]
    unseen: AbstractSet[UpstreamKey]

    @classmethod
    def of(cls, state: PassState) -> "_Nodes":
        waiting = state.upstreams.pending | state.upstreams.released.keys()
        seen = {upstream_key(each.key) for each in (*state.candidates, *state.undercurrents)}
        known = (each for each in state.upstreams.firing | waiting if each[0] in OF_FAULTS)
        return cls(state.upstreams, waiting, frozenset(known) - seen)


def suppress_by_nodes(state: PassState) -> PassState:
    """Suppress and hold the candidates that a node, or what several share, explains, or may soon."""
    explained = frozenset(
        name
        for row in state.catalogue.suppression
        if row.upstream in OF_FAULTS
        for name in row.downstream
    )
    nodes = _Nodes.of(state)
    judged = (
        _judge_node(_still_resting(each, nodes.unseen), nodes)
        if each.key.reason in explained
        else each
        for each in state.candidates
    )
    return replace(state, candidates=tuple(judged))


def _still_resting(candidate: Candidate, unseen: AbstractSet[UpstreamKey]) -> Candidate:
    """Return the candidate with its faults resting on the nodes that they rested on before."""
    episode = candidate.episode
    if episode is None or not unseen:
        return candidate

    def rest(fault: Fault) -> Fault:
        before = episode.faults.get(fault.clock)
        if before is None or before.finding is None or rests_on(fault.says) is not None:
            return fault
        earlier = before.finding
        if rests_on(earlier) not in unseen or not before.is_of(fault.finding.related):
            return fault
        says = replace(fault.says, lost_node=earlier.lost_node, rests_on=earlier.rests_on)
        return replace(fault, says=says)

    faults, told = (tuple(map(rest, each)) for each in (candidate.faults, candidate.told))
    return replace(candidate, faults=faults, told=told)


def _judge_node(candidate: Candidate, nodes: _Nodes) -> Candidate:
    """Return the candidate suppressed, held, or without the faults that a node suppresses."""
    if candidate.disposition in {Disposition.SUPPRESSED, Disposition.HELD}:
        return candidate
    faults = candidate.told or candidate.ripe or candidate.faults
    rest = _not_on(faults, nodes.upstreams.firing)
    if not candidate.ripe:
        return _waiting(candidate, rest, nodes)
    if not rest:
        return _left(candidate, Disposition.SUPPRESSED, by=_by(faults))
    if not candidate.was_active and not _not_on(rest, nodes.waiting):
        return _left(candidate, Disposition.HELD, by=_by(rest), until=_until(rest, nodes.upstreams))
    return candidate if len(rest) == len(faults) else replace(candidate, told=rest)


def _waiting(candidate: Candidate, rest: tuple[Fault, ...], nodes: _Nodes) -> Candidate:
    """Return a pending candidate that says what it waits for, where all of its faults do.

    Behind a node that fires it is never told, and behind one that is pending it is held next.
    """
    by = tuple(sorted({*candidate.by, *_by(rest or candidate.faults)}))
    if not rest:
        return replace(candidate, by=by, holds_until=None)
    if candidate.was_active or _not_on(rest, nodes.waiting):
        return candidate
    until = _until(rest, nodes.upstreams)
    if candidate.by:  # the other one may tell no time, or let go later
        until = until and candidate.holds_until and max(until, candidate.holds_until)
    return replace(candidate, by=by, holds_until=until)


def _left(
    candidate: Candidate,
    disposition: Disposition,
    *,
    by: tuple[str, ...],
    until: timedelta | None = None,
) -> Candidate:
    return replace(candidate, disposition=disposition, by=by, holds_until=until)


def _by(faults: Iterable[Fault]) -> tuple[str, ...]:
    return tuple(sorted({key[0] for each in faults if (key := _cause_of(each)) is not None}))


def _until(faults: Iterable[Fault], upstreams: Upstreams) -> timedelta | None:
    """Return when the last node that holds these faults lets go; None while one is pending."""
    nodes = {key for each in faults if (key := _cause_of(each)) is not None}
    if not nodes.isdisjoint(upstreams.pending):
        return None
    return max(upstreams.released[each] for each in nodes)


def _not_on(faults: Iterable[Fault], nodes: Container[UpstreamKey | None]) -> tuple[Fault, ...]:
    return tuple(each for each in faults if _cause_of(each) not in nodes)


def _cause_of(fault: Fault) -> UpstreamKey | None:
    """Return the cause that a fault rests on, or the node that it is about; None if there is none."""
    about = fault.says.related
    of_node = (CLUSTER_NODE, about.name) if about.kind == NODES.kind else None
    return rests_on(fault.says) or of_node


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

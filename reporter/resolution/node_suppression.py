"""Rule 3 for nodes: what is on a node at fault, or waits for it, is explained by the node.

One lost node would else be told once for each part and each model on it. Unlike a controller, a node
explains single faults: those that rest on it, or are about it. So which fault it is decides, and not only which reason;
a candidate with another fault is told with that one.

While the node is seen at fault, what is seen of a fault now says whether it rests on it: a pod that was
made again elsewhere does not. A node that is back leaves its pods not Ready for a while, and nothing in
them speaks of it any more. So until the node is recovered and released, the faults that rested on it
still do. What such a fault outranks stays behind it (rule 5).
"""

from collections.abc import Container, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import timedelta

from reporter.catalogue.reasons import CLUSTER_NODE
from reporter.catalogue.resources import NODES
from reporter.model.report import Disposition
from reporter.resolution.candidate import Candidate
from reporter.resolution.grace import Fault
from reporter.resolution.hold import upstream_key
from reporter.resolution.memory import UpstreamKey
from reporter.resolution.state import PassState, Upstreams


@dataclass(frozen=True, slots=True)
class _Nodes:
    """What suppresses and holds, looked up for many candidates.

    Attributes:
        upstreams: what suppresses and holds.
        waiting: what holds.
        unseen: the nodes that are not seen at fault any more, and still suppress or hold.

    """

    upstreams: Upstreams
    waiting: AbstractSet[UpstreamKey]
    unseen: AbstractSet[UpstreamKey]

    @classmethod
    def of(cls, state: PassState) -> "_Nodes":
        waiting = state.upstreams.pending | state.upstreams.released.keys()
        seen = {upstream_key(each.key) for each in (*state.candidates, *state.undercurrents)}
        known = (each for each in state.upstreams.firing | waiting if each[0] == CLUSTER_NODE)
        return cls(state.upstreams, waiting, frozenset(known) - seen)


def suppress_by_nodes(state: PassState) -> PassState:
    """Suppress and hold the candidates that a node explains, or may soon explain."""
    explained = frozenset(
        name
        for row in state.catalogue.suppression
        if row.upstream == CLUSTER_NODE
        for name in row.downstream
    )
    nodes = _Nodes.of(state)
    judged = (
        _judge(_still_resting(each, nodes.unseen), nodes) if each.key.reason in explained else each
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
        if fault.says.lost_node or before is None or before.finding is None:
            return fault
        node = before.finding.lost_node
        if (CLUSTER_NODE, node) not in unseen or not before.is_of(fault.finding.related):
            return fault
        return replace(fault, says=replace(fault.says, lost_node=node))

    faults, told = (tuple(map(rest, each)) for each in (candidate.faults, candidate.told))
    return replace(candidate, faults=faults, told=told)


def _judge(candidate: Candidate, nodes: _Nodes) -> Candidate:
    """Return the candidate suppressed, held, or without the faults that a node suppresses."""
    if candidate.disposition in {Disposition.SUPPRESSED, Disposition.HELD}:
        return candidate
    faults = candidate.told or candidate.ripe or candidate.faults
    rest = _not_on(faults, nodes.upstreams.firing)
    if not candidate.ripe:
        return _waiting(candidate, rest, nodes)
    if not rest:
        return _left(candidate, Disposition.SUPPRESSED)
    if not candidate.was_active and not _not_on(rest, nodes.waiting):
        return _left(candidate, Disposition.HELD, _until(rest, nodes.upstreams))
    return candidate if len(rest) == len(faults) else replace(candidate, told=rest)


def _waiting(candidate: Candidate, rest: tuple[Fault, ...], nodes: _Nodes) -> Candidate:
    """Return a pending candidate that says what it waits for, where all of its faults do.

    Behind a node that fires it is never told, and behind one that is pending it is held next.
    """
    by = tuple(sorted({*candidate.by, CLUSTER_NODE}))
    if not rest:
        return replace(candidate, by=by, holds_until=None)
    if candidate.was_active or _not_on(rest, nodes.waiting):
        return candidate
    until = _until(rest, nodes.upstreams)
    if candidate.by:  # the other one may tell no time, or let go later
        until = until and candidate.holds_until and max(until, candidate.holds_until)
    return replace(candidate, by=by, holds_until=until)


def _left(
    candidate: Candidate, disposition: Disposition, until: timedelta | None = None
) -> Candidate:
    return replace(candidate, disposition=disposition, by=(CLUSTER_NODE,), holds_until=until)


def _until(faults: Iterable[Fault], upstreams: Upstreams) -> timedelta | None:
    """Return when the last node that holds these faults lets go; None while one is pending."""
    nodes = {(CLUSTER_NODE, _node_of(each)) for each in faults}
    if not nodes.isdisjoint(upstreams.pending):
        return None
    return max(upstreams.released[each] for each in nodes)


def _not_on(faults: Iterable[Fault], nodes: Container[UpstreamKey]) -> tuple[Fault, ...]:
    return tuple(each for each in faults if (CLUSTER_NODE, _node_of(each)) not in nodes)


def _node_of(fault: Fault) -> str:
    """Return the node that a fault rests on or is about; empty if there is none."""
    about = fault.says.related
    return fault.says.lost_node or (about.name if about.kind == NODES.kind else "")

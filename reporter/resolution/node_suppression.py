"""Rule 3 for nodes: what is on a node at fault, or waits for it, is explained by the node.

One lost node would else be told once for each part and each model on it. Unlike a controller, a node
explains single faults: those that rest on it. So which fault it is decides, and not only which reason;
a candidate with another fault is told with that one.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from typing import Final

from reporter.catalogue.reasons import CLUSTER_NODE
from reporter.model.catalogue import Catalogue, Priority
from reporter.model.report import Disposition
from reporter.model.subject import Layer, Subject
from reporter.resolution.candidate import Candidate
from reporter.resolution.grace import Fault
from reporter.resolution.memory import UpstreamKey
from reporter.resolution.state import PassState, Upstreams

_DECIDED: Final = (Disposition.PENDING, Disposition.SUPPRESSED, Disposition.HELD)


def suppress_by_nodes(state: PassState) -> PassState:
    """Suppress and hold the candidates that a node explains, or may soon explain."""
    explained = frozenset(
        name
        for row in state.catalogue.suppression
        if row.upstream == CLUSTER_NODE
        for name in row.downstream
    )
    judged = (
        _judge(each, state.upstreams)
        if each.key.reason in explained and each.disposition not in _DECIDED
        else each
        for each in state.candidates
    )
    candidates = tuple(judged)
    return replace(state, candidates=tuple(_with_those_above(candidates, state.catalogue)))


def _with_those_above(
    candidates: tuple[Candidate, ...], catalogue: Catalogue
) -> Iterator[Candidate]:
    """Suppress also what a suppressed fault of a model would outrank: it is as little told without it."""
    highest: dict[Subject, Priority] = {}
    for each in candidates:
        if each.by == (CLUSTER_NODE,) and each.disposition is Disposition.SUPPRESSED:
            rank = catalogue.priority(each.key.reason)
            highest[each.key.subject] = min(rank, highest.get(each.key.subject, rank))
    for each in candidates:
        above = highest.get(each.key.subject)
        follows = above is not None and catalogue[each.key.reason].chain
        if follows and each.disposition is None and each.reason.layer is Layer.DEPLOYMENT:
            outranked = above is not None and catalogue.priority(each.key.reason) > above
            yield _suppressed(each) if outranked else each
        else:
            yield each


def _suppressed(candidate: Candidate) -> Candidate:
    return replace(candidate, disposition=Disposition.SUPPRESSED, by=(CLUSTER_NODE,))


def _judge(candidate: Candidate, upstreams: Upstreams) -> Candidate:
    faults = candidate.told or candidate.ripe
    rest = _not_on(faults, upstreams.firing)
    if faults and not rest:
        return _suppressed(candidate)
    waiting = upstreams.pending | upstreams.released.keys()
    if faults and not candidate.was_active and not _not_on(rest, waiting):
        return replace(candidate, disposition=Disposition.HELD, by=(CLUSTER_NODE,))
    return candidate if len(rest) == len(faults) else replace(candidate, told=rest)


def _not_on(faults: Iterable[Fault], nodes: Container[UpstreamKey]) -> tuple[Fault, ...]:
    return tuple(each for each in faults if (CLUSTER_NODE, each.says.lost_node) not in nodes)

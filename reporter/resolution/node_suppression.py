"""Rule 3 for nodes: what is on a node at fault, or waits for it, is explained by the node.

One lost node would else be told once for each part and each model on it. Unlike a controller, a node
explains single faults: those that rest on it. So which fault it is decides, and not only which reason;
a candidate with another fault is told with that one.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from typing import Final

from reporter.catalogue.reasons import CLUSTER_NODE
from reporter.model.catalogue import Catalogue
from reporter.model.report import Disposition
from reporter.model.subject import Layer, Subject
from reporter.resolution.candidate import Candidate
from reporter.resolution.grace import Fault
from reporter.resolution.memory import UpstreamKey
from reporter.resolution.state import PassState, Upstreams
from reporter.setting_types import Emit

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
    if state.settings.emit is Emit.FIRING:
        return replace(state, candidates=candidates)
    return replace(state, candidates=tuple(_with_those_above(candidates, state.catalogue)))


def _with_those_above(
    candidates: tuple[Candidate, ...], catalogue: Catalogue
) -> Iterator[Candidate]:
    """Leave also what a suppressed fault of a model outranks: it is as little told as without the node.

    It comes after that fault, and the node does not explain it.
    """
    highest: dict[Subject, str] = {}
    for each in candidates:
        if each.by == (CLUSTER_NODE,) and each.disposition is Disposition.SUPPRESSED:
            names = each.key.reason, highest.get(each.key.subject, each.key.reason)
            highest[each.key.subject] = min(names, key=catalogue.priority)
    for each in candidates:
        above = highest.get(each.key.subject)
        if above is not None and _comes_after(each, above, catalogue):
            yield replace(each, disposition=Disposition.SECONDARY, by=(above,))
        else:
            yield each


def _comes_after(candidate: Candidate, above: str, catalogue: Catalogue) -> bool:
    """Tell whether a fault of a model would be outranked by a reason."""
    in_chain = candidate.reason.layer is Layer.DEPLOYMENT and candidate.reason.chain
    if candidate.disposition is not None or not in_chain:
        return False
    return catalogue.priority(candidate.key.reason) > catalogue.priority(above)


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

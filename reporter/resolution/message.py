"""What an Event says: the worst fault, how many more, and what else it explains."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from reporter.catalogue.reasons import CLUSTER_NODE
from reporter.model.report import Disposition
from reporter.model.suppression import SuppressionRow
from reporter.model.text import MESSAGE_BYTES, clean, cut, with_suffix
from reporter.resolution.candidate import Candidate
from reporter.resolution.hold import upstream_key
from reporter.resolution.memory import UpstreamKey

_ALSO_NAMED = 4
_CAUSE_BYTES = 80


def compose(
    candidate: Candidate, others: Sequence[Candidate], suppressed: Mapping[UpstreamKey, str]
) -> str:
    """Return the message of a candidate, at most 1,024 bytes.

    `others` are the candidates of the same subject, the one to look at first in front. The base is
    cut where it is too long, what is appended to it is not.
    """
    suffix = _more(candidate)
    if candidate.disposition is Disposition.FIRING:
        suffix += _of_one_node(candidate, others) + _also(candidate, others)
        suffix += suppressed.get(upstream_key(candidate.key), "")
    return with_suffix(clean(candidate.worst.says.message), suffix, MESSAGE_BYTES)


def _more(candidate: Candidate) -> str:
    count = len(candidate.told or candidate.ripe or candidate.faults) - 1
    return f" (and {count} more)" if count > 0 else ""


def _also(candidate: Candidate, others: Iterable[Candidate]) -> str:
    outranked = sorted(
        f"{other.key.reason}: {cut(clean(other.worst.says.cause), _CAUSE_BYTES)}"
        for other in others
        if other.disposition is Disposition.SECONDARY and candidate.key.reason in other.by
    )
    return f" (also: {_first_of(outranked)})" if outranked else ""


def _of_one_node(candidate: Candidate, others: Iterable[Candidate]) -> str:
    """Return which causes rest on the same lost node: it is enough that the first one is told so."""
    node = candidate.worst.says.lost_node
    if not node:
        return ""
    resting = [
        other
        for other in others
        if other.disposition is Disposition.FIRING and other.worst.says.lost_node == node
    ]
    if len(resting) == 1 or resting[0] is not candidate:
        return ""
    return f" (node {node} also explains: {_first_of([each.key.reason for each in resting[1:]])})"


def _first_of(names: list[str]) -> str:
    named = names[:_ALSO_NAMED]
    if len(names) > _ALSO_NAMED:
        named.append(f"{len(names) - _ALSO_NAMED} more")
    return ", ".join(named)


def suppression_suffixes(
    candidates: Sequence[Candidate], table: Iterable[SuppressionRow]
) -> dict[UpstreamKey, str]:
    """Return, per upstream, the suffix that says what it suppresses in this pass.

    The whole row of the table is named once one of its reasons is being suppressed; the count is
    that of the namespaces where one is.
    """
    namespaces: dict[str, set[str]] = defaultdict(set)
    by: dict[str, set[str]] = defaultdict(set)
    for candidate in candidates:
        if candidate.disposition is Disposition.SUPPRESSED:
            namespaces[candidate.key.reason].add(candidate.key.subject.namespace)
            by[candidate.key.reason].update(candidate.by)
    rows: dict[UpstreamKey, tuple[set[str], set[str]]] = {}
    for row in table:
        if row.upstream == CLUSTER_NODE:
            continue
        hit = [name for name in row.downstream if row.upstream in by[name]]
        if hit:
            names, places = rows.setdefault((row.upstream, row.crd), (set(), set()))
            names.update(row.downstream)
            places.update(*(namespaces[name] for name in hit))
    return {
        **{key: _suffix(names, len(places)) for key, (names, places) in rows.items()},
        **_of_nodes(candidates),
    }


def _of_nodes(candidates: Iterable[Candidate]) -> dict[UpstreamKey, str]:
    """Return, per node, what it explains: no whole row, for a node explains single faults."""
    rows: dict[UpstreamKey, tuple[set[str], set[str]]] = {}
    for candidate in candidates:
        if candidate.disposition is Disposition.SUPPRESSED and CLUSTER_NODE in candidate.by:
            for node in {fault.says.lost_node for fault in candidate.ripe} - {""}:
                names, places = rows.setdefault((CLUSTER_NODE, node), (set(), set()))
                names.add(candidate.key.reason)
                places.update({candidate.key.subject.namespace} - {""})
    return {key: _suffix(names, len(places)) for key, (names, places) in rows.items()}


def _suffix(names: set[str], count: int) -> str:
    listed = ", ".join(sorted(names))
    where = f" in {count} namespace(s)" if count else ""
    return f" (suppressing downstream reasons: {listed}{where})"

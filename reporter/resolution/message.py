"""What an Event says: the worst fault, how many more, and what else it explains."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from reporter.model.catalogue import Catalogue
from reporter.model.report import Disposition, SpecChange
from reporter.model.text import MESSAGE_BYTES, clean, cut, with_suffix
from reporter.resolution.candidate import Candidate
from reporter.resolution.hold import explainers, upstream_key
from reporter.resolution.memory import UpstreamKey

_ALSO_NAMED = 4
_CAUSE_BYTES = 80

_ADDED = re.compile(
    r"\((?=suppressing downstream|also: |node \S{1,253} also explains)", re.IGNORECASE
)
"""How what is added begins: where a text from elsewhere does, another bracket tells it from ours."""

SUPPRESSING = " (suppressing downstream reasons: "
"""How the last suffix of a message begins."""


def compose(
    candidate: Candidate,
    others: Sequence[Candidate],
    suppressed: Mapping[UpstreamKey, str],
    *,
    changes: Sequence[SpecChange] = (),
) -> str:
    """Return the message of a candidate, at most 1,024 bytes.

    `others` are the candidates of the same subject, the one to look at first in front. The base is
    cut where it is too long, what is appended to it is not. The first of the `changes` is told behind
    the cause where there is room for it.
    """
    suffix = _more(candidate)
    if candidate.disposition is Disposition.FIRING:
        suffix += _of_one_node(candidate, others) + _also(candidate, others)
        suffix += suppressed.get(upstream_key(candidate.key), "")
    base = _ADDED.sub("[", clean(candidate.worst.says.message))
    change = _change(candidate, changes)
    if len(f"{base}{change}{suffix}".encode("utf-8", "replace")) <= MESSAGE_BYTES:
        base += change
    return with_suffix(base, suffix, MESSAGE_BYTES)


def _more(candidate: Candidate) -> str:
    count = len(candidate.told or candidate.ripe or candidate.faults) - 1
    return f" (and {count} more)" if count > 0 else ""


def _change(candidate: Candidate, changes: Sequence[SpecChange]) -> str:
    if candidate.disposition is not Disposition.FIRING or not changes:
        return ""
    return f" ({changes[0].seen_from(candidate.worst.says.related)})"


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
    candidates: Iterable[Candidate], catalogue: Catalogue
) -> dict[UpstreamKey, str]:
    """Return, per upstream, the suffix that says what it suppresses in this pass.

    The whole row of the table is named once one of its reasons is being suppressed; of a node only
    what it suppresses, for it explains single faults. The count is that of the namespaces; the cluster
    is none.
    """
    places: dict[UpstreamKey, set[str]] = defaultdict(set)
    hit: dict[UpstreamKey, set[str]] = defaultdict(set)
    for candidate in candidates:
        if candidate.disposition is Disposition.SUPPRESSED:
            reason, place = candidate.key.reason, candidate.key.subject.namespace
            for upstream in explainers(reason, candidate.by, catalogue, nodes=candidate.nodes):
                hit[upstream].add(reason)
                if place:
                    places[upstream].add(place)
    names = {key: set(reasons) for key, reasons in hit.items()}
    for row in catalogue.suppression:
        upstream = (row.upstream, row.crd)
        if not hit.get(upstream, set()).isdisjoint(row.downstream):
            names[upstream].update(row.downstream)
    return {key: _suffix(named, len(places[key])) for key, named in names.items()}


def _suffix(names: set[str], count: int) -> str:
    listed = ", ".join(sorted(names))
    where = f" in {count} namespace(s)" if count else ""
    return f"{SUPPRESSING}{listed}{where})"

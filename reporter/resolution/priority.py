"""Rule 5: which of several faults of a subject is the one to look at."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from reporter.model.catalogue import Catalogue, Priority
from reporter.model.finding import FindingKey
from reporter.model.report import Disposition
from reporter.model.subject import Layer
from reporter.resolution.candidate import Candidate
from reporter.setting_types import Emit

_Order: TypeAlias = Callable[[str], Priority]


def outrank(
    active: Sequence[Candidate], clearing: Iterable[FindingKey], emit: Emit, catalogue: Catalogue
) -> list[Candidate]:
    """Return the active candidates of one subject as firing or secondary.

    `clearing` are keys of the same subject whose episode goes on although they are not seen: they
    still outrank, or a fault that comes and goes would make its followers come and go too.
    """
    order = catalogue.priority
    ordered = sorted(active, key=lambda each: (order(each.key.reason), each.key))
    names = {each.reason for each in clearing}
    return [_RULES[emit](candidate, ordered, names, order) for candidate in ordered]


def _as_causes(
    candidate: Candidate, ordered: Sequence[Candidate], clearing: set[str], order: _Order
) -> Candidate:
    if candidate.reason.layer is Layer.CLUSTER or not candidate.reason.chain:
        return replace(candidate, disposition=Disposition.FIRING)
    others = clearing | {other.key.reason for other in ordered}
    above = [name for name in others if order(name) < order(candidate.key.reason)]
    if not above:
        return replace(candidate, disposition=Disposition.FIRING)
    return replace(candidate, disposition=Disposition.SECONDARY, by=(min(above, key=order),))


def _as_primary(
    candidate: Candidate, ordered: Sequence[Candidate], clearing: set[str], order: _Order
) -> Candidate:
    top = min([ordered[0].key.reason, *clearing], key=order)
    if candidate is ordered[0] and order(top) >= order(candidate.key.reason):
        return replace(candidate, disposition=Disposition.FIRING)
    return replace(candidate, disposition=Disposition.SECONDARY, by=(top,))


def _as_firing(
    candidate: Candidate, _ordered: Sequence[Candidate], _clearing: set[str], _order: _Order
) -> Candidate:
    return replace(candidate, disposition=Disposition.FIRING)


_Rule: TypeAlias = Callable[[Candidate, Sequence[Candidate], set[str], _Order], Candidate]

_RULES: Final[dict[Emit, _Rule]] = {
    Emit.CAUSES: _as_causes,
    Emit.PRIMARY: _as_primary,
    Emit.FIRING: _as_firing,
}

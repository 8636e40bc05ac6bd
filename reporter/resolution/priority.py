"""Rule 5: which of several faults of a subject is the one to look at."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from reporter.catalogue.reasons import BY_NAME, RANK
from reporter.model.finding import FindingKey
from reporter.model.report import Disposition
from reporter.model.subject import Layer
from reporter.resolution.candidate import Candidate
from reporter.setting_types import Emit


def rank_key(candidate: Candidate) -> tuple[bool, int, FindingKey]:
    """Order of the candidates of a subject: the chain first, in the order of the catalogue."""
    return (*_order(candidate.key.reason), candidate.key)


def _order(reason: str) -> tuple[bool, int]:
    return (not BY_NAME[reason].chain, RANK[reason])


def outrank(
    active: Sequence[Candidate], clearing: Iterable[FindingKey], emit: Emit
) -> list[Candidate]:
    """Return the active candidates of one subject as firing or secondary.

    `clearing` are keys of the same subject whose episode goes on although they are not seen: they
    still outrank, or a fault that comes and goes would make its followers come and go too.
    """
    ordered = sorted(active, key=rank_key)
    decide = _RULES[emit]
    going_on = sorted({key.reason for key in clearing}, key=RANK.__getitem__)
    return [decide(candidate, ordered, going_on) for candidate in ordered]


def _as_causes(
    candidate: Candidate, ordered: Sequence[Candidate], clearing: Sequence[str]
) -> Candidate:
    if candidate.reason.layer is Layer.CLUSTER or not candidate.reason.chain:
        return replace(candidate, disposition=Disposition.FIRING)
    chain = [other for other in ordered if other.reason.chain]
    above = {other.key.reason for other in chain if RANK[other.key.reason] < _rank(candidate)}
    above.update(name for name in clearing if _in_chain_above(name, candidate))
    if not above:
        return replace(candidate, disposition=Disposition.FIRING)
    top = min(above, key=RANK.__getitem__)
    return replace(candidate, disposition=Disposition.SECONDARY, by=(top,))


def _as_primary(
    candidate: Candidate, ordered: Sequence[Candidate], clearing: Sequence[str]
) -> Candidate:
    top = min([ordered[0].key.reason, *clearing], key=_order)
    if candidate is ordered[0] and _order(top) >= _order(candidate.key.reason):
        return replace(candidate, disposition=Disposition.FIRING)
    return replace(candidate, disposition=Disposition.SECONDARY, by=(top,))


def _as_firing(
    candidate: Candidate, _ordered: Sequence[Candidate], _clearing: Sequence[str]
) -> Candidate:
    return replace(candidate, disposition=Disposition.FIRING)


def _rank(candidate: Candidate) -> int:
    return RANK[candidate.key.reason]


def _in_chain_above(name: str, candidate: Candidate) -> bool:
    return candidate.reason.chain and BY_NAME[name].chain and RANK[name] < _rank(candidate)


_RULES: dict[Emit, Callable[[Candidate, Sequence[Candidate], Sequence[str]], Candidate]] = {
    Emit.CAUSES: _as_causes,
    Emit.PRIMARY: _as_primary,
    Emit.FIRING: _as_firing,
}

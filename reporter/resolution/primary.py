"""Rule 8: which cause of a subject is the one to look at first, and for how long.

The order of causes follows the impact, and the impact follows each model that comes and goes. If the
mark followed the order, two causes and one model that is ready and not ready by turns would pass it
to and fro: two Events are written each time, and whoever is called by it is sent from one to the other.
So it stays where it is until others have been in front for a grace without a break. The order itself
is not held: it says what is true now.

A cause that was not there before is news, and takes the mark at once if it comes first. One that ends, or
cannot be judged any more while another can, gives it up at once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from reporter.model.finding import FindingKey
from reporter.model.report import ResolvedFinding
from reporter.model.subject import Subject
from reporter.resolution.grace import global_grace
from reporter.resolution.memory import Primary
from reporter.resolution.state import PassState

_NEXT_PASS: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Primaries:
    """The causes with the primary ones marked, and what is to be remembered of these.

    Attributes:
        causes: in the order that they came in.
        held: the primary one of each subject.
        wake_in: time until one of them changes by itself.

    """

    causes: tuple[ResolvedFinding, ...]
    held: Mapping[Subject, Primary]
    wake_in: timedelta | None


def mark_primary(causes: Iterable[ResolvedFinding], state: PassState) -> Primaries:
    """Mark of each subject one of its causes, which come in their order; one that is stale only where all are."""
    ordered = tuple(causes)
    by_subject: dict[Subject, list[FindingKey]] = {}
    for cause in sorted(ordered, key=lambda each: each.stale):
        by_subject.setdefault(cause.subject, []).append(cause.key)
    stale = {each.key for each in ordered if each.stale}
    before = {**_on_record(state), **state.memory.primaries}
    held = {
        subject: _held(before.get(subject), keys, stale, state=state)
        for subject, keys in by_subject.items()
    }
    return Primaries(
        causes=tuple(replace(each, primary=held[each.subject].key == each.key) for each in ordered),
        held=held,
        wake_in=min(_waits(held.values(), state), default=None),
    )


def _held(
    before: Primary | None, keys: Sequence[FindingKey], stale: set[FindingKey], *, state: PassState
) -> Primary:
    first = Primary(keys[0])
    if before is None or before.key == first.key or before.key not in keys:
        return first
    episode = state.memory.episodes.get(first.key)
    is_news = episode is None or not episode.fired
    if is_news or (before.key in stale and first.key not in stale):
        return first
    since = state.now.boot if before.behind_since is None else before.behind_since
    if state.now.boot - since >= _grace(state):
        return first
    return Primary(before.key, since)


def _on_record(state: PassState) -> dict[Subject, Primary]:
    """Return the ones that our Events on record say are primary; a single look follows the order alone."""
    if state.one_look is not None:
        return {}
    marked = [each for each in state.records.going_on if each.live and each.primary]
    return {each.key.subject: Primary(each.key) for each in reversed(marked)}


def _waits(held: Iterable[Primary], state: PassState) -> Iterator[timedelta]:
    for each in held:
        if each.behind_since is not None:
            yield each.behind_since + _grace(state) - state.now.boot


def _grace(state: PassState) -> timedelta:
    """Return how long others must be in front; without graces until the next pass."""
    return max(global_grace(state.settings), _NEXT_PASS)

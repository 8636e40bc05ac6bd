"""The looks at one pod, the oldest first, as far back as the longest window needs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import Final

from reporter.metrics.looks.life import renewal
from reporter.metrics.looks.look import Look
from reporter.metrics.looks.sharing import shared
from reporter.model.instant import Instant

GAP_PERIODS: Final = 2.5
"""More scrape periods than this between two pages are a hole in the window: one scrape may fail,
and half a period may go by until the next has its turn; two in a row may not."""

MOST_LOOKS: Final = 1000
"""A bound for memory; the settings are refused if a window needs more."""


@dataclass(frozen=True, slots=True)
class History:
    """Looks at one pod; the newest is the last.

    Attributes:
        period: the longest time between two scrapes that is in order.
        looks: all of them.
        answered: when the newest page with engines was seen among those no longer kept.
        sizes: about how many bytes each look takes, where that is kept in bounds.
        given_up: how many looks were given up because they took too much memory.

    """

    period: timedelta
    looks: tuple[Look, ...] = ()
    answered: Instant | None = None
    sizes: tuple[int, ...] = ()
    given_up: int = 0

    @property
    def bytes(self) -> int:
        """About how much memory the looks take."""
        return sum(self.sizes)

    def seen(self, look: Look, keep: timedelta) -> "History":
        """Return the history with one more look, and without those that no window reaches.

        The newest look at or before the left edge of the longest window stays: without it no
        window would ever be covered.
        """
        looks, answered = self.looks, self.answered
        if looks and looks[-1].target.uid != look.target.uid:
            looks, answered = (), None
        look = shared(look, looks[-1] if looks else None)
        page = next((each for each in reversed(looks) if each.known), None)
        if page is not None and look.known and (renewed := renewal(page, look)).restarts:
            look = replace(look, restarts=renewed.restarts, renewed=renewed.engines)
        looks = (*looks, look)
        kept = looks[-MOST_LOOKS - 1 :]
        kept = kept[_left(kept, keep) :]
        answered = _answered(looks[: -len(kept)]) or answered
        sizes = self.sizes[1 - len(kept) :] if len(kept) > 1 else ()
        return History(self.period, kept, answered, sizes, self.given_up)

    @property
    def last_answer(self) -> Instant | None:
        """When a page with engines was seen last, however long ago."""
        return _answered(self.looks) or self.answered

    @property
    def newest(self) -> Look:
        """The last look."""
        return self.looks[-1]

    def last(self, length: timedelta) -> tuple[Look, ...]:
        """Return the looks of a window that ends now, with the one at its left edge, if any."""
        return self.looks[_left(self.looks, length) :]

    def covers(self, looks: Sequence[Look], length: timedelta) -> bool:
        """Tell whether looks span a window of that length which ends now, without a hole."""
        if not looks or looks[0].at.boot > self.newest.at.boot - length:
            return False
        longest = self.period * GAP_PERIODS
        ends_now = self.newest.at.boot - looks[-1].at.boot <= longest
        return ends_now and all(
            after.at.boot - before.at.boot <= longest for before, after in pairwise(looks)
        )


def _answered(looks: Sequence[Look]) -> Instant | None:
    return next((look.at for look in reversed(looks) if look.engines), None)


def _left(looks: Sequence[Look], length: timedelta) -> int:
    """Return the index of the newest look at or before the left edge; 0 where there is none."""
    edge = looks[-1].at.boot - length
    for n in range(len(looks) - 1, 0, -1):
        if looks[n].at.boot <= edge:
            return n
    return 0

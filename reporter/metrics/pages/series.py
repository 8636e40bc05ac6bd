"""The points of one part of a family to one value.

Series that differ in labels nobody asked for (`pid` in multiprocess mode, `priority`, `method`, a
second `model_name`) are parts of one count and are added; of gauges the largest holds. The same
series told twice counts once: the first time.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from reporter.metrics.pages.line import is_value
from reporter.metrics.pages.names import BOUND
from reporter.metrics.pages.page import CounterValue, Histogram
from reporter.metrics.pages.reader import SeriesLabels

Points: TypeAlias = Sequence[tuple[SeriesLabels, float]]
"""Labels and values, in the page's order."""

_LONGEST_BOUND: Final = 32
_MOST: Final = 1e18
"""The largest number that is believed: no counter gets there, and sums of them are far from where floats end."""


def gauge(points: Points) -> float | None:
    """Return a gauge; None where there is none, or a part is no finite number."""
    values = _distinct(points)
    return max(values) if values and all(map(_is_believed, values)) else None


def counter(points: Points, created: Points) -> CounterValue | None:
    """Return a counter; None where a part is negative or no finite number."""
    values = _distinct(points)
    if not values or not all(map(_is_count, values)):
        return None
    return CounterValue(sum(values), gauge(created))


def repeated_counter(points: Points) -> CounterValue | None:
    """Return a counter that each rank tells: the largest; None where a part is no count."""
    values = _distinct(points)
    return CounterValue(max(values)) if values and all(map(_is_count, values)) else None


def histogram(buckets: Points, sums: Points, created: Points) -> Histogram | None:
    """Return a histogram; None where its buckets are not in order or there are none."""
    parts: dict[bytes, dict[float, float]] = {}
    for labels, count in buckets:
        bound = _bound(labels.kept.get(BOUND, b""))
        if bound is None:
            return None
        parts.setdefault(labels.others, {}).setdefault(bound, count)
    ordered = [sorted(part.items()) for part in parts.values()]
    counts = [[count for _, count in part] for part in ordered]
    bounds = {tuple(bound for bound, _ in part) for part in ordered}
    if len(bounds) != 1 or not all(map(_is_cumulative, counts)):
        return None
    (common,) = bounds
    if common[-1] != math.inf:
        return None
    total = sum(_distinct(sums)) if sums else math.nan
    return Histogram(
        bounds=common,
        counts=tuple(counts[0] if len(counts) == 1 else map(sum, zip(*counts, strict=True))),
        sum=total if _is_believed(total) else None,
        created=gauge(created),
    )


def repeats(points: Points) -> int:
    """Count points of series that the page had told before."""
    return len(points) - len({labels.identity for labels, _ in points})


def _distinct(points: Points) -> list[float]:
    """Return the values of the different series."""
    if len(points) <= 1:
        return [value for _, value in points]
    values: dict[object, float] = {}
    for labels, value in points:
        values.setdefault(labels.identity, value)
    return list(values.values())


def _is_believed(value: float) -> bool:
    return -_MOST <= value <= _MOST


def _is_count(value: float) -> bool:
    return 0 <= value <= _MOST


def _is_cumulative(counts: list[float]) -> bool:
    return all(map(_is_count, counts)) and counts == sorted(counts)


@lru_cache(maxsize=1_024)
def _known_bound(text: bytes) -> float | None:
    if not is_value(text):
        return None
    bound = float(text)
    return bound if bound > -math.inf else None


def _bound(text: bytes) -> float | None:
    return _known_bound(text) if len(text) <= _LONGEST_BOUND else None

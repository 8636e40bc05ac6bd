"""The points of one part of a family to one value.

Series that differ in labels nobody asked for (`pid` in multiprocess mode, `priority`, `method`, a
second `model_name`) are parts of one count and are added; of gauges the largest holds. The same
series told twice counts once: the first time.

The samples of a page sorted by family, engine and series, and each series as one value.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias, TypeVar

from reporter.metrics.pages.names import BOUND, ENGINE, RANK, Family, Meaning, SamplePart
from reporter.metrics.pages.page import CounterValue, Histogram
from reporter.metrics.pages.reader import SeriesLabels, is_value

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


Value = TypeVar("Value")
Extra: TypeAlias = tuple[bytes, ...]
"""Values of the labels that tell the series of a family apart, in the family's order."""

POD: Final = b""
"""Stands in the place of the engine where a family is about the pod."""

_DEFAULT_ENGINE: Final = b"0"
_MEASURED: Final = (SamplePart.VALUE, SamplePart.BUCKET)


class Told:
    """What a page tells. Of several names of a family, the first that an engine has holds."""

    def __init__(self, samples: Iterable[tuple[Meaning, SeriesLabels, float]]) -> None:
        parts: defaultdict[tuple[Meaning, bytes, Extra], list[tuple[SeriesLabels, float]]]
        parts = defaultdict(list)
        for meaning, labels, value in samples:
            family = meaning.family
            engine = _engine(labels) if family.per_engine else POD
            extra = _extra(family, labels) if family.labels else ()
            parts[meaning, engine, extra].append((labels, value))
        self._parts = parts
        self._chosen = _chosen(parts)

    @property
    def engines(self) -> tuple[bytes, ...]:
        """Names of the engines, in the page's order."""
        return tuple(dict.fromkeys(engine for _, engine, _ in self._parts if engine != POD))

    def has_label(self, family: Family, label: bytes) -> bool:
        """Tell whether a family has a label anywhere."""
        return any(
            label in labels.kept
            for (meaning, _, _), points in self._parts.items()
            if meaning.family is family
            for labels, _ in points
        )

    def repeats(self) -> int:
        """Count samples of series that the page had told before."""
        return sum(repeats(each) for each in self._parts.values() if len(each) > 1)

    def about(self, engine: bytes) -> "EngineTold":
        """Return what is told of one engine, or of the pod."""
        return EngineTold(self._chosen, engine)


@dataclass(slots=True)
class Series:
    """A series: the points that measure, and what goes with them."""

    points: Points
    sums: Points = ()
    created: Points = ()


Chosen: TypeAlias = Mapping[tuple[Family, bytes], Mapping[Extra, Series]]


class EngineTold:
    """What a page tells of one engine, or of the pod."""

    def __init__(self, chosen: Chosen, engine: bytes) -> None:
        self._chosen = chosen
        self._engine = engine

    def gauge(self, family: Family) -> float | None:
        """Return a gauge that has one series."""
        return self.gauges(family).get(())

    def gauges(self, family: Family) -> dict[Extra, float | None]:
        """Return a gauge by its labels."""
        return self._each(family, lambda told: gauge(told.points))

    def counter(self, family: Family) -> CounterValue | None:
        """Return a counter that has one series."""
        return self.counters(family).get(())

    def counters(self, family: Family) -> dict[Extra, CounterValue | None]:
        """Return a counter by its labels."""
        if family.repeated:
            return self._each(family, lambda told: repeated_counter(told.points))
        return self._each(family, lambda told: counter(told.points, told.created))

    def histogram(self, family: Family) -> Histogram | None:
        """Return a histogram."""
        return self._each(
            family,
            lambda told: histogram(told.points, told.sums, told.created),
        ).get(())

    def _each(self, family: Family, value: Callable[[Series], Value]) -> dict[Extra, Value]:
        told = self._chosen.get((family, self._engine))
        return {extra: value(each) for extra, each in told.items()} if told else {}


def _engine(labels: SeriesLabels) -> bytes:
    return labels.kept.get(ENGINE) or labels.kept.get(RANK) or _DEFAULT_ENGINE


def _extra(family: Family, labels: SeriesLabels) -> Extra:
    return tuple([_first(labels.kept, names) for names in family.labels])


def _first(labels: Mapping[bytes, bytes], names: tuple[bytes, ...]) -> bytes:
    for name in names:
        value = labels.get(name)
        if value is not None:
            return value
    return b""


def _chosen(parts: Mapping[tuple[Meaning, bytes, Extra], Points]) -> Chosen:
    best: dict[tuple[Family, bytes], Meaning] = {}
    chosen: dict[tuple[Family, bytes], dict[Extra, Series]] = {}
    labelled = []
    for (meaning, engine, extra), points in parts.items():
        if meaning.part not in _MEASURED:
            labelled.append((meaning, engine, extra, points))
            continue
        key = meaning.family, engine
        rank = best[key].rank if key in best else math.inf
        if meaning.rank < rank:
            best[key], chosen[key] = meaning, {extra: Series(points)}
        elif meaning.rank == rank:
            chosen[key][extra] = Series(points)
    for meaning, engine, extra, points in labelled:
        key = meaning.family, engine
        if key in best and best[key].name == meaning.name and extra in chosen[key]:
            if meaning.part is SamplePart.SUM:
                chosen[key][extra].sums = points
            else:
                chosen[key][extra].created = points
    return chosen

"""Reading a page: bytes in, typed values out, one for each family, engine and series.

A value that is missing, NaN, infinite or a negative count is None or left out, never 0.

Series that differ only in labels that are not kept (`pid` in multiprocess mode, `priority`,
`method`, a second `model_name`) are parts of one count and are added; of gauges the largest counts.
If a series is repeated, its first sample counts.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeAlias, TypeVar

from reporter.metrics.pages import names, reader
from reporter.metrics.pages.names import BOUND, ENGINE, RANK, Family, Meaning, SamplePart

Points: TypeAlias = Sequence[tuple[reader.SeriesLabels, float]]

_LONGEST_BOUND: Final = 32
_MOST: Final = 1e18
"""The largest credible number: no real counter gets there, and sums stay finite."""


@dataclass(frozen=True, slots=True)
class Count:
    """The value of a counter.

    `created` is when it started, in epoch seconds of the pod's clock; compare it only with an
    earlier page of the same pod.
    """

    value: float
    created: float | None = None


@dataclass(frozen=True, slots=True)
class Histogram:
    """Cumulative counts for ascending bounds, the last of which is infinity.

    `sum` is None if it is missing or not a finite number.
    """

    bounds: tuple[float, ...]
    counts: tuple[float, ...]
    sum: float | None = None
    created: float | None = None

    @property
    def count(self) -> float:
        return self.counts[-1]


def gauge(points: Points) -> float | None:
    values = _distinct(points)
    return max(values) if values and all(map(_is_believed, values)) else None


def counter(points: Points, created: Points) -> Count | None:
    """Return the sum of a counter's parts; None if a part is negative or not a finite number."""
    values = _distinct(points)
    if not values or not all(map(_is_count, values)):
        return None
    return Count(sum(values), gauge(created))


def repeated_counter(points: Points) -> Count | None:
    """Return the largest value of a counter that every rank reports; None if one is invalid."""
    values = _distinct(points)
    return Count(max(values)) if values and all(map(_is_count, values)) else None


def histogram(buckets: Points, sums: Points, created: Points) -> Histogram | None:
    """Return a histogram; None if it has no buckets or their counts are invalid."""
    parts: dict[bytes, dict[float, float]] = {}
    for labels, count in buckets:
        text = labels.kept.get(BOUND, b"")
        bound = _known_bound(text) if len(text) <= _LONGEST_BOUND else None
        if bound is None:
            return None
        parts.setdefault(labels.others, {}).setdefault(bound, count)
    ordered = [sorted(part.items()) for part in parts.values()]
    counts = [[count for _, count in part] for part in ordered]
    bounds = {tuple(bound for bound, _ in part) for part in ordered}
    rise = (all(map(_is_count, each)) and each == sorted(each) for each in counts)
    if len(bounds) != 1 or not all(rise):
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


def _distinct(points: Points) -> list[float]:
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


@lru_cache(maxsize=1_024)
def _known_bound(text: bytes) -> float | None:
    if not reader.is_value(text):
        return None
    bound = float(text)
    return bound if bound > -math.inf else None


Value = TypeVar("Value")
Extra: TypeAlias = tuple[bytes, ...]

POD: Final = b""
"""Used in place of the engine for families about the pod."""

_MEASURED: Final = (SamplePart.VALUE, SamplePart.BUCKET)


class PageSeries:
    """The series of a page. If an engine has several names of a family, the first one counts."""

    def __init__(self, samples: Iterable[tuple[Meaning, reader.SeriesLabels, float]]) -> None:
        parts: defaultdict[tuple[Meaning, bytes, Extra], list[tuple[reader.SeriesLabels, float]]]
        parts = defaultdict(list)
        for meaning, labels, value in samples:
            family = meaning.family
            kept = labels.kept
            engine = (kept.get(ENGINE) or kept.get(RANK) or b"0") if family.per_engine else POD
            extra = tuple([_first(kept, names) for names in family.labels]) if family.labels else ()
            parts[meaning, engine, extra].append((labels, value))
        self._parts = parts
        self._chosen = _chosen(parts)

    @property
    def engines(self) -> tuple[bytes, ...]:
        return tuple(dict.fromkeys(engine for _, engine, _ in self._parts if engine != POD))

    def has_label(self, family: Family, label: bytes) -> bool:
        return any(
            label in labels.kept
            for (meaning, _, _), points in self._parts.items()
            if meaning.family is family
            for labels, _ in points
        )

    def repeats(self) -> int:
        """Count the samples that repeat a series of the page."""
        several = (each for each in self._parts.values() if len(each) > 1)
        return sum(len(each) - len({labels.identity for labels, _ in each}) for each in several)

    def about(self, engine: bytes) -> "EngineSeries":
        return EngineSeries(self._chosen, engine)


@dataclass(slots=True)
class Series:
    points: Points
    sums: Points = ()
    created: Points = ()


Chosen: TypeAlias = Mapping[tuple[Family, bytes], Mapping[Extra, Series]]


class EngineSeries:
    """The series of one engine, of which a pod may run several, or of the pod itself.

    Gauges are from the engine's last step and may be old. Several series of a family are keyed by
    the value of their label; an invalid value is None.
    """

    def __init__(self, chosen: Chosen, engine: bytes = POD) -> None:
        self._chosen = chosen
        self._engine = engine

    def gauge(self, family: Family) -> float | None:
        return self.gauges(family).get("")

    def gauges(self, family: Family) -> dict[str, float | None]:
        return _by_label(self._each(family, lambda one: gauge(one.points)))

    def counter(self, family: Family) -> Count | None:
        return self.counters(family).get("")

    def counters(self, family: Family) -> dict[str, Count | None]:
        return _by_label(self.counters_by_labels(family))

    def counters_by_labels(self, family: Family) -> dict[Extra, Count | None]:
        if family.repeated:
            return self._each(family, lambda one: repeated_counter(one.points))
        return self._each(family, lambda one: counter(one.points, one.created))

    def histogram(self, family: Family) -> Histogram | None:
        return self._each(family, lambda one: histogram(one.points, one.sums, one.created)).get(())

    def _each(self, family: Family, value: Callable[[Series], Value]) -> dict[Extra, Value]:
        found = self._chosen.get((family, self._engine))
        return {extra: value(each) for extra, each in found.items()} if found else {}


def _by_label(series: Mapping[Extra, Value]) -> dict[str, Value]:
    return {_text(extra[0]) if extra else "": value for extra, value in series.items()}


@dataclass(frozen=True, slots=True)
class Reading:
    """Statistics of reading a page; bad and oversized lines were dropped.

    `duplicates` are samples that repeat a series of the page; the first sample counts.
    """

    lines: int = 0
    kept: int = 0
    bad: int = 0
    oversized: int = 0
    duplicates: int = 0


_NOTHING: Final = EngineSeries({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The metrics of a pod's engines, by data-parallel rank ("0" if the page has none), and of the
    pod itself.

    `router`: the `vllm:` samples are about several servers. `http_requests` is keyed by handler and
    status class, such as `5xx`.
    """

    vllm: bool = False
    sglang: bool = False
    router: bool = False
    engines: Mapping[str, EngineSeries] = field(default_factory=dict)
    pod: EngineSeries = _NOTHING
    http_requests: Mapping[tuple[str, str], Count | None] = field(default_factory=dict)
    reading: Reading = field(default_factory=Reading)


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


def read_page(body: bytes, limits: reader.PageLimits = reader.DEFAULT_LIMITS) -> Page:
    found = _reader(limits).read(body)
    series = PageSeries(found.samples)
    engines = series.engines
    if len(engines) > limits.engines:
        raise reader.UnreadablePage(f"more than {limits.engines} engines")
    vllm = reader.has_name_with(names.PREFIX, body)
    sglang = not vllm and reader.has_name_with(names.SGLANG_PREFIX, body)
    sglang = sglang and not reader.has_name_with(names.DIFFUSION_PREFIX, body)
    if not vllm and not sglang:
        engines = ()
    pod = series.about(POD)
    return Page(
        vllm=vllm,
        sglang=sglang,
        router=series.has_label(names.RUNNING, names.SERVER),
        engines={_text(name): series.about(name) for name in engines},
        pod=pod,
        http_requests=_http_requests(pod),
        reading=Reading(
            lines=found.lines,
            kept=len(found.samples),
            bad=found.bad,
            oversized=found.oversized,
            duplicates=series.repeats(),
        ),
    )


@lru_cache(maxsize=4)
def _reader(limits: reader.PageLimits) -> reader.PageReader[Meaning]:
    return reader.PageReader(names.WANTED, names.KEPT_LABELS, limits)


def _http_requests(pod: EngineSeries) -> dict[tuple[str, str], Count | None]:
    """Return requests by handler and status class; SGLang reports full statuses, such as 503."""
    requests = dict(pod.counters_by_labels(names.HTTP_REQUESTS))
    for (handler, status), count in pod.counters_by_labels(names.SGLANG_ANSWERS).items():
        key = handler, status[:1] + b"xx"
        before = requests.get(key)
        requests[key] = Count(before.value + count.value) if before and count else count
    return {
        (_text(handler), _text(status)): count
        for (handler, status), count in requests.items()
        if names.is_inference(_text(handler))
    }


def _text(label: bytes) -> str:
    return label.decode(errors="replace")

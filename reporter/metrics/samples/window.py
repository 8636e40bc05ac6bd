"""The samples of one pod over a window: which conditions held throughout, by how much counters
rose, and what restarted.

Values that two samples of a pod share are stored once, and numbers are packed: nearly all numbers
of a busy pod change from sample to sample, and as Python objects a window's numbers would take
several times as much memory. Both a single pod and all pods together have a memory limit.
"""

from array import array
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Final, TypeAlias, TypeVar

from reporter.metrics.pages.reading import Count
from reporter.metrics.samples.sample import Buckets, Counter, EngineSample, Latency, PodName, Sample
from reporter.model.instant import Instant

Gauge: TypeAlias = Callable[[EngineSample], float | None]

_PROGRESS: Final = (
    Counter.GENERATED_TOKENS, Counter.PROMPT_TOKENS, Counter.STEPS, Counter.FINISHED,
    Counter.PREEMPTIONS, Counter.PREFIX_QUERIES,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Slower:
    """How many observations were larger than a bound of a histogram."""

    bound: float
    above: float
    total: float

    @property
    def share(self) -> float:
        """Return the share of all observations; 0 without observations."""
        return self.above / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class Window:
    """Samples of one engine: at least two, the oldest first, in one life of its process, without
    gaps.
    """

    span: timedelta
    samples: tuple[EngineSample, ...]

    def all(self, gauge: Gauge, holds: Callable[[float], bool]) -> bool:
        return all((value := gauge(sample)) is not None and holds(value) for sample in self.samples)

    def thirds(self, gauge: Gauge) -> tuple[float, float] | None:
        values = [value for sample in self.samples if (value := gauge(sample)) is not None]
        third = len(values) // 3
        return (max(values[:third]), min(values[-third:])) if third else None

    def last_third(self) -> "Window":
        return Window(self.span / 3, self.samples[-max(2, len(self.samples) // 3 + 1) :])

    def increase(self, counter: Counter) -> float | None:
        """Return by how much a counter rose, or None if no two samples can be compared.

        The increases between samples are summed, so a restarted series loses only one of them.
        """
        steps = [
            step
            for before, after in pairwise(self.samples)
            if (step := _step(before, after, counter)) is not None
        ]
        return sum(steps) if steps else None

    def frozen(self) -> bool:
        """True if none of the values changed that change while an engine works.

        A single value is not enough: a long prompt that is processed in chunks yields no tokens for
        a while and changes only the KV cache usage. Values missing on a page are no evidence.
        """
        return all(len({*signs} - {None}) <= 1 for signs in self._signs())

    def slower(self, latency: Latency, seconds: float) -> Slower | None:
        """Return the observations above the smallest bound that is not below `seconds`.

        There is no interpolation. Return None if no such bound is finite. Samples that cannot be
        compared are ignored.
        """
        newest = self.samples[-1].latencies.get(latency)
        finite = newest.bounds[:-1] if newest else ()
        index = next((n for n, bound in enumerate(finite) if bound >= seconds), None)
        if newest is None or index is None:
            return None
        total = above = 0.0
        for before, after in pairwise(self.samples):
            steps = _bucket_steps(before.latencies.get(latency), after.latencies.get(latency))
            if steps is not None and after.latencies[latency].bounds == newest.bounds:
                total += steps[-1]
                above += steps[-1] - steps[index]
        return Slower(finite[index], above, total)

    def _signs(self) -> Iterator[tuple[object, ...]]:
        yield tuple(sample.running for sample in self.samples)
        yield tuple(sample.waiting for sample in self.samples)
        yield tuple(sample.kv_usage for sample in self.samples)
        for counter in _PROGRESS:
            yield tuple(sample.counters.get(counter) for sample in self.samples)


def _step(before: EngineSample, after: EngineSample, counter: Counter) -> float | None:
    old, new = before.counters.get(counter), after.counters.get(counter)
    if old is None or new is None or old.created != new.created or new.value < old.value:
        return None
    return new.value - old.value


def _bucket_steps(before: Buckets | None, after: Buckets | None) -> Sequence[float] | None:
    if before is None or after is None:
        return None
    if (before.created, before.bounds) != (after.created, after.bounds):
        return None
    steps = [new - old for old, new in zip(before.counts, after.counts, strict=True)]
    rising = all(one <= next_ for one, next_ in pairwise((0.0, *steps)))
    return steps if rising else None


GAP_PERIODS: Final = 2.5
"""More scrape periods than this between two samples are a gap in the window: one missed scrape and
a delay of half a period are allowed, two missed scrapes in a row are not."""

MOST_SAMPLES: Final = 1000
"""Limits memory; settings whose windows need more samples are refused."""


@dataclass(frozen=True, slots=True)
class History:
    """Samples of one pod, the newest last.

    `period` is the longest acceptable time between two scrapes. `answered` is the time of the
    newest page with engines before them. `sizes` are the bytes of each sample, and `dropped`
    counts the samples dropped for lack of memory.
    """

    period: timedelta
    samples: tuple[Sample, ...] = ()
    answered: Instant | None = None
    sizes: tuple[int, ...] = ()
    dropped: int = 0

    @property
    def bytes(self) -> int:
        return sum(self.sizes)

    def with_sample(self, sample: Sample, keep: timedelta) -> "History":
        """Return the history with one more sample, and without samples older than `keep`.

        The newest sample at or before the left edge of the longest window stays: without it no
        window would ever be covered.
        """
        samples, answered = self.samples, self.answered
        if samples and samples[-1].target.uid != sample.target.uid:
            samples, answered = (), None
        sample = shared(sample, samples[-1] if samples else None)
        page = next((each for each in reversed(samples) if each.known), None)
        if page is not None and sample.known and (new := restarts_between(page, sample)).restarts:
            sample = replace(sample, restarts=new.restarts, restarted=new.engines)
        samples = (*samples, sample)
        kept = samples[-MOST_SAMPLES - 1 :]
        kept = kept[_left(kept, keep) :]
        answered = _answered(samples[: -len(kept)]) or answered
        sizes = self.sizes[1 - len(kept) :] if len(kept) > 1 else ()
        return History(self.period, kept, answered, sizes, self.dropped)

    @property
    def last_answer(self) -> Instant | None:
        return _answered(self.samples) or self.answered

    @property
    def newest(self) -> Sample:
        return self.samples[-1]

    def last(self, length: timedelta) -> tuple[Sample, ...]:
        """Return the samples of a window that ends now, including the sample at its left edge."""
        return self.samples[_left(self.samples, length) :]

    def covers(self, samples: Sequence[Sample], length: timedelta) -> bool:
        if not samples or samples[0].at.boot > self.newest.at.boot - length:
            return False
        longest = self.period * GAP_PERIODS
        ends_now = self.newest.at.boot - samples[-1].at.boot <= longest
        return ends_now and all(
            after.at.boot - before.at.boot <= longest for before, after in pairwise(samples)
        )


def _answered(samples: Sequence[Sample]) -> Instant | None:
    return next((sample.at for sample in reversed(samples) if sample.engines), None)


def _left(samples: Sequence[Sample], length: timedelta) -> int:
    """Return the index of the newest sample at or before the left edge, or 0 if there is none."""
    edge = samples[-1].at.boot - length
    for n in range(len(samples) - 1, 0, -1):
        if samples[n].at.boot <= edge:
            return n
    return 0


_TELLING: Final = (Counter.GENERATED_TOKENS, Counter.PROMPT_TOKENS)


@dataclass(frozen=True, slots=True)
class Restarts:
    restarts: int = 0
    engines: frozenset[str] = frozenset()


def restarts_between(before: Sample, after: Sample) -> Restarts:
    """Return the engines that restarted between two pages, from the strongest evidence.

    An unchanged process start time outweighs the container statuses: another container of the pod,
    such as a mesh proxy, may have restarted.
    """
    same_process = None
    if before.process_started is not None and after.process_started is not None:
        same_process = before.process_started == after.process_started
    if same_process is False or (
        same_process is None and before.target.containers != after.target.containers
    ):
        count = _container_restarts(after) - _container_restarts(before)
        return Restarts(max(1, count), frozenset(after.engines))
    engines = frozenset(
        name for name, each in after.engines.items() if _reset(before.engines.get(name), each)
    )
    return Restarts(int(bool(engines)), engines)


def restarts(samples: Sequence[Sample]) -> int:
    return sum(sample.restarts for sample in samples[1:])


def since_restart(pages: Sequence[Sample], engine: str | None = None) -> tuple[Sample, ...]:
    """Return the pages since an engine last restarted; without `engine`, since any restart."""
    for n in range(len(pages) - 1, 0, -1):
        restarted = pages[n].restarted
        if restarted if engine is None else engine in restarted:
            return tuple(pages[n:])
    return tuple(pages)


def _container_restarts(sample: Sample) -> int:
    return sum(each.restarts for each in sample.target.containers)


def _reset(before: EngineSample | None, after: EngineSample) -> bool:
    if before is None:
        return False
    for counter in _TELLING:
        old, new = before.counters.get(counter), after.counters.get(counter)
        if old and new and (new.value < old.value or new.created != old.created):
            return True
    return False


_T = TypeVar("_T")
NumberT = TypeVar("NumberT", float, float | None)
_KeyT = TypeVar("_KeyT", bound=Hashable)


class Counts(Mapping[Counter, Count]):
    """Counters with packed values; their names and start times are shared between samples."""

    __slots__ = ("_begun", "_names", "_values")

    def __init__(self, counts: Mapping[Counter, Count]) -> None:
        self._names = _index(tuple(counts))
        self._begun = _kept(tuple(each.created for each in counts.values()))
        self._values = array("d", [each.value for each in counts.values()])

    def __getitem__(self, name: Counter) -> Count:
        n = self._names[name]
        return Count(self._values[n], self._begun[n])

    def __iter__(self) -> Iterator[Counter]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def shared(sample: Sample, before: Sample | None) -> Sample:
    """Return an equal sample that reuses the objects of the previous one where they are equal."""
    if before is None:
        before = Sample(at=sample.at, target=sample.target)
    engines = {
        name: _shared_engine(each, before.engines.get(name))
        for name, each in sample.engines.items()
    }
    return replace(
        sample,
        target=_same(sample.target, before.target),
        process_started=_same(sample.process_started, before.process_started),
        engines=_all_same(engines, before.engines),
        pod=_shared_engine(sample.pod, before.pod),
    )


def _shared_engine(engine: EngineSample, before: EngineSample | None) -> EngineSample:
    before = before or EngineSample()
    packed = replace(
        engine,
        running=_same(engine.running, before.running),
        waiting=_same(engine.waiting, before.waiting),
        capacity=_same(engine.capacity, before.capacity),
        deferred=_same(engine.deferred, before.deferred),
        kv_usage=_same(engine.kv_usage, before.kv_usage),
        unfetched=_same(engine.unfetched, before.unfetched),
        fetching=_same(engine.fetching, before.fetching),
        counters=_same(Counts(engine.counters), before.counters),
        latencies=_all_same(_packed(engine.latencies), before.latencies),
    )
    return _same(packed, before)


def _packed(latencies: Mapping[Latency, Buckets]) -> Mapping[Latency, Buckets]:
    return {
        name: replace(each, bounds=_kept(each.bounds), counts=array("d", list(each.counts)))
        for name, each in latencies.items()
    }


@lru_cache(maxsize=4096)
def _kept(numbers: tuple[NumberT, ...]) -> tuple[NumberT, ...]:
    """Return the same tuple object for equal tuples."""
    return numbers


@lru_cache(maxsize=256)
def _index(names: tuple[Counter, ...]) -> dict[Counter, int]:
    return {name: n for n, name in enumerate(names)}


def _all_same(values: Mapping[_KeyT, _T], before: Mapping[_KeyT, _T]) -> Mapping[_KeyT, _T]:
    mixed = {k: _same(each, before[k]) if k in before else each for k, each in values.items()}
    unchanged = mixed.keys() == before.keys() and all(e is before[key] for key, e in mixed.items())
    return before if unchanged else mixed


def _same(value: _T, before: _T) -> _T:
    return before if value == before else value


POD_BYTES: Final = 4 * 2**20
"""Limit per pod; sixteen busy engines over the longest default window take less than half of it."""

ALL_BYTES: Final = 96 * 2**20
"""Limit for all pods; with it, the process stays below the chart's memory limit."""

_SAMPLE: Final = 500
_ENGINE: Final = 700
_SERIES: Final = 250
_NUMBER: Final = 8


def sample_bytes(sample: Sample, before: Sample | None) -> int:
    """Return the approximate bytes of a sample that are not shared with the previous sample."""
    known: Mapping[str, EngineSample] = before.engines if before is not None else {}
    fresh = [each for name, each in sample.engines.items() if each is not known.get(name)]
    size = _SAMPLE + sum(map(_engine_series, (*fresh, sample.pod))) + 100 * len(sample.engines)
    picked = sample.target.picked
    if picked is not None and (before is None or picked is not before.target.picked):
        size += _NUMBER * len(picked.ready_since)
    return size


def _engine_series(engine: EngineSample) -> int:
    buckets = sum(_SERIES + _NUMBER * len(each.counts) for each in engine.latencies.values())
    return _ENGINE + _NUMBER * len(engine.counters) + buckets


def weighed(history: History) -> History:
    before = history.samples[-2] if len(history.samples) > 1 else None
    sizes = (*history.sizes, sample_bytes(history.newest, before))
    return replace(history, sizes=sizes[-len(history.samples) :])


def within(history: History, most: int) -> History:
    """Drop the oldest samples until the history has at most `most` bytes; keep the newest."""
    size, dropped = history.bytes, 0
    while size > most and dropped < len(history.samples) - 1:
        size -= history.sizes[dropped]
        dropped += 1
    if not dropped:
        return history
    return replace(
        history,
        samples=history.samples[dropped:],
        sizes=history.sizes[dropped:],
        dropped=history.dropped + dropped,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFault:
    """A fault that a rule found in a pod's metrics; it is not updated while the fault lasts.

    Numbers in `text` are those when it was first found; `since` is the left edge of the window at
    that time. Among faults of one reason, a larger `severity` is worse.
    """

    reason: str
    cause: str
    text: str
    severity: int
    since: datetime
    engine: str = ""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason that cannot be judged for a pod, and since when, on the boot clock.

    `fault` was found before, and its words are reused if it is found again. `open`: a firing fault
    goes on, and is given up after some time unless there is a sign that it persists (`lasting`).
    """

    why: str
    since: timedelta
    fault: MetricFault | None = None
    open: bool = True
    lasting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PodVerdict:
    """The results of all rules for a pod after its newest scrape.

    `in_service`: the pod has been Ready long enough for its numbers to count.
    """

    uid: str
    faults: Mapping[str, MetricFault] = field(default_factory=dict)
    doubts: Mapping[str, Doubt] = field(default_factory=dict)
    failing: bool = False
    in_service: bool = False

    @property
    def inconclusive(self) -> frozenset[str]:
        """Return the reasons whose faults neither begin nor end."""
        return frozenset(reason for reason, doubt in self.doubts.items() if doubt.open)

    @property
    def why(self) -> dict[str, str]:
        return {reason: doubt.why for reason, doubt in self.doubts.items()}


@dataclass(frozen=True, slots=True)
class Judged:
    history: History
    verdict: PodVerdict


@dataclass(frozen=True, slots=True)
class PodSamples:
    """All pods that were scraped; if `scraping` is off, nothing is inconclusive."""

    scraping: bool = False
    pods: Mapping[PodName, Judged] = field(default_factory=dict)

    def of(self, namespace: str, name: str, uid: str) -> Judged | None:
        judged = self.pods.get((namespace, name))
        return judged if judged is not None and judged.verdict.uid == uid else None


NONE: Final = PodSamples()

"""The looks at one pod over a window: which conditions held throughout, by how much counters rose,
and what restarted.

Values that two looks at a pod share are stored once, and numbers are packed: nearly all numbers of
a busy pod change from look to look, and as Python objects a window's numbers would take several
times as much memory. Both a single pod and all pods together have a memory limit.
"""

from array import array
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Final, TypeAlias, TypeVar

from reporter.metrics.looks.look import Buckets, Counter, EngineLook, Latency, Look, PodName
from reporter.metrics.pages.reading import Count
from reporter.model.instant import Instant

Gauge: TypeAlias = Callable[[EngineLook], float | None]

_PROGRESS: Final = (
    Counter.GENERATED_TOKENS,
    Counter.PROMPT_TOKENS,
    Counter.STEPS,
    Counter.FINISHED,
    Counter.PREEMPTIONS,
    Counter.PREFIX_QUERIES,
)


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
    """Looks at one engine: at least two, the oldest first, in one life of its process, without
    gaps.
    """

    span: timedelta
    looks: tuple[EngineLook, ...]

    def all(self, gauge: Gauge, holds: Callable[[float], bool]) -> bool:
        return all((value := gauge(look)) is not None and holds(value) for look in self.looks)

    def thirds(self, gauge: Gauge) -> tuple[float, float] | None:
        values = [value for look in self.looks if (value := gauge(look)) is not None]
        third = len(values) // 3
        return (max(values[:third]), min(values[-third:])) if third else None

    def last_third(self) -> "Window":
        return Window(self.span / 3, self.looks[-max(2, len(self.looks) // 3 + 1) :])

    def increase(self, counter: Counter) -> float | None:
        """Return by how much a counter rose, or None if no two looks can be compared.

        The increases between looks are summed, so a restarted series loses only one of them.
        """
        steps = [
            step
            for before, after in pairwise(self.looks)
            if (step := _step(before, after, counter)) is not None
        ]
        return sum(steps) if steps else None

    def frozen(self) -> bool:
        """True if none of the values changed that change while an engine works.

        A single value is not enough: a long prompt that is processed in chunks yields no tokens for
        a while and changes only the KV cache usage. Values missing on a page are no evidence.
        """
        return all(
            len({sign for sign in signs if sign is not None}) <= 1 for signs in self._signs()
        )

    def slower(self, latency: Latency, seconds: float) -> Slower | None:
        """Return the observations above the smallest bound that is not below `seconds`.

        There is no interpolation. Return None if no such bound is finite. Looks that cannot be
        compared are ignored.
        """
        newest = self.looks[-1].latencies.get(latency)
        finite = newest.bounds[:-1] if newest else ()
        index = next((n for n, bound in enumerate(finite) if bound >= seconds), None)
        if newest is None or index is None:
            return None
        total = above = 0.0
        for before, after in pairwise(self.looks):
            steps = _bucket_steps(before.latencies.get(latency), after.latencies.get(latency))
            if steps is not None and after.latencies[latency].bounds == newest.bounds:
                total += steps[-1]
                above += steps[-1] - steps[index]
        return Slower(finite[index], above, total)

    def _signs(self) -> Iterator[tuple[object, ...]]:
        yield tuple(look.running for look in self.looks)
        yield tuple(look.waiting for look in self.looks)
        yield tuple(look.kv_usage for look in self.looks)
        for counter in _PROGRESS:
            yield tuple(look.counters.get(counter) for look in self.looks)


def _step(before: EngineLook, after: EngineLook, counter: Counter) -> float | None:
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
"""More scrape periods than this between two looks are a gap in the window: one missed scrape and a
delay of half a period are allowed, two missed scrapes in a row are not."""

MOST_LOOKS: Final = 1000
"""Limits memory; settings whose windows need more looks are refused."""


@dataclass(frozen=True, slots=True)
class History:
    """Looks at one pod, the newest last.

    `period` is the longest acceptable time between two scrapes. `answered` is the time of the
    newest page with engines among the looks that were dropped. `sizes` are the bytes of each look,
    and `given_up` counts the looks dropped for lack of memory.
    """

    period: timedelta
    looks: tuple[Look, ...] = ()
    answered: Instant | None = None
    sizes: tuple[int, ...] = ()
    given_up: int = 0

    @property
    def bytes(self) -> int:
        return sum(self.sizes)

    def seen(self, look: Look, keep: timedelta) -> "History":
        """Return the history with one more look, and without looks older than `keep`.

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
        return _answered(self.looks) or self.answered

    @property
    def newest(self) -> Look:
        return self.looks[-1]

    def last(self, length: timedelta) -> tuple[Look, ...]:
        """Return the looks of a window that ends now, including the look at its left edge."""
        return self.looks[_left(self.looks, length) :]

    def covers(self, looks: Sequence[Look], length: timedelta) -> bool:
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
    """Return the index of the newest look at or before the left edge, or 0 if there is none."""
    edge = looks[-1].at.boot - length
    for n in range(len(looks) - 1, 0, -1):
        if looks[n].at.boot <= edge:
            return n
    return 0


_TELLING: Final = (Counter.GENERATED_TOKENS, Counter.PROMPT_TOKENS)


@dataclass(frozen=True, slots=True)
class Renewal:
    restarts: int = 0
    engines: frozenset[str] = frozenset()


def renewal(before: Look, after: Look) -> Renewal:
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
        return Renewal(max(1, count), frozenset(after.engines))
    engines = frozenset(
        name for name, each in after.engines.items() if _reset(before.engines.get(name), each)
    )
    return Renewal(int(bool(engines)), engines)


def restarts(looks: Sequence[Look]) -> int:
    return sum(look.restarts for look in looks[1:])


def since_restart(pages: Sequence[Look], engine: str | None = None) -> tuple[Look, ...]:
    """Return the pages since an engine last restarted; without `engine`, since any restart."""
    for n in range(len(pages) - 1, 0, -1):
        renewed = pages[n].renewed
        if renewed if engine is None else engine in renewed:
            return tuple(pages[n:])
    return tuple(pages)


def _container_restarts(look: Look) -> int:
    return sum(each.restarts for each in look.target.containers)


def _reset(before: EngineLook | None, after: EngineLook) -> bool:
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
    """Counters with packed values; their names and start times are shared between looks."""

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


def shared(look: Look, before: Look | None) -> Look:
    """Return an equal look that reuses the objects of the previous look where they are equal."""
    if before is None:
        before = Look(at=look.at, target=look.target)
    engines = {
        name: _shared_engine(each, before.engines.get(name)) for name, each in look.engines.items()
    }
    return replace(
        look,
        target=_same(look.target, before.target),
        process_started=_same(look.process_started, before.process_started),
        engines=_all_same(engines, before.engines),
        pod=_shared_engine(look.pod, before.pod),
    )


def _shared_engine(engine: EngineLook, before: EngineLook | None) -> EngineLook:
    before = before or EngineLook()
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
    mixed = {
        key: _same(value, before[key]) if key in before else value for key, value in values.items()
    }
    unchanged = mixed.keys() == before.keys() and all(
        each is before[key] for key, each in mixed.items()
    )
    return before if unchanged else mixed


def _same(value: _T, before: _T) -> _T:
    return before if value == before else value


POD_BYTES: Final = 4 * 2**20
"""Limit per pod; sixteen busy engines over the longest default window take less than half of it."""

ALL_BYTES: Final = 96 * 2**20
"""Limit for all pods; with it, the process stays below the chart's memory limit."""

_LOOK: Final = 500
_ENGINE: Final = 700
_SERIES: Final = 250
_NUMBER: Final = 8


def look_bytes(look: Look, before: Look | None) -> int:
    """Return the approximate bytes of a look that are not shared with the previous look."""
    known: Mapping[str, EngineLook] = before.engines if before is not None else {}
    fresh = [each for name, each in look.engines.items() if each is not known.get(name)]
    size = _LOOK + sum(map(_engine_series, (*fresh, look.pod))) + 100 * len(look.engines)
    picked = look.target.picked
    if picked is not None and (before is None or picked is not before.target.picked):
        size += _NUMBER * len(picked.ready_since)
    return size


def _engine_series(engine: EngineLook) -> int:
    buckets = sum(_SERIES + _NUMBER * len(each.counts) for each in engine.latencies.values())
    return _ENGINE + _NUMBER * len(engine.counters) + buckets


def weighed(history: History) -> History:
    before = history.looks[-2] if len(history.looks) > 1 else None
    sizes = (*history.sizes, look_bytes(history.newest, before))
    return replace(history, sizes=sizes[-len(history.looks) :])


def within(history: History, most: int) -> History:
    """Drop the oldest looks until the history has at most `most` bytes; keep the newest look."""
    size, given_up = history.bytes, 0
    while size > most and given_up < len(history.looks) - 1:
        size -= history.sizes[given_up]
        given_up += 1
    if not given_up:
        return history
    return replace(
        history,
        looks=history.looks[given_up:],
        sizes=history.sizes[given_up:],
        given_up=history.given_up + given_up,
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
    def undecided(self) -> frozenset[str]:
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
class Samples:
    """All pods that were scraped; if `scraping` is off, nothing is undecided."""

    scraping: bool = False
    pods: Mapping[PodName, Judged] = field(default_factory=dict)

    def of(self, namespace: str, name: str, uid: str) -> Judged | None:
        judged = self.pods.get((namespace, name))
        return judged if judged is not None and judged.verdict.uid == uid else None


NONE: Final = Samples()

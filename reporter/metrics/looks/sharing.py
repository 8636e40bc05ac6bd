"""Memory: what two looks at a pod have in common is kept once, and numbers are packed.

A busy pod changes nearly all of its numbers from look to look; as Python objects, those of a
window would take several times as much.
"""

from array import array
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from reporter.metrics.looks.look import Buckets, Count, Counter, EngineLook, Latency, Look

_T = TypeVar("_T")
_KeyT = TypeVar("_KeyT", bound=Hashable)


class Counts(Mapping[Counter, Count]):
    """Counters with their values in one block; which there are and when they began is shared."""

    __slots__ = ("_begun", "_names", "_values")

    def __init__(self, counts: Mapping[Counter, Count]) -> None:
        self._names = _index(tuple(counts))
        self._begun = _times(tuple(each.created for each in counts.values()))
        self._values = array("d", [each.value for each in counts.values()])

    def __getitem__(self, name: Counter) -> Count:
        n = self._names[name]
        return Count(self._values[n], self._begun[n])

    def __iter__(self) -> Iterator[Counter]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def shared(look: Look, before: Look | None) -> Look:
    """Return an equal look that holds the objects of the one before wherever they are equal."""
    if before is None:
        before = Look(at=look.at, target=look.target)
    engines = {name: _engine(each, before.engines.get(name)) for name, each in look.engines.items()}
    return replace(
        look,
        target=_same(look.target, before.target),
        process_started=_same(look.process_started, before.process_started),
        engines=_all_same(engines, before.engines),
        pod=_engine(look.pod, before.pod),
    )


def _engine(engine: EngineLook, before: EngineLook | None) -> EngineLook:
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
        name: replace(each, bounds=_bounds(each.bounds), counts=array("d", list(each.counts)))
        for name, each in latencies.items()
    }


@lru_cache(maxsize=4096)
def _times(times: tuple[float | None, ...]) -> tuple[float | None, ...]:
    return times


@lru_cache(maxsize=256)
def _index(names: tuple[Counter, ...]) -> dict[Counter, int]:
    return {name: n for n, name in enumerate(names)}


@lru_cache(maxsize=256)
def _bounds(bounds: tuple[float, ...]) -> tuple[float, ...]:
    return bounds


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

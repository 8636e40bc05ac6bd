"""One engine over a window: what held all the time, and by how much counters rose."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Final, TypeAlias

from reporter.metrics.looks.look import Buckets, Counter, EngineLook, Latency

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
        """The part of all observations; of none, none are larger."""
        return self.above / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class Window:
    """Looks at one engine, the oldest first, in one life of its process and without holes.

    Attributes:
        span: the time from the first to the last.
        looks: at least two.

    """

    span: timedelta
    looks: tuple[EngineLook, ...]

    def all(self, gauge: Gauge, holds: Callable[[float], bool]) -> bool:
        """Tell whether a gauge was there and fulfilled a condition in every look."""
        return all((value := gauge(look)) is not None and holds(value) for look in self.looks)

    def thirds(self, gauge: Gauge) -> tuple[float, float] | None:
        """Return the largest value of the first third and the smallest of the last."""
        values = [value for look in self.looks if (value := gauge(look)) is not None]
        third = len(values) // 3
        return (max(values[:third]), min(values[-third:])) if third else None

    def last_third(self) -> "Window":
        """Return the newest part of it: what has stopped is no fault."""
        return Window(self.span / 3, self.looks[-max(2, len(self.looks) // 3 + 1) :])

    def increase(self, counter: Counter) -> float | None:
        """Return by how much a counter rose, None where no two looks can be compared.

        The steps are summed, so that a series that started again costs one step.
        """
        steps = [
            step
            for before, after in pairwise(self.looks)
            if (step := _step(before, after, counter)) is not None
        ]
        return sum(steps) if steps else None

    def frozen(self) -> bool:
        """Tell whether nothing moved that moves while an engine makes steps.

        One sign is not enough: a long prompt that is processed in chunks yields no token for a
        while and moves only the use of the KV cache. What is not on a page is no evidence.
        """
        return all(
            len({sign for sign in signs if sign is not None}) <= 1 for signs in self._signs()
        )

    def slower(self, latency: Latency, seconds: float) -> Slower | None:
        """Return the observations above the smallest bound that is not below `seconds`.

        There is no interpolation. None where no such bound is finite; what cannot be compared
        counts as not observed.
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

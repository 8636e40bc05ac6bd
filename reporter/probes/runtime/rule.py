"""Inputs and answers of rules, the values that they read from an engine, and the rules about the
room in an engine's KV cache.

The latter report one of two reasons, consistently. An engine that runs out of room preempts a
request: it frees the request's blocks and puts it back into the queue, to be computed again (vLLM,
vllm/v1/core/sched/scheduler.py). So the usage of a cache that is plainly too small swings, as each
preemption frees blocks; the queue is the better sign.

- The cache is saturated if requests wait for room most of the time and are preempted or the cache
  is often full, or if it is full most of the time and requests are preempted.
- Otherwise, many preemptions are reported as such: room comes and goes.

Each has a limit that starts it and a lower one that ends it. Otherwise a steady load near one limit
would start and end the fault from scrape to scrape, because preemptions come in bursts, and so do
finished requests.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from math import inf
from typing import Final, TypeAlias

from reporter.catalogue import runtime as t
from reporter.metrics.pages.reading import Count
from reporter.metrics.samples.sample import Counter, EngineSample, Samples
from reporter.metrics.samples.window import History, Window
from reporter.settings import EvaluationSettings


@dataclass(frozen=True, slots=True)
class Found:
    """A rule found its fault; among faults of one reason, larger `severity` is worse."""

    cause: str
    text: str
    severity: int = 0


@dataclass(frozen=True, slots=True)
class Inconclusive:
    """A rule cannot decide now; `why` says why."""

    why: str


@dataclass(frozen=True, slots=True)
class NotOnPage(Inconclusive):
    """The page never has what the rule reads; another part of the pod may have the answer."""


CLEAR: Final = None
"""A rule could decide, and there is no fault."""

Answer: TypeAlias = Found | Inconclusive | None

PodRule: TypeAlias = Callable[[History, Samples, EvaluationSettings], Answer]
"""Judges a pod from its history and the samples of the rule's window, covered or not."""


@dataclass(frozen=True, slots=True)
class EngineRule:
    """Judges one engine by a covered window of pages that have the values in `reads`."""

    judge: Callable[[Window, EvaluationSettings], Answer]
    reads: tuple[Callable[[EngineSample], object], ...]

    def can_read(self, sample: EngineSample) -> bool:
        return all(read(sample) is not None for read in self.reads)


@dataclass(frozen=True, slots=True)
class NotOver(Inconclusive):
    """A rule cannot decide, but it sees that an earlier fault continues, however long."""


NOT_SETTLED: Final = Inconclusive("the pod has been Ready for less than a minute")
NO_PAGE: Final = Inconclusive("its metrics cannot be read")
NO_ENGINE: Final = Inconclusive("the page has no metrics of an engine")
ENGINE_GONE: Final = Inconclusive("an engine is not on the page any more")
ASLEEP: Final = Inconclusive("the engine is asleep")
NOT_COVERED: Final = Inconclusive("its window is not full yet, or has a hole")
NOT_ON_PAGE: Final = NotOnPage("the page does not have what the rule reads")


def window_of(history: History, pages: Samples, seconds: int) -> Window | Inconclusive:
    """Return the pod's own values on these pages, unless they do not cover the window."""
    if not history.covers(pages, timedelta(seconds=seconds)):
        return NOT_COVERED
    return Window(pages[-1].at.boot - pages[0].at.boot, tuple(sample.pod for sample in pages))


def share(value: float) -> str:
    return f"{value:.0%}" if value >= 0.1 else f"{value:.1%}"  # noqa: PLR2004


def minutes(seconds: float) -> str:
    whole = round(seconds)
    if whole >= 120 and whole % 60 == 0:  # noqa: PLR2004
        return f"{whole // 60} min"
    return f"{whole} s"


def window_text(settings: EvaluationSettings, reason: str) -> str:
    return minutes(settings.window_seconds(reason))


def running(sample: EngineSample) -> float | None:
    return sample.running


def deferred(sample: EngineSample) -> float | None:
    """Return the requests that wait for another cause than room."""
    return sample.deferred


def kv_usage(sample: EngineSample) -> float | None:
    return sample.kv_usage


def healthy(sample: EngineSample) -> bool | None:
    return sample.healthy


def queue(sample: EngineSample) -> float | None:
    """Return the requests that wait for room, or all that wait if causes are unknown."""
    return sample.waiting if sample.capacity is None else sample.capacity


def progress(sample: EngineSample) -> Count | None:
    """Return a counter that increases with every step that yields tokens."""
    return sample.counters.get(Counter.GENERATED_TOKENS) or sample.counters.get(Counter.STEPS)


def count(counter: Counter) -> Callable[[EngineSample], Count | None]:
    return lambda sample: sample.counters.get(counter)


_MOST: Final = 0.8
_OFTEN: Final = 0.25
_HALF: Final = 0.5
_ROOM: Final = 0.8
"""Below this usage there is certainly room."""

_FEW_PREEMPTIONS: Final = 10

_STILL_TIGHT: Final = Inconclusive(
    "requests wait for room or are preempted, but not most of the time"
)
_STILL_PREEMPTS: Final = Inconclusive(
    "requests are preempted, but fewer than the limits, or none of late"
)
_FILLS_UP: Final = Inconclusive("the KV cache is full, which is judged first")


def kv_cache(window: Window, settings: EvaluationSettings) -> Answer:
    """Judge whether requests suffer from a full cache; a full cache alone is good use of a GPU."""
    full = settings.threshold(t.KV_USAGE)
    if not _saturated(window, full):
        return CLEAR if _has_room(window, min(full, _ROOM)) else _STILL_TIGHT
    waits = _share(map(_waits, window.samples)) >= _MOST
    preempts = bool(window.increase(Counter.PREEMPTIONS))
    suffer = " and ".join(
        text for holds, text in ((waits, "wait for room"), (preempts, "are preempted")) if holds
    )
    always = window.all(kv_usage, lambda used: used >= full)
    how_full = f"at {100 * full:g}% or more" if always else "full again and again"
    how_long = window_text(settings, t.KV_CACHE)
    return Found(
        "KV cache full",
        f"KV cache {how_full} for {how_long} while requests {suffer}",
        round(queue(window.samples[-1]) or 0),
    )


def preemption(window: Window, settings: EvaluationSettings) -> Answer:
    """Judge preemptions; those of a saturated cache are suppressed by its fault or wait for it."""
    if not _many(window, settings, _HALF):
        return CLEAR
    if _will_be_saturated(window, settings):
        return _FILLS_UP
    if not _many(window, settings) or not window.last_third().increase(Counter.PREEMPTIONS):
        return _STILL_PREEMPTS
    count = window.increase(Counter.PREEMPTIONS) or 0.0
    finished = window.increase(Counter.FINISHED)
    compared = "" if finished is None else f" for {finished:.0f} finished requests"
    how_long = window_text(settings, t.PREEMPTION)
    return Found(
        "many preemptions", f"{count:.0f} preemptions{compared} within {how_long}", round(count)
    )


def _saturated(window: Window, full: float) -> bool:
    """Tell whether requests suffer most of the time, since the window's first sample."""

    def is_full(sample: EngineSample) -> bool:
        return (kv_usage(sample) or 0.0) >= full

    waits = _always_waits(window)
    fullness = _share(map(is_full, window.samples))
    if waits and fullness >= _OFTEN:
        return True
    preempts = _share(
        bool(replace(window, samples=pair).increase(Counter.PREEMPTIONS))
        for pair in pairwise(window.samples)
    )
    stays_full = is_full(window.samples[0]) and fullness >= _MOST
    return (waits and preempts >= _HALF) or (stays_full and preempts > 0)


def _will_be_saturated(window: Window, settings: EvaluationSettings) -> bool:
    """Tell whether the KV cache reason will follow: the cache fills up, or its window is longer.

    This includes requests that have waited for room for a short time only, as the window of the
    other reason has earlier samples. Each preemption frees blocks, so usage alone is not enough.
    """
    full = settings.threshold(t.KV_USAGE)
    if _saturated(window, full):
        return settings.window_seconds(t.KV_CACHE) > settings.window_seconds(t.PREEMPTION)
    newest = window.samples[-1]
    return (kv_usage(newest) or 0.0) >= full or (_waits(newest) and not _always_waits(window))


def _always_waits(window: Window) -> bool:
    return _waits(window.samples[0]) and _share(map(_waits, window.samples)) >= _MOST


def _has_room(window: Window, room: float) -> bool:
    if not any(map(_waits, window.samples)):
        return True
    below = window.all(kv_usage, lambda used: used < room)
    return below and not window.increase(Counter.PREEMPTIONS)


def _many(window: Window, settings: EvaluationSettings, part: float = 1.0) -> bool:
    """Tell whether preemptions exceed this part of the limits."""
    count = window.increase(Counter.PREEMPTIONS)
    if not count:
        return False
    finished = window.increase(Counter.FINISHED)
    allowed = inf if finished is None else finished * settings.threshold(t.PREEMPTED_SHARE)
    limit = settings.threshold(t.PREEMPTIONS_RATE) * window.span.total_seconds()
    return count > part * limit or (count >= part * _FEW_PREEMPTIONS and count > part * allowed)


def _waits(sample: EngineSample) -> bool:
    return (queue(sample) or 0.0) > 0


def _share(holds: Iterable[bool]) -> float:
    each = tuple(holds)
    return sum(each) / len(each) if each else 0.0

"""Rules about one engine over its window."""

from collections.abc import Callable, Mapping
from math import inf
from typing import Final

from reporter.catalogue import runtime as t
from reporter.metrics.looks.look import Count, Counter, EngineLook, Latency
from reporter.metrics.looks.window import Window
from reporter.probes.runtime.rule import (
    CLEAR,
    NOT_TOLD,
    Answer,
    EngineRule,
    Found,
    Undecided,
    minutes,
    share,
)
from reporter.settings import EvaluationSettings

_FILLS_UP: Final = Undecided("the KV cache is full, which is judged first")
_FEW_PREEMPTIONS: Final = 10
_FEW_ERRORS: Final = 3
_FEW_REQUESTS: Final = 20
_LEAST_GROWTH: Final = 5
_MANY_OBSERVATIONS: Final = 100
_LENIENCE: Final = 5
"""How much larger a share may be where there are few observations."""

_NO_DEMAND: Final = Undecided("it makes no progress, but nothing waits; this takes longer to tell")
_TOO_FEW: Final = Undecided("too few scrapes to see growth")


def unhealthy(window: Window, settings: EvaluationSettings) -> Answer:
    """Judge what the engine says of itself; one that does not tell is not unhealthy."""
    if any(look.healthy for look in window.looks):
        return CLEAR
    return Found(
        "engine unhealthy",
        f"has reported itself unhealthy for {_time(settings, t.ENGINE_UNHEALTHY)}",
    )


def corrupted(window: Window, _settings: EvaluationSettings) -> Answer:
    """Judge whether any output had NaN in it."""
    count = window.increase(Counter.CORRUPTED)
    if not count:
        return CLEAR
    return Found("NaN in the output", "produces NaN, so answers are garbage", round(count))


def stalled(window: Window, settings: EvaluationSettings) -> Answer:
    """Judge whether nothing progresses while requests wait."""
    if not _stands_still(window):
        return CLEAR
    if not any(map(_queue, window.looks)):
        return _NO_DEMAND
    how_long = _time(settings, t.ENGINE_STALLED)
    return Found("no progress", _no_progress(how_long, " while others wait"))


def stalled_and_refusing(window: Window, settings: EvaluationSettings) -> Answer:
    """Judge whether nothing progresses while requests are refused or answered with errors."""
    if not _stands_still(window):
        return CLEAR
    how_long = _time(settings, t.ENGINE_STALLED)
    return Found("no progress", _no_progress(how_long, " while others are refused"))


def stalled_without_demand(window: Window, settings: EvaluationSettings) -> Answer:
    """Judge whether nothing progresses where nothing tells of demand.

    The numbers may be left over from aborted requests.
    """
    if not _stands_still(window):
        return CLEAR
    return Found("no progress", _no_progress(minutes(stalled_seconds_without_demand(settings))))


def stalled_seconds_without_demand(settings: EvaluationSettings) -> float:
    """Return the window of a stall without signs of demand; never shorter than with demand."""
    return max(settings.window_seconds(t.ENGINE_STALLED), settings.threshold(t.STALLED_IDLE))


def scheduler_stuck(window: Window, settings: EvaluationSettings) -> Answer:
    """Judge whether requests are put off although none runs and there is room."""
    room = settings.threshold(t.STUCK_KV_USAGE)
    stuck = (
        window.all(_deferred, lambda deferred: deferred > 0)
        and window.all(_running, lambda running: running == 0)
        and window.all(_kv_usage, lambda used: used < room)
        and window.frozen()
    )
    if not stuck:
        return CLEAR
    how_long = _time(settings, t.SCHEDULER_STUCK)
    return Found(
        "requests deferred, none runs",
        f"has deferred requests for {how_long} although none runs and there is room",
    )


def kv_transfer(window: Window, settings: EvaluationSettings) -> Answer:
    """Judge how many KV transfers failed."""
    count = window.increase(Counter.TRANSFER_FAILURES)
    if count is None or count < settings.threshold(t.TRANSFER_FAILURES) or not count:
        return CLEAR
    how_long = _time(settings, t.KV_TRANSFER)
    return Found(
        "KV transfers fail", f"{count:.0f} transfers failed within {how_long}", round(count)
    )


def kv_cache(window: Window, settings: EvaluationSettings) -> Answer:
    """Judge whether requests suffer from a full cache, which alone is good use of the GPU."""
    full = settings.threshold(t.KV_USAGE)
    if not window.all(_kv_usage, lambda used: used >= full):
        return CLEAR
    waits = window.all(_queue, lambda waiting: waiting > 0)
    preempts = bool(window.increase(Counter.PREEMPTIONS))
    if not waits and not preempts:
        return CLEAR
    suffer = " and ".join(
        text for holds, text in ((waits, "wait for room"), (preempts, "are preempted")) if holds
    )
    how_long = _time(settings, t.KV_CACHE)
    return Found(
        "KV cache full",
        f"KV cache at {100 * full:g}% or more for {how_long} while requests {suffer}",
        round(_queue(window.looks[-1]) or 0),
    )


def backlog(window: Window, settings: EvaluationSettings) -> Answer:
    """Judge whether the queue grows; without the cause of waiting the floor is twice as high."""
    floor = settings.threshold(t.BACKLOG_WAITING)
    if any(look.capacity is None for look in window.looks):
        floor *= 2
    if not window.all(_queue, lambda waiting: waiting > floor):
        return CLEAR
    ends = window.thirds(_queue)
    if ends is None:
        return _TOO_FEW
    first, last = ends
    if last - first < max(_LEAST_GROWTH, first * settings.threshold(t.BACKLOG_GROWTH)):
        return CLEAR
    how_long = _time(settings, t.BACKLOG)
    return Found(
        "queue grows",
        f"queue grew from {first:.0f} to {last:.0f} requests within {how_long}",
        round(last),
    )


def preemption(window: Window, settings: EvaluationSettings) -> Answer:
    """Judge preemptions; those of a full cache are told as that, before or in place of this."""
    count = window.increase(Counter.PREEMPTIONS)
    finished = window.increase(Counter.FINISHED)
    if not count or not window.last_third().increase(Counter.PREEMPTIONS):
        return CLEAR
    if settings.judges(t.KV_CACHE) and _fills_up(window, settings.threshold(t.KV_USAGE)):
        return _FILLS_UP
    often = count / window.span.total_seconds() > settings.threshold(t.PREEMPTIONS_RATE)
    allowed = inf if finished is None else finished * settings.threshold(t.PREEMPTED_SHARE)
    many = count >= _FEW_PREEMPTIONS and count > allowed
    if not often and not many:
        return CLEAR
    compared = "" if finished is None else f" for {finished:.0f} finished requests"
    how_long = _time(settings, t.PREEMPTION)
    return Found(
        "many preemptions", f"{count:.0f} preemptions{compared} within {how_long}", round(count)
    )


def _fills_up(window: Window, full: float) -> bool:
    """Tell whether the cache is full now and has not been so for the whole window."""
    newest = window.looks[-1].kv_usage
    is_full = newest is not None and newest >= full
    return is_full and not window.all(lambda look: look.kv_usage, lambda used: used >= full)


def error_rate(window: Window, settings: EvaluationSettings) -> Answer:
    """Judge the share of failed requests among all that finished."""
    errors, total = window.increase(Counter.FAILED), window.increase(Counter.FINISHED)
    if errors is None or total is None:
        return CLEAR
    return failures(errors, total, "failed in the engine", settings=settings)


def failures(errors: float, total: float, how: str, *, settings: EvaluationSettings) -> Answer:
    """Judge the share of failures among all requests."""
    if errors < _FEW_ERRORS or total < _FEW_REQUESTS:
        return CLEAR
    if errors / total <= settings.threshold(t.ERROR_SHARE):
        return CLEAR
    how_long = _time(settings, t.ERROR_RATE)
    return Found(
        "requests fail",
        f"{share(errors / total)} of {total:.0f} requests {how} within {how_long}",
        round(1000 * errors / total),
    )


def latency(window: Window, settings: EvaluationSettings) -> Answer:
    """Judge latencies by the exact shares of their buckets."""
    told = False
    for kind, objective in OBJECTIVES.items():
        seconds = settings.threshold(objective)
        if not seconds:
            continue
        told = told or kind in window.looks[-1].latencies
        slow = window.slower(kind, seconds)
        if slow is None or slow.total < _FEW_REQUESTS:
            continue
        lenience = 1 if slow.total >= _MANY_OBSERVATIONS else _LENIENCE
        if slow.share > settings.threshold(t.SLOW_SHARE) * lenience:
            how_long = _time(settings, t.LATENCY)
            return Found(
                f"{kind.value} too long",
                f"{kind.value} was above {slow.bound:g} s for {share(slow.share)} of "
                f"{slow.total:.0f} within {how_long}",
                round(1000 * slow.share),
            )
    return CLEAR if told else NOT_TOLD


OBJECTIVES: Final = {
    Latency.TTFT: t.TTFT_SECONDS,
    Latency.ITL: t.ITL_SECONDS,
    Latency.E2E: t.E2E_SECONDS,
}


def _time(settings: EvaluationSettings, reason: str) -> str:
    return minutes(settings.window_seconds(reason))


def _no_progress(how_long: str, demand: str = "") -> str:
    return f"has running requests and made no progress for {how_long}{demand}"


def _stands_still(window: Window) -> bool:
    if not window.all(_running, lambda running: running > 0) or not window.frozen():
        return False
    # Where all that wait are put off, a decode pod waits for KV caches of its peer.
    return not window.all(_deferred, lambda deferred: deferred > 0) or any(
        look.capacity != 0 for look in window.looks
    )


def _running(look: EngineLook) -> float | None:
    return look.running


def _deferred(look: EngineLook) -> float | None:
    return look.deferred


def _kv_usage(look: EngineLook) -> float | None:
    return look.kv_usage


def _healthy(look: EngineLook) -> bool | None:
    return look.healthy


def _queue(look: EngineLook) -> float | None:
    """Return the requests that wait for room, or all that wait where the cause is not told."""
    return look.waiting if look.capacity is None else look.capacity


def _progress(look: EngineLook) -> Count | None:
    return look.counters.get(Counter.GENERATED_TOKENS) or look.counters.get(Counter.STEPS)


def _count(counter: Counter) -> Callable[[EngineLook], Count | None]:
    return lambda look: look.counters.get(counter)


ENGINE_RULES: Final[Mapping[str, EngineRule]] = {
    t.ENGINE_UNHEALTHY: EngineRule(unhealthy, (_healthy,)),
    t.OUTPUT_CORRUPTED: EngineRule(corrupted, (_count(Counter.CORRUPTED),)),
    t.KV_TRANSFER: EngineRule(kv_transfer, (_count(Counter.TRANSFER_FAILURES),)),
    t.SCHEDULER_STUCK: EngineRule(scheduler_stuck, (_deferred, _running, _kv_usage, _progress)),
    t.KV_CACHE: EngineRule(kv_cache, (_kv_usage,)),
    t.BACKLOG: EngineRule(backlog, (_queue,)),
    t.PREEMPTION: EngineRule(preemption, (_count(Counter.PREEMPTIONS),)),
    t.ERROR_RATE: EngineRule(error_rate, (_count(Counter.FAILED), _count(Counter.FINISHED))),
    t.LATENCY: EngineRule(latency, ()),
}

_OF_PROGRESS: Final = (_running, _progress)
STALLED: Final = EngineRule(stalled, _OF_PROGRESS)
STALLED_AND_REFUSING: Final = EngineRule(stalled_and_refusing, _OF_PROGRESS)
STALLED_WITHOUT_DEMAND: Final = EngineRule(stalled_without_demand, _OF_PROGRESS)

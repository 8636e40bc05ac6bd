"""Rules about one engine over its window, the samples that each engine is judged by, and rules
about a pod that loads its weights, by the two download gauges of KAITO.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Final

from reporter.catalogue import runtime as t
from reporter.metrics.samples.sample import Counter, Latency, Sample, Samples
from reporter.metrics.samples.window import History, Window, since_restart
from reporter.probes.runtime import rule as r
from reporter.probes.runtime.network import in_service
from reporter.settings import EvaluationSettings

_FEW_ERRORS: Final = 3
_FEW_REQUESTS: Final = 20
_LEAST_GROWTH: Final = 5
_MANY_OBSERVATIONS: Final = 100
_LENIENCE: Final = 5
"""Factor on the allowed share if there are few observations."""

_NO_DEMAND: Final = r.Inconclusive(
    "it makes no progress, but nothing waits; this takes longer to tell"
)
_TOO_FEW: Final = r.Inconclusive("too few scrapes to see growth")
TOO_FEW_REQUESTS: Final = r.Inconclusive("too few requests were answered to tell")
_NONE_FINISHES: Final = r.NotOver("too few requests were answered to tell, and others wait")


def unhealthy(window: Window, settings: EvaluationSettings) -> r.Answer:
    """Judge what the engine reports about itself; no report is not unhealthy."""
    if any(sample.healthy for sample in window.samples):
        return r.CLEAR
    return r.Found(
        "engine unhealthy",
        f"has reported itself unhealthy for {r.window_text(settings, t.ENGINE_UNHEALTHY)}",
    )


def corrupted(window: Window, _settings: EvaluationSettings) -> r.Answer:
    requests = window.increase(Counter.CORRUPTED)
    if not requests:
        return r.CLEAR
    return r.Found("NaN in the output", "produces NaN, so answers are garbage", round(requests))


def stalled(window: Window, settings: EvaluationSettings) -> r.Answer:
    """Judge whether the engine makes no progress while requests wait."""
    if _stands_still(window) and not any(map(r.queue, window.samples)):
        return _NO_DEMAND
    return _no_progress(window, r.window_text(settings, t.ENGINE_STALLED), " while others wait")


def stalled_and_refusing(window: Window, settings: EvaluationSettings) -> r.Answer:
    """Judge whether the engine makes no progress while it refuses requests or answers errors."""
    how_long = r.window_text(settings, t.ENGINE_STALLED)
    return _no_progress(window, how_long, " while others are refused")


def stalled_without_demand(window: Window, settings: EvaluationSettings) -> r.Answer:
    """Judge whether the engine makes no progress without a sign of demand.

    Its running requests may be left over from aborted ones.
    """
    return _no_progress(window, r.minutes(stalled_seconds_without_demand(settings)))


def stalled_seconds_without_demand(settings: EvaluationSettings) -> float:
    """Return the window of a stall without demand, at least as long as with demand."""
    return max(settings.window_seconds(t.ENGINE_STALLED), settings.threshold(t.STALLED_IDLE))


def scheduler_stuck(window: Window, settings: EvaluationSettings) -> r.Answer:
    """Judge whether requests are deferred although none runs and there is room."""
    room = settings.threshold(t.STUCK_KV_USAGE)
    stuck = (
        window.all(r.deferred, lambda waiting: waiting > 0)
        and window.all(r.running, lambda requests: requests == 0)
        and window.all(r.kv_usage, lambda used: used < room)
        and window.frozen()
    )
    if not stuck:
        return r.CLEAR
    how_long = r.window_text(settings, t.SCHEDULER_STUCK)
    return r.Found(
        "requests deferred, none runs",
        f"has deferred requests for {how_long} although none runs and there is room"
        + _where_kv_caches_are(window),
    )


def _where_kv_caches_are(window: Window) -> str:
    """Return what the deferred requests wait for, if the engine has it (vLLM 0.32 and later)."""
    if window.all(lambda sample: sample.fetching, lambda requests: requests > 0):
        return "; their KV caches are under way from a peer that does not deliver them"
    none_fetched = window.all(lambda sample: sample.fetching, lambda requests: requests == 0)
    if none_fetched and window.all(lambda sample: sample.unfetched, lambda requests: requests > 0):
        return "; it has not begun to fetch their KV caches"
    return ""


def kv_transfer(window: Window, settings: EvaluationSettings) -> r.Answer:
    failed = window.increase(Counter.TRANSFER_FAILURES)
    if failed is None or failed < settings.threshold(t.TRANSFER_FAILURES) or not failed:
        return r.CLEAR
    how_long = r.window_text(settings, t.KV_TRANSFER)
    return r.Found(
        "KV transfers fail", f"{failed:.0f} transfers failed within {how_long}", round(failed)
    )


def backlog(window: Window, settings: EvaluationSettings) -> r.Answer:
    """Judge whether the queue grows; if causes of waiting are unknown, the floor is doubled."""
    floor = settings.threshold(t.BACKLOG_WAITING)
    if any(sample.capacity is None for sample in window.samples):
        floor *= 2
    if not window.all(r.queue, lambda waiting: waiting > floor):
        return r.CLEAR
    ends = window.thirds(r.queue)
    if ends is None:
        return _TOO_FEW
    first, last = ends
    if last - first < max(_LEAST_GROWTH, first * settings.threshold(t.BACKLOG_GROWTH)):
        return r.CLEAR
    how_long = r.window_text(settings, t.BACKLOG)
    return r.Found(
        "queue grows",
        f"queue grew from {first:.0f} to {last:.0f} requests within {how_long}",
        round(last),
    )


def error_rate(window: Window, settings: EvaluationSettings) -> r.Answer:
    """Judge the share of failed requests among all finished ones."""
    errors, total = window.increase(Counter.FAILED), window.increase(Counter.FINISHED)
    if errors is None or total is None:
        return r.CLEAR
    return failures(errors, total, "failed in the engine", settings=settings)


def failures(errors: float, total: float, how: str, *, settings: EvaluationSettings) -> r.Answer:
    if total < _FEW_REQUESTS:
        return TOO_FEW_REQUESTS
    if errors < _FEW_ERRORS or errors / total <= settings.threshold(t.ERROR_SHARE):
        return r.CLEAR
    how_long = r.window_text(settings, t.ERROR_RATE)
    return r.Found(
        "requests fail",
        f"{r.share(errors / total)} of {total:.0f} requests {how} within {how_long}",
        round(1000 * errors / total),
    )


def latency(window: Window, settings: EvaluationSettings) -> r.Answer:
    """Judge latencies by the exact shares of their buckets.

    Few observations prove nothing, but throughput may have collapsed: while requests wait, a fault
    is not over.
    """
    newest = window.samples[-1]
    kinds = [kind for kind in OBJECTIVES if _objective(kind, settings) and kind in newest.latencies]
    answers = [_latency(window, kind, settings) for kind in kinds]
    found = next((each for each in answers if isinstance(each, r.Found)), None)
    if found is not None:
        return found
    if TOO_FEW_REQUESTS in answers:
        wait = window.last_third().all(lambda sample: sample.waiting, lambda requests: requests > 0)
        return _NONE_FINISHES if wait else TOO_FEW_REQUESTS
    return r.CLEAR if kinds else r.NOT_ON_PAGE


def _latency(window: Window, kind: Latency, settings: EvaluationSettings) -> r.Answer:
    slow = window.slower(kind, _objective(kind, settings))
    if slow is None:
        return r.CLEAR
    if slow.total < _FEW_REQUESTS:
        return TOO_FEW_REQUESTS
    lenience = 1 if slow.total >= _MANY_OBSERVATIONS else _LENIENCE
    if slow.share <= settings.threshold(t.SLOW_SHARE) * lenience:
        return r.CLEAR
    how_long = r.window_text(settings, t.LATENCY)
    return r.Found(
        f"{kind.value} too long",
        f"{kind.value} was above {slow.bound:g} s for {r.share(slow.share)} of "
        f"{slow.total:.0f} within {how_long}",
        round(1000 * slow.share),
    )


def _objective(kind: Latency, settings: EvaluationSettings) -> float:
    return settings.threshold(OBJECTIVES[kind])


OBJECTIVES: Final = {
    Latency.TTFT: t.TTFT_SECONDS, Latency.ITL: t.ITL_SECONDS, Latency.E2E: t.E2E_SECONDS,
}  # fmt: skip


def _no_progress(window: Window, how_long: str, demand: str = "") -> r.Answer:
    if not _stands_still(window):
        return r.CLEAR
    text = f"has running requests and made no progress for {how_long}{demand}"
    return r.Found("no progress", text)


def _stands_still(window: Window) -> bool:
    if not window.all(r.running, lambda requests: requests > 0) or not window.frozen():
        return False
    # If all waiting requests are deferred, a decode pod waits for KV caches of its peer.
    return not window.all(r.deferred, lambda waiting: waiting > 0) or any(
        sample.capacity != 0 for sample in window.samples
    )


ENGINE_RULES: Final[Mapping[str, r.EngineRule]] = {
    t.ENGINE_UNHEALTHY: r.EngineRule(unhealthy, (r.healthy,)),
    t.OUTPUT_CORRUPTED: r.EngineRule(corrupted, (r.count(Counter.CORRUPTED),)),
    t.KV_TRANSFER: r.EngineRule(kv_transfer, (r.count(Counter.TRANSFER_FAILURES),)),
    t.SCHEDULER_STUCK: r.EngineRule(
        scheduler_stuck, (r.deferred, r.running, r.kv_usage, r.progress)
    ),
    t.KV_CACHE: r.EngineRule(r.kv_cache, (r.kv_usage,)),
    t.BACKLOG: r.EngineRule(backlog, (r.queue,)),
    t.PREEMPTION: r.EngineRule(r.preemption, (r.count(Counter.PREEMPTIONS),)),
    t.ERROR_RATE: r.EngineRule(error_rate, (r.count(Counter.FAILED), r.count(Counter.FINISHED))),
    t.LATENCY: r.EngineRule(latency, ()),
}

_OF_PROGRESS: Final = (r.running, r.progress)
STALLED: Final = r.EngineRule(stalled, _OF_PROGRESS)
STALLED_AND_REFUSING: Final = r.EngineRule(stalled_and_refusing, _OF_PROGRESS)
STALLED_WITHOUT_DEMAND: Final = r.EngineRule(stalled_without_demand, _OF_PROGRESS)


def judge_engines(
    history: History, reason: str, settings: EvaluationSettings
) -> Mapping[str, r.Answer]:
    """Return the answer of a reason's rule for each engine, by the engine's number."""
    if reason == t.ENGINE_STALLED:
        return _stalled(history, settings)
    window = timedelta(seconds=settings.window_seconds(reason))
    return _by_engine(history, window, ENGINE_RULES[reason], settings=settings)


def _by_engine(
    history: History, length: timedelta, rule: r.EngineRule, *, settings: EvaluationSettings
) -> dict[str, r.Answer]:
    if history.newest.failure is not None:
        return {"": r.NO_PAGE}
    pages = in_service(history.last(length))
    names = {name for page in pages for name in page.engines}
    if not names:
        return {"": r.NO_ENGINE}
    return {
        name: _ask(history, name, pages, length=length, rule=rule, settings=settings)
        for name in sorted(names)
    }


def _ask(
    history: History,
    name: str,
    pages: Samples,
    *,
    length: timedelta,
    rule: r.EngineRule,
    settings: EvaluationSettings,
) -> r.Answer:
    newest = history.newest.engines.get(name)
    if newest is None:
        return r.ENGINE_GONE
    if newest.awake is False:
        return r.ASLEEP
    asleep = [
        n
        for n, page in enumerate(pages)
        if (engine := page.engines.get(name)) is not None and engine.awake is False
    ]
    pages = since_restart(pages[asleep[-1] + 1 :] if asleep else pages, name)
    kept = [page for page in pages if name in page.engines and rule.can_read(page.engines[name])]
    if not kept:
        return r.NOT_ON_PAGE
    if kept[-1] is not history.newest or not history.covers(kept, length):
        return r.NOT_COVERED
    span = kept[-1].at.boot - kept[0].at.boot
    return rule.judge(Window(span, tuple(page.engines[name] for page in kept)), settings)


def _stalled(history: History, settings: EvaluationSettings) -> dict[str, r.Answer]:
    """Judge by a short window if there is demand, and by a long one without a sign of it."""
    short = timedelta(seconds=settings.window_seconds(t.ENGINE_STALLED))
    long = timedelta(seconds=stalled_seconds_without_demand(settings))
    quick = STALLED_AND_REFUSING if _refuses(history, short) else STALLED
    answers = _by_engine(history, short, quick, settings=settings)
    without = _by_engine(history, long, STALLED_WITHOUT_DEMAND, settings=settings)
    for name, answer in without.items():
        if isinstance(answer, r.Found) and not isinstance(answers.get(name), r.Found):
            answers[name] = answer
    return answers


def _refuses(history: History, length: timedelta) -> bool:
    pages = tuple(page.pod for page in in_service(history.last(length)))
    counters = (Counter.RATE_LIMITED, Counter.NOT_ADMITTED, Counter.HTTP_ERRORS)
    return any(Window(length, pages).increase(counter) for counter in counters)


_MB: Final = 1_000_000
_UNKNOWN: Final = -1
"""KAITO's value for the remaining time while the size of the download is unknown."""

_YOUNG: Final = timedelta(minutes=5)
"""A pod younger than this may not have started its download."""

_NOT_BEGUN: Final = r.Inconclusive("it is not known whether a download has begun")


def download_slow(history: History, samples: Samples, settings: EvaluationSettings) -> r.Answer:
    """Judge whether a download stays below the required speed.

    If nothing is left to download, the speed is frozen and does not count. A download that will end
    within the window is not slow, nor is one without any data: the metrics of a pod that streams
    its weights look like that.
    """
    seconds = settings.window_seconds(t.DOWNLOAD_SLOW)
    threshold = settings.weight_download_min_mbps * _MB
    if history.newest.failure is not None:
        return r.NO_PAGE
    pages = _this_start(samples)
    if any(each.speed is None or each.speed >= threshold or not _loads(each) for each in pages):
        return r.CLEAR
    if any(sample.remaining is None or 0 <= sample.remaining <= seconds for sample in pages):
        return r.CLEAR
    if not any(sample.speed for sample in _this_start(history.samples)):
        return r.CLEAR
    if not history.covers(pages, timedelta(seconds=seconds)):
        return r.NOT_COVERED
    fastest = max(sample.speed or 0.0 for sample in pages)
    return r.Found(
        f"{fastest / _MB:.1f} MB/s",
        f"has downloaded its weights at {fastest / _MB:.1f} MB/s at most for {r.minutes(seconds)}, "
        f"below {settings.weight_download_min_mbps:g} MB/s",
        -round(fastest),
    )


def download_stalled(history: History, samples: Samples, settings: EvaluationSettings) -> r.Answer:
    """Judge whether no data arrives while the remaining time is unknown."""
    length = timedelta(seconds=settings.window_seconds(t.DOWNLOAD_STALLED))
    newest = history.newest
    if newest.failure is not None:
        return r.NO_PAGE
    pages = _this_start(samples)
    if any(not _loads(each) or each.speed != 0 or each.remaining != _UNKNOWN for each in pages):
        return r.CLEAR
    if not history.covers(pages, length):
        return r.NOT_COVERED
    created = newest.target.created
    old = created is not None and newest.at.wall - created > _YOUNG
    if not old and not any(sample.speed for sample in _this_start(history.samples)):
        return _NOT_BEGUN
    return r.Found(
        "download stalled", f"has downloaded nothing for {r.minutes(length.total_seconds())}"
    )


DOWNLOAD_RULES: Final[Mapping[str, r.PodRule]] = {
    t.DOWNLOAD_SLOW: download_slow,
    t.DOWNLOAD_STALLED: download_stalled,
}


def _this_start(samples: Sequence[Sample]) -> Samples:
    """Return the pages since a container last started: each start is a new download."""
    begins = max(
        (
            n
            for n, (before, after) in enumerate(pairwise(samples), 1)
            if after.target.containers != before.target.containers
        ),
        default=0,
    )
    return tuple(sample for sample in samples[begins:] if sample.failure is None)


def _loads(sample: Sample) -> bool:
    return not sample.known and not sample.target.ready

"""A pod that is scraped every 15 s and judged after each scrape; its page is a function of time."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from reporter.metrics.samples.sample import (
    Buckets,
    ContainerRun,
    Count,
    Counter,
    EngineSample,
    Sample,
    Target,
)
from reporter.metrics.samples.window import History, PodVerdict
from reporter.model.instant import Instant
from reporter.model.subject import Subject
from reporter.probes.runtime.judge import judge, longest_window
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from reporter.stacks.settings import FullEvaluationSettings

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
START = Instant(NOON, timedelta(days=3))

PER_SECOND = {
    Counter.PROMPT_TOKENS: 500, Counter.GENERATED_TOKENS: 100, Counter.STEPS: 10,
    Counter.FINISHED: 1, Counter.FAILED: 0, Counter.PREEMPTIONS: 0, Counter.PREFIX_QUERIES: 50,
    Counter.CORRUPTED: 0, Counter.TRANSFER_FAILURES: 0,
}  # fmt: skip
"""An engine that works."""

OF_POD = {
    Counter.RATE_LIMITED: 0, Counter.NOT_ADMITTED: 0, Counter.HTTP_REQUESTS: 1,
    Counter.HTTP_ERRORS: 0,
}  # fmt: skip

GAUGES = {
    "running": 2, "waiting": 0, "capacity": 0, "deferred": 0, "kv_usage": 0.5, "awake": True,
}  # fmt: skip

FROZEN = dict.fromkeys(PER_SECOND, 0)
TARGET = Target(
    namespace="demo", name="p-0", uid="a", address="10.0.0.1", node="gpu-1",
    subject=Subject(INFERENCESET_KIND, "demo", "qwen"),
    created=NOON - timedelta(days=1), ready=True, ready_since=NOON - timedelta(days=1),
    containers=(ContainerRun("main", 0, NOON - timedelta(days=1)),),
)  # fmt: skip
LOADING = replace(TARGET, ready=False, ready_since=None)


def seconds(number: float) -> timedelta:
    """So many seconds."""
    return timedelta(seconds=number)


def counted(rates, at: float, created: float | None = None):
    """Counters that rise at these rates; a function of the time returns the value itself."""
    values = {
        name: rate(at) if callable(rate) else rate * at
        for name, rate in rates.items()
        if rate is not None
    }
    return {name: Count(value, created) for name, value in values.items() if value is not None}


def engine(at: float, rates=None, *, created=None, latencies=None, **gauges) -> EngineSample:
    """An engine that works, with other gauges and counters."""
    values = {
        name: value(at) if callable(value) else value for name, value in (GAUGES | gauges).items()
    }
    counters = counted(PER_SECOND | (rates or {}), at, created)
    return EngineSample(**values, counters=counters, latencies=latencies or {})


def serving(at: float, rates=None, *, pod=None, engines=None, started=1.0, **fields) -> dict:
    """The page of a pod that serves."""
    return {
        "known": True,
        "process_started": started,
        "engines": engines or {"0": engine(at, rates, **fields)},
        "pod": EngineSample(counters=counted(OF_POD | (pod or {}), at)),
    }


def loading(speed: float | None, remaining: float | None) -> dict:
    """The page of a pod that downloads its weights."""
    return {"target": LOADING, "speed": speed, "remaining": remaining}


def buckets(at: float, bounds, rates) -> Buckets:
    """A histogram whose buckets grow at these rates."""
    total, counts = 0.0, []
    for rate in rates:
        total += rate * at
        counts.append(total)
    return Buckets(tuple(bounds), tuple(counts))


Page = Callable[[float], dict | None]
"""The sample at some time; None without a scrape."""


class Scraped:
    """A pod and its verdicts."""

    def __init__(self, *, period: float = 15, **settings) -> None:
        self.settings = FullEvaluationSettings(scrape_interval_seconds=int(period), **settings)
        self.period = period
        self.history = History(seconds(period))
        self.verdict: PodVerdict | None = None
        self.at = 0.0

    def see(self, at: float, **fields) -> PodVerdict:
        """Judge one more sample."""
        self.at = at
        return self.judge(Sample(**{"at": START.after(at), "target": TARGET} | fields))

    def judge(self, sample: Sample) -> PodVerdict:
        """Judge the sample of a page."""
        self.history = self.history.with_sample(sample, longest_window(self.settings))
        self.verdict = judge(self.history, self.verdict, self.settings)
        return self.verdict

    def watch(self, page: Page, until: float, since: float = 0) -> dict[float, frozenset[str]]:
        """See a page time after time; return what was found when."""
        return dict(self._each(page, until, since))

    def first(self, reason: str, page: Page, until: float = 1200, since: float = 0) -> float | None:
        """See a page until a reason is found first; return that time."""
        found = self._each(page, until, since)
        return next((at for at, reasons in found if reason in reasons), None)

    def _each(
        self, page: Page, until: float, since: float
    ) -> Iterator[tuple[float, frozenset[str]]]:
        for n in range(int((until - since) // self.period) + 1):
            at = since + n * self.period
            fields = page(at)
            if fields is not None:
                yield at, frozenset(self.see(at, **fields).faults)

"""For each runtime reason, a page that raises it after its window."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from reporter.catalogue import runtime as t
from reporter.catalogue.runtime import ROWS
from reporter.metrics.samples.sample import Counter, Failure, Latency
from tests.unit.probes.runtime.scraped import FROZEN, buckets, loading, serving

BOUNDS = (1.0, 10.0, 20.0, inf)


def late(at, *rates, bounds=BOUNDS, kind=Latency.TTFT):
    """A page with a histogram whose buckets grow at these rates."""
    return serving(at, latencies={kind: buckets(at, bounds, rates)})


@dataclass(frozen=True)
class Fault:
    reason: str
    page: Callable[[float], dict]
    of_engine: bool = True

    @property
    def window(self) -> float:
        """How long the page has to stay like this."""
        return ROWS[self.reason].window_seconds


_FAULTS = (
    Fault(t.ENGINE_UNHEALTHY, lambda at: serving(at, healthy=False)),
    Fault(t.ENGINE_STALLED, lambda at: serving(at, FROZEN, waiting=3, capacity=3)),
    Fault(t.OUTPUT_CORRUPTED, lambda at: serving(at, {Counter.CORRUPTED: 1})),
    Fault(t.KV_TRANSFER, lambda at: serving(at, {Counter.TRANSFER_FAILURES: 0.1})),
    Fault(t.SCHEDULER_STUCK, lambda at: serving(at, FROZEN, running=0, waiting=2, deferred=2, kv_usage=0.2)),
    Fault(t.KV_CACHE, lambda at: serving(at, kv_usage=0.97, waiting=2, capacity=2)),
    Fault(t.BACKLOG, lambda at: serving(at, waiting=6 + at / 10, capacity=6 + at / 10)),
    Fault(t.PREEMPTION, lambda at: serving(at, {Counter.PREEMPTIONS: 2})),
    Fault(t.ERROR_RATE, lambda at: serving(at, {Counter.FAILED: 0.1})),
    Fault(t.REJECTED, lambda at: serving(at, pod={Counter.RATE_LIMITED: 0.2}), of_engine=False),
    Fault(t.LATENCY, lambda at: late(at, 1, 0, 0.02, 0.01)),
    Fault(t.METRICS_MISSING, lambda _: {}, of_engine=False),
    Fault(t.SCRAPE_FAILING, lambda _: {"failure": Failure.TIMEOUT}, of_engine=False),
)  # fmt: skip
FAULTS = {each.reason: each for each in _FAULTS}
"""All but `inferencesetEngineRestarting`, which needs no covered window."""

ENGINE_FAULTS = {reason: fault for reason, fault in FAULTS.items() if fault.of_engine}

SLOW = Fault(t.DOWNLOAD_SLOW, lambda _: loading(10e6, 500), of_engine=False)
STALLED = Fault(t.DOWNLOAD_STALLED, lambda _: loading(0, -1), of_engine=False)

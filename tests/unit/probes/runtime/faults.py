"""For each runtime reason a page that raises it, and after how long."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from reporter.catalogue import runtime as t
from reporter.metrics.looks.look import Counter, Latency
from reporter.metrics.looks.scrape import Failure
from tests.unit.probes.runtime.scraped import FROZEN, buckets, loading, serving

BOUNDS = (1.0, 10.0, 20.0, inf)


def late(at, *rates, bounds=BOUNDS, kind=Latency.TTFT):
    """A page with a histogram into which observations come at a rate for each bucket."""
    return serving(at, latencies={kind: buckets(at, bounds, rates)})


@dataclass(frozen=True)
class Fault:
    page: Callable[[float], dict]
    window: float
    of_engine: bool = True


FAULTS = {
    t.ENGINE_UNHEALTHY: Fault(lambda at: serving(at, healthy=False), 30),
    t.ENGINE_STALLED: Fault(lambda at: serving(at, FROZEN, waiting=3, capacity=3), 120),
    t.OUTPUT_CORRUPTED: Fault(lambda at: serving(at, {Counter.CORRUPTED: 1}), 60),
    t.KV_TRANSFER: Fault(lambda at: serving(at, {Counter.TRANSFER_FAILURES: 0.1}), 300),
    t.SCHEDULER_STUCK: Fault(
        lambda at: serving(at, FROZEN, running=0, waiting=2, deferred=2, kv_usage=0.2), 300
    ),
    t.KV_CACHE: Fault(lambda at: serving(at, kv_usage=0.97, waiting=2, capacity=2), 300),
    t.BACKLOG: Fault(lambda at: serving(at, waiting=6 + at / 10, capacity=6 + at / 10), 300),
    t.PREEMPTION: Fault(lambda at: serving(at, {Counter.PREEMPTIONS: 2}), 300),
    t.ERROR_RATE: Fault(lambda at: serving(at, {Counter.FAILED: 0.1}), 300),
    t.REJECTED: Fault(
        lambda at: serving(at, pod={Counter.RATE_LIMITED: 0.2}), 300, of_engine=False
    ),
    t.LATENCY: Fault(lambda at: late(at, 1, 0, 0.02, 0.01), 600),
    t.METRICS_MISSING: Fault(lambda _: {}, 120, of_engine=False),
    t.SCRAPE_FAILING: Fault(lambda _: {"failure": Failure.TIMEOUT}, 120, of_engine=False),
}
"""All but `inferencesetEngineRestarting`, which needs no window that is covered."""

ENGINE_FAULTS = {reason: fault for reason, fault in FAULTS.items() if fault.of_engine}

SLOW = Fault(lambda _: loading(10e6, 500), 60, of_engine=False)
STALLED = Fault(lambda _: loading(0, -1), 180, of_engine=False)

"""One engine: what it does under a load, and the totals that result."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from lab.simulation.families import Bounds

SleepState = Literal["awake", "weights_offloaded", "discard_all", "paused"]

KV_TRANSFER_KINDS: Final = ("failed_transfers", "failed_notifications", "kv_expired_reqs")


@dataclass(frozen=True, slots=True)
class Load:
    """What one engine does: gauges as they are, and what grows per second.

    Attributes:
        waiting_capacity: queued for room; grows by `backlog_growth` per second.
        waiting_deferred: queued for a LoRA budget, a KV transfer or the like.
        kv_usage: 0 to 1; grows by `kv_growth` per second, up to 1.
        requests: finished per second.
        error_share: of the finished requests, 0 to 1; each is an HTTP 5xx, too.
        cached_share: of the prompt tokens, 0 to 1.
        steps: with output, per second.
        ttft: mean time to first token, seconds; `slow_share` of all take `slow_ttft`.
        guard_rejections: by KAITO's queue guard, HTTP 429, per second.
        admission_rejections: by the engine's own limit, HTTP 503, per second.
        rejections_in_http: whether `http_requests_total` counts the guard's 429, too.
        kv_transfer_failures: per second, for each of the three kinds.
        paused in `sleep_state`: all three states are 0.
    """

    running: int = 0
    waiting_capacity: int = 0
    waiting_deferred: int = 0
    kv_usage: float = 0.0
    kv_growth: float = 0.0
    backlog_growth: float = 0.0
    requests: float = 0.0
    error_share: float = 0.0
    prompt_tokens: int = 900
    cached_share: float = 0.25
    generation_tokens: int = 130
    steps: float = 0.0
    preemptions: float = 0.0
    ttft: float = 0.05
    slow_share: float = 0.0
    slow_ttft: float = 30.0
    inter_token_latency: float = 0.015
    queue_seconds: float = 0.005
    guard_rejections: float = 0.0
    admission_rejections: float = 0.0
    rejections_in_http: bool = True
    corrupted: float = 0.0
    kv_transfer_failures: float = 0.0
    healthy: bool = True
    sleep_state: SleepState = "awake"


class Distribution(NamedTuple):
    """Observed values: exponential around `mean`, but `slow_share` of them are `slow`."""

    mean: float
    slow_share: float = 0.0
    slow: float = 0.0

    def average(self) -> float:
        """Return the mean of all values."""
        return (1 - self.slow_share) * self.mean + self.slow_share * self.slow


def _always(value: float) -> Distribution:
    return Distribution(1.0, slow_share=1.0, slow=value)


@lru_cache(maxsize=4096)
def _shares(values: Distribution, bounds: Bounds) -> tuple[float, ...]:
    """Return the share of the values at or below each bound."""
    quick = 1 - values.slow_share
    return tuple(
        quick * -math.expm1(-bound / values.mean)
        + (values.slow_share if values.slow <= bound else 0.0)
        for bound in bounds
    )


@dataclass(frozen=True, slots=True)
class HistogramValue:
    """Cumulative counts per bound, without `+Inf`, which is `count`."""

    cumulative: tuple[int, ...]
    count: int
    sum: float


Key = tuple[str, str]
"""A counter or gauge: its family, and the value of its extra label or nothing."""


@lru_cache(maxsize=4096)
def _growth(load: Load) -> Mapping[Key, float]:
    """Return what grows, per second. Sums of these are made when they are read."""
    finished, errors = load.requests, load.requests * load.error_share
    prompt = finished * load.prompt_tokens
    cached = prompt * load.cached_share
    growth = {
        ("vllm:request_success_total", "stop"): 0.9 * (finished - errors),
        ("vllm:request_success_total", "length"): 0.1 * (finished - errors),
        ("vllm:request_success_total", "error"): errors,
        ("vllm:prompt_tokens_by_source_total", "local_compute"): prompt - cached,
        ("vllm:prompt_tokens_by_source_total", "local_cache_hit"): cached,
        ("first_tokens", ""): finished,
        ("later_tokens", ""): finished * (load.generation_tokens - 1),
        ("steps", ""): load.steps,
        ("vllm:num_preemptions_total", ""): load.preemptions,
        ("vllm:corrupted_requests_total", ""): load.corrupted,
        ("vllm:admission_rejections_total", "max_num_queued_reqs"): load.admission_rejections,
        ("kaito_ratelimit_rejected_total", ""): load.guard_rejections,
        ("http", "2xx"): finished - errors,
        ("http", "4xx"): load.guard_rejections if load.rejections_in_http else 0.0,
        ("http", "5xx"): errors + load.admission_rejections,
    }
    for kind in KV_TRANSFER_KINDS:
        growth[f"vllm:nixl_num_{kind}_total", ""] = load.kv_transfer_failures
    return {key: rate for key, rate in growth.items() if rate}


@lru_cache(maxsize=4096)
def _observed(load: Load) -> Mapping[str, tuple[float, Distribution]]:
    """Return what histograms observe: how many per second, and which values."""
    decode = load.inter_token_latency * max(1, load.generation_tokens - 1)
    slow = (load.slow_share, load.slow_ttft)
    per_request = {
        "vllm:time_to_first_token_seconds": Distribution(load.ttft, *slow),
        "vllm:e2e_request_latency_seconds": Distribution(load.ttft + decode, *slow),
        "vllm:request_queue_time_seconds": Distribution(load.queue_seconds, *slow),
        "vllm:request_prefill_time_seconds": Distribution(load.ttft),
        "vllm:request_decode_time_seconds": Distribution(decode),
        "vllm:request_inference_time_seconds": Distribution(load.ttft + decode),
        "vllm:request_time_per_output_token_seconds": Distribution(load.inter_token_latency),
        "vllm:request_prompt_tokens": Distribution(load.prompt_tokens),
        "vllm:request_prefill_kv_computed_tokens": Distribution(
            max(1.0, load.prompt_tokens * (1 - load.cached_share))
        ),
        "vllm:request_generation_tokens": Distribution(load.generation_tokens),
        "vllm:request_max_num_generation_tokens": Distribution(5.0 * load.generation_tokens),
        "vllm:request_params_max_tokens": Distribution(5.0 * load.generation_tokens),
        "vllm:request_params_n": _always(1.0),
        "vllm:request_num_preemptions": _always(0.0),
    }
    observed = {name: (load.requests, values) for name, values in per_request.items()}
    observed["vllm:inter_token_latency_seconds"] = (
        load.requests * (load.generation_tokens - 1),
        Distribution(load.inter_token_latency),
    )
    tokens = load.requests * (load.prompt_tokens * (1 - load.cached_share) + load.generation_tokens)
    observed["vllm:iteration_tokens_total"] = (
        load.steps,
        Distribution(max(1.0, tokens / load.steps) if load.steps else 1.0),
    )
    return {name: each for name, each in observed.items() if each[0]}


_COUNT_OF: Final = {
    "vllm:time_to_first_token_seconds": "first_tokens",
    "vllm:inter_token_latency_seconds": "later_tokens",
    "vllm:iteration_tokens_total": "steps",
}
"""The total each histogram counts; all others count finished requests."""


class EngineTotals:
    """Totals of one engine since `created` (Unix seconds).

    What is read depends on the loads and how long each lasted, not on when it was read.
    """

    def __init__(self, created: float) -> None:
        self.created = created
        self.load = Load()
        self._totals: defaultdict[Key, float] = defaultdict(float)
        self._observations: defaultdict[str, dict[Distribution, float]] = defaultdict(dict)
        self._seconds_in_load = 0.0

    def take(self, load: Load) -> None:
        """Begin to work under `load`."""
        self.load = load
        self._seconds_in_load = 0.0

    def advance(self, seconds: float) -> None:
        """Work for some time under the present load."""
        self._seconds_in_load += seconds
        for key, rate in _growth(self.load).items():
            self._totals[key] += rate * seconds
        for name, (rate, values) in _observed(self.load).items():
            observed = self._observations[name]
            observed[values] = observed.get(values, 0.0) + rate * seconds

    def total(self, name: str, label: str = "") -> int:
        """Return a counter that nothing else adds up to; 0 if nothing was counted."""
        # Rates are decimal fractions: what adds up to 3 may be just below it.
        return math.floor(self._totals.get((name, label), 0.0) + 1e-6)

    def _sum_of(self, name: str) -> int:
        return sum(self.total(*key) for key in self._totals if key[0] == name)

    def values(self) -> dict[Key, float]:
        """Return gauges, and the counters that moved; a counter that is not in it is 0."""
        load = self.load
        capacity = load.waiting_capacity + math.floor(load.backlog_growth * self._seconds_in_load)
        usage = load.kv_usage + load.kv_growth * self._seconds_in_load
        prompt = self._sum_of("vllm:prompt_tokens_by_source_total")
        cached = self.total("vllm:prompt_tokens_by_source_total", "local_cache_hit")
        counters = {key: float(self.total(*key)) for key in self._totals}
        return counters | {
            ("vllm:num_requests_running", ""): load.running,
            ("vllm:num_requests_waiting", ""): capacity + load.waiting_deferred,
            ("vllm:num_requests_waiting_by_reason", "capacity"): capacity,
            ("vllm:num_requests_waiting_by_reason", "deferred"): load.waiting_deferred,
            ("vllm:kv_cache_usage_perc", ""): min(1.0, usage),
            ("vllm:engine_sleep_state", load.sleep_state): 1.0,
            ("vllm:engine_healthy", ""): float(load.healthy),
            ("vllm:prompt_tokens_total", ""): prompt,
            ("vllm:prompt_tokens_cached_total", ""): cached,
            ("vllm:prefix_cache_queries_total", ""): prompt,
            ("vllm:prefix_cache_hits_total", ""): cached,
            ("vllm:external_prefix_cache_queries_total", ""): prompt - cached,
            ("vllm:generation_tokens_total", ""): self.total("first_tokens")
            + self.total("later_tokens"),
        }

    def histogram(self, name: str, bounds: Bounds) -> HistogramValue:
        """Return a histogram over `bounds`; empty if nothing was observed."""
        parts = self._observations.get(name)
        if not parts:
            return HistogramValue((0,) * len(bounds), 0, 0.0)
        counted = _COUNT_OF.get(name)
        count = self.total(counted) if counted else self._sum_of("vllm:request_success_total")
        reached = [0.0] * len(bounds)
        for values, observed in parts.items():
            for index, share in enumerate(_shares(values, bounds)):
                reached[index] += share * observed
        cumulative = tuple(min(count, math.floor(each + 1e-6)) for each in reached)
        total = sum(values.average() * observed for values, observed in parts.items())
        return HistogramValue(cumulative, count, total)

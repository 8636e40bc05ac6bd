"""The engine of a pod: its work under a load, and the resulting totals."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

Bounds = tuple[float, ...]
"""Ascending upper bounds of buckets, without `+Inf`."""

_PROMPT_TOKENS: Final = 900
_CACHED_TOKENS: Final = 225
_GENERATION_TOKENS: Final = 130
"""Tokens per request."""

_INTER_TOKEN_SECONDS: Final = 0.015
_BY_SOURCE: Final = "vllm:prompt_tokens_by_source_total"


@dataclass(frozen=True, slots=True)
class Load:
    """The load of an engine: its gauges, and the growth per second.

    Attributes:
        waiting: requests queued for room.
        kv_usage: KV cache usage, 0 to 1.
        requests: finished requests per second.
        steps: steps with output per second.
        ttft: mean time to first token, seconds.
    """

    running: int = 0
    waiting: int = 0
    kv_usage: float = 0.0
    requests: float = 0.0
    steps: float = 0.0
    preemptions: float = 0.0
    ttft: float = 0.05
    queue_seconds: float = 0.005


@lru_cache(maxsize=4096)
def _shares(mean: float, bounds: Bounds) -> tuple[float, ...]:
    """Return the share at or below each bound of exponentially distributed values."""
    return tuple(-math.expm1(-bound / mean) for bound in bounds)


class HistogramValue(NamedTuple):
    """Cumulative counts per bound, without `+Inf`, which is `count`."""

    cumulative: tuple[int, ...]
    total: int
    sum: float


Key = tuple[str, str]
"""A counter or gauge: its family, and the value of its extra label or an empty text."""


@lru_cache(maxsize=4096)
def _growth(load: Load) -> Mapping[Key, float]:
    """Return the growth of counters per second; sums of counters are computed on reading."""
    finished = load.requests
    growth = {
        ("vllm:request_success_total", "stop"): 0.9 * finished,
        ("vllm:request_success_total", "length"): 0.1 * finished,
        (_BY_SOURCE, "local_compute"): finished * (_PROMPT_TOKENS - _CACHED_TOKENS),
        (_BY_SOURCE, "local_cache_hit"): finished * _CACHED_TOKENS,
        ("first_tokens", ""): finished,
        ("later_tokens", ""): finished * (_GENERATION_TOKENS - 1),
        ("steps", ""): load.steps,
        ("vllm:num_preemptions_total", ""): load.preemptions,
        ("http", "2xx"): finished,
    }
    return {key: rate for key, rate in growth.items() if rate}


@lru_cache(maxsize=4096)
def _observed(load: Load) -> Mapping[str, tuple[float, float]]:
    """Return the observations of histograms: how many per second, and their mean."""
    decode = _INTER_TOKEN_SECONDS * (_GENERATION_TOKENS - 1)
    computed = _PROMPT_TOKENS - _CACHED_TOKENS
    per_request = {
        "time_to_first_token_seconds": load.ttft,
        "e2e_request_latency_seconds": load.ttft + decode,
        "request_queue_time_seconds": load.queue_seconds,
        "request_prefill_time_seconds": load.ttft,
        "request_decode_time_seconds": decode,
        "request_inference_time_seconds": load.ttft + decode,
        "request_time_per_output_token_seconds": _INTER_TOKEN_SECONDS,
        "request_prompt_tokens": _PROMPT_TOKENS,
        "request_prefill_kv_computed_tokens": computed,
        "request_generation_tokens": _GENERATION_TOKENS,
        "request_max_num_generation_tokens": 5.0 * _GENERATION_TOKENS,
        "request_params_max_tokens": 5.0 * _GENERATION_TOKENS,
        "request_params_n": 1.0,
    }
    observed = {f"vllm:{name}": (load.requests, mean) for name, mean in per_request.items()}
    later = load.requests * (_GENERATION_TOKENS - 1)
    observed["vllm:inter_token_latency_seconds"] = (later, _INTER_TOKEN_SECONDS)
    if load.steps:
        tokens = load.requests * (computed + _GENERATION_TOKENS)
        observed["vllm:iteration_tokens_total"] = (load.steps, max(1.0, tokens / load.steps))
    return {name: each for name, each in observed.items() if each[0]}


_COUNT_OF: Final = {
    "vllm:time_to_first_token_seconds": "first_tokens",
    "vllm:inter_token_latency_seconds": "later_tokens",
    "vllm:iteration_tokens_total": "steps",
}
"""The total that is the count of a histogram; other histograms count finished requests."""


class EngineTotals:
    """Totals of an engine since `created` (Unix seconds).

    The values depend on the loads and their durations, not on when they are read.
    """

    def __init__(self, created: float) -> None:
        self.created = created
        self.load = Load()
        self._totals: defaultdict[Key, float] = defaultdict(float)
        self._observations: defaultdict[str, dict[float, float]] = defaultdict(dict)

    def advance(self, seconds: float) -> None:
        for key, rate in _growth(self.load).items():
            self._totals[key] += rate * seconds
        for name, (rate, mean) in _observed(self.load).items():
            observed = self._observations[name]
            observed[mean] = observed.get(mean, 0.0) + rate * seconds

    def total(self, name: str, label: str = "") -> int:
        """Return a counter that is not a sum of others; 0 if nothing was counted."""
        # Rates are decimal fractions: a sum that should be 3 may be just below it.
        return math.floor(self._totals.get((name, label), 0.0) + 1e-6)

    def _sum_of(self, name: str) -> int:
        return sum(self.total(*key) for key in self._totals if key[0] == name)

    def values(self) -> dict[Key, float]:
        """Return the gauges, and the counters that have moved; missing counters are 0."""
        load = self.load
        prompt, cached = self._sum_of(_BY_SOURCE), self.total(_BY_SOURCE, "local_cache_hit")
        generated = self.total("first_tokens") + self.total("later_tokens")
        counters = {key: float(self.total(*key)) for key in self._totals}
        return counters | {
            ("vllm:num_requests_running", ""): load.running,
            ("vllm:num_requests_waiting", ""): load.waiting,
            ("vllm:num_requests_waiting_by_reason", "capacity"): load.waiting,
            ("vllm:kv_cache_usage_perc", ""): load.kv_usage,
            ("vllm:engine_sleep_state", "awake"): 1.0,
            ("vllm:engine_healthy", ""): 1.0,
            ("vllm:prompt_tokens_total", ""): prompt,
            ("vllm:prompt_tokens_cached_total", ""): cached,
            ("vllm:prefix_cache_queries_total", ""): prompt,
            ("vllm:prefix_cache_hits_total", ""): cached,
            ("vllm:external_prefix_cache_queries_total", ""): prompt - cached,
            ("vllm:generation_tokens_total", ""): generated,
        }

    def histogram(self, name: str, bounds: Bounds) -> HistogramValue:
        """Return a histogram over `bounds`; empty if nothing was observed."""
        parts = self._observations.get(name)
        if not parts:
            return HistogramValue((0,) * len(bounds), 0, 0.0)
        counted = _COUNT_OF.get(name)
        count = self.total(counted) if counted else self._sum_of("vllm:request_success_total")
        reached = [0.0] * len(bounds)
        for mean, observed in parts.items():
            for index, share in enumerate(_shares(mean, bounds)):
                reached[index] += share * observed
        cumulative = tuple(min(count, math.floor(each + 1e-6)) for each in reached)
        total = sum(mean * observed for mean, observed in parts.items())
        return HistogramValue(cumulative, count, total)

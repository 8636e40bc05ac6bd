"""The metric families of a vLLM engine: their names, labels and bucket bounds, as data."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

Kind = Literal["counter", "gauge", "histogram", "summary"]
Labels = tuple[tuple[str, str], ...]
"""Label names and values, in any order."""

Bounds = tuple[float, ...]
"""Ascending upper bounds of buckets, without `+Inf`."""


class LabelScope(StrEnum):
    """The labels that every series of a family has."""

    ENGINE = "engine"
    """`model_name` and `engine`."""

    ENGINE_ONLY = "engine-only"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class EngineFamily:
    """A family of the page.

    Attributes:
        name: the name on the page; counters end in `_total`.
        extra: label sets beyond the common labels, one series each.
    """

    name: str
    kind: Kind
    help: str
    extra: tuple[Labels, ...] = ((),)
    bounds: Bounds = ()
    scope: LabelScope = LabelScope.ENGINE


def _by(label: str, *values: str) -> tuple[Labels, ...]:
    return tuple(((label, value),) for value in values)


def one_two_five(largest: int) -> Bounds:
    """Return 1, 2, 5, 10, 20, 50 and so on, up to `largest`."""
    bounds = (digit * 10.0**power for power in range(9) for digit in (1, 2, 5))
    return tuple(bound for bound in bounds if bound <= largest)


TTFT_BOUNDS: Final[Bounds] = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
    1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
)  # fmt: skip
ITL_BOUNDS: Final[Bounds] = (
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
    0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
)  # fmt: skip
REQUEST_BOUNDS: Final[Bounds] = (
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0,
    40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0,
)  # fmt: skip
_ITERATION_BOUNDS: Final[Bounds] = (1.0, *(2.0**power for power in range(3, 15)))
_NIXL_XFER_BOUNDS: Final[Bounds] = (
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 5.0,
)  # fmt: skip
_NIXL_POST_BOUNDS: Final[Bounds] = (
    0.001, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 5.0,
)  # fmt: skip
_NIXL_BYTES_BOUNDS: Final[Bounds] = tuple(2.0**power for power in range(11, 34, 2))
_NIXL_DESCRIPTOR_BOUNDS: Final[Bounds] = (
    10.0, 20.0, 30.0, 50.0, 75.0, 100.0, 200.0, 400.0,
    1000.0, 2000.0, 4000.0, 10000.0, 20000.0, 50000.0,
)  # fmt: skip
PYTHON_TOKEN_BOUNDS: Final = one_two_five(32_768)
"""The bounds for a `max_model_len` of 32,768."""

_FINISHED: Final = _by("finished_reason", "stop", "length", "abort", "error", "repetition")
_SOURCES: Final = _by("source", "local_compute", "local_cache_hit", "external_kv_transfer")
_SLEEP: Final = _by("sleep_state", "awake", "weights_offloaded", "discard_all")
_REJECTIONS: Final = _by("reason", "max_num_queued_reqs", "max_num_queued_tokens")


def _counter(name: str, text: str, extra: tuple[Labels, ...] = ((),)) -> EngineFamily:
    return EngineFamily(f"vllm:{name}_total", "counter", text, extra)


def _histogram(name: str, text: str, bounds: Bounds) -> EngineFamily:
    return EngineFamily(f"vllm:{name}", "histogram", text, bounds=bounds)


ENGINE_FAMILIES: Final = (
    _histogram("nixl_xfer_time_seconds", "Time one NIXL transfer took.", _NIXL_XFER_BOUNDS),
    _histogram("nixl_post_time_seconds", "Time to post one NIXL transfer.", _NIXL_POST_BOUNDS),
    _histogram("nixl_bytes_transferred", "Bytes moved per NIXL transfer.", _NIXL_BYTES_BOUNDS),
    _histogram("nixl_num_descriptors", "Descriptors per NIXL transfer.", _NIXL_DESCRIPTOR_BOUNDS),
    _counter("nixl_num_failed_transfers", "NIXL transfers that failed."),
    _counter("nixl_num_failed_notifications", "NIXL notifications that failed."),
    _counter("nixl_num_kv_expired_reqs", "Requests whose KV blocks expired before they were fetched."),
    EngineFamily("vllm:num_requests_running", "gauge", "Requests in the current execution batch."),
    EngineFamily("vllm:num_requests_waiting", "gauge", "Requests queued for execution."),
    EngineFamily("vllm:num_requests_waiting_by_reason", "gauge", "Queued requests, split by cause.",
           _by("reason", "capacity", "deferred")),
    EngineFamily("vllm:engine_sleep_state", "gauge", "One-hot sleep state of the engine.", _SLEEP),
    EngineFamily("vllm:kv_cache_usage_perc", "gauge", "Share of KV cache blocks in use; 1 is full."),
    _counter("corrupted_requests", "Requests whose logits held NaN."),
    _counter("prefix_cache_queries", "Prompt tokens looked up in the local prefix cache."),
    _counter("prefix_cache_hits", "Prompt tokens found in the local prefix cache."),
    _counter("external_prefix_cache_queries", "Prompt tokens looked up through the KV connector."),
    _counter("external_prefix_cache_hits", "Prompt tokens found through the KV connector."),
    _counter("mm_cache_queries", "Items looked up in the multi-modal cache."),
    _counter("mm_cache_hits", "Items found in the multi-modal cache."),
    _counter("num_preemptions", "Preemptions since start."),
    _counter("prompt_tokens", "Prompt tokens of prefilled requests."),
    _counter("prompt_tokens_by_source", "Prompt tokens, by where their KV came from.", _SOURCES),
    _counter("prompt_tokens_cached", "Prompt tokens that needed no local compute."),
    _counter("generation_tokens", "Generated tokens."),
    _counter("request_success", "Finished requests, by reason.", _FINISHED),
    _histogram("request_prompt_tokens", "Prompt tokens per finished request.",
               PYTHON_TOKEN_BOUNDS),
    _histogram("request_generation_tokens", "Generated tokens per finished request.",
               PYTHON_TOKEN_BOUNDS),
    _histogram("iteration_tokens_total", "Tokens handled per engine step.", _ITERATION_BOUNDS),
    _histogram("request_max_num_generation_tokens", "Largest generation length asked for.",
               PYTHON_TOKEN_BOUNDS),
    _histogram("request_params_n", "The n parameter, per request.", (1.0, 2.0, 5.0, 10.0, 20.0)),
    _histogram("request_params_max_tokens", "The max_tokens parameter.", PYTHON_TOKEN_BOUNDS),
    _histogram("time_to_first_token_seconds", "Arrival to first token.", TTFT_BOUNDS),
    _histogram("inter_token_latency_seconds", "Gap between outputs of one request.", ITL_BOUNDS),
    _histogram("request_time_per_output_token_seconds", "Mean decode time per token of a request.",
               ITL_BOUNDS),
    _histogram("e2e_request_latency_seconds", "Arrival to last token.", REQUEST_BOUNDS),
    _histogram("request_queue_time_seconds", "Time spent queued.", REQUEST_BOUNDS),
    _histogram("request_inference_time_seconds", "First schedule to last token.", REQUEST_BOUNDS),
    _histogram("request_prefill_time_seconds", "Time in prefill.", REQUEST_BOUNDS),
    _histogram("request_decode_time_seconds", "Time in decode.", REQUEST_BOUNDS),
    _histogram("request_prefill_kv_computed_tokens", "Prompt tokens computed per request.",
               PYTHON_TOKEN_BOUNDS),
    EngineFamily("vllm:admission_rejections_total", "counter", "Requests refused at the queue limit.",
           _REJECTIONS, scope=LabelScope.MODEL),
    EngineFamily("vllm:engine_healthy", "gauge", "1 while the rank is healthy.",
           scope=LabelScope.ENGINE_ONLY),
)  # fmt: skip
"""In the order of the page."""

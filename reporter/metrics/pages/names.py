"""The metric families that are read, and their sample names.

The names are those of vLLM (vllm/v1/metrics/loggers.py), including former names of its V0 engine,
of KAITO's server, and, if the meaning is the same, of SGLang 0.5.23
(python/sglang/srt/observability/metrics_collector.py). Some SGLang names look alike but mean
something else and are not read: its request counters have no outcome, and `num_aborted_requests`
counts abort commands. Its sign of progress is the token counter that rises during generation.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from itertools import count
from typing import Final


class Kind(Enum):
    """The type of a family, defined here because producers disagree on `TYPE`."""

    GAUGE = auto()
    COUNTER = auto()
    HISTOGRAM = auto()
    OBSERVATIONS = auto()
    """A histogram that is read as a counter: only its number of observations is needed."""


class SamplePart(Enum):
    VALUE = auto()
    CREATED = auto()
    BUCKET = auto()
    SUM = auto()


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """The first of `names` that a page has wins; names of counters are without `_total`.

    `labels` distinguish the series. Without `per_engine` the family is about the pod. `repeated`:
    each rank reports the same count, so the largest counts, not the sum.
    """

    kind: Kind
    names: tuple[str, ...]
    labels: tuple[tuple[bytes, ...], ...] = ()
    per_engine: bool = True
    repeated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Meaning:
    """The meaning of a sample name.

    `name` is the index of the family's name. If several names give the same part, the smallest
    `rank` wins.
    """

    family: Family
    part: SamplePart
    name: int
    rank: int


def _family(
    kind: Kind,
    *names: str,
    labels: tuple[bytes | tuple[bytes, ...], ...] = (),
    per_engine: bool = True,
    repeated: bool = False,
) -> Family:
    known = tuple((each,) if isinstance(each, bytes) else each for each in labels)
    return Family(kind, names, known, per_engine, repeated)


_gauge = partial(_family, Kind.GAUGE)
_counter = partial(_family, Kind.COUNTER)
_repeated = partial(_family, Kind.COUNTER, repeated=True)
_histogram = partial(_family, Kind.HISTOGRAM)
_observations = partial(_family, Kind.OBSERVATIONS)
_pod_gauge = partial(_family, Kind.GAUGE, per_engine=False)
_pod_counter = partial(_family, Kind.COUNTER, per_engine=False)


RUNNING: Final = _gauge("vllm:num_requests_running", "sglang:num_running_reqs")
WAITING: Final = _gauge("vllm:num_requests_waiting", "sglang:num_queue_reqs")
WAITING_BY_REASON: Final = _gauge("vllm:num_requests_waiting_by_reason", labels=(b"reason",))
"""Only `capacity` is congestion."""

KV_CACHE_USAGE: Final = _gauge(
    "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage"
)
FETCHES: Final = _gauge("vllm:num_requests_kv_fetch_by_stage", labels=(b"stage",))
"""Requests that wait for KV cache from another place."""

SLEEP_STATE: Final = _gauge("vllm:engine_sleep_state", labels=(b"sleep_state",))
"""1 for the current state; all are 0 while paused."""

HEALTHY: Final = _gauge("vllm:engine_healthy")

PROMPT_TOKENS: Final = _counter("vllm:prompt_tokens")
GENERATION_TOKENS: Final = _counter("vllm:generation_tokens")
FINISHED_REQUESTS: Final = _counter(
    "vllm:request_success", labels=((b"finished_reason", b"finish_reason"),)
)
PREEMPTIONS: Final = _counter("vllm:num_preemptions")
"""Requests that were evicted from the batch for lack of room, like SGLang's `RETRACTIONS`."""

PREFIX_CACHE_QUERIES: Final = _counter("vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries")
ITERATIONS: Final = _observations("vllm:iteration_tokens_total")
CORRUPTED_REQUESTS: Final = _counter("vllm:corrupted_requests")
"""Requests with NaN in their logits."""

FAILED_TRANSFERS: Final = _counter("vllm:nixl_num_failed_transfers")
FAILED_NOTIFICATIONS: Final = _counter("vllm:nixl_num_failed_notifications")
EXPIRED_REQUESTS: Final = _counter("vllm:nixl_num_kv_expired_reqs")
"""Only NIXL reports these three; since vLLM 0.31 the failed transfers include failed handshakes and
notifications."""

CONNECTOR_FAILURES: Final = (
    _counter("vllm:mooncake_num_failed_transfers"),
    _counter("vllm:mooncake_num_failed_recvs"),
    _counter("vllm:mooncake_num_kv_expired_reqs"),
    _counter("vllm:hf3fs_num_failed_save"),
    _counter("vllm:hf3fs_num_failed_load"),
    _counter("vllm:umbp_transfer_failed"),
)
"""Counters of other connectors than NIXL (vLLM, distributed/kv_transfer/kv_connector/v1)."""

STORE_OPERATIONS: Final = _counter("vllm:mooncake_store_operation", labels=(b"status",))

TIME_TO_FIRST_TOKEN: Final = _histogram(
    "vllm:time_to_first_token_seconds", "sglang:time_to_first_token_seconds"
)
INTER_TOKEN_LATENCY: Final = _histogram(
    "vllm:inter_token_latency_seconds",
    "vllm:time_per_output_token_seconds",
    "sglang:inter_token_latency_seconds",
)
E2E_REQUEST_LATENCY: Final = _histogram(
    "vllm:e2e_request_latency_seconds", "sglang:e2e_request_latency_seconds"
)

REALTIME_TOKENS: Final = _repeated("sglang:realtime_tokens", labels=(b"mode",))
"""Rises during generation, not only when a request finishes."""

SGLANG_FINISHED: Final = _counter("sglang:num_requests")
"""Finished requests with any outcome."""

RETRACTIONS: Final = _repeated("sglang:num_retracted_requests")
SGLANG_FAILURES: Final = (
    _repeated("sglang:num_transfer_failed_reqs"),
    _repeated("sglang:num_bootstrap_failed_reqs"),
)
DECODE_PREALLOCATIONS: Final = _gauge("sglang:num_decode_prealloc_queue_reqs")

PROCESS_START: Final = _pod_gauge("process_start_time_seconds")
"""Epoch seconds on the pod's clock; compare it only with an earlier page of the same pod."""

DOWNLOAD_SPEED: Final = _pod_gauge("kaito_model_download_speed_bytes_per_second")
DOWNLOAD_REMAINING: Final = _pod_gauge("kaito_model_download_remaining_seconds")
"""-1 means unknown; 0 does not prove that the download has ended."""

RATE_LIMITED: Final = _pod_counter("kaito_ratelimit_rejected")
"""Requests that KAITO's guard refused with 429; `ADMISSION_REJECTIONS` were refused with 503."""

ADMISSION_REJECTIONS: Final = _pod_counter("vllm:admission_rejections", labels=(b"reason",))
SGLANG_ANSWERS: Final = _pod_counter("sglang:http_responses", labels=(b"endpoint", b"status_code"))
HTTP_REQUESTS: Final = _pod_counter("http_requests", labels=(b"handler", b"status"))

# Endpoint pickers: llm-d/llm-d-router has the first name since v0.9, and next to it, with the same
# numbers, the name of the Gateway API Inference Extension (pkg/epp/metrics/metrics.go, v1.3 to
# v1.5).
READY_ENDPOINTS: Final = _pod_gauge("llm_d_epp_ready_endpoints", "inference_pool_ready_pods")
"""Endpoints whose metrics the picker read within the last seconds; it counts them every 5 s
(Gateway API Inference Extension, pkg/epp/datalayer/logger/logger.go). Every endpoint of the pool,
fresh or not, has a series in `ENDPOINT_QUEUES`."""

ENDPOINT_QUEUES: Final = _pod_gauge(
    "llm_d_epp_per_endpoint_queue_size",
    "inference_pool_per_pod_queue_size",
    labels=((b"model_server_endpoint", b"model_server_pod"),),
)
SCHEDULER_ATTEMPTS: Final = _pod_counter(
    "llm_d_epp_scheduler_attempts", "inference_extension_scheduler_attempts", labels=(b"status",)
)
"""A request to a pool without endpoints is not counted as an attempt."""

PICKER_REQUESTS: Final = _pod_counter("llm_d_epp_request", "inference_objective_request")
PICKER_ERRORS: Final = _pod_counter(
    "llm_d_epp_request_error", "inference_objective_request_error", labels=(b"error_code",)
)
# Only with flow control, a feature gate. Before v0.10 the outcomes of requests are only in the
# observation counts of the queue duration.
FLOW_OUTCOMES: Final = _pod_counter("llm_d_epp_flow_control_requests", labels=(b"outcome",))
FLOW_DEPARTURES: Final = _observations(
    "llm_d_epp_flow_control_request_queue_duration_seconds",
    "inference_extension_flow_control_request_queue_duration_seconds",
    labels=(b"outcome",),
    per_engine=False,
)

FAMILIES: Final = (
    *(each for each in globals().copy().values() if isinstance(each, Family)),
    *CONNECTOR_FAILURES,
    *SGLANG_FAILURES,
)

_INFERENCE_HANDLERS: Final = (
    "/v1/chat/completions/", "/v1/completions/", "/v1/responses/", "/v1/embeddings/", "/v1/rerank/",
    "/score/", "/pooling/", "/tokenize/", "/generate/",
)  # fmt: skip


def is_inference(handler: str) -> bool:
    """True if a handler, or a parent path of it, belongs to the inference API."""
    return f"{handler}/".startswith(_INFERENCE_HANDLERS)


def _sample_names(family: Family, name: str) -> Iterator[tuple[str, SamplePart]]:
    match family.kind:
        case Kind.GAUGE:
            yield name, SamplePart.VALUE
            return
        case Kind.COUNTER:
            yield f"{name}_total", SamplePart.VALUE
            yield name, SamplePart.VALUE
        case Kind.HISTOGRAM:
            yield f"{name}_bucket", SamplePart.BUCKET
            yield f"{name}_sum", SamplePart.SUM
        case Kind.OBSERVATIONS:
            yield f"{name}_count", SamplePart.VALUE
    yield f"{name}_created", SamplePart.CREATED


def _meanings() -> Iterator[tuple[bytes, Meaning]]:
    for family in FAMILIES:
        ranks = count()
        for index, name in enumerate(family.names):
            for sample, part in _sample_names(family, name):
                yield sample.encode(), Meaning(family, part, index, next(ranks))


WANTED: Final = dict(_meanings())

PREFIX: Final = b"vllm:"
SGLANG_PREFIX: Final = b"sglang:"
DIFFUSION_PREFIX: Final = b"sglang:diffusion_"
"""An image server; rules about tokens do not apply to it."""

ENGINE: Final = b"engine"
RANK: Final = b"dp_rank"
"""Label that distinguishes SGLang's engines; its other ranks work on the same requests."""

BOUND: Final = b"le"
SERVER: Final = b"server"

KEPT_LABELS: Final = frozenset({ENGINE, RANK, BOUND, SERVER}).union(
    *(names for each in FAMILIES for names in each.labels)
)

"""The wanted families, and by which sample names each is known.

The names are those of vLLM (vllm/v1/metrics/loggers.py), former names of its V0 engine among them,
of KAITO's server, and, where the meaning is the same, of SGLang 0.5.23
(python/sglang/srt/observability/metrics_collector.py). SGLang says other things by some names that
look alike, which are not read: its request counters have no outcome, and `num_aborted_requests`
counts orders to abort. Its sign of life are the tokens that count while they are made.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from itertools import count
from typing import Final


class Kind(Enum):
    """What a family is; said by this table, since producers disagree on `TYPE`."""

    GAUGE = auto()
    COUNTER = auto()
    HISTOGRAM = auto()
    OBSERVATIONS = auto()
    """A histogram of which only the number of observations is needed; it serves as a counter."""


class SamplePart(Enum):
    """What a sample is of its family."""

    VALUE = auto()
    CREATED = auto()
    BUCKET = auto()
    SUM = auto()


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """A family.

    Attributes:
        names: accepted, the first that a page has wins; of counters without `_total`.
        labels: that tell its series apart; of each, the names accepted, in this order.
        per_engine: whether each engine has its own, else it is about the pod.
        repeated: each rank tells the same count, so that the largest holds, not the sum.

    """

    kind: Kind
    names: tuple[str, ...]
    labels: tuple[tuple[bytes, ...], ...] = ()
    per_engine: bool = True
    repeated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Meaning:
    """What a sample name stands for.

    Attributes:
        part: what it is of that.
        name: index of the family's name in it.
        rank: of several names for one part, the one with the smallest rank wins.

    """

    family: Family
    part: SamplePart
    name: int
    rank: int


def _gauge(*names: str, label: bytes | None = None) -> Family:
    return Family(Kind.GAUGE, names, ((label,),) if label else ())


def _counter(*names: str, label: tuple[bytes, ...] = ()) -> Family:
    return Family(Kind.COUNTER, names, (label,) if label else ())


def _repeated(name: str, *labels: bytes) -> Family:
    return Family(Kind.COUNTER, (name,), tuple((each,) for each in labels), repeated=True)


def _histogram(*names: str) -> Family:
    return Family(Kind.HISTOGRAM, names)


def _pod_gauge(*names: str) -> Family:
    return Family(Kind.GAUGE, names, per_engine=False)


def _pod_counter(name: str, *labels: bytes) -> Family:
    return Family(Kind.COUNTER, (name,), tuple((each,) for each in labels), per_engine=False)


def _picker_counter(label: bytes | None, *names: str) -> Family:
    return Family(Kind.COUNTER, names, ((label,),) if label else (), per_engine=False)


RUNNING: Final = _gauge("vllm:num_requests_running", "sglang:num_running_reqs")
WAITING: Final = _gauge("vllm:num_requests_waiting", "sglang:num_queue_reqs")
WAITING_BY_REASON: Final = _gauge("vllm:num_requests_waiting_by_reason", label=b"reason")
KV_CACHE_USAGE: Final = _gauge(
    "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage"
)
FETCHES: Final = _gauge("vllm:num_requests_kv_fetch_by_stage", label=b"stage")
SLEEP_STATE: Final = _gauge("vllm:engine_sleep_state", label=b"sleep_state")
HEALTHY: Final = _gauge("vllm:engine_healthy")

PROMPT_TOKENS: Final = _counter("vllm:prompt_tokens")
GENERATION_TOKENS: Final = _counter("vllm:generation_tokens")
FINISHED_REQUESTS: Final = _counter(
    "vllm:request_success", label=(b"finished_reason", b"finish_reason")
)
PREEMPTIONS: Final = _counter("vllm:num_preemptions")
PREFIX_CACHE_QUERIES: Final = _counter("vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries")
ITERATIONS: Final = Family(Kind.OBSERVATIONS, ("vllm:iteration_tokens_total",))
CORRUPTED_REQUESTS: Final = _counter("vllm:corrupted_requests")
FAILED_TRANSFERS: Final = _counter("vllm:nixl_num_failed_transfers")
FAILED_NOTIFICATIONS: Final = _counter("vllm:nixl_num_failed_notifications")
EXPIRED_REQUESTS: Final = _counter("vllm:nixl_num_kv_expired_reqs")
MOONCAKE_FAILED_SENDS: Final = _counter("vllm:mooncake_num_failed_transfers")
MOONCAKE_FAILED_LOADS: Final = _counter("vllm:mooncake_num_failed_recvs")
MOONCAKE_EXPIRED: Final = _counter("vllm:mooncake_num_kv_expired_reqs")
HF3FS_FAILED_SAVES: Final = _counter("vllm:hf3fs_num_failed_save")
HF3FS_FAILED_LOADS: Final = _counter("vllm:hf3fs_num_failed_load")
UMBP_FAILED: Final = _counter("vllm:umbp_transfer_failed")
CONNECTOR_FAILURES: Final = (
    MOONCAKE_FAILED_SENDS,
    MOONCAKE_FAILED_LOADS,
    MOONCAKE_EXPIRED,
    HF3FS_FAILED_SAVES,
    HF3FS_FAILED_LOADS,
    UMBP_FAILED,
)
"""Of connectors besides NIXL (vLLM, vllm/distributed/kv_transfer/kv_connector/v1); each counts its own."""

STORE_OPERATIONS: Final = _counter("vllm:mooncake_store_operation", label=(b"status",))

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

REALTIME_TOKENS: Final = _repeated("sglang:realtime_tokens", b"mode")
SGLANG_FINISHED: Final = _counter("sglang:num_requests")
RETRACTIONS: Final = _repeated("sglang:num_retracted_requests")
SGLANG_FAILED_TRANSFERS: Final = _repeated("sglang:num_transfer_failed_reqs")
SGLANG_FAILED_BOOTSTRAPS: Final = _repeated("sglang:num_bootstrap_failed_reqs")
DECODE_PREALLOCATIONS: Final = _gauge("sglang:num_decode_prealloc_queue_reqs")

PROCESS_START: Final = _pod_gauge("process_start_time_seconds")
DOWNLOAD_SPEED: Final = _pod_gauge("kaito_model_download_speed_bytes_per_second")
DOWNLOAD_REMAINING: Final = _pod_gauge("kaito_model_download_remaining_seconds")
RATE_LIMITED: Final = _pod_counter("kaito_ratelimit_rejected")
ADMISSION_REJECTIONS: Final = _pod_counter("vllm:admission_rejections", b"reason")
SGLANG_ANSWERS: Final = _pod_counter("sglang:http_responses", b"endpoint", b"status_code")
HTTP_REQUESTS: Final = _pod_counter("http_requests", b"handler", b"status")

# Of endpoint pickers: llm-d/llm-d-router from v0.9 on has the first name, and the one of the Gateway API
# Inference Extension (pkg/epp/metrics/metrics.go, v1.3 to v1.5) beside it with the same numbers.
READY_ENDPOINTS: Final = _pod_gauge("llm_d_epp_ready_endpoints", "inference_pool_ready_pods")
ENDPOINT_QUEUES: Final = Family(
    Kind.GAUGE,
    ("llm_d_epp_per_endpoint_queue_size", "inference_pool_per_pod_queue_size"),
    ((b"model_server_endpoint", b"model_server_pod"),),
    per_engine=False,
)
SCHEDULER_ATTEMPTS: Final = _picker_counter(
    b"status", "llm_d_epp_scheduler_attempts", "inference_extension_scheduler_attempts"
)
PICKER_REQUESTS: Final = _picker_counter(None, "llm_d_epp_request", "inference_objective_request")
PICKER_ERRORS: Final = _picker_counter(
    b"error_code", "llm_d_epp_request_error", "inference_objective_request_error"
)
# Only with flow control, which is a feature gate. Below v0.10 the number of observations of the time in the
# queue says what became of requests.
FLOW_OUTCOMES: Final = _picker_counter(b"outcome", "llm_d_epp_flow_control_requests")
FLOW_DEPARTURES: Final = Family(
    Kind.OBSERVATIONS,
    (
        "llm_d_epp_flow_control_request_queue_duration_seconds",
        "inference_extension_flow_control_request_queue_duration_seconds",
    ),
    ((b"outcome",),),
    per_engine=False,
)

FAMILIES: Final = tuple(each for each in globals().copy().values() if isinstance(each, Family))

_INFERENCE_HANDLERS: Final = (
    "/v1/chat/completions/",
    "/v1/completions/",
    "/v1/responses/",
    "/v1/embeddings/",
    "/v1/rerank/",
    "/score/",
    "/pooling/",
    "/tokenize/",
    "/generate/",
)


def is_inference(handler: str) -> bool:
    """Tell whether requests to a handler count: those of the API for models, and what is below."""
    return f"{handler}/".startswith(_INFERENCE_HANDLERS)


def _sample_names(family: Family, name: str) -> Iterator[tuple[str, SamplePart]]:
    """Yield the sample names that a family has by one of its names, the preferred one first."""
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
"""Sample names, exactly as they stand on a page, and what they stand for."""

PREFIX: Final = b"vllm:"
SGLANG_PREFIX: Final = b"sglang:"
DIFFUSION_PREFIX: Final = b"sglang:diffusion_"
"""A server of images, to which no rule about tokens applies."""

ENGINE: Final = b"engine"
RANK: Final = b"dp_rank"
"""Label that tells the engines of SGLang apart; its other ranks work on the same requests."""

BOUND: Final = b"le"
SERVER: Final = b"server"
"""Label that a router's families have."""

KEPT_LABELS: Final = frozenset(
    {
        ENGINE,
        RANK,
        BOUND,
        SERVER,
        *(name for each in FAMILIES for names in each.labels for name in names),
    }
)

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
    VALUE = auto()
    CREATED = auto()
    BUCKET = auto()
    SUM = auto()


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Of `names` the first that a page has wins; counters are without `_total`.

    `labels` tell its series apart. `per_engine`: else it is about the pod. `repeated`: each rank
    tells the same count, so that the largest holds, not the sum.
    """

    kind: Kind
    names: tuple[str, ...]
    labels: tuple[tuple[bytes, ...], ...] = ()
    per_engine: bool = True
    repeated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Meaning:
    """What a sample name stands for.

    `name` is the index of the family's name; of several names for one part the smallest `rank`
    wins.
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


def _pod_counter(*names: str, labels: tuple[bytes, ...] = ()) -> Family:
    return Family(Kind.COUNTER, names, tuple((each,) for each in labels), per_engine=False)


RUNNING: Final = _gauge("vllm:num_requests_running", "sglang:num_running_reqs")
WAITING: Final = _gauge("vllm:num_requests_waiting", "sglang:num_queue_reqs")
WAITING_BY_REASON: Final = _gauge("vllm:num_requests_waiting_by_reason", label=b"reason")
"""Only `capacity` is congestion."""

KV_CACHE_USAGE: Final = _gauge(
    "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage"
)
FETCHES: Final = _gauge("vllm:num_requests_kv_fetch_by_stage", label=b"stage")
"""Requests that wait for KV cache from elsewhere."""

SLEEP_STATE: Final = _gauge("vllm:engine_sleep_state", label=b"sleep_state")
"""1 for the state it is in, all 0 while paused."""

HEALTHY: Final = _gauge("vllm:engine_healthy")

PROMPT_TOKENS: Final = _counter("vllm:prompt_tokens")
GENERATION_TOKENS: Final = _counter("vllm:generation_tokens")
FINISHED_REQUESTS: Final = _counter(
    "vllm:request_success", label=(b"finished_reason", b"finish_reason")
)
PREEMPTIONS: Final = _counter("vllm:num_preemptions")
"""Requests that were put out of the batch for lack of room, as SGLang's `RETRACTIONS`."""

PREFIX_CACHE_QUERIES: Final = _counter("vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries")
ITERATIONS: Final = Family(Kind.OBSERVATIONS, ("vllm:iteration_tokens_total",))
CORRUPTED_REQUESTS: Final = _counter("vllm:corrupted_requests")
"""Requests with NaN in their logits."""

FAILED_TRANSFERS: Final = _counter("vllm:nixl_num_failed_transfers")
FAILED_NOTIFICATIONS: Final = _counter("vllm:nixl_num_failed_notifications")
EXPIRED_REQUESTS: Final = _counter("vllm:nixl_num_kv_expired_reqs")
"""NIXL alone tells these; since vLLM 0.31 failed handshakes and notices are among the transfers."""

CONNECTOR_FAILURES: Final = (
    _counter("vllm:mooncake_num_failed_transfers"),
    _counter("vllm:mooncake_num_failed_recvs"),
    _counter("vllm:mooncake_num_kv_expired_reqs"),
    _counter("vllm:hf3fs_num_failed_save"),
    _counter("vllm:hf3fs_num_failed_load"),
    _counter("vllm:umbp_transfer_failed"),
)
"""Connectors other than NIXL, each with its own (vLLM, distributed/kv_transfer/kv_connector/v1)."""

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
"""Counts while tokens are made."""

SGLANG_FINISHED: Final = _counter("sglang:num_requests")
"""Whatever the outcome."""

RETRACTIONS: Final = _repeated("sglang:num_retracted_requests")
SGLANG_FAILURES: Final = (
    _repeated("sglang:num_transfer_failed_reqs"),
    _repeated("sglang:num_bootstrap_failed_reqs"),
)
DECODE_PREALLOCATIONS: Final = _gauge("sglang:num_decode_prealloc_queue_reqs")

PROCESS_START: Final = _pod_gauge("process_start_time_seconds")
"""In the epoch seconds of the pod, to be compared with that of an earlier page only."""

DOWNLOAD_SPEED: Final = _pod_gauge("kaito_model_download_speed_bytes_per_second")
DOWNLOAD_REMAINING: Final = _pod_gauge("kaito_model_download_remaining_seconds")
"""-1 is unknown, 0 does not prove that the download has ended."""

RATE_LIMITED: Final = _pod_counter("kaito_ratelimit_rejected")
"""Refused with 429 by KAITO's guard; admission rejections with 503."""

ADMISSION_REJECTIONS: Final = _pod_counter("vllm:admission_rejections", labels=(b"reason",))
SGLANG_ANSWERS: Final = _pod_counter("sglang:http_responses", labels=(b"endpoint", b"status_code"))
HTTP_REQUESTS: Final = _pod_counter("http_requests", labels=(b"handler", b"status"))

# Of endpoint pickers: llm-d/llm-d-router from v0.9 on has the first name, and the one of the
# Gateway API Inference Extension (pkg/epp/metrics/metrics.go, v1.3 to v1.5) beside it with the same
# numbers.
READY_ENDPOINTS: Final = _pod_gauge("llm_d_epp_ready_endpoints", "inference_pool_ready_pods")
"""Endpoints whose metrics it read within the last seconds; every 5 s it counts them (Gateway API
Inference Extension, pkg/epp/datalayer/logger/logger.go). All of its pool have a queue on the
page."""

ENDPOINT_QUEUES: Final = Family(
    Kind.GAUGE,
    ("llm_d_epp_per_endpoint_queue_size", "inference_pool_per_pod_queue_size"),
    ((b"model_server_endpoint", b"model_server_pod"),),
    per_engine=False,
)
SCHEDULER_ATTEMPTS: Final = _pod_counter(
    "llm_d_epp_scheduler_attempts", "inference_extension_scheduler_attempts", labels=(b"status",)
)
"""A pool without endpoints is no attempt."""

PICKER_REQUESTS: Final = _pod_counter("llm_d_epp_request", "inference_objective_request")
PICKER_ERRORS: Final = _pod_counter(
    "llm_d_epp_request_error", "inference_objective_request_error", labels=(b"error_code",)
)
# Only with flow control, which is a feature gate. Below v0.10 the number of observations of the
# time in the queue says what became of requests.
FLOW_OUTCOMES: Final = _pod_counter("llm_d_epp_flow_control_requests", labels=(b"outcome",))
FLOW_DEPARTURES: Final = Family(
    Kind.OBSERVATIONS,
    (
        "llm_d_epp_flow_control_request_queue_duration_seconds",
        "inference_extension_flow_control_request_queue_duration_seconds",
    ),
    ((b"outcome",),),
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
    """Tell whether requests to a handler count: those of the API for models, and what is below."""
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
"""A server of images, to which no rule about tokens applies."""

ENGINE: Final = b"engine"
RANK: Final = b"dp_rank"
"""Label that tells the engines of SGLang apart; its other ranks work on the same requests."""

BOUND: Final = b"le"
SERVER: Final = b"server"

KEPT_LABELS: Final = frozenset({ENGINE, RANK, BOUND, SERVER}).union(
    *(names for each in FAMILIES for names in each.labels)
)

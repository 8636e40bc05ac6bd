"""The metrics page of a model pod at one moment of its life."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from prometheus_client import Metric, generate_latest
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from lab.simulation.engine import Bounds, HistogramValue
from lab.simulation.pod_life import Download, Life

CONTENT_TYPE: Final = "text/plain; version=1.0.0; charset=utf-8"

Kind = Literal["counter", "gauge", "histogram", "summary"]
Labels = tuple[tuple[str, str], ...]
"""Label names and values, in any order."""

_ENGINE: Final[Labels] = (("engine", "0"),)
_MODEL: Final[Labels] = (("model_name", "meta-llama/Llama-3.1-8B-Instruct"),)


@dataclass(frozen=True, slots=True)
class EngineFamily:
    """A family of an engine.

    Attributes:
        name: the name on the page, without `vllm:` and the `_total` of counters.
        extra: label sets beyond the common labels, one series each.
        common: the labels that every series has.
    """

    kind: Kind
    name: str
    help: str
    extra: tuple[Labels, ...] = ((),)
    bounds: Bounds = ()
    common: Labels = _ENGINE + _MODEL


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


_counter: Final = partial(EngineFamily, "counter")
_gauge: Final = partial(EngineFamily, "gauge")


def _histogram(name: str, text: str, bounds: Bounds) -> EngineFamily:
    return EngineFamily("histogram", name, text, bounds=bounds)


ENGINE_FAMILIES: Final = (
    _histogram("nixl_xfer_time_seconds", "Time one NIXL transfer took.", _NIXL_XFER_BOUNDS),
    _histogram("nixl_post_time_seconds", "Time to post one NIXL transfer.", _NIXL_POST_BOUNDS),
    _histogram("nixl_bytes_transferred", "Bytes moved per NIXL transfer.", _NIXL_BYTES_BOUNDS),
    _histogram("nixl_num_descriptors", "Descriptors per NIXL transfer.", _NIXL_DESCRIPTOR_BOUNDS),
    _counter("nixl_num_failed_transfers", "NIXL transfers that failed."),
    _counter("nixl_num_failed_notifications", "NIXL notifications that failed."),
    _counter("nixl_num_kv_expired_reqs", "Requests whose KV blocks expired before they were fetched."),
    _gauge("num_requests_running", "Requests in the current execution batch."),
    _gauge("num_requests_waiting", "Requests queued for execution."),
    _gauge("num_requests_waiting_by_reason", "Queued requests, split by cause.",
           extra=_by("reason", "capacity", "deferred")),
    _gauge("engine_sleep_state", "One-hot sleep state of the engine.", extra=_SLEEP),
    _gauge("kv_cache_usage_perc", "Share of KV cache blocks in use; 1 is full."),
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
    _counter("admission_rejections", "Requests refused at the queue limit.", _REJECTIONS,
             common=_MODEL),
    _gauge("engine_healthy", "1 while the rank is healthy.", common=_ENGINE),
)  # fmt: skip
"""In the order of the page."""


_HIGHR_BOUNDS: Final[Bounds] = (
    0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0,
    2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 7.5, 10.0, 30.0, 60.0,
)  # fmt: skip
_HTTP_BOUNDS: Final[Bounds] = (0.1, 0.5, 1.0)

_CHAT: Final = (("handler", "/v1/chat/completions"), ("method", "POST"))
_OTHER_REQUESTS: Final[tuple[tuple[str, str, str, int], ...]] = (
    ("/v1/models", "GET", "2xx", 12),
    # Braces are in the handlers of every vLLM server.
    ("/v1/responses/{response_id}", "GET", "4xx", 3),
    ("none", "GET", "4xx", 41),
)
_CHAT_SECONDS: Final = 2.0

CACHE_CONFIG: Final[Labels] = tuple({
    "_block_size_resolved": "True", "block_size": "16", "cache_dtype": "auto",
    "calculate_kv_scales": "False", "enable_prefix_caching": "True",
    "gpu_memory_utilization": "0.84", "is_attention_free": "False",
    "kv_cache_dtype_skip_layers": "['0', '1']", "kv_cache_max_concurrency": "11.87451171875",
    "kv_cache_memory_bytes": "None", "kv_cache_size_tokens": "389104",
    "kv_offloading_backend": "native", "kv_offloading_size": "None",
    "kv_sharing_fast_prefill": "False", "mamba_block_size": "None", "mamba_cache_dtype": "auto",
    "mamba_cache_mode": "none", "mamba_page_size_padded": "None",
    "mamba_ssm_cache_dtype": "auto", "num_cpu_blocks": "None", "num_gpu_blocks": "24319",
    "num_gpu_blocks_override": "None", "prefix_caching_hash_algo": "sha256",
    "prefix_match_unit": "None", "skip_page_size_padded": "None", "sliding_window": "None",
    "user_specified_block_size": "False", "user_specified_mamba_block_size": "False",
}.items())  # fmt: skip
_PYTHON: Final[Labels] = (
    ("implementation", "CPython"), ("major", "3"), ("minor", "12"), ("patchlevel", "11"),
    ("version", "3.12.11"),
)  # fmt: skip


class _Page(Collector):
    """The families of a page, in its order, for the exposition of the Python client."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def render(life: Life) -> str:
    """Return the page as text: the download page while weights download, else vLLM's."""
    return generate_latest(_Page(_metrics(life))).decode()


def _metrics(life: Life) -> Iterator[Metric]:
    yield from process_metrics(life)
    if not isinstance(life.behaviour, Download):
        yield from _engine_metrics(life)
        yield from http_metrics(life)
    yield from kaito_metrics(life)


def _metric(
    kind: Kind, name: str, text: str, *values: tuple[Labels, float], created: float | None = None
) -> Metric:
    """Return a counter or gauge; counters that are `created` (Unix seconds) say so."""
    metric = Metric(name, text, kind)
    total = "_total" if kind == "counter" else ""
    for labels, value in values:
        metric.add_sample(name + total, dict(labels), value)
        if kind == "counter" and created is not None:
            metric.add_sample(f"{name}_created", dict(labels), created)
    return metric


def _distribution(
    kind: Kind,
    name: str,
    text: str,
    *values: tuple[Labels, HistogramValue],
    bounds: Bounds = (),
    created: float,
) -> Metric:
    """Return a histogram, or a summary, which has no buckets."""
    metric = Metric(name, text, kind)
    for pairs, value in values:
        labels = dict(pairs)
        if kind == "histogram":
            counts = (*value.cumulative, value.total)
            for bound, reached in zip((*bounds, math.inf), counts, strict=True):
                metric.add_sample(f"{name}_bucket", {**labels, "le": _bound(bound)}, reached)
        metric.add_sample(f"{name}_count", labels, value.total)
        metric.add_sample(f"{name}_sum", labels, value.sum)
        metric.add_sample(f"{name}_created", labels, created)
    return metric


def _bound(bound: float) -> str:
    return str(floatToGoString(bound))  # type: ignore[no-untyped-call]


def _engine_metrics(life: Life) -> Iterator[Metric]:
    engine, values = life.engine, life.engine.values()
    for family in ENGINE_FAMILIES:
        name = f"vllm:{family.name}"
        if family.kind == "histogram":
            value = engine.histogram(name, family.bounds)
            yield _distribution(
                "histogram", name, family.help, (family.common, value),
                bounds=family.bounds, created=engine.created,
            )  # fmt: skip
        else:
            key = name + ("_total" if family.kind == "counter" else "")
            series = (
                ((*family.common, *extra), values.get((key, extra[0][1] if extra else ""), 0.0))
                for extra in family.extra
            )
            yield _metric(family.kind, name, family.help, *series, created=engine.created)
    cache = (*_ENGINE, *CACHE_CONFIG)
    yield _metric("gauge", "vllm:cache_config_info", "KV cache settings.", (cache, 1.0))


def process_metrics(life: Life) -> Iterator[Metric]:
    """Yield the Python client's metrics of its own process; they have no `_created`."""
    for name, text in (
        ("objects_collected", "Objects freed by the collector."),
        ("objects_uncollectable", "Objects the collector could not free."),
        ("collections", "Collector runs per generation."),
    ):
        series: list[tuple[Labels, float]] = [((("generation", each),), 0.0) for each in "012"]
        yield _metric("counter", f"python_gc_{name}", text, *series)
    yield _metric("gauge", "python_info", "Interpreter build.", (_PYTHON, 1.0))
    plain: tuple[tuple[Kind, str, str, float], ...] = (
        ("gauge", "virtual_memory_bytes", "Address space.", 38_654_705_664.0),
        ("gauge", "resident_memory_bytes", "Resident set.", 2_147_725_312.0),
        ("gauge", "start_time_seconds", "Process start, Unix seconds.", life.process_started),
        ("counter", "cpu_seconds", "User and system CPU time.", 0.2 * life.uptime),
        ("gauge", "open_fds", "Open file descriptors.", 143.0),
        ("gauge", "max_fds", "Limit on open file descriptors.", 1_048_576.0),
    )
    for kind, name, text, value in plain:
        yield _metric(kind, f"process_{name}", text, ((), value))


def kaito_metrics(life: Life) -> Iterator[Metric]:
    """Yield the metrics that KAITO adds to the page, before and after vLLM serves it."""
    yield _metric(
        "counter", "kaito_ratelimit_rejected", "Requests answered 429 by the queue guard.",
        ((), 0.0), created=life.process_started,
    )  # fmt: skip
    for name, text, value in (
        ("speed_bytes_per_second", "Weight download speed.", life.download_speed),
        ("remaining_seconds", "Time left to download; -1 when not known.", life.remaining),
    ):
        yield _metric("gauge", f"kaito_model_download_{name}", text, ((), value))


def http_metrics(life: Life) -> Iterator[Metric]:
    created = life.process_started
    answered = {status: life.engine.total("http", status) for status in ("2xx", "4xx", "5xx")}
    requests: dict[Labels, int] = {
        (*_CHAT, ("status", status)): count for status, count in answered.items()
    }
    per_handler: dict[Labels, int] = {_CHAT: sum(answered.values())}
    for handler, method, status, count in _OTHER_REQUESTS:
        labels = (("handler", handler), ("method", method))
        per_handler[labels] = requests[*labels, ("status", status)] = count
    yield _metric(
        "counter", "http_requests", "HTTP requests by handler, method and status class.",
        *requests.items(), created=created,
    )  # fmt: skip
    for each, size in (("request", 2600), ("response", 1400)):
        sizes = (
            (labels[:1], HistogramValue((), count, float(size * count)))
            for labels, count in per_handler.items()
        )
        name, text = f"http_{each}_size_bytes", f"HTTP {each} body length by handler."
        yield _distribution("summary", name, text, *sizes, created=created)
    total = _durations(sum(per_handler.values()), _HIGHR_BOUNDS)
    yield _distribution(
        "histogram", "http_request_duration_highr_seconds", "Request duration over all handlers.",
        ((), total), bounds=_HIGHR_BOUNDS, created=created,
    )  # fmt: skip
    yield _distribution(
        "histogram", "http_request_duration_seconds", "Request duration by handler.",
        *((labels, _durations(count, _HTTP_BOUNDS)) for labels, count in per_handler.items()),
        bounds=_HTTP_BOUNDS, created=created,
    )  # fmt: skip


def _durations(count: int, bounds: Bounds) -> HistogramValue:
    reached = tuple(count if bound >= _CHAT_SECONDS else 0 for bound in bounds)
    return HistogramValue(reached, count, _CHAT_SECONDS * count)

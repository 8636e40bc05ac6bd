"""Metrics of a pod's API server process: Python, HTTP, and KAITO's own."""

from collections.abc import Iterator
from typing import Final

from lab.simulation.engine import HistogramValue
from lab.simulation.exposition import ExposedSeries, Metric
from lab.simulation.families import Bounds, Kind, Labels
from lab.simulation.pod_life import Life

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

CACHE_CONFIG: Final[Labels] = tuple(
    {
        "_block_size_resolved": "True",
        "block_size": "16",
        "cache_dtype": "auto",
        "calculate_kv_scales": "False",
        "enable_prefix_caching": "True",
        "gpu_memory_utilization": "0.84",
        "is_attention_free": "False",
        "kv_cache_dtype_skip_layers": "['0', '1']",
        "kv_cache_max_concurrency": "11.87451171875",
        "kv_cache_memory_bytes": "None",
        "kv_cache_size_tokens": "389104",
        "kv_offloading_backend": "native",
        "kv_offloading_size": "None",
        "kv_sharing_fast_prefill": "False",
        "mamba_block_size": "None",
        "mamba_cache_dtype": "auto",
        "mamba_cache_mode": "none",
        "mamba_page_size_padded": "None",
        "mamba_ssm_cache_dtype": "auto",
        "num_cpu_blocks": "None",
        "num_gpu_blocks": "24319",
        "num_gpu_blocks_override": "None",
        "prefix_caching_hash_algo": "sha256",
        "prefix_match_unit": "None",
        "skip_page_size_padded": "None",
        "sliding_window": "None",
        "user_specified_block_size": "False",
        "user_specified_mamba_block_size": "False",
    }.items()
)
_PYTHON: Final[Labels] = (
    ("implementation", "CPython"),
    ("major", "3"),
    ("minor", "12"),
    ("patchlevel", "11"),
    ("version", "3.12.11"),
)


def process_metrics(life: Life) -> Iterator[Metric]:
    """Yield the Python client's metrics of its own process; they have no `_created`."""
    for name, text in (
        ("objects_collected", "Objects freed by the collector."),
        ("objects_uncollectable", "Objects the collector could not free."),
        ("collections", "Collector runs per generation."),
    ):
        series = tuple(ExposedSeries((("generation", each),), 0.0) for each in "012")
        yield Metric(f"python_gc_{name}_total", "counter", text, series)
    yield Metric("python_info", "gauge", "Interpreter build.", (ExposedSeries(_PYTHON, 1.0),))
    plain: tuple[tuple[str, Kind, str, float], ...] = (
        ("virtual_memory_bytes", "gauge", "Address space.", 38_654_705_664.0),
        ("resident_memory_bytes", "gauge", "Resident set.", 2_147_725_312.0),
        ("start_time_seconds", "gauge", "Process start, Unix seconds.", life.process_started),
        ("cpu_seconds_total", "counter", "User and system CPU time.", 0.2 * life.uptime),
        ("open_fds", "gauge", "Open file descriptors.", 143.0),
        ("max_fds", "gauge", "Limit on open file descriptors.", 1_048_576.0),
    )
    for name, kind, text, value in plain:
        yield Metric(f"process_{name}", kind, text, (ExposedSeries((), value),))


def kaito_metrics(life: Life) -> Iterator[Metric]:
    """Yield the metrics that KAITO adds to the page, before and after vLLM serves it."""
    yield Metric(
        "kaito_ratelimit_rejected_total",
        "counter",
        "Requests answered 429 by the queue guard.",
        (ExposedSeries((), 0.0, life.process_started),),
    )
    for name, text, value in (
        ("speed_bytes_per_second", "Weight download speed.", life.download_speed),
        ("remaining_seconds", "Time left to download; -1 when not known.", life.remaining),
    ):
        yield Metric(f"kaito_model_download_{name}", "gauge", text, (ExposedSeries((), value),))


def http_metrics(life: Life) -> Iterator[Metric]:
    """Yield the metrics of HTTP requests by handler."""
    created = life.process_started
    answered = {status: life.engine.total("http", status) for status in ("2xx", "4xx", "5xx")}
    requests: list[tuple[Labels, int]] = [
        *(((*_CHAT, ("status", status)), count) for status, count in answered.items()),
        *(
            ((("handler", handler), ("method", method), ("status", status)), count)
            for handler, method, status, count in _OTHER_REQUESTS
        ),
    ]
    yield Metric(
        "http_requests_total",
        "counter",
        "HTTP requests by handler, method and status class.",
        tuple(ExposedSeries(labels, float(count), created) for labels, count in requests),
    )
    per_handler: dict[Labels, int] = {_CHAT: sum(answered.values())}
    for handler, method, _, count in _OTHER_REQUESTS:
        per_handler[("handler", handler), ("method", method)] = count
    for each, size in (("request", 2600), ("response", 1400)):
        yield Metric(
            f"http_{each}_size_bytes",
            "summary",
            f"HTTP {each} body length by handler.",
            tuple(
                ExposedSeries(labels[:1], HistogramValue((), count, float(size * count)), created)
                for labels, count in per_handler.items()
            ),
        )
    total = _durations(sum(per_handler.values()), _HIGHR_BOUNDS)
    yield Metric(
        "http_request_duration_highr_seconds",
        "histogram",
        "Request duration over all handlers.",
        (ExposedSeries((), total, created),),
        _HIGHR_BOUNDS,
    )
    yield Metric(
        "http_request_duration_seconds",
        "histogram",
        "Request duration by handler.",
        tuple(
            ExposedSeries(labels, _durations(count, _HTTP_BOUNDS), created)
            for labels, count in per_handler.items()
        ),
        _HTTP_BOUNDS,
    )


def _durations(count: int, bounds: Bounds) -> HistogramValue:
    reached = tuple(count if bound >= _CHAT_SECONDS else 0 for bound in bounds)
    return HistogramValue(reached, count, _CHAT_SECONDS * count)

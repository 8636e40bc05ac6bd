"""Reading a page: bytes in, typed values out."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeVar

from reporter.metrics.pages import names
from reporter.metrics.pages.names import Meaning
from reporter.metrics.pages.page import CounterValue, Engine, Page, Picker, Reading, UnreadablePage
from reporter.metrics.pages.reader import (
    DEFAULT_LIMITS,
    PageLimits,
    PageReader,
    has_name_with,
)
from reporter.metrics.pages.series import POD, EngineTold, Extra, Told

Value = TypeVar("Value")


def read_page(body: bytes, limits: PageLimits = DEFAULT_LIMITS) -> Page:
    """Return what a page tells.

    Raises:
        UnreadablePage: it is no page of metrics, or too much of it is not; nothing else comes out.

    """
    found = _reader(limits).read(body)
    told = Told(found.samples)
    engines = told.engines
    if len(engines) > limits.engines:
        raise UnreadablePage(f"more than {limits.engines} engines")
    vllm = has_name_with(names.PREFIX, body)
    sglang = not vllm and _is_sglang(body)
    if not vllm and not sglang:
        engines = ()
    pod = told.about(POD)
    return Page(
        vllm=vllm,
        sglang=sglang,
        router=told.has_label(names.RUNNING, names.SERVER),
        engines={_text(name): _engine(_text(name), told.about(name)) for name in engines},
        process_start=pod.gauge(names.PROCESS_START),
        http_requests=_http_requests(pod),
        admission_rejections=_by_one(pod.counters(names.ADMISSION_REJECTIONS)),
        rate_limited=pod.counter(names.RATE_LIMITED),
        download_speed=pod.gauge(names.DOWNLOAD_SPEED),
        download_remaining=pod.gauge(names.DOWNLOAD_REMAINING),
        picker=_picker(pod),
        reading=Reading(
            lines=found.lines,
            kept=len(found.samples),
            bad=found.bad,
            oversized=found.oversized,
            duplicates=told.repeats(),
        ),
    )


@lru_cache(maxsize=4)
def _reader(limits: PageLimits) -> PageReader[Meaning]:
    return PageReader(names.WANTED, names.KEPT_LABELS, limits)


def _engine(name: str, of: EngineTold) -> Engine:
    return Engine(
        name=name,
        running=of.gauge(names.RUNNING),
        waiting=of.gauge(names.WAITING),
        waiting_by_reason=_by_one(of.gauges(names.WAITING_BY_REASON)),
        kv_cache_usage=of.gauge(names.KV_CACHE_USAGE),
        fetches=_by_one(of.gauges(names.FETCHES)),
        sleep_state=_by_one(of.gauges(names.SLEEP_STATE)),
        healthy=of.gauge(names.HEALTHY),
        prompt_tokens=of.counter(names.PROMPT_TOKENS),
        generation_tokens=of.counter(names.GENERATION_TOKENS),
        finished_requests=_by_one(of.counters(names.FINISHED_REQUESTS)),
        preemptions=of.counter(names.PREEMPTIONS),
        prefix_cache_queries=of.counter(names.PREFIX_CACHE_QUERIES),
        iterations=of.counter(names.ITERATIONS),
        corrupted_requests=of.counter(names.CORRUPTED_REQUESTS),
        failed_transfers=of.counter(names.FAILED_TRANSFERS),
        failed_notifications=of.counter(names.FAILED_NOTIFICATIONS),
        expired_requests=of.counter(names.EXPIRED_REQUESTS),
        connector_failures=tuple(
            count
            for family in names.CONNECTOR_FAILURES
            if (count := of.counter(family)) is not None
        ),
        store_operations=_by_one(of.counters(names.STORE_OPERATIONS)),
        retractions=of.counter(names.RETRACTIONS),
        failed_requests=tuple(
            count
            for family in (names.SGLANG_FAILED_TRANSFERS, names.SGLANG_FAILED_BOOTSTRAPS)
            if (count := of.counter(family)) is not None
        ),
        realtime_tokens=_by_one(of.counters(names.REALTIME_TOKENS)),
        answered=of.counter(names.SGLANG_FINISHED),
        preallocating=of.gauge(names.DECODE_PREALLOCATIONS),
        time_to_first_token=of.histogram(names.TIME_TO_FIRST_TOKEN),
        inter_token_latency=of.histogram(names.INTER_TOKEN_LATENCY),
        e2e_request_latency=of.histogram(names.E2E_REQUEST_LATENCY),
    )


def _picker(of: EngineTold) -> Picker:
    outcomes = of.counters(names.FLOW_OUTCOMES) or of.counters(names.FLOW_DEPARTURES)
    return Picker(
        endpoints=of.gauge(names.READY_ENDPOINTS),
        known=len(of.gauges(names.ENDPOINT_QUEUES)),
        attempts=_by_one(of.counters(names.SCHEDULER_ATTEMPTS)),
        requests=of.counter(names.PICKER_REQUESTS),
        errors=_by_one(of.counters(names.PICKER_ERRORS)),
        outcomes=_by_one(outcomes),
    )


def _is_sglang(body: bytes) -> bool:
    return has_name_with(names.SGLANG_PREFIX, body) and not has_name_with(
        names.DIFFUSION_PREFIX, body
    )


def _http_requests(pod: EngineTold) -> dict[tuple[str, str], CounterValue | None]:
    """Return requests by handler and class of status; SGLang tells statuses, such as 503."""
    told = dict(pod.counters(names.HTTP_REQUESTS))
    for (handler, status), count in pod.counters(names.SGLANG_ANSWERS).items():
        key = handler, status[:1] + b"xx"
        before = told.get(key)
        told[key] = CounterValue(before.value + count.value) if before and count else count
    return {
        (_text(handler), _text(status)): count
        for (handler, status), count in told.items()
        if names.is_inference(_text(handler))
    }


def _by_one(series: Mapping[Extra, Value]) -> dict[str, Value]:
    return {_text(extra[0]): value for extra, value in series.items()}


def _text(label: bytes) -> str:
    return label.decode(errors="replace")

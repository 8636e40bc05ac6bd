"""What one page of metrics tells of the engines of a pod and of the pod itself.

What the page does not have, or has as NaN, as infinite or as a negative count, is None or not
there, never 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


class UnreadablePage(Exception):  # noqa: N818 - "unreadable page" says it
    """A body that is not a page of metrics, or not one to be believed; says why in a few words."""


@dataclass(frozen=True, slots=True)
class CounterValue:
    """A count since some moment.

    Attributes:
        value: finite, not negative.
        created: when the count began, in the epoch seconds of the pod; to be compared with that
            of an earlier page only. None where the producer does not tell.

    """

    value: float
    created: float | None = None


@dataclass(frozen=True, slots=True)
class Histogram:
    """Observations, by size.

    Attributes:
        bounds: upper bounds, ascending; the last is infinite.
        counts: for each bound, the observations that were at most as large: never falling.
        sum: of all observations; None where it is missing or no number.
        created: as that of a counter.

    """

    bounds: tuple[float, ...]
    counts: tuple[float, ...]
    sum: float | None = None
    created: float | None = None

    @property
    def count(self) -> float:
        """Number of observations."""
        return self.counts[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One engine, of which a pod may run several.

    Gauges are those of the engine's last step and may be old. A mapping is empty where the page
    does not have the family; a value in it is None where it is no number.

    Attributes:
        name: data-parallel rank; "0" where the page has no `engine` label.
        waiting_by_reason: the same by `reason`; only `capacity` is congestion.
        kv_cache_usage: share of the KV cache in use, 0 to 1.
        fetches: waiting requests whose KV cache is loaded from elsewhere, by `stage`.
        sleep_state: 1 for the state it is in, else 0; all 0 while paused.
        healthy: 1 or 0; only with fault tolerance.
        prompt_tokens: tokens of prompts whose prefill has ended.
        finished_requests: requests by `finished_reason`, failed ones among them.
        preemptions: requests put out of the batch to free KV blocks.
        iterations: steps that produced output.
        corrupted_requests: requests with NaN in their logits; only if asked for.
        failed_transfers: KV transfers that failed; only with NIXL, like the next two. Since vLLM
            0.31 failed handshakes and notices are counted here, too.
        failed_notifications: notices of such transfers that failed.
        expired_requests: requests whose KV nobody fetched in time.
        connector_failures: failures that other connectors count, each in a series of its own.
        store_operations: operations of Mooncake's shared store by `status`; each series begins with
            the first one.
        retractions: requests that SGLang put out of the batch for lack of room; its series begin
            with the first one, like those of the next.
        failed_requests: requests whose KV transfer failed, by what failed of it; of SGLang.
        realtime_tokens: tokens of SGLang by `mode`, counted while they are made.
        answered: requests of SGLang that ended, whatever their outcome.
        preallocating: requests that wait on an SGLang decode engine for room for their KV cache.
        time_to_first_token: seconds.
        inter_token_latency: seconds.
        e2e_request_latency: seconds.

    """

    name: str
    running: float | None = None
    waiting: float | None = None
    waiting_by_reason: Mapping[str, float | None] = field(default_factory=dict)
    kv_cache_usage: float | None = None
    fetches: Mapping[str, float | None] = field(default_factory=dict)
    sleep_state: Mapping[str, float | None] = field(default_factory=dict)
    healthy: float | None = None
    prompt_tokens: CounterValue | None = None
    generation_tokens: CounterValue | None = None
    finished_requests: Mapping[str, CounterValue | None] = field(default_factory=dict)
    preemptions: CounterValue | None = None
    prefix_cache_queries: CounterValue | None = None
    iterations: CounterValue | None = None
    corrupted_requests: CounterValue | None = None
    failed_transfers: CounterValue | None = None
    failed_notifications: CounterValue | None = None
    expired_requests: CounterValue | None = None
    connector_failures: tuple[CounterValue, ...] = ()
    store_operations: Mapping[str, CounterValue | None] = field(default_factory=dict)
    retractions: CounterValue | None = None
    failed_requests: tuple[CounterValue, ...] = ()
    realtime_tokens: Mapping[str, CounterValue | None] = field(default_factory=dict)
    answered: CounterValue | None = None
    preallocating: float | None = None
    time_to_first_token: Histogram | None = None
    inter_token_latency: Histogram | None = None
    e2e_request_latency: Histogram | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """How the reading of a page went.

    Attributes:
        lines: of the page, comments and empty ones among them.
        bad: lines that are not of the format; they were dropped.
        oversized: lines with too much in them; they were dropped.
        duplicates: samples of a series that the page had already told; the first counts.

    """

    lines: int = 0
    kept: int = 0
    bad: int = 0
    oversized: int = 0
    duplicates: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Picker:
    """What the page of an endpoint picker tells.

    Attributes:
        endpoints: those of its pool whose metrics it read within the last seconds; every 5 s it counts them
            (Gateway API Inference Extension, pkg/epp/datalayer/logger/logger.go).
        known: how many of its pool it knows, with old metrics or none too: each has a queue on the page.
        attempts: to choose an endpoint, by `status`: `success` or `failure`; a pool without endpoints is none.
        errors: of these, by `error_code`; each series begins with the first one.
        outcomes: what became of requests in its queue, by `outcome`; only with flow control.

    """

    endpoints: float | None = None
    known: int = 0
    attempts: Mapping[str, CounterValue | None] = field(default_factory=dict)
    requests: CounterValue | None = None
    errors: Mapping[str, CounterValue | None] = field(default_factory=dict)
    outcomes: Mapping[str, CounterValue | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page.

    Attributes:
        vllm: whether it has any sample whose name begins with `vllm:`.
        sglang: whether it has any sample of an engine of SGLang, whose names begin with `sglang:`.
        router: its `vllm:` samples are about several servers: a router's page, not an engine's.
        engines: by name.
        process_start: start of the process that serves the page, in the epoch seconds of the pod;
            to be compared with that of an earlier page only.
        http_requests: requests to the inference handlers, by `handler` and `status`, which is a
            class such as `5xx`.
        admission_rejections: requests refused with 503, by `reason`.
        rate_limited: requests that KAITO's guard refused with 429.
        download_speed: of the weights, bytes a second.
        download_remaining: seconds; -1 is unknown, 0 does not prove that it has ended.

    """

    vllm: bool = False
    sglang: bool = False
    router: bool = False
    engines: Mapping[str, Engine] = field(default_factory=dict)
    process_start: float | None = None
    http_requests: Mapping[tuple[str, str], CounterValue | None] = field(default_factory=dict)
    admission_rejections: Mapping[str, CounterValue | None] = field(default_factory=dict)
    rate_limited: CounterValue | None = None
    download_speed: float | None = None
    download_remaining: float | None = None
    picker: Picker = field(default_factory=Picker)
    reading: Reading = field(default_factory=Reading)

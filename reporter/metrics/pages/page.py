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

    `created` is when it began, in the epoch seconds of the pod; to be compared with that of an
    earlier page only.
    """

    value: float
    created: float | None = None


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts up to each bound; the bounds ascend to infinity.

    `sum` is None where it is missing or no number.
    """

    bounds: tuple[float, ...]
    counts: tuple[float, ...]
    sum: float | None = None
    created: float | None = None

    @property
    def count(self) -> float:
        return self.counts[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One engine, of which a pod may run several.

    Gauges are those of the engine's last step and may be old. A mapping is empty where the page
    does not have the family; a value in it is None where it is no number. The name is the
    data-parallel rank, "0" where there is none; latencies are in seconds.

    Of `waiting_by_reason` only `capacity` is congestion. `fetches` waits for KV cache from
    elsewhere. `sleep_state` is 1 for the state it is in, all 0 while paused. Preemptions and
    SGLang's `retractions` put requests out of the batch for lack of room. `corrupted_requests` had
    NaN in their logits. NIXL alone tells failed transfers, notices and expired requests, and since
    vLLM 0.31 counts failed handshakes and notices among the transfers. Connector failures,
    Mooncake's `store_operations`, `retractions` and SGLang's `failed_requests` have a series that
    begins with the first one. `realtime_tokens` counts while tokens are made, by `mode`; `answered`
    whatever the outcome.
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
    """How the reading of a page went; bad and oversized lines were dropped.

    Of `duplicates`, samples of a series that the page had already told, the first counts.
    """

    lines: int = 0
    kept: int = 0
    bad: int = 0
    oversized: int = 0
    duplicates: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Picker:
    """What the page of an endpoint picker tells.

    `endpoints` are those whose metrics it read within the last seconds; every 5 s it counts them
    (Gateway API Inference Extension, pkg/epp/datalayer/logger/logger.go). `known` has all of its
    pool: each has a queue on the page. Of `attempts` a pool without endpoints is none. Each series
    of `errors` begins with the first one. `outcomes` comes only with flow control.
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

    `router`: its `vllm:` samples are about several servers. `process_start` is in the epoch seconds
    of the pod, to be compared with that of an earlier page only. `http_requests` has a class such
    as `5xx`; `admission_rejections` were refused with 503, `rate_limited` by KAITO's guard with
    429. `download_speed` is bytes a second, `download_remaining` seconds: -1 is unknown, 0 does not
    prove that it has ended.
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

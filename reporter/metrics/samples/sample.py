"""The values of one scrape that the rules need: small, because a pod's window has dozens."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, IntEnum, StrEnum, auto
from typing import Final, NamedTuple, TypeAlias

from reporter.metrics.pages import names
from reporter.metrics.pages.reading import Count, EngineSeries, Histogram, Page
from reporter.model.instant import Instant
from reporter.model.subject import Subject

PodName: TypeAlias = tuple[str, str]


class Failure(StrEnum):
    REFUSED = "refused"
    TIMEOUT = "timeout"
    RESET = "connection reset"
    UNREACHABLE = "unreachable"
    STATUS = "http status"
    EMPTY = "empty answer"
    TRUNCATED = "truncated"
    TOO_LARGE = "too large"
    ENCODED = "compressed"
    UNSUPPORTED = "unsupported content type"
    UNREADABLE = "unreadable"
    FORBIDDEN = "forbidden"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrape:
    """One attempt to scrape a pod.

    `at` is when the request was sent: a page's own timestamps are not trusted. `detail` is cleaned,
    and contains no addresses.
    """

    at: Instant
    seconds: float = 0.0
    page: Page | None = None
    failure: Failure | None = None
    detail: str = ""


def wants_token(failure: Failure | None, detail: str) -> bool:
    """True if the page requires a token.

    An endpoint picker then answers 401 or 403, or 500 if it may not verify tokens with the API
    server (Gateway API Inference Extension, cmd/epp/runner/runner.go; controller-runtime,
    pkg/metrics/filters/filters.go).
    """
    return failure is Failure.STATUS and detail in {"401", "403", "500"}


@dataclass(frozen=True, slots=True)
class ContainerRun:
    """One run of a container; a new run has another restart count or start time."""

    name: str
    restarts: int
    started_at: datetime | None


@dataclass(frozen=True, slots=True)
class Picked:
    """The Ready model pods that an endpoint picker's InferencePools select.

    `ready_since` is sorted, the earliest first.
    """

    ready_since: tuple[datetime, ...] = ()

    def settled(self, at: datetime, after: timedelta) -> int:
        return sum(at - each >= after for each in self.ready_since)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A pod to scrape, and the facts about it that are needed to judge its page.

    An unset `port` comes from the settings. `ready_since` is None while the pod is not
    Ready. `containers` has only the container that serves the page: the restart of a sidecar is not
    a restart of the engine. `picked` is None for a model pod.
    """

    namespace: str
    name: str
    uid: str
    address: str
    subject: Subject
    port: int | None = None
    scheme: str = "http"
    node: str = ""
    created: datetime | None = None
    ready: bool = False
    ready_since: datetime | None = None
    containers: tuple[ContainerRun, ...] = ()
    picked: Picked | None = None

    @property
    def pod(self) -> PodName:
        return self.namespace, self.name


class Counter(IntEnum):
    """Counters that only rise during the life of a process (vLLM, vllm/v1/metrics/loggers.py).

    The last six are from endpoint pickers: attempts to choose an endpoint, and failed ones;
    requests that left the queue, and those refused for lack of room; all requests, and those
    without an endpoint.
    """

    PROMPT_TOKENS = auto()
    GENERATED_TOKENS = auto()
    STEPS = auto()
    FINISHED = auto()
    FAILED = auto()
    PREEMPTIONS = auto()
    PREFIX_QUERIES = auto()
    CORRUPTED = auto()
    TRANSFER_FAILURES = auto()
    RATE_LIMITED = auto()
    NOT_ADMITTED = auto()
    HTTP_REQUESTS = auto()
    HTTP_ERRORS = auto()
    CHOICES = auto()
    FAILED_CHOICES = auto()
    QUEUED = auto()
    SHED = auto()
    PICKED = auto()
    EXHAUSTED = auto()


class Latency(Enum):
    """Latencies with a histogram, in seconds."""

    TTFT = "time to first token"
    ITL = "time between tokens"
    E2E = "time of a request"


@dataclass(frozen=True, slots=True)
class Buckets:
    bounds: tuple[float, ...]
    counts: Sequence[float]
    created: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSample:
    """The values of one engine; a value that the page lacks is None or missing, never 0.

    `waiting` requests include `capacity`, which wait for room, and `deferred`, which wait for
    another reason. `unfetched` requests have not started to fetch KV cache from elsewhere,
    `fetching` ones have. `awake` is None if the page does not say, which counts as awake.
    """

    running: float | None = None
    waiting: float | None = None
    capacity: float | None = None
    deferred: float | None = None
    kv_usage: float | None = None
    unfetched: float | None = None
    fetching: float | None = None
    awake: bool | None = None
    healthy: bool | None = None
    counters: Mapping[Counter, Count] = field(default_factory=dict)
    latencies: Mapping[Latency, Buckets] = field(default_factory=dict)


class Endpoints(NamedTuple):
    """The endpoints that a picker knows; it has just read the metrics of `fresh` ones."""

    fresh: float
    known: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One scrape of one pod, reduced.

    `failure` is None if there is a page; `known`: the page is from vLLM or SGLang. While weights
    are downloaded, `speed` is in bytes a second and `remaining` in seconds (-1 if unknown).
    `restarts` counts engine restarts since the page before, `restarted` names the engines.
    """

    at: Instant
    target: Target
    failure: Failure | None = None
    detail: str = ""
    known: bool = False
    process_started: float | None = None
    speed: float | None = None
    remaining: float | None = None
    endpoints: Endpoints | None = None
    engines: Mapping[str, EngineSample] = field(default_factory=dict)
    pod: EngineSample = field(default_factory=EngineSample)

    restarts: int = 0
    restarted: frozenset[str] = frozenset()

    @property
    def fails(self) -> bool:
        return self.failure not in (None, Failure.UNSUPPORTED)


Samples: TypeAlias = tuple[Sample, ...]

_STORE_FAILURES: Final = ("error", "partial_failure")
_SHED: Final = frozenset({"RejectedCapacity", "EvictedTTL"})
"""Outcomes for which a client gets 429; a cancelled request or an empty pool is not among them."""

_EXHAUSTED: Final = frozenset({"ResourceExhausted", "InferencePoolResourceExhausted"})


def sample_of(target: Target, scrape: Scrape, objectives: Mapping[Latency, float]) -> Sample:
    """Reduce a scrape to the values that rules need; histograms to the buckets at objectives."""
    page = scrape.page
    if page is None:
        return Sample(at=scrape.at, target=target, failure=scrape.failure, detail=scrape.detail)
    pod, fresh = page.pod, page.pod.gauge(names.READY_ENDPOINTS)
    endpoints = None if fresh is None else Endpoints(fresh, len(pod.gauges(names.ENDPOINT_QUEUES)))
    return Sample(
        at=scrape.at,
        target=target,
        # The router of vLLM's production-stack uses the engines' metric names but is not an engine.
        known=(page.vllm or page.sglang) and not page.router,
        process_started=pod.gauge(names.PROCESS_START),
        speed=pod.gauge(names.DOWNLOAD_SPEED),
        remaining=pod.gauge(names.DOWNLOAD_REMAINING),
        endpoints=endpoints,
        engines={
            name: _engine(each, objectives, sglang=page.sglang)
            for name, each in (page.engines.items() if not page.router else ())
        },
        pod=_pod(page),
    )


_HISTOGRAMS: Final = {
    Latency.TTFT: names.TIME_TO_FIRST_TOKEN,
    Latency.ITL: names.INTER_TOKEN_LATENCY,
    Latency.E2E: names.E2E_REQUEST_LATENCY,
}


def _engine(
    engine: EngineSeries, objectives: Mapping[Latency, float], *, sglang: bool
) -> EngineSample:
    counters = _of_sglang(engine) if sglang else _of_vllm(engine)
    waiting = engine.gauges(names.WAITING_BY_REASON)
    fetches, sleep = engine.gauges(names.FETCHES), engine.gauges(names.SLEEP_STATE)
    healthy = engine.gauge(names.HEALTHY)
    return EngineSample(
        running=engine.gauge(names.RUNNING),
        waiting=_waiting(engine),
        capacity=waiting.get("capacity"),
        deferred=waiting.get("deferred"),
        kv_usage=engine.gauge(names.KV_CACHE_USAGE),
        unfetched=fetches.get("waiting_to_start"),
        fetching=fetches.get("in_progress"),
        # A page without the state counts as awake; while paused all states are 0.
        awake=bool(sleep.get("awake")) if sleep else None,
        healthy=None if healthy is None else healthy > 0,
        counters={name: each for name, each in counters.items() if each is not None},
        latencies={
            name: reduced
            for name, seconds in objectives.items()
            if (reduced := _buckets(engine.histogram(_HISTOGRAMS[name]), seconds)) is not None
        },
    )


def _of_vllm(engine: EngineSeries) -> dict[Counter, Count | None]:
    finished = engine.counters(names.FINISHED_REQUESTS)
    return {
        Counter.PROMPT_TOKENS: engine.counter(names.PROMPT_TOKENS),
        Counter.GENERATED_TOKENS: engine.counter(names.GENERATION_TOKENS),
        Counter.STEPS: engine.counter(names.ITERATIONS),
        Counter.FINISHED: _sum(finished.values()),
        Counter.FAILED: finished.get("error"),
        Counter.PREEMPTIONS: engine.counter(names.PREEMPTIONS),
        Counter.PREFIX_QUERIES: engine.counter(names.PREFIX_CACHE_QUERIES),
        Counter.CORRUPTED: engine.counter(names.CORRUPTED_REQUESTS),
        Counter.TRANSFER_FAILURES: _transfer_failures(engine),
    }


def _of_sglang(engine: EngineSeries) -> dict[Counter, Count | None]:
    """Return SGLang's counters; a failure that has not occurred is missing on its page and so is 0.

    Live counters of failures and of tokens exist since SGLang 0.5.10. Without them, an engine that
    makes no progress looks the same as one that is generating a long answer.
    """
    tokens = _total(engine.counters(names.REALTIME_TOKENS).values())
    finished = engine.counter(names.SGLANG_FINISHED)
    if tokens is None:
        return {Counter.FINISHED: finished}
    failed = _total(_present(engine, names.SGLANG_FAILURES))
    return {
        Counter.GENERATED_TOKENS: tokens,
        Counter.FINISHED: finished,
        Counter.PREEMPTIONS: engine.counter(names.RETRACTIONS) or Count(0.0),
        Counter.TRANSFER_FAILURES: failed or Count(0.0),
    }


def _present(engine: EngineSeries, families: Iterable[names.Family]) -> list[Count]:
    """Return the counters that are on the page: their series start with the first failure."""
    return [each for each in map(engine.counter, families) if each is not None]


def _waiting(engine: EngineSeries) -> float | None:
    """Return the waiting requests; SGLang decode engines have a second queue for them."""
    waiting, preallocating = map(engine.gauge, (names.WAITING, names.DECODE_PREALLOCATIONS))
    return waiting if waiting is None or preallocating is None else waiting + preallocating


def _transfer_failures(engine: EngineSeries) -> Count | None:
    """Return the failures of all connectors, or None without such counters.

    Of NIXL's failed transfers and failed notifications the larger number counts: the first includes
    the second since vLLM 0.31.
    """
    of_nixl = _present(engine, (names.FAILED_TRANSFERS, names.FAILED_NOTIFICATIONS))
    largest = max(of_nixl, key=lambda each: each.value, default=None)
    others = _present(engine, (names.EXPIRED_REQUESTS, *names.CONNECTOR_FAILURES))
    count = _sum([*([largest] if largest else []), *others])
    operations = engine.counters(names.STORE_OPERATIONS)
    if not operations:
        return count
    of_store = (operations.get(status) for status in _STORE_FAILURES)
    failed = sum(each.value for each in of_store if each is not None)
    return Count(failed) if count is None else Count(count.value + failed, count.created)


def _pod(page: Page) -> EngineSample:
    requests, pod = page.http_requests, page.pod
    errors = [each for (_, status), each in requests.items() if status == "5xx"]
    counters = {
        Counter.RATE_LIMITED: pod.counter(names.RATE_LIMITED),
        Counter.NOT_ADMITTED: _total(pod.counters(names.ADMISSION_REJECTIONS).values()),
        Counter.HTTP_REQUESTS: _total(requests.values()),
        Counter.HTTP_ERRORS: _total(errors) if errors or not requests else Count(0.0),
        **_of_picker(pod),
    }
    return EngineSample(counters={n: each for n, each in counters.items() if each is not None})


def _of_picker(pod: EngineSeries) -> dict[Counter, Count | None]:
    """Return an endpoint picker's counters; a missing series is 0 if its family is on the page."""
    attempts, errors = pod.counters(names.SCHEDULER_ATTEMPTS), pod.counters(names.PICKER_ERRORS)
    outcomes = pod.counters(names.FLOW_OUTCOMES) or pod.counters(names.FLOW_DEPARTURES)
    picked = pod.counter(names.PICKER_REQUESTS)
    requests = {"": picked} if picked else {}
    return {
        Counter.CHOICES: _total(attempts.values()),
        Counter.FAILED_CHOICES: _part(attempts, {"failure"}),
        Counter.QUEUED: _total(outcomes.values()),
        Counter.SHED: _part(outcomes, _SHED),
        Counter.PICKED: _total(requests.values()),
        Counter.EXHAUSTED: _part(errors, _EXHAUSTED) if errors else _none(requests),
    }


def _part(series: Mapping[str, Count | None], labels: Container[str]) -> Count | None:
    found = [each for label, each in series.items() if label in labels]
    return _total(found) if found else _none(series)


def _none(series: Mapping[str, Count | None]) -> Count | None:
    return Count(0.0) if series else None


def _sum(counters: Iterable[Count | None]) -> Count | None:
    """Return the sum, or None if one counter is None or there are no counters.

    `created` is the sum of their start times; its only use is to change when a counter restarts.
    """
    known = tuple(counters)
    if not known or None in known:
        return None
    present = [each for each in known if each is not None]
    begun = [each.created for each in present if each.created is not None]
    return Count(sum(each.value for each in present), sum(begun) if begun else None)


def _total(counters: Iterable[Count | None]) -> Count | None:
    count = _sum(counters)
    return None if count is None else Count(count.value)


def _buckets(histogram: Histogram | None, seconds: float) -> Buckets | None:
    if histogram is None:
        return None
    index = next((n for n, bound in enumerate(histogram.bounds) if bound >= seconds), None)
    if index is None or index == len(histogram.bounds) - 1:
        return None
    bounds = (histogram.bounds[index], histogram.bounds[-1])
    return Buckets(bounds, (histogram.counts[index], histogram.count), histogram.created)

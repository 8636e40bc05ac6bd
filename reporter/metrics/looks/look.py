"""What one scrape tells that the rules need: small, because a pod has dozens in its window."""

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
    """One attempt.

    `at` is when the request was sent: a page's own timestamps are not believed. `detail` is clean,
    and without addresses.
    """

    at: Instant
    seconds: float = 0.0
    page: Page | None = None
    failure: Failure | None = None
    detail: str = ""


def wants_token(failure: Failure | None, detail: str) -> bool:
    """Tell whether a page is only for those who send a token.

    An endpoint picker answers 401 or 403, and 500 where it may not ask the API server about tokens
    (Gateway API Inference Extension, cmd/epp/runner/runner.go; controller-runtime,
    pkg/metrics/filters/filters.go).
    """
    return failure is Failure.STATUS and detail in _CLOSED


_CLOSED: Final = frozenset({"401", "403", "500"})


@dataclass(frozen=True, slots=True)
class ContainerRun:
    """One life of a container: another one begins when either number changes."""

    name: str
    restarts: int
    started_at: datetime | None


@dataclass(frozen=True, slots=True)
class Picked:
    """The Ready model pods that an endpoint picker's InferencePools select.

    `ready_since` has the earliest first.
    """

    ready_since: tuple[datetime, ...] = ()

    def settled(self, at: datetime, after: timedelta) -> int:
        return sum(at - each >= after for each in self.ready_since)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A pod to scrape, and what judging its page needs to know of it.

    `port` and `scheme` are those of settings where they are not told. `ready_since` is None while
    it is not Ready. Of `containers` only the one that serves the page: a sidecar that restarts is
    no restart of an engine. `picked` is None of a model pod.
    """

    namespace: str
    name: str
    uid: str
    address: str
    subject: Subject
    port: int | None = None
    scheme: str = ""
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
    """What only rises in the life of a process (vLLM, vllm/v1/metrics/loggers.py).

    The last six are of endpoint pickers: attempts to choose an endpoint and those that failed,
    requests that left its queue and those that it refused for want of room, requests and those that
    it had no endpoint for.
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
    """What there is a histogram of, in seconds."""

    TTFT = "time to first token"
    ITL = "time between tokens"
    E2E = "time of a request"


@dataclass(frozen=True, slots=True)
class Buckets:
    bounds: tuple[float, ...]
    counts: Sequence[float]
    created: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLook:
    """One engine; what the page does not tell is None or not there, and never 0.

    `capacity` are those waiting for room, `deferred` those put off for another cause. Of
    `unfetched` the KV cache has yet to be asked for elsewhere, of `fetching` it is under way.
    `awake` is None where it is not told, which counts as yes.
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
    """What an endpoint picker may pick; of `fresh` it has just read the metrics."""

    fresh: float
    known: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One scrape of one pod.

    `failure` is None where there is a page; `known`: it is that of vLLM or SGLang. Of the download
    of weights `speed` is bytes a second, and `remaining` seconds: -1 is unknown, 0 nothing.
    `restarts` counts how often engines started again since the page before.
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
    engines: Mapping[str, EngineLook] = field(default_factory=dict)
    pod: EngineLook = field(default_factory=EngineLook)

    restarts: int = 0
    renewed: frozenset[str] = frozenset()

    @property
    def fails(self) -> bool:
        return self.failure not in (None, Failure.UNSUPPORTED)


_FAILED: Final = "error"
_AWAKE: Final = "awake"
_CAPACITY: Final = "capacity"
_DEFERRED: Final = "deferred"
_NOT_BEGUN: Final = "waiting_to_start"
_BEGUN: Final = "in_progress"
_STORE_FAILURES: Final = ("error", "partial_failure")
_SERVER_ERROR: Final = "5xx"
_FAILED_CHOICE: Final = "failure"
_SHED: Final = frozenset({"RejectedCapacity", "EvictedTTL"})
"""What a client gets 429 for; one that left, and an empty pool, are no lack of room."""

_EXHAUSTED: Final = frozenset({"ResourceExhausted", "InferencePoolResourceExhausted"})


def look_at(target: Target, scrape: Scrape, objectives: Mapping[Latency, float]) -> Look:
    """Return what a scrape tells of a pod; of histograms what is compared with an objective."""
    page = scrape.page
    if page is None:
        return Look(at=scrape.at, target=target, failure=scrape.failure, detail=scrape.detail)
    endpoints = page.pod.gauge(names.READY_ENDPOINTS)
    return Look(
        at=scrape.at,
        target=target,
        # The router of vLLM's production-stack serves the engines' metric names and is none.
        known=(page.vllm or page.sglang) and not page.router,
        process_started=page.pod.gauge(names.PROCESS_START),
        speed=page.pod.gauge(names.DOWNLOAD_SPEED),
        remaining=page.pod.gauge(names.DOWNLOAD_REMAINING),
        endpoints=None
        if endpoints is None
        else Endpoints(endpoints, len(page.pod.gauges(names.ENDPOINT_QUEUES))),
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
) -> EngineLook:
    counters = _of_sglang(engine) if sglang else _of_vllm(engine)
    waiting = engine.gauges(names.WAITING_BY_REASON)
    fetches, sleep = engine.gauges(names.FETCHES), engine.gauges(names.SLEEP_STATE)
    healthy = engine.gauge(names.HEALTHY)
    return EngineLook(
        running=engine.gauge(names.RUNNING),
        waiting=_waiting(engine),
        capacity=waiting.get(_CAPACITY),
        deferred=waiting.get(_DEFERRED),
        kv_usage=engine.gauge(names.KV_CACHE_USAGE),
        unfetched=fetches.get(_NOT_BEGUN),
        fetching=fetches.get(_BEGUN),
        # A page without the state counts as awake; a pause leaves all states 0.
        awake=bool(sleep.get(_AWAKE)) if sleep else None,
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
        Counter.FAILED: finished.get(_FAILED),
        Counter.PREEMPTIONS: engine.counter(names.PREEMPTIONS),
        Counter.PREFIX_QUERIES: engine.counter(names.PREFIX_CACHE_QUERIES),
        Counter.CORRUPTED: engine.counter(names.CORRUPTED_REQUESTS),
        Counter.TRANSFER_FAILURES: _transfer_failures(engine),
    }


def _of_sglang(engine: EngineSeries) -> dict[Counter, Count | None]:
    """Return what SGLang counts; a failure that it has not had yet is not on its page, so it is 0.

    Counters of failures that live come with those of tokens, from SGLang 0.5.10 on; without them an
    engine that makes no progress cannot be told from one that writes a long answer.
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
    """Return counters of which each has a series that begins with the first failure."""
    return [each for each in map(engine.counter, families) if each is not None]


def _waiting(engine: EngineSeries) -> float | None:
    """Return the requests that wait; an SGLang decode engine's wait in a queue of its own."""
    waiting, preallocating = map(engine.gauge, (names.WAITING, names.DECODE_PREALLOCATIONS))
    return waiting if waiting is None or preallocating is None else waiting + preallocating


def _transfer_failures(engine: EngineSeries) -> Count | None:
    """Return the failures of all connectors, None where there is none.

    Of NIXL's failed transfers and failed notices the larger number counts: the first has held the
    second since vLLM 0.31.
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


def _pod(page: Page) -> EngineLook:
    requests, pod = page.http_requests, page.pod
    errors = [each for (_, status), each in requests.items() if status == _SERVER_ERROR]
    counters = {
        Counter.RATE_LIMITED: pod.counter(names.RATE_LIMITED),
        Counter.NOT_ADMITTED: _total(pod.counters(names.ADMISSION_REJECTIONS).values()),
        Counter.HTTP_REQUESTS: _total(requests.values()),
        Counter.HTTP_ERRORS: _total(errors) if errors or not requests else Count(0.0),
        **_of_picker(pod),
    }
    return EngineLook(counters={n: each for n, each in counters.items() if each is not None})


def _of_picker(pod: EngineSeries) -> dict[Counter, Count | None]:
    """Return an endpoint picker's counts; a series not begun is 0 where its family is there."""
    attempts, errors = pod.counters(names.SCHEDULER_ATTEMPTS), pod.counters(names.PICKER_ERRORS)
    outcomes = pod.counters(names.FLOW_OUTCOMES) or pod.counters(names.FLOW_DEPARTURES)
    picked = pod.counter(names.PICKER_REQUESTS)
    requests = {"": picked} if picked else {}
    return {
        Counter.CHOICES: _total(attempts.values()),
        Counter.FAILED_CHOICES: _part(attempts, {_FAILED_CHOICE}),
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
    """Return the sum, None where one of them is no number.

    The sum of their beginnings changes when one of them starts again, and that is its only use.
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

"""What one scrape tells that the rules need: small, because a pod has dozens in its window."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, IntEnum, StrEnum, auto
from typing import Final, NamedTuple, TypeAlias

from reporter.metrics.pages import page as p
from reporter.metrics.pages.page import Page
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
class Count:
    value: float
    created: float | None = None


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
    return Look(
        at=scrape.at,
        target=target,
        # The router of vLLM's production-stack serves the engines' metric names and is none.
        known=(page.vllm or page.sglang) and not page.router,
        process_started=page.process_start,
        speed=page.download_speed,
        remaining=page.download_remaining,
        endpoints=_endpoints(page.picker),
        engines={
            name: _engine(each, objectives, sglang=page.sglang)
            for name, each in (page.engines.items() if not page.router else ())
        },
        pod=_pod(page),
    )


def _engine(
    engine: p.Engine, objectives: Mapping[Latency, float], *, sglang: bool = False
) -> EngineLook:
    finished = engine.finished_requests
    counters = {
        Counter.PROMPT_TOKENS: _count(engine.prompt_tokens),
        Counter.GENERATED_TOKENS: _count(engine.generation_tokens),
        Counter.STEPS: _count(engine.iterations),
        Counter.FINISHED: _sum(finished.values()),
        Counter.FAILED: _count(finished.get(_FAILED)),
        Counter.PREEMPTIONS: _count(engine.preemptions),
        Counter.PREFIX_QUERIES: _count(engine.prefix_cache_queries),
        Counter.CORRUPTED: _count(engine.corrupted_requests),
        Counter.TRANSFER_FAILURES: _transfer_failures(engine),
    }
    if sglang:
        counters = _of_sglang(engine)
    histograms = {
        Latency.TTFT: engine.time_to_first_token,
        Latency.ITL: engine.inter_token_latency,
        Latency.E2E: engine.e2e_request_latency,
    }
    return EngineLook(
        running=engine.running,
        waiting=_waiting(engine),
        capacity=engine.waiting_by_reason.get(_CAPACITY),
        deferred=engine.waiting_by_reason.get(_DEFERRED),
        kv_usage=engine.kv_cache_usage,
        unfetched=engine.fetches.get(_NOT_BEGUN),
        fetching=engine.fetches.get(_BEGUN),
        # A page without the state counts as awake; a pause leaves all states 0.
        awake=bool(engine.sleep_state.get(_AWAKE)) if engine.sleep_state else None,
        healthy=None if engine.healthy is None else engine.healthy > 0,
        counters={name: each for name, each in counters.items() if each is not None},
        latencies={
            name: reduced
            for name, seconds in objectives.items()
            if (reduced := _buckets(histograms[name], seconds)) is not None
        },
    )


def _of_sglang(engine: p.Engine) -> dict[Counter, Count | None]:
    """Return what SGLang counts; a failure that it has not had yet is not on its page, so it is 0.

    Counters of failures that live come with those of tokens, from SGLang 0.5.10 on; without them an
    engine that makes no progress cannot be told from one that writes a long answer.
    """
    tokens = _total(engine.realtime_tokens.values())
    if tokens is None:
        return {Counter.FINISHED: _count(engine.answered)}
    return {
        Counter.GENERATED_TOKENS: tokens,
        Counter.FINISHED: _count(engine.answered),
        Counter.PREEMPTIONS: _count(engine.retractions) or Count(0.0),
        Counter.TRANSFER_FAILURES: _total(engine.failed_requests) or Count(0.0),
    }


def _waiting(engine: p.Engine) -> float | None:
    """Return the requests that wait; those of an SGLang decode engine wait in a queue of its own."""
    if engine.waiting is None or engine.preallocating is None:
        return engine.waiting
    return engine.waiting + engine.preallocating


def _transfer_failures(engine: p.Engine) -> Count | None:
    """Return the failures of all connectors, None where there is none.

    Of NIXL's failed transfers and failed notices the larger number counts: the first has held the
    second since vLLM 0.31.
    """
    of_nixl = [each for each in (engine.failed_transfers, engine.failed_notifications) if each]
    largest = max(of_nixl, key=lambda each: each.value, default=None)
    every = (largest, engine.expired_requests, *engine.connector_failures)
    count = _sum(each for each in every if each is not None)
    if not engine.store_operations:
        return count
    of_store = (engine.store_operations.get(status) for status in _STORE_FAILURES)
    failed = sum(each.value for each in of_store if each is not None)
    return Count(failed) if count is None else Count(count.value + failed, count.created)


def _pod(page: p.Page) -> EngineLook:
    requests = page.http_requests
    errors = [each for (_, status), each in requests.items() if status == _SERVER_ERROR]
    counters = {
        Counter.RATE_LIMITED: _count(page.rate_limited),
        Counter.NOT_ADMITTED: _total(page.admission_rejections.values()),
        Counter.HTTP_REQUESTS: _total(requests.values()),
        Counter.HTTP_ERRORS: _total(errors) if errors or not requests else Count(0.0),
        **_of_picker(page.picker),
    }
    return EngineLook(counters={n: each for n, each in counters.items() if each is not None})


def _of_picker(picker: p.Picker) -> dict[Counter, Count | None]:
    """Return what an endpoint picker counts; a series that has not begun is 0 where its family is told."""
    requests = {"": picker.requests} if picker.requests else {}
    return {
        Counter.CHOICES: _total(picker.attempts.values()),
        Counter.FAILED_CHOICES: _part(picker.attempts, {_FAILED_CHOICE}),
        Counter.QUEUED: _total(picker.outcomes.values()),
        Counter.SHED: _part(picker.outcomes, _SHED),
        Counter.PICKED: _total(requests.values()),
        Counter.EXHAUSTED: _part(picker.errors, _EXHAUSTED) if picker.errors else _none(requests),
    }


def _part(series: Mapping[str, p.CounterValue | None], names: Container[str]) -> Count | None:
    found = [each for name, each in series.items() if name in names]
    return _total(found) if found else _none(series)


def _none(series: Mapping[str, p.CounterValue | None]) -> Count | None:
    return Count(0.0) if series else None


def _count(counter: p.CounterValue | None) -> Count | None:
    return None if counter is None else Count(counter.value, counter.created)


def _endpoints(picker: p.Picker) -> Endpoints | None:
    if picker.endpoints is None:
        return None
    return Endpoints(picker.endpoints, picker.known)


def _sum(counters: Iterable[p.CounterValue | None]) -> Count | None:
    """Return the sum, None where one of them is no number.

    The sum of their beginnings changes when one of them starts again, and that is its only use.
    """
    known = tuple(counters)
    if not known or None in known:
        return None
    present = [each for each in known if each is not None]
    begun = [each.created for each in present if each.created is not None]
    return Count(sum(each.value for each in present), sum(begun) if begun else None)


def _total(counters: Iterable[p.CounterValue | None]) -> Count | None:
    count = _sum(counters)
    return None if count is None else Count(count.value)


def _buckets(histogram: p.Histogram | None, seconds: float) -> Buckets | None:
    if histogram is None:
        return None
    index = next((n for n, bound in enumerate(histogram.bounds) if bound >= seconds), None)
    if index is None or index == len(histogram.bounds) - 1:
        return None
    bounds = (histogram.bounds[index], histogram.bounds[-1])
    return Buckets(bounds, (histogram.counts[index], histogram.count), histogram.created)

"""What one scrape tells that the rules need: small, because a pod has dozens in its window."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum, auto
from typing import NamedTuple

from reporter.metrics.looks.scrape import Failure
from reporter.metrics.looks.target import Target
from reporter.model.instant import Instant


class Counter(IntEnum):
    """What only rises in the life of a process (vLLM, vllm/v1/metrics/loggers.py).

    The last six are of endpoint pickers: attempts to choose an endpoint and those that failed, requests that
    left its queue and those that it refused for want of room, requests and those that it had no endpoint for.
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
    """A counter's value, and when its series began, which is compared only with itself."""

    value: float
    created: float | None = None


@dataclass(frozen=True, slots=True)
class Buckets:
    """A histogram: cumulative counts up to each bound, the last of which is infinite."""

    bounds: tuple[float, ...]
    counts: Sequence[float]
    created: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLook:
    """One engine; what the page does not tell is None or not there, and never 0.

    Attributes:
        running: requests in the batch.
        waiting: requests in the queue.
        capacity: of these, those that wait for room; None on releases that do not tell.
        deferred: of these, those put off for another cause.
        kv_usage: share of the KV cache in use, 0 to 1.
        unfetched: requests whose KV cache has yet to be asked for elsewhere.
        fetching: requests whose KV cache is under way from elsewhere.
        awake: whether it takes requests; None where it does not tell, which counts as yes.
        healthy: what the engine reports about itself.

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
    """What an endpoint picker may pick.

    Attributes:
        fresh: endpoints whose metrics it has just read.
        known: those that it knows, with old metrics or none too.

    """

    fresh: float
    known: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One scrape of one pod.

    Attributes:
        at: when the request was sent.
        target: the pod, as the snapshot had it then.
        failure: why there is no page, None where there is one.
        detail: a few words more about the failure.
        known: whether the page is that of an engine that is read: vLLM or SGLang.
        process_started: start of the process that serves the page, where it tells.
        speed: of the download of weights, in bytes a second.
        remaining: seconds it will take; -1 is unknown, 0 nothing.
        endpoints: of an endpoint picker that tells how many it has.
        engines: by their number, as text.
        pod: counters of the pod as a whole.
        restarts: how often engines started again since the page before; the history sets it.
        renewed: the engines that did.

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
        """Whether nothing was reached; a runtime whose page is no text was."""
        return self.failure not in (None, Failure.UNSUPPORTED)

"""A pod that is scraped, and one look at its metrics page: what came of it, and when."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeAlias

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

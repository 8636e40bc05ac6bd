"""One look at the metrics page of a pod: what came of it, and when."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from reporter.metrics.pages.page import Page
from reporter.model.instant import Instant

PodName: TypeAlias = tuple[str, str]
"""Namespace and name."""


class Failure(StrEnum):
    """Why there is no page; the words of messages."""

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

    Attributes:
        at: when the request was sent; a page's own timestamps are not believed.
        seconds: how long it took.
        page: what was read, None where it failed.
        failure: why it failed.
        detail: a few more words, such as the status `503`; clean, and without addresses.

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

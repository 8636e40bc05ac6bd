"""Who refuses mirrors now, the API server or a namespace, and how long each is left alone."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from reporter.kube.errors import (
    ConnectionFailed,
    KubeError,
    TooManyRequests,
    Unauthorized,
)
from reporter.sinks.setbacks import BACKOFF_FIRST, RetryDelay, retry_after

FIRST_SECONDS: Final = 5.0
"""After a namespace's first refusal: an API server that starts refuses until it has read its roles."""

LONGER: Final = 4
"""Each further refusal in a row multiplies the time by this."""

LONGEST_SECONDS: Final = 1800.0
"""Longest time after a refusal."""

UNREACHED_SECONDS: Final = 60.0
"""The same where there was no answer: a webhook that hangs, or the API server itself."""

UNTRIED_SECONDS: Final = 1.0
"""Longest time that one which was not tried yet waits after the refusal of another."""

PAUSE_LONGEST: Final = 60.0
"""Longest pause after a failure, while no write succeeds."""


@dataclass(frozen=True, slots=True)
class _Left:
    until: float
    refusals: int


class Refusals:
    """What is remembered of refusals; times are those of the event loop.

    A namespace that refuses does not hold up those that are known to take mirrors, and for a moment
    only those that were not tried. Those that refused wait longer after each failure, so that a right
    that is missing everywhere costs a request a minute once each was tried.
    """

    def __init__(self) -> None:
        self._left: dict[str, _Left] = {}
        self._good: set[str] = set()
        self._resume_at = 0.0
        self._doubt_until = 0.0
        self._untried_until = 0.0
        self._backoff = RetryDelay(PAUSE_LONGEST)

    def __len__(self) -> int:
        """How many namespaces refused the last write."""
        return len(self._left)

    def __contains__(self, namespace: str) -> bool:
        """Tell whether a namespace refused the last write."""
        return namespace in self._left

    def until(self, namespace: str) -> float:
        """Return until when nothing is written to a namespace; the past where it may be."""
        left = self._left.get(namespace)
        until = max(self._resume_at, left.until if left is not None else 0.0)
        if namespace in self._good:
            return until
        return max(until, self._untried_until if left is None else self._doubt_until)

    def note(self, namespace: str, error: KubeError, now: float) -> bool:
        """Note a failure; tell whether it is news."""
        pause = self._backoff.next()
        of_server = isinstance(error, TooManyRequests | Unauthorized)
        if of_server or isinstance(error, ConnectionFailed):
            self._resume_at = now + max(pause, retry_after(error))
        else:
            self._resume_at = now + max(BACKOFF_FIRST, retry_after(error))
            self._doubt_until = now + pause
            self._untried_until = now + min(pause, UNTRIED_SECONDS)
        if of_server:
            return self._backoff.is_news(error)
        return self._leave(namespace, error, now)

    def _leave(self, namespace: str, error: KubeError, now: float) -> bool:
        before = self._left.get(namespace)
        refusals = before.refusals if before is not None else 0
        longest = UNREACHED_SECONDS if isinstance(error, ConnectionFailed) else LONGEST_SECONDS
        seconds = min(FIRST_SECONDS * LONGER**refusals, longest)
        self._left[namespace] = _Left(now + seconds, refusals + 1)
        self._good.discard(namespace)
        return before is None

    def forgive(self, namespace: str) -> None:
        """Note that a namespace took a write."""
        self._left.pop(namespace, None)
        self._good.add(namespace)
        self._backoff.reset()

    def keep(self, wanted: Collection[str], known: Collection[str]) -> None:
        """Forget the namespaces where nothing waits, and those where nothing is."""
        self._left = {name: each for name, each in self._left.items() if name in wanted}
        self._good &= set(known)

"""What a writer remembers of an API server that fails or refuses; times are the event loop's."""

import asyncio
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from reporter.kube.errors import ApiStatusError, Forbidden, KubeError

REFUSED_SECONDS: Final = 60.0
"""How long a write that the API server refuses is left alone."""

DOUBTED_SECONDS: Final = 5.0
"""The same after its first 403: an API server that starts answers so until it has read its roles."""

BACKOFF_FIRST: Final = 0.5
_BACKOFF_LONGEST: Final = 30.0

ANYTHING: Final = object()
"""Stands for whatever a write says."""

K = TypeVar("K", bound=Hashable)


def loop_time() -> float:
    """Return the event loop's time in seconds."""
    return asyncio.get_running_loop().time()


def retry_after(error: KubeError) -> float:
    """Return the seconds that the API server asked to wait; 0 where it did not ask."""
    return (error.retry_after or 0.0) if isinstance(error, ApiStatusError) else 0.0


class RetryDelay:
    """0.5 s after the first failure, twice as long after each further one, until `reset`.

    There is no jitter: only the leader writes, so no others are in step with it.
    """

    def __init__(self, longest: float = _BACKOFF_LONGEST) -> None:
        self._longest = longest
        self.reset()

    def reset(self) -> None:
        """Note a success."""
        self._wait = BACKOFF_FIRST
        self._said = ""

    def next(self) -> float:
        """Return the seconds to wait after one more failure."""
        wait = self._wait
        self._wait = min(2 * wait, self._longest)
        return wait

    def is_news(self, error: KubeError) -> bool:
        """Tell whether an error differs from the last one, so that it is logged once."""
        before, self._said = self._said, str(error)
        return before != self._said


class Refused(Generic[K]):
    """Writes that would end as they ended before, each left alone for a while."""

    def __init__(self) -> None:
        self._left: dict[K, tuple[object, float]] = {}
        self._known: dict[K, float] = {}

    def tidy(self) -> None:
        """Forget what is over."""
        now = loop_time()
        self._left = {key: each for key, each in self._left.items() if each[1] > now}
        self._known = {key: until for key, until in self._known.items() if until > now}

    def covers(self, key: K, says: object = ANYTHING) -> bool:
        """Tell whether a write is to be left alone now."""
        left, until = self._left.get(key, (None, 0.0))
        return until > loop_time() and (left is ANYTHING or left == says)

    def leave(self, key: K, says: object = ANYTHING, seconds: float = REFUSED_SECONDS) -> None:
        """Leave a write alone as long as it says the same, or whatever it says."""
        self._left[key] = says, loop_time() + seconds

    def note(self, key: K, says: object, error: KubeError) -> bool:
        """Leave a refused write alone; tell whether the refusal is the first in a while."""
        is_first = key not in self._known
        self._known[key] = loop_time() + 2 * REFUSED_SECONDS
        doubted = is_first and isinstance(error, Forbidden)
        self.leave(key, says, DOUBTED_SECONDS if doubted else REFUSED_SECONDS)
        return is_first

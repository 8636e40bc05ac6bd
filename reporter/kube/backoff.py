"""Waiting longer after each failure, as client-go's reflector does (client-go, tools/cache/reflector.go)."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_RESET_SECONDS: Final = 120.0


@dataclass(slots=True)
class Backoff:
    """0.8 s, doubled up to 30 s, plus up to as much again at random; it starts again after 2 min of quiet.

    Attributes:
        seconds: the present moment, on any steady clock.
        chance: source of the jitter.
        first: first delay in seconds, before jitter.
        most: largest delay in seconds, before jitter.

    """

    seconds: Callable[[], float]
    chance: random.Random
    first: float = 0.8
    most: float = 30.0
    _failures: int = 0
    _last: float = float("-inf")

    def reset(self) -> None:
        """Start again with the first delay: earlier failures say nothing about the next one."""
        self._failures = 0

    def next(self, at_least: float = 0.0) -> float:
        """Return how long to wait after one more failure, and not less than `at_least`."""
        now = self.seconds()
        if now - self._last > _RESET_SECONDS:
            self._failures = 0
        delay = min(self.most, self.first * 2.0**self._failures) * (1 + self.chance.random())
        delay = max(delay, at_least)
        if delay < self.most:
            self._failures += 1
        # Counted from the end of the wait, so that a long one is not taken for quiet.
        self._last = now + delay
        return delay

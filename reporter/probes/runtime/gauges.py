"""What the rules read of one engine."""

from collections.abc import Callable

from reporter.metrics.looks.look import Count, Counter, EngineLook


def running(look: EngineLook) -> float | None:
    """Return the requests in the batch."""
    return look.running


def deferred(look: EngineLook) -> float | None:
    """Return the requests that are put off for another cause than room."""
    return look.deferred


def kv_usage(look: EngineLook) -> float | None:
    """Return the share of the KV cache in use."""
    return look.kv_usage


def healthy(look: EngineLook) -> bool | None:
    """Return what the engine says of itself."""
    return look.healthy


def queue(look: EngineLook) -> float | None:
    """Return the requests that wait for room, or all that wait where the cause is not told."""
    return look.waiting if look.capacity is None else look.capacity


def progress(look: EngineLook) -> Count | None:
    """Return a counter that every step moves which yields tokens."""
    return look.counters.get(Counter.GENERATED_TOKENS) or look.counters.get(Counter.STEPS)


def count(counter: Counter) -> Callable[[EngineLook], Count | None]:
    """Return what reads a counter."""
    return lambda look: look.counters.get(counter)

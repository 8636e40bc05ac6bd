"""How much memory looks may take: no pod may fill it, and all together may not either."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from reporter.metrics.looks.history import History
from reporter.metrics.looks.look import EngineLook, Look

POD_BYTES: Final = 4 * 2**20
"""Of one pod. Sixteen busy engines over the longest default window take less than half of it."""

ALL_BYTES: Final = 96 * 2**20
"""Of all pods: with what the process needs besides it stays below the chart's memory limit."""

_LOOK: Final = 500
_ENGINE: Final = 700
_SERIES: Final = 250
_NUMBER: Final = 8


def look_bytes(look: Look, before: Look | None) -> int:
    """Return about how many bytes a look takes besides what it shares with the one before."""
    known: Mapping[str, EngineLook] = before.engines if before is not None else {}
    fresh = [each for name, each in look.engines.items() if each is not known.get(name)]
    size = _LOOK + sum(map(_engine, (*fresh, look.pod))) + 100 * len(look.engines)
    picked = look.target.picked
    if picked is not None and (before is None or picked is not before.target.picked):
        size += _NUMBER * len(picked.ready_since)
    return size


def _engine(engine: EngineLook) -> int:
    buckets = sum(_SERIES + _NUMBER * len(each.counts) for each in engine.latencies.values())
    return _ENGINE + _NUMBER * len(engine.counters) + buckets


def weighed(history: History) -> History:
    """Return a history that knows the size of its newest look."""
    before = history.looks[-2] if len(history.looks) > 1 else None
    sizes = (*history.sizes, look_bytes(history.newest, before))
    return replace(history, sizes=sizes[-len(history.looks) :])


def within(history: History, most: int) -> History:
    """Return a history of at most so many bytes, its newest look included; the oldest are given up."""
    size, given_up = history.bytes, 0
    while size > most and given_up < len(history.looks) - 1:
        size -= history.sizes[given_up]
        given_up += 1
    if not given_up:
        return history
    return replace(
        history,
        looks=history.looks[given_up:],
        sizes=history.sizes[given_up:],
        given_up=history.given_up + given_up,
    )

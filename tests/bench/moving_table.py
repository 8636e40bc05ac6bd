"""The numbers of what moves beside the aims."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tests.bench.churn import CHANGES_PER_SECOND
from tests.bench.moving import LATENCY_SECONDS, MovingNumbers
from tests.bench.noise import line_of, together
from tests.bench.table import Row, lines_of

_MEGABYTE: Final = 1e6
_P95: Final = 0.95


@dataclass(frozen=True, slots=True)
class Moving:
    """What was measured of one size."""

    sets: int
    numbers: MovingNumbers


@dataclass(frozen=True, slots=True)
class _Line:
    name: str
    unit: str
    value: Callable[[MovingNumbers], float]
    aim: float | None = None


_LINES: Final = (
    _Line("start until ready", "ms", lambda each: each.ready * 1e3),
    _Line("all break: last change to last Event", "ms", lambda each: each.burst * 1e3),
    _Line("  faults without an Event", "", lambda each: each.lost, 0),
    _Line("  Events told twice", "", lambda each: each.doubled, 0),
    _Line(
        f"all recover, {LATENCY_SECONDS * 1e3:.0f} ms each: next fault to Event",
        "ms",
        lambda each: each.behind_recoveries * 1e3,
        1000,
    ),
    _Line(f"{CHANGES_PER_SECOND} changes/s: part of a processor", "%", lambda each: each.churn.share * 100, 5),
    _Line("  fault to Event, p50", "ms", lambda each: statistics.median(each.churn.told) * 1e3),
    _Line("  fault to Event, p95", "ms", lambda each: _p95(each.churn.told) * 1e3, 500),
    _Line("  fault to Event, max", "ms", lambda each: max(each.churn.told) * 1e3, 1000),
    _Line("  faults of 1 to 3 s told when they were over", "", lambda each: each.churn.late, 0),
    _Line("  faults of 1 to 3 s never told", "", lambda each: each.churn.untold, 0),
    _Line("SIGTERM of the leader to the next Event", "ms", lambda each: each.takeover * 1e3, 1000),
    _Line("relists since the start", "", lambda each: each.relists, 0),
    _Line("longest block of the loop, at start", "ms", lambda each: each.block_at_start * 1e3, 25),
    _Line("longest block of the loop, later", "ms", lambda each: each.block_later * 1e3, 25),
    _Line("resident memory after start", "MB", lambda each: each.started.resident / _MEGABYTE),
    _Line("resident memory at the end", "MB", lambda each: each.ended.resident / _MEGABYTE),
    _Line("peak memory", "MB", lambda each: each.ended.peak / _MEGABYTE),
)  # fmt: skip


def moving_rows(found: Sequence[Moving]) -> Iterator[Row]:
    """Yield the lines of the table."""
    for line in _LINES:
        values = tuple(line.value(each.numbers) for each in found)
        yield Row(line.name, line.unit, values, line.aim)


def render_moving(runs: Sequence[Sequence[Moving]], server: str, loads: Sequence[float]) -> str:
    """Return the table of several runs as text; `server` says what it was measured against."""
    header = [f"{each.sets} sets" for each in runs[0]]
    rows = together([moving_rows(each) for each in runs], loads)
    title = f"when things move, against {server}; {line_of(loads)}"
    return "\n".join([title, *lines_of(header, rows)])


def _p95(times: Sequence[float]) -> float:
    return sorted(times)[int(len(times) * _P95)]

"""The numbers beside the aims."""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tests.bench.evaluation import PassTimes
from tests.bench.live import DELAY_SECONDS, LiveNumbers
from tests.bench.one_change import AT_ONCE, ChangeTimes, Spent

_WHOLE_FROM: Final = 100
"""Numbers from here on are shown without decimals."""

_BLOCK_MS: Final = 25.0
_LONGEST_CHANGE_MS: Final = 1000.0
_ONE_POD_MS: Final = 3.0


@dataclass(frozen=True, slots=True)
class Numbers:
    """Everything about one size."""

    passes: PassTimes
    one_change: ChangeTimes
    live: LiveNumbers


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: a number for each size, and what it should be at most.

    Attributes:
        name: what it is.
        unit: of the numbers.
        values: the number of each size; the median where there were several runs.
        aim: what it should be at most.
        least: the least of several runs; empty where there was one.
        most: the most of them.
        busy: whether others used the machine.

    """

    name: str
    unit: str
    values: tuple[float, ...]
    aim: float | None = None
    least: tuple[float, ...] = ()
    most: tuple[float, ...] = ()
    busy: bool = False

    @property
    def verdict(self) -> str:
        """What is said of the aim: one that only some runs meet, or on a busy machine, is not decided."""
        if self.met is not False or self.aim is None:
            return "met" if self.met else ""
        some = bool(self.least) and all(each <= self.aim for each in self.least)
        doubts = ("in the noise",) * some + ("machine was busy",) * self.busy
        return " ".join(("NOT met", *(["(" + ", ".join(doubts) + ")"] if doubts else [])))

    @property
    def cells(self) -> list[str]:
        """The numbers as they are written."""
        if not self.least or self.least == self.most:
            return [_number(each) for each in self.values]
        return [
            f"{_number(value)} ({_number(least)}-{_number(most)})"
            for value, least, most in zip(self.values, self.least, self.most, strict=True)
        ]

    @property
    def met(self) -> bool | None:
        """Whether the aim is met at every size, None where there is none."""
        return None if self.aim is None else all(value <= self.aim for value in self.values)


def rows(sizes: Sequence[Numbers]) -> Iterator[Row]:
    """Yield the lines of the table."""
    passes = [each.passes for each in sizes]
    yield _row("decoding once, json", "ms", _ms(each.stdlib_json for each in passes))
    yield _row("decoding once, reporter", "ms", _ms(each.decoding for each in passes))
    yield _row("full pass", "ms", _ms(each.full for each in passes))
    whole = "full pass / decoding the JSON once"
    yield _row(whole, "", [each.full / each.stdlib_json for each in passes], 1.0)
    changed = [each.one_change for each in sizes]
    yield from _spent("pass after one model pod", [each.pod for each in changed], _ONE_POD_MS)
    yield from _spent(f"pass after {AT_ONCE} model pods", [each.pods for each in changed])
    yield from _spent("pass, nothing changed", [each.nothing for each in changed])
    lives = [each.live for each in sizes]
    yield _row("longest block of the loop", "ms", _ms(each.block for each in lives), _BLOCK_MS)
    times = [sorted(each.changes) for each in lives]
    name = f"change to Event, {DELAY_SECONDS * 1000:.0f} ms added"
    yield _row(f"{name}, p50", "ms", _ms(map(statistics.median, times)))
    yield _row(f"{name}, max", "ms", _ms(each[-1] for each in times), _LONGEST_CHANGE_MS)
    steady = "nothing fires: requests but lease, discovery"
    yield _row(steady, "", [each.steady for each in lives], 0)
    yield _row("Events fire: requests but these, refreshes", "", [each.firing for each in lives], 0)


def _spent(name: str, found: Sequence[Spent], aim: float | None = None) -> Iterator[Row]:
    yield _row(name, "ms", _ms(each.median for each in found), aim)
    yield _row("    longest", "ms", _ms(each.longest for each in found))


def _row(name: str, unit: str, values: Iterable[float], aim: float | None = None) -> Row:
    return Row(name, unit, tuple(values), aim)


def _ms(seconds: Iterable[float]) -> Iterator[float]:
    return (each * 1000 for each in seconds)


def lines_of(header: Sequence[str], found: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of a table."""
    found = list(found)
    width = max(10, *(len(cell) for row in found for cell in row.cells))
    yield _line("", "", header, "aim", "", width=width)
    for row in found:
        aim = "" if row.aim is None else f"<= {row.aim:g}"
        yield _line(row.name, row.unit, row.cells, aim, row.verdict, width=width)


def _number(value: float) -> str:
    return f"{value:.0f}" if value == int(value) or abs(value) >= _WHOLE_FROM else f"{value:.2f}"


def _line(
    name: str, unit: str, values: Iterable[str], aim: str, verdict: str, *, width: int
) -> str:
    cells = " ".join(f"{value:>{width}}" for value in values)
    return f"{name:44} {unit:3} {cells}  {aim:>8}  {verdict}".rstrip()

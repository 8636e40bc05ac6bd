"""The numbers beside the aims."""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tests.bench.daemon_process import Phase
from tests.bench.evaluation import PassTimes
from tests.bench.live import RESYNCS, LiveNumbers, Quiet, Requests
from tests.bench.one_change import AT_ONCE, ON_RECORD, ChangeTimes, Spent

_MEGABYTE: Final = 1e6
_START: Final = "start"
_WHOLE_FROM: Final = 100
"""Numbers from here on are shown without decimals."""

_MOST_MEMORY: Final = 150.0
_LONGEST_BLOCK_MS: Final = 25.0
_LONGEST_CHANGE_MS: Final = 1000.0
_ONE_POD_MS: Final = 3.0
_SHARED_MS: Final = 15.0


@dataclass(frozen=True, slots=True)
class Numbers:
    """Everything about one size."""

    sets: int
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
    yield from _passes([each.passes for each in sizes])
    yield from one_change_rows([each.one_change for each in sizes])
    lives = [each.live for each in sizes]
    yield from _loop(lives)
    for name, sizes_of in (
        ("resident memory after start", [each.started.resident for each in lives]),
        ("resident memory at the end", [each.ended.resident for each in lives]),
        ("peak memory", [each.ended.peak for each in lives]),
    ):
        yield _row(name, "MB", _megabytes(sizes_of), _MOST_MEMORY)
    yield _row("start until ready", "ms", _ms(each.start for each in lives))
    for added in lives[0].changes:
        times = [sorted(each.changes[added]) for each in lives]
        name = f"change to Event, {added} added"
        yield _row(f"{name}, p50", "ms", _ms(map(statistics.median, times)))
        yield _row(f"{name}, p95", "ms", _ms(each[int(len(each) * 0.95)] for each in times))
        yield _row(f"{name}, max", "ms", _ms(each[-1] for each in times), _LONGEST_CHANGE_MS)
    yield from _requests(lives)


def _passes(passes: Sequence[PassTimes]) -> Iterator[Row]:
    yield _row("decoding once, json", "ms", _ms(each.stdlib_json for each in passes))
    yield _row("decoding once, reporter", "ms", _ms(each.decoding for each in passes))
    yield _row("full pass", "ms", _ms(each.full for each in passes))
    yield _row("full pass / json", "", [each.full / each.stdlib_json for each in passes], 1.0)
    yield _row("pass, all asked again", "ms", _ms(each.steady for each in passes))
    for part in ("probes", "resolution", "plan"):
        yield _row(f"  of it {part}", "ms", _ms(getattr(each, part) for each in passes))
    yield _row("pass, every picker down", "ms", _ms(each.all_broken for each in passes))


def one_change_rows(found: Sequence[ChangeTimes]) -> Iterator[Row]:
    """Yield the lines of passes after one change."""
    yield from _spent("pass after one model pod", [each.pod for each in found], _ONE_POD_MS)
    in_ten, in_one = [each.pod_in_ten for each in found], [each.pod_in_one for each in found]
    yield from _spent("  all sets in 10 namespaces", in_ten, _ONE_POD_MS)
    yield from _spent("  all sets in one namespace", in_one, _ONE_POD_MS)
    yield from _spent(f"pass after {AT_ONCE} model pods", [each.pods for each in found])
    yield from _spent("pass after one Deployment", [each.deployment for each in found])
    yield from _spent("pass after one Service", [each.service for each in found], _SHARED_MS)
    yield from _spent("pass after one Node", [each.node for each in found], _SHARED_MS)
    yield from _spent("pass, nothing changed", [each.nothing for each in found])
    on_record = [each.on_record for each in found]
    yield from _spent(f"pass, nothing changed, {ON_RECORD} own Events", on_record)


def _spent(name: str, found: Sequence[Spent], aim: float | None = None) -> Iterator[Row]:
    yield _row(name, "ms", _ms(each.median for each in found), aim)
    yield _row("    longest", "ms", _ms(each.longest for each in found))


def _loop(lives: Sequence[LiveNumbers]) -> Iterator[Row]:
    after_start = [[each.phases[name] for name in each.phases if name != _START] for each in lives]
    at_start = [[each.phases[_START]] for each in lives]
    name = "longest block of the loop"
    yield _row(name, "ms", _ms(_worst(each, "block") for each in after_start), _LONGEST_BLOCK_MS)
    yield _row("  with other load", "ms", _ms(_worst(each, "lag") for each in after_start))
    yield _row(
        "  longest callback, processor",
        "ms",
        _ms(_worst(each, "callback_cpu") for each in after_start),
    )
    yield _row(f"{name}, at start", "ms", _ms(_worst(each, "block") for each in at_start))
    yield _row(
        "  longest callback, processor",
        "ms",
        _ms(_worst(each, "callback_cpu") for each in at_start),
    )


def _worst(phases: Iterable[Phase], what: str) -> float:
    return max(float(getattr(phase, what)) for phase in phases)


def _requests(lives: Sequence[LiveNumbers]) -> Iterator[Row]:
    quiet, firing = [each.steady for each in lives], [each.firing for each in lives]
    yield _row("nothing fires: requests but lease, discovery", "", map(_undue, quiet), 0)
    yield _row("  lease and discovery, per resync", "", [_due(each) / RESYNCS for each in quiet])
    yield _row("  passes per resync", "", [each.passes / RESYNCS for each in quiet])
    yield _row("  part of a processor", "%", [each.idle * 100 for each in lives])
    yield _row("Events fire: requests but these, refreshes", "", map(_undue, firing), 0)
    yield _row("  Events that fire", "", [each.fired for each in lives])
    yield _row("  refreshes, per resync", "", [_refreshes(each) / RESYNCS for each in firing])
    yield _row("  passes per resync", "", [each.passes / RESYNCS for each in firing])
    yield _row("list requests at start", "", [_lists(each.listing) for each in lives])
    yield _row("list requests for a relist of all", "", [_lists(each.relisting) for each in lives])
    yield _row("relist of all", "ms", _ms(each.relist for each in lives))


def _undue(quiet: Quiet) -> int:
    return sum(quiet.requests.values()) - _due(quiet) - _refreshes(quiet)


def _due(quiet: Quiet) -> int:
    return sum(quiet.requests.get(key, 0) for key in ("update leases", "get discovery"))


def _refreshes(quiet: Quiet) -> int:
    return quiet.requests.get("patch events", 0)


def _lists(requests: Requests) -> int:
    return sum(count for key, count in requests.items() if key.startswith("list "))


def _row(name: str, unit: str, values: Iterable[float], aim: float | None = None) -> Row:
    return Row(name, unit, tuple(values), aim)


def _ms(seconds: Iterable[float]) -> Iterator[float]:
    return (each * 1000 for each in seconds)


def _megabytes(sizes: Iterable[int]) -> Iterator[float]:
    return (each / _MEGABYTE for each in sizes)


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

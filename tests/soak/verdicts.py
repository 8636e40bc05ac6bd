"""The table: what was measured beside what it has to be."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tests.soak.measuring import Record

MEGABYTE: Final = 1e6
_LONGEST_PASS_SECONDS: Final = "1.0"
"""A bound of the daemon's own histogram."""

_GROWTH_PER_MINUTE: Final = 1.0
_SLACK_TURNS: Final = 2


@dataclass(frozen=True, slots=True)
class Soaked:
    """Everything that was measured.

    Attributes:
        interval: seconds from one scrape of a pod to the next.
        resync: seconds from one pass to the next, at most.
        good: scrapes of each pod that answers well.
        bad: scrapes of each pod that misbehaves.
        record: the looks at the daemon.

    """

    interval: float
    resync: float
    good: Sequence[int]
    bad: Sequence[int]
    record: Record


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table; `least` and `most` are what a number may be."""

    name: str
    unit: str
    value: float
    least: float | None = None
    most: float | None = None

    @property
    def met(self) -> bool:
        """Whether the number is within its bounds."""
        above = self.least is None or self.value >= self.least
        return above and (self.most is None or self.value <= self.most)


def rows(found: Soaked) -> Iterator[Row]:
    """Yield the lines of the table."""
    record = found.record
    turns = record.seconds / found.interval
    yield Row("measured", "s", record.seconds)
    yield Row("scrapes due of each pod", "", turns)
    yield Row("  least of a good pod", "", min(found.good), least=0.95 * turns - _SLACK_TURNS)
    yield Row("  most of a good pod", "", max(found.good), most=turns + _SLACK_TURNS)
    yield Row("  least of a bad pod", "", min(found.bad), least=1)
    yield Row("scrapes in all", "", record.rose("scrapes_total"))
    late = "scrapes_skipped_total"
    yield Row("turns left out", "", record.rose(late))
    yield Row("memory growth", "MB/min", record.growth * 60 / MEGABYTE, most=_GROWTH_PER_MINUTE)
    yield Row("memory at the end", "MB", record.points[-1].resident / MEGABYTE)
    passes = record.rose("pass_duration_seconds_count")
    quick = record.rose(f"pass_duration_seconds_bucket:{_LONGEST_PASS_SECONDS}")
    yield Row("passes", "", passes, least=0.9 * record.seconds / found.resync - 1)
    yield Row(f"  longer than {_LONGEST_PASS_SECONDS} s", "", passes - quick, most=0)
    yield Row("  longest time without one", "s", record.oldest_pass, most=found.resync + 2)
    yield Row("part of a processor", "%", 100 * record.cpu_share)


def render(found: Soaked) -> str:
    """Return the table as text."""
    return "\n".join(map(_line, rows(found)))


def _line(row: Row) -> str:
    bounds = [
        *([] if row.least is None else [f">= {row.least:.4g}"]),
        *([] if row.most is None else [f"<= {row.most:.4g}"]),
    ]
    verdict = ("met" if row.met else "NOT met") if bounds else ""
    value = f"{row.value:.0f}" if row.value == int(row.value) else f"{row.value:.2f}"
    return f"{row.name:30} {row.unit:7} {value:>10}  {' '.join(bounds):>12}  {verdict}".rstrip()

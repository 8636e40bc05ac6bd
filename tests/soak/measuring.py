"""What the daemon did meanwhile, from its process and its own metrics."""

import asyncio
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

_PREFIX: Final = "status_reporter_"
_EVERY_SECONDS: Final = 2.0
_LEAST_POINTS: Final = 2


@dataclass(frozen=True, slots=True)
class Point:
    """One look at the daemon.

    Attributes:
        at: monotonic seconds.
        resident: memory, bytes.
        cpu: processor seconds since it began.
        pass_age: seconds since the newest pass ended.
        metrics: its counters, summed over their labels.

    """

    at: float
    resident: int
    cpu: float
    pass_age: float
    metrics: dict[str, float]


@dataclass(slots=True)
class Record:
    """All looks, the oldest first."""

    points: list[Point] = field(default_factory=list)

    async def keep(self, pid: int, url: str, seconds: float) -> None:
        """Look again and again for so many seconds."""
        ends = time.monotonic() + seconds
        async with aiohttp.ClientSession() as session:
            while time.monotonic() < ends:
                self.points.append(await _look(session, pid, url))
                await asyncio.sleep(_EVERY_SECONDS)
            self.points.append(await _look(session, pid, url))

    @property
    def seconds(self) -> float:
        """The time that was looked at."""
        return self.points[-1].at - self.points[0].at

    @property
    def growth(self) -> float:
        """Slope of the resident memory by least squares, bytes per second."""
        points = self.points
        if len(points) < _LEAST_POINTS:
            return 0.0
        mean_at = sum(each.at for each in points) / len(points)
        mean = sum(each.resident for each in points) / len(points)
        return sum((each.at - mean_at) * (each.resident - mean) for each in points) / sum(
            (each.at - mean_at) ** 2 for each in points
        )

    def rose(self, name: str) -> float:
        """Return by how much a counter rose."""
        first, last = (each.metrics.get(_PREFIX + name, 0.0) for each in self._ends)
        return last - first

    @property
    def cpu_share(self) -> float:
        """The part of one processor that was used."""
        first, last = self._ends
        return (last.cpu - first.cpu) / self.seconds

    @property
    def oldest_pass(self) -> float:
        """The longest that the newest pass was ago at any look."""
        return max(each.pass_age for each in self.points)

    @property
    def _ends(self) -> tuple[Point, Point]:
        return self.points[0], self.points[-1]


async def _look(session: aiohttp.ClientSession, pid: int, url: str) -> Point:
    async with session.get(url) as answer:
        text = await answer.text()
    metrics: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            name = sample.name
            if bound := sample.labels.get("le"):
                name = f"{name}:{bound}"
            metrics[name] = metrics.get(name, 0.0) + sample.value
    resident, cpu = _used(Path(f"/proc/{pid}"))
    return Point(
        at=time.monotonic(),
        resident=resident,
        cpu=cpu,
        pass_age=time.time() - metrics[f"{_PREFIX}last_pass_timestamp_seconds"],
        metrics=metrics,
    )


def _used(process: Path) -> tuple[int, float]:
    """Return the resident memory in bytes, and the processor seconds."""
    stat = (process / "stat").read_text(encoding="ascii").rpartition(")")[2].split()
    pages = int((process / "statm").read_text(encoding="ascii").split()[1])
    ticks = int(stat[11]) + int(stat[12])
    return pages * os.sysconf("SC_PAGE_SIZE"), ticks / os.sysconf("SC_CLK_TCK")

"""What a figure is worth: several runs of it, and what else the machine does."""

import os
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.bench.table import Row

BUSY: Final = 0.1
"""Part of all processors from which others' work shows in the figures."""

_LOOKS_SECONDS: Final = 3.0


def load() -> float:
    """Return the part of all processors that others use, looked at while nothing of ours runs."""
    before = _spent()
    time.sleep(_LOOKS_SECONDS)
    idle, whole = (now - then for now, then in zip(_spent(), before, strict=True))
    return 1 - idle / max(whole, 1)


def _spent() -> tuple[int, int]:
    """Return the ticks for which processors were idle, and all of them (proc(5), `/proc/stat`)."""
    first = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    ticks = [int(each) for each in first.split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def together(runs: Sequence[Iterable[Row]], loads: Sequence[float]) -> Iterator[Row]:
    """Yield the rows of several runs, each with the median of every figure, the least and the most."""
    for rows in zip(*runs, strict=True):
        figures = [*zip(*(each.values for each in rows), strict=True)]
        yield replace(
            rows[0],
            values=tuple(map(statistics.median, figures)),
            least=tuple(map(min, figures)),
            most=tuple(map(max, figures)),
            busy=max(loads) >= BUSY,
        )


def line_of(loads: Sequence[float]) -> str:
    """Return what is said of the machine beside a table."""
    shares = ", ".join(f"{each:.0%}" for each in loads)
    busy = "; it was busy" if max(loads) >= BUSY else ""
    return (
        f"{len(loads)} run(s) on {os.cpu_count()} processors, others' part before each: "
        f"{shares}{busy}; median (least-most)"
    )

"""How much of a page is read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLimits:
    """Most that is read of a page; real pages stay far below each.

    A page with more lines, wanted series or engines than this is unreadable: what was left of it
    would look like a page on which something is missing. A line over the other caps is dropped.

    Attributes:
        lines: of the page.
        series: of wanted families.
        engines: in a pod; vLLM runs one for each data-parallel rank, of which nodes have at most 16.
        seconds: of processor time, to read it; a page of real size takes some milliseconds.
        clock: tells the processor time, in seconds; by default it stands still, and there is no limit.
        line_bytes: of one line.
        labels: of one series.
        value_bytes: of one label's value.

    """

    lines: int = 200_000
    series: int = 20_000
    engines: int = 64
    seconds: float = 2.0
    clock: Callable[[], float] = float
    line_bytes: int = 64 * 1024
    labels: int = 64
    value_bytes: int = 4 * 1024


DEFAULT_LIMITS: Final = PageLimits()

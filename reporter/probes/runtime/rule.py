"""What a rule is given, and what it answers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from reporter.metrics.looks.look import EngineLook, Look
from reporter.metrics.looks.window import History, Window
from reporter.settings import EvaluationSettings


@dataclass(frozen=True, slots=True)
class Found:
    """A rule found its fault.

    Attributes:
        cause: a few words.
        text: one line.
        severity: larger is worse, among faults of one reason.

    """

    cause: str
    text: str
    severity: int = 0


@dataclass(frozen=True, slots=True)
class Undecided:
    """A rule cannot tell now, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class Untold(Undecided):
    """The page never has what the rule reads; another part of the pod may answer alone."""


CLEAR: Final = None
"""A rule could tell, and there is no fault."""

Answer: TypeAlias = Found | Undecided | None

PodRule: TypeAlias = Callable[[History, tuple[Look, ...], EvaluationSettings], Answer]
"""Judges a pod from its history and the looks of the rule's window, covered or not."""


@dataclass(frozen=True, slots=True)
class EngineRule:
    """Judges one engine.

    Attributes:
        judge: is given a window that is covered, and the settings.
        reads: what must be on a page for it to count for this rule.

    """

    judge: Callable[[Window, EvaluationSettings], Answer]
    reads: tuple[Callable[[EngineLook], object], ...]

    def can_read(self, look: EngineLook) -> bool:
        """Tell whether a page has all that the rule reads."""
        return all(read(look) is not None for read in self.reads)


@dataclass(frozen=True, slots=True)
class NotOver(Undecided):
    """A rule cannot tell, but what it sees says that a fault found before goes on, however long."""


NOT_SETTLED: Final = Undecided("the pod has been Ready for less than a minute")
NO_PAGE: Final = Undecided("its metrics cannot be read")
NO_ENGINE: Final = Undecided("the page has no metrics of an engine")
ENGINE_GONE: Final = Undecided("an engine is not on the page any more")
ASLEEP: Final = Undecided("the engine is asleep")
NOT_COVERED: Final = Undecided("its window is not full yet, or has a hole")
NOT_TOLD: Final = Untold("the page does not have what the rule reads")


def share(value: float) -> str:
    """Return a share as people write it."""
    return f"{value:.0%}" if value >= 0.1 else f"{value:.1%}"  # noqa: PLR2004


def minutes(seconds: float) -> str:
    """Return a time as people write it."""
    whole = round(seconds)
    return f"{whole // 60} min" if whole >= 120 and whole % 60 == 0 else f"{whole} s"  # noqa: PLR2004


def window_text(settings: EvaluationSettings, reason: str) -> str:
    """Return the window of a reason as people write it."""
    return minutes(settings.window_seconds(reason))

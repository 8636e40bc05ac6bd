"""What the probes know of the pods' metrics, beyond the snapshot."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from reporter.metrics.looks.target import PodName
from reporter.metrics.looks.window import History


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFault:
    """What a rule found in the metrics of a pod; it stays as it is while the fault goes on.

    A number in `text` is the one when it was first found; `since` is the left edge of the window of
    then. Larger `severity` is worse, among faults of one reason.
    """

    reason: str
    cause: str
    text: str
    severity: int
    since: datetime
    engine: str = ""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason that cannot be judged for a pod, and since when, on the boot clock.

    `fault` was found before, and lends its words if it is found again. `open`: a fault that fires
    goes on, and after some time is given up, unless there is a sign that it is not over
    (`lasting`).
    """

    why: str
    since: timedelta
    fault: MetricFault | None = None
    open: bool = True
    lasting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PodVerdict:
    """What all rules say of a pod after its newest scrape.

    `in_service`: it has been Ready long enough for its numbers to count.
    """

    uid: str
    faults: Mapping[str, MetricFault] = field(default_factory=dict)
    doubts: Mapping[str, Doubt] = field(default_factory=dict)
    failing: bool = False
    in_service: bool = False

    @property
    def undecided(self) -> frozenset[str]:
        """Reasons whose faults neither begin nor end."""
        return frozenset(reason for reason, doubt in self.doubts.items() if doubt.open)

    @property
    def why(self) -> dict[str, str]:
        return {reason: doubt.why for reason, doubt in self.doubts.items()}


@dataclass(frozen=True, slots=True)
class Judged:
    history: History
    verdict: PodVerdict


@dataclass(frozen=True, slots=True)
class Samples:
    """All pods that were scraped; nothing is undecided where none are (`scraping`)."""

    scraping: bool = False
    pods: Mapping[PodName, Judged] = field(default_factory=dict)

    def of(self, namespace: str, name: str, uid: str) -> Judged | None:
        judged = self.pods.get((namespace, name))
        return judged if judged is not None and judged.verdict.uid == uid else None


NONE: Final = Samples()

"""What the probes know of the pods' metrics, besides the snapshot."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from reporter.metrics.looks.target import PodName
from reporter.metrics.looks.window import History


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFault:
    """What a rule found in the metrics of a pod; it stays as it is while the fault goes on.

    Attributes:
        text: one line without the pod's name; a number in it is the one when it was first found.
        severity: larger is worse, among faults of one reason.
        since: left edge of the window that it was first found in.
        engine: the one that the text names, empty if it is about the pod as a whole.

    """

    reason: str
    cause: str
    text: str
    severity: int
    since: datetime
    engine: str = ""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason that cannot be judged for a pod.

    Attributes:
        why: a few words.
        since: since when that has been so, on the boot clock.
        fault: the fault that was found before, whose words it has again if it is found again.
        open: whether a fault that fires goes on; after some time it is given up.
        lasting: there is a sign that the fault is not over, and it is not given up.

    """

    why: str
    since: timedelta
    fault: MetricFault | None = None
    open: bool = True
    lasting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PodVerdict:
    """What all rules say of a pod after its newest scrape.

    Attributes:
        failing: the newest attempt failed, at a model pod.
        in_service: a model pod that has been Ready long enough for its numbers to count.

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
        """Why what cannot be judged cannot, by reason."""
        return {reason: doubt.why for reason, doubt in self.doubts.items()}


@dataclass(frozen=True, slots=True)
class Judged:
    """A pod with its looks and what was made of them."""

    history: History
    verdict: PodVerdict


@dataclass(frozen=True, slots=True)
class Samples:
    """All pods that were scraped.

    Attributes:
        scraping: whether pods are scraped at all; if not, nothing is undecided either.
        pods: by namespace and name.

    """

    scraping: bool = False
    pods: Mapping[PodName, Judged] = field(default_factory=dict)

    def of(self, namespace: str, name: str, uid: str) -> Judged | None:
        """Return what is known of a pod, None of one that was not scraped yet."""
        judged = self.pods.get((namespace, name))
        return judged if judged is not None and judged.verdict.uid == uid else None


NONE: Final = Samples()
"""Nothing is scraped."""

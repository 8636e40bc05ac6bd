"""What one row of the catalogue says.

Which firing reason hides which others: the rows of two tables.

A row needs evidence that the downstream check has no valid input while the upstream fires. A
correlation is not enough.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.subject import CLUSTER_KIND, NAMESPACE_KIND, Layer, RequestStage, SubjectKind


class EventType(StrEnum):
    """The `type` of an Event."""

    WARNING = "Warning"
    NORMAL = "Normal"


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number of a trigger; `--runtime-threshold NAME=VALUE` sets it.

    Attributes:
        default: its value unless set.
        most: the largest value that makes sense; the smallest is 0.
        meaning: what it is compared with, and its unit.

    """

    name: str
    default: float
    most: float
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One row of the catalogue.

    Attributes:
        of: the kind of its subjects, in the layer of deployments.
        type: of its Events: Warning for a fault, Normal for Ready and for what is worth knowing.
        says_ready: it tells that a subject works; its Event is written by the rules for Ready.
        trigger: what is read and which values raise it.
        silent: what looks similar and does not raise it.
        reads: resources whose being unknown makes its findings stale and its subject not ready.
        also_reads: a kind of object, and what its findings about those objects alone read in addition.
        chain: takes part in its layer's priority chain, in table order.
        grace_seconds: its own grace; None takes the global one.
        grace_note: which of its faults fire at once, and which budgets apply.
        blocks_ready: whether its layer's Ready waits for it.
        window_seconds: how long what it is about must last in the metrics of a pod; that is its
            grace. None for a reason that does not come from metrics.
        thresholds: the numbers its trigger names; each is a setting.
        look: commands that show what it is about; `<namespace>` and `<name>` are the subject's.
        on_path: requests that come through a Gateway pass through what it is about.
        stage: where on the way of requests that is, if not where `way` says for its layer.
        slows_only: it takes no service from a model that serves otherwise.

    """

    name: str
    layer: Layer
    of: SubjectKind | None = None
    type: EventType = EventType.WARNING
    says_ready: bool = False
    summary: str
    trigger: str
    silent: str = ""
    action: str
    reads: tuple[Resource[KubeObject], ...] = ()
    also_reads: tuple[tuple[Resource[KubeObject], tuple[Resource[KubeObject], ...]], ...] = ()
    chain: bool = True
    grace_seconds: int | None = None
    grace_note: str = ""
    blocks_ready: bool = True
    window_seconds: int | None = None
    thresholds: tuple[Threshold, ...] = ()
    look: tuple[str, ...] = ()
    on_path: bool = False
    stage: RequestStage | None = None
    slows_only: bool = False

    @property
    def may_stop(self) -> bool:
        """Whether a model may not serve for it; what is outside of the chain is told of what serves."""
        return self.chain and not self.slows_only

    @property
    def way(self) -> RequestStage | None:
        """Where on the way of requests it is; None for what no request passes."""
        match self.layer:
            case Layer.CLUSTER:
                return RequestStage.GATEWAY if self.on_path else None
            case Layer.HARNESS:
                return self.stage or RequestStage.GATEWAY
            case _:
                return self.stage or RequestStage.PODS

    def reads_of(self, kinds: Collection[str]) -> frozenset[Resource[KubeObject]]:
        """Return what its findings about objects of some kinds read."""
        further = (reads for each, reads in self.also_reads if each.kind in kinds)
        return frozenset(self.reads).union(*further)

    @property
    def all_reads(self) -> frozenset[Resource[KubeObject]]:
        """What any of its findings reads."""
        return self.reads_of([each.kind for each, _ in self.also_reads])

    @property
    def mutable(self) -> bool:
        """Whether an object can carry a mute of it: a fault, and one of something that is read."""
        return not self.says_ready and bool(self.reads)

    @property
    def subject_kind(self) -> SubjectKind:
        """What its subjects are.

        Raises:
            ValueError: it is of the layer of deployments and does not say of which kind.

        """
        match self.layer:
            case Layer.CLUSTER:
                return CLUSTER_KIND
            case Layer.HARNESS:
                return NAMESPACE_KIND
            case _:
                if self.of is None:
                    raise ValueError(f"{self.name} does not say what its subjects are")
                return self.of


@dataclass(frozen=True, slots=True)
class SuppressionRow:
    """While `upstream` fires, `downstream` is suppressed, for the subjects that it governs.

    `crd` narrows a row of `clusterCRDMissing` to one CustomResourceDefinition.
    """

    upstream: str
    downstream: tuple[str, ...]
    why: str
    crd: str = ""


@dataclass(frozen=True, slots=True)
class PodSuppressionRow:
    """While `upstream` fires for a pod, `downstream` is suppressed for that pod alone."""

    upstream: str
    downstream: tuple[str, ...]
    why: str

"""Rows of the catalogue: reasons, and which firing reason suppresses which others.

Suppression needs evidence that the downstream check has no valid input while the upstream fires. A
correlation is not enough.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from reporter.model.resource import AnyResource
from reporter.model.subject import CLUSTER_KIND, NAMESPACE_KIND, Layer, RequestStage, SubjectKind


class EventType(StrEnum):
    WARNING = "Warning"
    NORMAL = "Normal"


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number of a trigger; `--runtime-threshold NAME=VALUE` sets it, from 0 to `most`."""

    name: str
    default: float
    most: float
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One row of the catalogue.

    `of` is the kind of its subjects, in the layer of deployments. `says_ready`: the rules for Ready
    write its Event. `silent` describes similar situations that do not raise it. While one of
    `reads` is unknown, its findings are stale and its subject is not ready; `also_reads` are read
    in addition for findings about a kind of object. `chain`: it takes part in its layer's priority
    chain, in table order. `grace_seconds` None means the global grace; `grace_note` says which
    faults fire at once and which budgets apply. `blocks_ready`: its layer's Ready waits for it.

    `window_seconds` is how long the fault must last in a pod's metrics, and its grace; None if it
    does not come from metrics. In `look`, `<namespace>` and `<name>` are the subject's. `on_path`:
    requests through a Gateway pass through it, at `stage` or else at the default stage of its layer
    (`way`). `slows_only`: a model with this fault still serves.
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
    reads: tuple[AnyResource, ...] = ()
    also_reads: tuple[tuple[AnyResource, tuple[AnyResource, ...]], ...] = ()
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
    def heading(self) -> str:
        """Its heading in `docs/reasons.md`, which has one section for models of all kinds."""
        if self.layer is Layer.DEPLOYMENT:
            return self.name.removeprefix(str(self.of))
        return self.name

    @property
    def may_stop(self) -> bool:
        """Whether it can stop a model from serving; reasons outside the chain cannot."""
        return self.chain and not self.slows_only

    @property
    def way(self) -> RequestStage | None:
        """Its stage on the request path, or None if no request passes through it."""
        match self.layer:
            case Layer.CLUSTER:
                return RequestStage.GATEWAY if self.on_path else None
            case Layer.HARNESS:
                return self.stage or RequestStage.GATEWAY
            case _:
                return self.stage or RequestStage.PODS

    def reads_of(self, kinds: Collection[str]) -> frozenset[AnyResource]:
        further = (reads for each, reads in self.also_reads if each.kind in kinds)
        return frozenset(self.reads).union(*further)

    @property
    def all_reads(self) -> frozenset[AnyResource]:
        return self.reads_of([each.kind for each, _ in self.also_reads])

    @property
    def mutable(self) -> bool:
        """Whether an annotation can mute it: it is a fault, and an object is read for it."""
        return not self.says_ready and bool(self.reads)

    @property
    def subject_kind(self) -> SubjectKind:
        """Raises ValueError if a reason of the layer of deployments has no `of`."""
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
    """While `upstream` fires, `downstream` is suppressed for the subjects that it governs.

    A row about metrics of pods counts within one pod. `crd` narrows a row of `clusterCRDMissing` to
    one CustomResourceDefinition.
    """

    upstream: str
    downstream: tuple[str, ...]
    why: str
    crd: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """The upstream reason, and the CustomResourceDefinition that the row is limited to."""
        return self.upstream, self.crd

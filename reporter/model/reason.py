"""What a row of the catalogue says, and a row of which firing reason hides which others.

Suppression needs evidence that the downstream check has no valid input while the upstream fires. A
correlation is not enough.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
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

    `of` is the kind of its subjects, in the layer of deployments. `says_ready`: its Event is
    written by the rules for Ready. `silent` is what looks similar and does not raise it. `reads`
    are resources whose being unknown makes its findings stale and its subject not ready;
    `also_reads` are those that findings about a kind of object read in addition. `chain`: it takes
    part in its layer's priority chain, in table order. `grace_seconds` of None is the global one;
    `grace_note` says which faults fire at once, and which budgets apply. `blocks_ready`: its
    layer's Ready waits for it.

    `window_seconds` is how long what it is about must last in the metrics of a pod, and its grace;
    None where it does not come from metrics. In `look` `<namespace>` and `<name>` are the
    subject's. `on_path`: requests through a Gateway pass through it, at `stage` if that is not
    where `way` says for its layer. `slows_only`: it takes no service from a model that serves
    otherwise.
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
    def heading(self) -> str:
        """Its heading in `docs/reasons.md`, which says once what holds for models of all kinds."""
        if self.layer is Layer.DEPLOYMENT:
            return self.name.removeprefix(str(self.of))
        return self.name

    @property
    def may_stop(self) -> bool:
        """Whether a model may not serve for it; what is outside of the chain leaves it serving."""
        return self.chain and not self.slows_only

    @property
    def way(self) -> RequestStage | None:
        """Where on the request path it is; None for what no request passes."""
        match self.layer:
            case Layer.CLUSTER:
                return RequestStage.GATEWAY if self.on_path else None
            case Layer.HARNESS:
                return self.stage or RequestStage.GATEWAY
            case _:
                return self.stage or RequestStage.PODS

    def reads_of(self, kinds: Collection[str]) -> frozenset[Resource[KubeObject]]:
        further = (reads for each, reads in self.also_reads if each.kind in kinds)
        return frozenset(self.reads).union(*further)

    @property
    def all_reads(self) -> frozenset[Resource[KubeObject]]:
        return self.reads_of([each.kind for each, _ in self.also_reads])

    @property
    def mutable(self) -> bool:
        """Whether an object can carry a mute of it: a fault, and one of something that is read."""
        return not self.says_ready and bool(self.reads)

    @property
    def subject_kind(self) -> SubjectKind:
        """Raises ValueError where a reason of the layer of deployments names no kind."""
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

    @property
    def key(self) -> tuple[str, str]:
        """The reason of the upstream, and the CustomResourceDefinition it is about, if only one."""
        return self.upstream, self.crd


@dataclass(frozen=True, slots=True)
class PodSuppressionRow:
    """While `upstream` fires for a pod, `downstream` is suppressed for that pod alone."""

    upstream: str
    downstream: tuple[str, ...]
    why: str

"""The objects of KServe's LLMInferenceServices that are read.

Their types are in github.com/kserve/kserve, pkg/apis/serving/v1alpha2, and in
github.com/kubernetes-sigs/lws, api/leaderworkerset/v1. For a field of type `Part`, only its
presence matters.
"""

from typing import Annotated, TypeAlias, TypeVar

from msgspec import Meta, field

from reporter.model.objects import Annotations, Conditioned, KubeObject, Metadata, Part

LONGEST_NAME = 63
"""Longer names of children are truncated and get a hash (knative/pkg, kmeta.ChildName)."""


class NamedPart(Part, frozen=True):
    """A reference by name: to a config, a route, a Gateway, a pool or an adapter."""

    name: str = ""
    namespace: str | None = None


MOST_REFERENCES = 100
"""Maximum references in a list; an object with more is skipped, as each is looked up in a pass."""

NamedParts: TypeAlias = Annotated[tuple[NamedPart, ...], Meta(max_length=MOST_REFERENCES)]


class Lora(Part, frozen=True):
    adapters: NamedParts | None = None


class LlmModel(Part, frozen=True):
    name: str = ""
    uri: str = ""
    lora: Lora | None = None


class VariantScaling(Part, frozen=True):
    """`scaling.wva`: the Workload Variant Autoscaler, through an HPA or a ScaledObject."""

    keda: Part | None = None


class Scaling(Part, frozen=True):
    """`scaling` of a workload."""

    wva: VariantScaling | None = None
    keda: Part | None = None

    @property
    def by_keda(self) -> bool:
        return self.keda is not None or (self.wva is not None and self.wva.keda is not None)


class Workload(Part, frozen=True):
    """`spec.prefill`, and the fields of the spec that describe the main workload."""

    replicas: int | None = None
    scaling: Scaling | None = None
    worker: Part | None = None  # makes each replica a group of pods, by a LeaderWorkerSet


class References(Part, frozen=True):
    """`router.route.http` and `router.gateway`."""

    refs: NamedParts | None = None


class RouterRoute(Part, frozen=True):
    http: References | None = None
    group: str = ""
    weight: int | None = None


class SchedulerPool(Part, frozen=True):
    ref: NamedPart | None = None


class RouterScheduler(Part, frozen=True):
    pool: SchedulerPool | None = None
    tokenizer: Part | None = None


class LlmRouter(Part, frozen=True):
    route: RouterRoute | None = None
    gateway: References | None = None
    scheduler: RouterScheduler | None = None


class LlmSpec(Workload, frozen=True):
    """`spec` of an LLMInferenceService, and of a config."""

    model: LlmModel | None = None
    prefill: Workload | None = None  # None if the main workload does both
    router: LlmRouter | None = None
    base_refs: NamedParts | None = None

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """The main workload, and that of the prefill role if there is one."""
        return (self,) if self.prefill is None else (self, self.prefill)

    @property
    def route(self) -> RouterRoute | None:
        """The route; None if requests go to the Service only."""
        return self.router.route if self.router else None

    @property
    def own_routes(self) -> tuple[NamedPart, ...]:
        """The user's own routes that it refers to; KServe creates none then."""
        return (self.route.http.refs or ()) if self.route and self.route.http else ()

    @property
    def gateways(self) -> tuple[NamedPart, ...]:
        """The Gateways that it refers to; empty for the default Gateway."""
        return (self.router.gateway.refs or ()) if self.router and self.router.gateway else ()

    @property
    def scheduler(self) -> RouterScheduler | None:
        """The scheduler; None if requests go to any pod."""
        return self.router.scheduler if self.router else None

    @property
    def own_pool(self) -> str:
        """The name of the user's own pool; empty if KServe creates one."""
        pool = self.scheduler.pool if self.scheduler else None
        return pool.ref.name if pool and pool.ref else ""


PartT = TypeVar("PartT", bound=Part)


def merged(below: PartT, above: PartT) -> PartT:
    """Return one part over another, field by field, down to single values.

    So KServe merges the specs of configs and that of an LLMInferenceService, which wins
    (github.com/kserve/kserve, pkg/controller/v1alpha2/llmisvc/config_merge.go). Its own presets add
    nothing that is read here.
    """
    fields = above.__struct_fields__
    return type(above)(**{
        each: _over(getattr(below, each), getattr(above, each)) for each in fields
    })  # fmt: skip


def _over(below: object, above: object) -> object:
    if isinstance(above, Part) and isinstance(below, type(above)):
        return merged(below, above)
    return below if above is None or above == "" else above


class WorkloadStatus(Part, frozen=True):
    """An entry of `status.workloads`; `ready_replicas` is what a Deployment calls available."""

    name: str = ""
    ready_replicas: int | None = None


class WorkloadsStatus(Part, frozen=True):
    """`status.workloads`, since v0.19."""

    primary: WorkloadStatus | None = None
    prefill: WorkloadStatus | None = None


class LlmStatus(Conditioned, frozen=True):
    observed_generation: int | None = None
    url: str = ""
    workloads: WorkloadsStatus | None = None
    applied_configs: tuple[NamedPart, ...] | None = None


class StopAnnotations(Annotations, frozen=True):
    stop: str | None = field(name="serving.kserve.io/stop", default=None)


class LlmMetadata(Metadata, frozen=True):
    annotations: StopAnnotations | None = None


class LLMInferenceService(KubeObject, frozen=True):
    """serving.kserve.io/v1alpha2 LLMInferenceService."""

    metadata: LlmMetadata
    spec: LlmSpec = LlmSpec()
    status: LlmStatus = LlmStatus()

    @property
    def stopped(self) -> bool:
        """True if it is switched off; KServe accepts `true` in upper or lower case."""
        stop = self.metadata.annotations.stop if self.metadata.annotations else None
        return (stop or "").lower() == "true"


class LLMInferenceServiceConfig(KubeObject, frozen=True):
    """serving.kserve.io/v1alpha2 LLMInferenceServiceConfig."""

    spec: LlmSpec = LlmSpec()

"""The kinds of KAITO."""

from msgspec import field

from reporter.model.objects import Annotations, Conditioned, KubeObject, Metadata, Part


class WantedMachine(Part, frozen=True):
    instance_type: str = ""


class WorkspaceTemplate(Part, frozen=True):
    resource: WantedMachine = WantedMachine()


class InferenceSetSpec(Part, frozen=True):
    replicas: int | None = None
    node_count_limit: int | None = None
    template: WorkspaceTemplate = WorkspaceTemplate()


class InferenceSetStatus(Conditioned, frozen=True):
    replicas: int | None = None
    ready_replicas: int | None = None


class ScalingAnnotations(Annotations, frozen=True):
    """The annotations of an InferenceSet that the scaler reads."""

    auto_provision: str | None = field(name="scaledobject.kaito.sh/auto-provision", default=None)
    metrics: str | None = field(name="scaledobject.kaito.sh/metrics", default=None)
    min_replicas: str | None = field(name="scaledobject.kaito.sh/min-replicas", default=None)
    max_replicas: str | None = field(name="scaledobject.kaito.sh/max-replicas", default=None)
    evaluation_window: str | None = field(
        name="scaledobject.kaito.sh/evaluationwindow", default=None
    )
    scale_up_cooldown: str | None = field(
        name="scaledobject.kaito.sh/scaleupcooldown", default=None
    )
    scale_down_cooldown: str | None = field(
        name="scaledobject.kaito.sh/scaledowncooldown", default=None
    )
    combine_policy: str | None = field(name="scaledobject.kaito.sh/combinepolicy", default=None)


class ScaledMetadata(Metadata, frozen=True):
    annotations: ScalingAnnotations | None = None


class InferenceSet(KubeObject, frozen=True):
    """kaito.sh InferenceSet (v1beta1, v1alpha1)."""

    metadata: ScaledMetadata
    spec: InferenceSetSpec = InferenceSetSpec()
    status: InferenceSetStatus = InferenceSetStatus()

    @property
    def wanted(self) -> int:
        """The wanted number of replicas; the API's default is 1."""
        return 1 if self.spec.replicas is None else self.spec.replicas

    @property
    def scaling(self) -> ScalingAnnotations:
        return self.metadata.annotations or ScalingAnnotations()


class WorkspaceStatus(Conditioned, frozen=True):
    state: str | None = None
    worker_nodes: tuple[str, ...] | None = None
    target_node_count: int | None = None


class Workspace(KubeObject, frozen=True):
    """kaito.sh Workspace (v1beta1), without a `spec`; with `tuning` it is a job, not a server."""

    tuning: Part | None = None
    status: WorkspaceStatus = WorkspaceStatus()

"""The kinds of KAITO."""

from msgspec import field

from reporter.model.objects import (
    Annotations,
    Conditioned,
    EndpointPickerRef,
    InferencePool,
    InferencePoolSpec,
    KubeObject,
    Labels,
    LabelSelector,
    Metadata,
    ParentsStatus,
    ParentStatus,
    Part,
)


class InferenceSetSpec(Part, frozen=True):
    """`spec` of an InferenceSet."""

    replicas: int | None = None
    node_count_limit: int | None = None


class InferenceSetStatus(Conditioned, frozen=True):
    """`status` of an InferenceSet."""

    replicas: int | None = None
    ready_replicas: int | None = None


class ScalingAnnotations(Annotations, frozen=True):
    """What the scaler reads of an InferenceSet ."""

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
    """`metadata` of an InferenceSet."""

    annotations: ScalingAnnotations | None = None


class InferenceSet(KubeObject, frozen=True):
    """kaito.sh InferenceSet (v1beta1, v1alpha1)."""

    metadata: ScaledMetadata
    spec: InferenceSetSpec = InferenceSetSpec()
    status: InferenceSetStatus = InferenceSetStatus()

    @property
    def wanted(self) -> int:
        """Replicas asked for; the API's default is 1."""
        return 1 if self.spec.replicas is None else self.spec.replicas


class WorkspaceStatus(Conditioned, frozen=True):
    """`status` of a Workspace."""

    state: str | None = None
    worker_nodes: tuple[str, ...] | None = None
    target_node_count: int | None = None


class Workspace(KubeObject, frozen=True):
    """kaito.sh Workspace (v1beta1)."""

    status: WorkspaceStatus = WorkspaceStatus()


class Extension(Part, frozen=True):
    """`spec.extensionRef` of an InferencePool of the former group."""

    name: str = ""


class FormerPoolSpec(Part, frozen=True):
    """`spec` of an InferencePool of the former group: the selector has labels alone."""

    selector: Labels | None = None
    extension_ref: Extension | None = None


class FormerPoolStatus(Part, frozen=True):
    """`status` of an InferencePool of the former group."""

    parent: tuple[ParentStatus, ...] | None = None
    parents: tuple[ParentStatus, ...] | None = None


class FormerPool(KubeObject, frozen=True):
    """inference.networking.x-k8s.io/v1alpha2 InferencePool."""

    spec: FormerPoolSpec = FormerPoolSpec()
    status: FormerPoolStatus = FormerPoolStatus()

    @property
    def pool(self) -> InferencePool:
        """The same as an InferencePool of the present group."""
        spec = InferencePoolSpec(
            selector=LabelSelector(match_labels=self.spec.selector) if self.spec.selector else None,
            endpoint_picker_ref=EndpointPickerRef(name=self.spec.extension_ref.name)
            if self.spec.extension_ref
            else None,
        )
        status = ParentsStatus(parents=self.status.parent or self.status.parents)
        return InferencePool(metadata=self.metadata, spec=spec, status=status)

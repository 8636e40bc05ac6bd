"""The objects of KServe and Knative that are read.

Their types are in github.com/kserve/kserve, pkg/apis/serving/v1beta1 (v0.20.0), and in
github.com/knative/serving, pkg/apis/serving/v1.
"""

from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, field

from reporter.model.objects import (
    Annotations,
    Condition,
    Conditioned,
    KubeObject,
    Metadata,
    Part,
)


class KnativeCondition(Condition, frozen=True):
    """A condition of Knative's kind.

    Attributes:
        severity: empty for an error, which is the rule; `Info` for one that Ready does not follow.

    """

    severity: str = ""


KnativeConditions: TypeAlias = Annotated[tuple[KnativeCondition, ...], Meta(max_length=1000)]


class KnativeConditioned(Conditioned, frozen=True):
    """A status with conditions of Knative's kind."""

    conditions: KnativeConditions | None = None

    def condition(self, type_: str) -> KnativeCondition | None:
        """Return the condition of that type, None where it is not there."""
        for condition in self.conditions or ():
            if condition.type == type_:
                return condition
        return None


class Addressable(Part, frozen=True):
    """`address` of a status: where it is reached within the cluster."""

    name: str = ""
    url: str = ""
    ca_certs: str = msgspec.field(name="CACerts", default="")
    audience: str = ""


class TrafficEntry(Part, frozen=True):
    """An entry of `traffic`, in a spec or in a status.

    Attributes:
        latest_revision: whether the entry follows the newest ready revision; None where the flag
            is absent, which is not the same as True.
        percent: has no bounds in the schema; None is not 0.

    """

    configuration_name: str = ""
    revision_name: str = ""
    latest_revision: bool | None = None
    percent: int | None = None
    tag: str = ""
    url: str = ""


Traffic: TypeAlias = Annotated[tuple[TrafficEntry, ...], Meta(max_length=1000)]


class KnativeServiceSpec(Part, frozen=True):
    """`spec` of a Knative Service."""

    traffic: Traffic | None = None


class KnativeServiceStatus(KnativeConditioned, frozen=True):
    """`status` of a Knative Service."""

    observed_generation: int | None = None
    latest_created_revision_name: str = ""
    latest_ready_revision_name: str = ""
    traffic: Traffic | None = None
    url: str = ""
    address: Addressable | None = None


class KnativeService(KubeObject, frozen=True):
    """serving.knative.dev/v1 Service."""

    spec: KnativeServiceSpec = KnativeServiceSpec()
    status: KnativeServiceStatus = KnativeServiceStatus()


class KnativeRevisionStatus(KnativeConditioned, frozen=True):
    """`status` of a Revision."""


class KnativeRevision(KubeObject, frozen=True):
    """serving.knative.dev/v1 Revision."""

    status: KnativeRevisionStatus = KnativeRevisionStatus()


class WorkerSpec(Part, frozen=True):
    """`spec.predictor.workerSpec`; that it is there means several nodes for one replica."""


class StorageKey(Part, frozen=True):
    """`storage` of a model: a key of a Secret with credentials, and a path."""


class ModelSpec(Part, frozen=True):
    """`spec.predictor.model`: where it is fetched from, if it is."""

    storage_uri: str = ""
    storage: StorageKey | None = None


class ComponentSpec(Part, frozen=True):
    """`spec.predictor`, `spec.transformer` or `spec.explainer`."""

    canary_traffic_percent: int | None = None
    worker_spec: WorkerSpec | None = None
    model: ModelSpec | None = None


class CanarySpec(Part, frozen=True):
    """An entry of `spec.canary`; Standard mode."""

    name: str = ""
    traffic_percent: int | None = None


class InferenceServiceSpec(Part, frozen=True):
    """`spec` of an InferenceService."""

    predictor: ComponentSpec = ComponentSpec()
    transformer: ComponentSpec | None = None
    explainer: ComponentSpec | None = None
    canary: tuple[CanarySpec, ...] | None = None


class ComponentStatus(Part, frozen=True):
    """An entry of `status.components`."""

    latest_created_revision: str = ""
    latest_ready_revision: str = ""
    latest_rolledout_revision: str = ""
    previous_rolledout_revision: str = ""
    traffic: Traffic | None = None
    url: str = ""
    rest_url: str = ""
    grpc_url: str = ""
    address: Addressable | None = None


class ModelStates(Part, frozen=True):
    """`status.modelStatus.states`."""

    active_model_state: str = ""
    target_model_state: str = ""


class FailureInfo(Part, frozen=True):
    """`status.modelStatus.lastFailureInfo`; a later success does not clear it."""

    location: str = ""
    reason: str = ""
    message: str = ""
    model_revision_name: str = ""
    time: str | None = None
    exit_code: int | None = None


class ModelCopies(Part, frozen=True):
    """`status.modelStatus.copies`; `total_copies` counts ready pods only."""

    failed_copies: int = 0
    total_copies: int = 0


class ModelStatus(Part, frozen=True):
    """`status.modelStatus`."""

    transition_status: str = ""
    states: ModelStates | None = None
    last_failure_info: FailureInfo | None = None
    copies: ModelCopies | None = None


class CanaryStatus(Part, frozen=True):
    """An entry of `status.canaryStatuses`; Standard mode."""

    name: str = ""
    ready: bool = False
    traffic_percent: int | None = None


class InferenceServiceStatus(KnativeConditioned, frozen=True):
    """`status` of an InferenceService.

    Attributes:
        observed_generation: that of a Knative Service or a Deployment, never comparable with the
            InferenceService's own generation.

    """

    observed_generation: int | None = None
    url: str = ""
    address: Addressable | None = None
    components: dict[str, ComponentStatus] | None = None
    model_status: ModelStatus | None = None
    canary_statuses: tuple[CanaryStatus, ...] | None = None
    deployment_mode: str = ""
    serving_runtime_name: str = ""
    cluster_serving_runtime_name: str = ""


class SwitchAnnotations(Annotations, frozen=True):
    """The annotations of an InferenceService that are switches."""

    deployment_mode: str | None = field(name="serving.kserve.io/deploymentMode", default=None)
    stop: str | None = field(name="serving.kserve.io/stop", default=None)
    disable_auto_update: str | None = field(
        name="serving.kserve.io/disable-auto-update", default=None
    )


class SwitchedMetadata(Metadata, frozen=True):
    """`metadata` of an InferenceService."""

    annotations: SwitchAnnotations | None = None


class InferenceService(KubeObject, frozen=True):
    """serving.kserve.io/v1beta1 InferenceService."""

    metadata: SwitchedMetadata
    spec: InferenceServiceSpec = InferenceServiceSpec()
    status: InferenceServiceStatus = InferenceServiceStatus()

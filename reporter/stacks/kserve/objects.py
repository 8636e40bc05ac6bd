"""The objects of KServe and Knative that we read.

Their types are in github.com/kserve/kserve, pkg/apis/serving/v1beta1 (v0.20.0), and in
github.com/knative/serving, pkg/apis/serving/v1.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, field

from reporter.model.objects import Annotations, Condition, Conditioned, KubeObject, Metadata, Part

INFERENCESERVICE: Final = "serving.kserve.io/inferenceservice"
"""Label on all objects of an InferenceService; the value is its name."""

REVISION: Final = "serving.knative.dev/revision"
"""Label on the pods of a Knative revision; the value is its name."""

COMPONENT: Final = "component"
"""Label on the pods of a component; the value is its key in `spec`."""


class StatusPart(Part, frozen=True, omit_defaults=True):
    """A part of a status as Go writes it: empty fields are omitted.

    A field with a default factory has no `omitempty` in Go, and is always present.
    """


class KnativeCondition(Condition, frozen=True):
    """A condition with Knative's severity.

    Attributes:
        severity: empty for an error, which is the rule; `Info` if Ready does not depend on it.

    """

    severity: str = ""


KnativeConditions: TypeAlias = Annotated[tuple[KnativeCondition, ...], Meta(max_length=1000)]


class KnativeConditioned(Conditioned, frozen=True):
    conditions: KnativeConditions | None = None

    def condition(self, type_: str, status: str = "") -> KnativeCondition | None:
        found = super().condition(type_, status)
        return found if isinstance(found, KnativeCondition) else None


class Addressable(StatusPart, frozen=True):
    """`address` of a status: its address within the cluster."""

    name: str = ""
    url: str = ""
    ca_certs: str = field(name="CACerts", default="")
    audience: str = ""


class TrafficEntry(StatusPart, frozen=True):
    """An entry of `traffic`, in a spec or in a status.

    Attributes:
        latest_revision: whether the entry follows the newest ready revision; None if the flag is
            absent, which is not the same as True.

    """

    configuration_name: str = ""
    revision_name: str = ""
    latest_revision: bool | None = None
    percent: int | None = None  # the schema sets no bounds; None is not 0
    tag: str = ""
    url: str = ""


Traffic: TypeAlias = Annotated[tuple[TrafficEntry, ...], Meta(max_length=1000)]


class KnativeServiceStatus(KnativeConditioned, frozen=True):
    observed_generation: int | None = None
    latest_created_revision_name: str = ""
    latest_ready_revision_name: str = ""
    traffic: Traffic | None = None
    url: str = ""
    address: Addressable | None = None


class KnativeService(KubeObject, frozen=True):
    """serving.knative.dev/v1 Service."""

    status: KnativeServiceStatus = KnativeServiceStatus()


class KnativeRevision(KubeObject, frozen=True):
    """serving.knative.dev/v1 Revision."""

    status: KnativeConditioned = KnativeConditioned()


class ModelSpec(Part, frozen=True):
    storage_uri: str = ""
    storage: Part | None = None  # a key of a Secret with credentials, and a path


class ComponentSpec(Part, frozen=True):
    canary_traffic_percent: int | None = None
    worker_spec: Part | None = None  # if present, one replica spans several nodes
    model: ModelSpec | None = None


class CanarySpec(Part, frozen=True):
    """An entry of `spec.canary`; Standard mode."""

    name: str = ""
    traffic_percent: int | None = None


class InferenceServiceSpec(Part, frozen=True):
    predictor: ComponentSpec = ComponentSpec()
    transformer: ComponentSpec | None = None
    explainer: ComponentSpec | None = None
    canary: tuple[CanarySpec, ...] | None = None


class ComponentStatus(StatusPart, frozen=True):
    latest_created_revision: str = ""
    latest_ready_revision: str = ""
    latest_rolledout_revision: str = ""
    previous_rolledout_revision: str = ""
    traffic: Traffic | None = None
    url: str = ""
    rest_url: str = ""
    grpc_url: str = ""
    address: Addressable | None = None

    def serving(self, without: str = "") -> tuple[str, ...]:
        """Return the revisions that get requests except `without`, in the order of the route."""
        asked = (each.revision_name for each in self.traffic or () if (each.percent or 0) > 0)
        return tuple(each for each in dict.fromkeys(asked) if each not in ("", without))


class ModelStates(StatusPart, frozen=True):
    active_model_state: str = field(default_factory=str)
    target_model_state: str = ""


class FailureInfo(StatusPart, frozen=True):
    """`status.modelStatus.lastFailureInfo`; a later success does not clear it."""

    location: str = ""
    reason: str = ""
    message: str = ""
    model_revision_name: str = ""
    time: str | None = None
    exit_code: int | None = None


class ModelCopies(StatusPart, frozen=True):
    """`status.modelStatus.copies`; `total_copies` counts ready pods only."""

    failed_copies: int = field(default_factory=int)
    total_copies: int = 0


class ModelStatus(StatusPart, frozen=True):
    transition_status: str = field(default_factory=str)
    states: ModelStates | None = None
    last_failure_info: FailureInfo | None = None
    copies: ModelCopies | None = None


class CanaryStatus(StatusPart, frozen=True):
    """An entry of `status.canaryStatuses`; Standard mode."""

    name: str = ""
    ready: bool = field(default_factory=bool)
    traffic_percent: int | None = None


class InferenceServiceStatus(KnativeConditioned, frozen=True, omit_defaults=True):
    """`status` of an InferenceService.

    Attributes:
        observed_generation: the generation of a Knative Service or a Deployment, not comparable
            with the InferenceService's own.

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
    deployment_mode: str | None = field(name="serving.kserve.io/deploymentMode", default=None)
    stop: str | None = field(name="serving.kserve.io/stop", default=None)
    disable_auto_update: str | None = field(
        name="serving.kserve.io/disable-auto-update", default=None
    )
    autoscaler_class: str | None = field(name="serving.kserve.io/autoscalerClass", default=None)


class SwitchedMetadata(Metadata, frozen=True):
    annotations: SwitchAnnotations | None = None


class Mode(StrEnum):
    """A deployment mode, by its current name."""

    KNATIVE = "Knative"
    STANDARD = "Standard"
    MODELMESH = "ModelMesh"


_MODES: Final = {each.value: each for each in Mode} | {
    "Serverless": Mode.KNATIVE,
    "RawDeployment": Mode.STANDARD,
}
"""Current and old names."""


class InferenceService(KubeObject, frozen=True):
    """serving.kserve.io/v1beta1 InferenceService."""

    metadata: SwitchedMetadata
    spec: InferenceServiceSpec = InferenceServiceSpec()
    status: InferenceServiceStatus = InferenceServiceStatus()

    @property
    def named_mode(self) -> Mode | None:
        """The mode in the status, else in the annotation; None if neither names a known mode."""
        return _MODES.get(self.status.deployment_mode or self._switches.deployment_mode or "")

    @property
    def stopped(self) -> bool:
        """True if the stop switch is on; its value `true` is case-insensitive."""
        return (self._switches.stop or "").lower() == "true"

    @property
    def frozen(self) -> bool:
        """True if automatic updates are disabled, which KServe respects only while Ready."""
        ready = self.status.condition("Ready", "True")
        return self._switches.disable_auto_update == "true" and ready is not None

    @property
    def _switches(self) -> SwitchAnnotations:
        return self.metadata.annotations or SwitchAnnotations()


class Component(StrEnum):
    """A component, by its key in `spec` and in `status.components`, in KServe's order."""

    PREDICTOR = "predictor"
    TRANSFORMER = "transformer"
    EXPLAINER = "explainer"

    @property
    def ready(self) -> str:
        return f"{self.capitalize()}Ready"

    @property
    def route_ready(self) -> str:
        """Type of its route condition; only the explainer's is plural."""
        return f"{self.capitalize()}Route{'s' * (self is Component.EXPLAINER)}Ready"

    @property
    def configuration_ready(self) -> str:
        return f"{self.capitalize()}ConfigurationReady"


READY: Final = "Ready"
PREDICTOR_READY: Final = Component.PREDICTOR.ready
INGRESS_READY: Final = "IngressReady"
CANARY_PREDICTOR_READY: Final = "CanaryPredictorReady"


def spec_of(spec: InferenceServiceSpec, component: Component) -> ComponentSpec | None:
    found: ComponentSpec | None = getattr(spec, component.value)
    return found


def components_of(spec: InferenceServiceSpec) -> Iterator[Component]:
    """Yield the components in spec, in the order in which KServe reconciles them."""
    return (each for each in Component if spec_of(spec, each) is not None)


def wanted_deployments(spec: InferenceServiceSpec, component: Component) -> int:
    """Return the number of Deployments of a component in Standard mode: workers have their own."""
    part = spec_of(spec, component)
    return 2 if part is not None and part.worker_spec is not None else 1

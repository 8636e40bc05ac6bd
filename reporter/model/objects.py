"""The API objects we read, with just the fields we read.

Pages and watch frames are decoded straight into these structs. Field names are the API's in snake
case; lists that the API may write as `null` are optional. An object that does not fit is malformed
and skipped, so each limit here is one that no working object meets.
"""

from datetime import datetime
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct

Timestamp: TypeAlias = Annotated[datetime, Meta(tz=True)]
Labels: TypeAlias = dict[str, str]


class Part(Struct, frozen=True, gc=False, rename="camel"):
    """A part of an object; names are camel case in JSON."""


class OwnerReference(Part, frozen=True):
    """An entry of `metadata.ownerReferences`."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class Metadata(Part, frozen=True):
    """`metadata` without annotations, which are large and of use for a few kinds only."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    labels: Labels | None = None
    owner_references: tuple[OwnerReference, ...] | None = None

    def label(self, key: str) -> str | None:
        """Return the value of a label, None where it is not set."""
        return self.labels.get(key) if self.labels else None

    def owned_by(self, uid: str) -> bool:
        """Tell whether an owner reference names the object with this uid."""
        return any(owner.uid == uid for owner in self.owner_references or ())


class AnnotatedMetadata(Metadata, frozen=True):
    """`metadata` with annotations."""

    annotations: dict[str, str] | None = None

    def annotation(self, key: str) -> str | None:
        """Return the value of an annotation, None where it is not set."""
        return self.annotations.get(key) if self.annotations else None


class Condition(Part, frozen=True):
    """A condition, in the standard form.

    Attributes:
        observed_generation: text too, where the CRD is Istio's (`x-kubernetes-int-or-string`).
    """

    type: str
    status: str = "Unknown"
    reason: str | None = None
    message: str | None = None
    last_transition_time: Timestamp | None = None
    observed_generation: int | str | None = None


Conditions: TypeAlias = Annotated[tuple[Condition, ...], Meta(max_length=1000)]


class Conditioned(Part, frozen=True):
    """A status whose conditions are read."""

    conditions: Conditions | None = None

    def condition(self, type_: str) -> Condition | None:
        """Return the condition of that type, None where it is not there."""
        for condition in self.conditions or ():
            if condition.type == type_:
                return condition
        return None


class KubeObject(Part, frozen=True):
    """What all objects have; `kind` and `apiVersion` are known from the resource."""

    metadata: Metadata

    @property
    def name(self) -> str:
        """`metadata.name`."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """`metadata.namespace`, empty for cluster-scoped objects."""
        return self.metadata.namespace

    @property
    def created(self) -> datetime | None:
        """`metadata.creationTimestamp`."""
        return self.metadata.creation_timestamp

    @property
    def deleting(self) -> bool:
        """Whether the object is on its way out."""
        return self.metadata.deletion_timestamp is not None


class Namespace(KubeObject, frozen=True):
    """v1 Namespace."""


class ServicePort(Part, frozen=True):
    """An entry of `spec.ports` of a Service."""

    name: str = ""
    port: int = 0


class ServiceSpec(Part, frozen=True):
    """`spec` of a Service."""

    selector: Labels | None = None
    ports: tuple[ServicePort, ...] | None = None


class Service(KubeObject, frozen=True):
    """v1 Service."""

    spec: ServiceSpec = ServiceSpec()


class NodeSpec(Part, frozen=True):
    """`spec` of a Node."""

    unschedulable: bool | None = None


class NodeStatus(Conditioned, frozen=True):
    """`status` of a Node."""


class Node(KubeObject, frozen=True):
    """v1 Node."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Probe(Part, frozen=True):
    """A container probe; only its time budget is read."""

    initial_delay_seconds: int | None = None
    period_seconds: int | None = None
    failure_threshold: int | None = None

    @property
    def budget_seconds(self) -> int:
        """Seconds until the probe gives up, with the API's defaults of 10 s and 3 tries."""
        tries = (self.period_seconds or 10) * (self.failure_threshold or 3)
        return (self.initial_delay_seconds or 0) + tries


class ContainerPort(Part, frozen=True):
    """An entry of `ports` of a container."""

    container_port: int
    name: str = ""


class Container(Part, frozen=True):
    """A container of a pod's spec."""

    name: str
    image: str = ""
    startup_probe: Probe | None = None
    ports: tuple[ContainerPort, ...] | None = None


class PodSpec(Part, frozen=True):
    """`spec` of a Pod."""

    node_name: str | None = None
    containers: tuple[Container, ...] | None = None
    termination_grace_period_seconds: int | None = None


class Waiting(Part, frozen=True):
    """`state.waiting` of a container."""

    reason: str | None = None
    message: str | None = None


class Running(Part, frozen=True):
    """`state.running` of a container."""

    started_at: Timestamp | None = None


class Terminated(Part, frozen=True):
    """`state.terminated` or `lastState.terminated` of a container."""

    exit_code: int = 0
    reason: str | None = None
    message: str | None = None
    started_at: Timestamp | None = None
    finished_at: Timestamp | None = None


class ContainerState(Part, frozen=True):
    """`state` or `lastState` of a container; one member is set at most."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(Part, frozen=True):
    """An entry of `containerStatuses` or `initContainerStatuses`."""

    name: str
    ready: bool = False
    restart_count: int = 0
    state: ContainerState | None = None
    last_state: ContainerState | None = None


class PodStatus(Conditioned, frozen=True):
    """`status` of a Pod."""

    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    pod_ip: str | None = msgspec.field(name="podIP", default=None)
    init_container_statuses: tuple[ContainerStatus, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None


class Pod(KubeObject, frozen=True):
    """v1 Pod."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class SelectorRequirement(Part, frozen=True):
    """An entry of `matchExpressions`."""

    key: str
    operator: str
    values: tuple[str, ...] | None = None


class LabelSelector(Part, frozen=True):
    """A label selector."""

    match_labels: Labels | None = None
    match_expressions: tuple[SelectorRequirement, ...] | None = None

    def matches(self, labels: Labels | None) -> bool:
        """Tell whether an object with these labels is selected; an empty selector selects all."""
        labels = labels or {}
        if any(labels.get(key) != value for key, value in (self.match_labels or {}).items()):
            return False
        return all(_meets(labels, each) for each in self.match_expressions or ())


def _meets(labels: Labels, requirement: SelectorRequirement) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in (requirement.values or ())
        case "NotIn":
            return value is None or value not in (requirement.values or ())
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return False


class TemplateContainer(Part, frozen=True):
    """A container of a Deployment's pod template."""

    name: str
    image: str = ""
    args: tuple[str, ...] | None = None
    ports: tuple[ContainerPort, ...] | None = None


class TemplateMetadata(Part, frozen=True):
    """`metadata` of a pod template."""

    labels: Labels | None = None
    annotations: dict[str, str] | None = None


class TemplateSpec(Part, frozen=True):
    """`spec` of a pod template."""

    init_containers: tuple[TemplateContainer, ...] | None = None
    containers: tuple[TemplateContainer, ...] | None = None


class PodTemplate(Part, frozen=True):
    """`spec.template` of a Deployment."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: TemplateSpec = TemplateSpec()


class DeploymentSpec(Part, frozen=True):
    """`spec` of a Deployment."""

    replicas: int | None = None
    paused: bool | None = None
    progress_deadline_seconds: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplate = PodTemplate()


class DeploymentStatus(Conditioned, frozen=True):
    """`status` of a Deployment."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0


class Deployment(KubeObject, frozen=True):
    """apps/v1 Deployment."""

    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()

    @property
    def wanted(self) -> int:
        """Replicas asked for; the API's default is 1."""
        return 1 if self.spec.replicas is None else self.spec.replicas


class InferenceSetSpec(Part, frozen=True):
    """`spec` of an InferenceSet."""

    replicas: int | None = None
    node_count_limit: int | None = None


class InferenceSetStatus(Conditioned, frozen=True):
    """`status` of an InferenceSet."""

    replicas: int | None = None
    ready_replicas: int | None = None


class InferenceSet(KubeObject, frozen=True):
    """kaito.sh InferenceSet (v1beta1, v1alpha1)."""

    metadata: AnnotatedMetadata
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


class Workspace(KubeObject, frozen=True):
    """kaito.sh Workspace (v1beta1)."""

    metadata: AnnotatedMetadata
    status: WorkspaceStatus = WorkspaceStatus()


class ApiKeyStatus(Conditioned, frozen=True):
    """`status` of an APIKey."""

    phase: str | None = None


class ApiKey(KubeObject, frozen=True):
    """kaito.sh/v1alpha1 APIKey."""

    status: ApiKeyStatus = ApiKeyStatus()


class GatewayClassStatus(Conditioned, frozen=True):
    """`status` of a GatewayClass."""


class GatewayClass(KubeObject, frozen=True):
    """gateway.networking.k8s.io/v1 GatewayClass."""

    status: GatewayClassStatus = GatewayClassStatus()


class ListenerStatus(Conditioned, frozen=True):
    """An entry of `status.listeners` of a Gateway."""

    name: str = ""


class GatewaySpec(Part, frozen=True):
    """`spec` of a Gateway."""

    gateway_class_name: str = ""


class GatewayStatus(Conditioned, frozen=True):
    """`status` of a Gateway."""

    listeners: tuple[ListenerStatus, ...] | None = None


class Gateway(KubeObject, frozen=True):
    """gateway.networking.k8s.io/v1 Gateway."""

    spec: GatewaySpec = GatewaySpec()
    status: GatewayStatus = GatewayStatus()


class ParentReference(Part, frozen=True):
    """A route's or pool's reference to its parent; a Gateway of the same namespace by default."""

    name: str = ""
    namespace: str | None = None
    kind: str | None = None
    group: str | None = None


class ParentStatus(Conditioned, frozen=True):
    """An entry of `status.parents`."""

    parent_ref: ParentReference = ParentReference()
    controller_name: str = ""


class BackendReference(Part, frozen=True):
    """A backend of a route's rule."""

    name: str = ""
    kind: str | None = None
    group: str | None = None


class RouteRule(Part, frozen=True):
    """A rule of a route."""

    backend_refs: tuple[BackendReference, ...] | None = None


class HttpRouteSpec(Part, frozen=True):
    """`spec` of an HTTPRoute."""

    parent_refs: tuple[ParentReference, ...] | None = None
    rules: tuple[RouteRule, ...] | None = None


class ParentsStatus(Part, frozen=True):
    """A status that is kept per parent."""

    parents: tuple[ParentStatus, ...] | None = None


class HttpRoute(KubeObject, frozen=True):
    """gateway.networking.k8s.io/v1 HTTPRoute."""

    spec: HttpRouteSpec = HttpRouteSpec()
    status: ParentsStatus = ParentsStatus()


class TargetPort(Part, frozen=True):
    """An entry of `targetPorts` of an InferencePool, and the port of a reference."""

    number: int = 0


class EndpointPickerRef(Part, frozen=True):
    """`spec.endpointPickerRef` of an InferencePool."""

    name: str = ""
    port: TargetPort | None = None
    failure_mode: str | None = None


class InferencePoolSpec(Part, frozen=True):
    """`spec` of an InferencePool."""

    selector: LabelSelector | None = None
    target_ports: tuple[TargetPort, ...] | None = None
    endpoint_picker_ref: EndpointPickerRef | None = None


class InferencePool(KubeObject, frozen=True):
    """inference.networking.k8s.io/v1 InferencePool; its conditions sit under `parents`."""

    spec: InferencePoolSpec = InferencePoolSpec()
    status: ParentsStatus = ParentsStatus()


class ProviderReference(Part, frozen=True):
    """`spec.provider` of an AuthorizationPolicy."""

    name: str = ""


class AuthorizationPolicySpec(Part, frozen=True):
    """`spec` of an AuthorizationPolicy."""

    action: str | None = None
    provider: ProviderReference | None = None


class AuthorizationPolicy(KubeObject, frozen=True):
    """security.istio.io/v1 AuthorizationPolicy."""

    spec: AuthorizationPolicySpec = AuthorizationPolicySpec()


class WorkloadSelector(Part, frozen=True):
    """`spec.workloadSelector` of an EnvoyFilter."""

    labels: Labels | None = None


class ValidationMessage(Part, frozen=True):
    """An entry of Istio's `status.validationMessages`."""

    level: str | None = None
    documentation_url: str | None = None


class EnvoyFilterSpec(Part, frozen=True):
    """`spec` of an EnvoyFilter; its patches are free-form, only cluster names are sought there."""

    workload_selector: WorkloadSelector | None = None
    config_patches: tuple[object, ...] | None = None


class EnvoyFilterStatus(Conditioned, frozen=True):
    """`status` of an EnvoyFilter; empty unless Istio runs with its analysis on."""

    validation_messages: tuple[ValidationMessage, ...] | None = None


class EnvoyFilter(KubeObject, frozen=True):
    """networking.istio.io/v1alpha3 EnvoyFilter."""

    spec: EnvoyFilterSpec = EnvoyFilterSpec()
    status: EnvoyFilterStatus = EnvoyFilterStatus()


class IngressRule(Part, frozen=True):
    """An entry of `spec.ingress` of a CiliumNetworkPolicy."""

    from_endpoints: tuple[LabelSelector, ...] | None = None


class CiliumNetworkPolicySpec(Part, frozen=True):
    """`spec` of a CiliumNetworkPolicy."""

    ingress: tuple[IngressRule, ...] | None = None


class CiliumNetworkPolicy(KubeObject, frozen=True):
    """cilium.io/v2 CiliumNetworkPolicy."""

    spec: CiliumNetworkPolicySpec = CiliumNetworkPolicySpec()


class ScaledObjectStatus(Conditioned, frozen=True):
    """`status` of a ScaledObject."""


class ScaledObject(KubeObject, frozen=True):
    """keda.sh/v1alpha1 ScaledObject."""

    status: ScaledObjectStatus = ScaledObjectStatus()


class MeshConfig(Part, frozen=True):
    """`data` of Istio's ConfigMap."""

    mesh: str | None = None


class ConfigMap(KubeObject, frozen=True):
    """v1 ConfigMap `istio`."""

    data: MeshConfig | None = None


class Reference(Part, frozen=True):
    """`involvedObject` and `related` of an Event."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class EventSource(Part, frozen=True):
    """`source` of an Event."""

    component: str = ""


class Event(KubeObject, frozen=True):
    """v1 Event, as far as our own are read back."""

    metadata: AnnotatedMetadata
    involved_object: Reference = Reference()
    related: Reference | None = None
    reason: str = ""
    message: str = ""
    type: str = ""
    count: int | None = None
    source: EventSource = EventSource()
    event_time: Timestamp | None = None
    first_timestamp: Timestamp | None = None
    last_timestamp: Timestamp | None = None

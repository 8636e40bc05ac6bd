"""Kinds of the core group (Namespaces, Services, Nodes, ConfigMaps, Events), Leases, and workloads
other than Deployments.
"""

from datetime import datetime, timedelta
from typing import Final

from msgspec import field

from reporter.model.objects import base, demands
from reporter.model.objects.pods import PodTemplate, TemplateMetadata, TemplateSpec


class Namespace(base.KubeObject, frozen=True):
    """v1 Namespace."""


class ServicePort(base.Part, frozen=True):
    name: str = ""
    port: int = 0
    target_port: int | str | None = None


class ServiceSpec(base.Part, frozen=True):
    type: str = ""
    selector: base.Labels | None = None
    ports: tuple[ServicePort, ...] | None = None
    publish_not_ready_addresses: bool = False
    cluster_ip: str = field(name="clusterIP", default="")

    @property
    def is_headless(self) -> bool:
        """Whether its name leads to the addresses of its pods, not to one of its own."""
        return self.cluster_ip == "None"


class Service(base.KubeObject, frozen=True):
    spec: ServiceSpec = ServiceSpec()

    @property
    def targets_names(self) -> bool:
        """Whether all its target ports are names, which pods have to declare."""
        return all(isinstance(each.target_port, str) for each in self.spec.ports or ())


class NodeStatus(base.Conditioned, frozen=True):
    allocatable: demands.Quantities | None = None
    capacity: demands.Quantities | None = None

    @property
    def devices(self) -> dict[str, float]:
        """The allocatable devices by extended resource, such as `nvidia.com/gpu`."""
        found = self.allocatable or {}
        return {k: demands.amount(v) for k, v in found.items() if demands.is_device(k)}


class NodeSpec(base.Part, frozen=True):
    """`pod_cidrs` has one range for each IP family."""

    unschedulable: bool = False
    taints: tuple[demands.Taint, ...] | None = None
    pod_cidrs: tuple[str, ...] | None = field(name="podCIDRs", default=None)


class Node(base.KubeObject, frozen=True):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class MeshConfig(base.Part, frozen=True):
    mesh: str | None = None


class ConfigMap(base.KubeObject, frozen=True):
    data: MeshConfig | None = None


class Reference(base.Part, frozen=True):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class EventSource(base.Part, frozen=True):
    component: str = ""


class EventAnnotations(base.Annotations, frozen=True):
    since: str | None = field(name="status-reporter.io/since", default=None)
    subject: str | None = field(name="status-reporter.io/subject", default=None)
    muted: str | None = field(name="status-reporter.io/muted", default=None)
    severity: str | None = field(name="status-reporter.io/severity", default=None)


class EventMetadata(base.UnmanagedMetadata, frozen=True):
    annotations: EventAnnotations | None = None


class Event(base.KubeObject, frozen=True):
    metadata: EventMetadata
    involved_object: Reference = Reference()
    related: Reference | None = None
    reason: str = ""
    message: str = ""
    type: str = ""
    count: int | None = None
    source: EventSource = EventSource()
    event_time: base.Timestamp | None = None
    first_timestamp: base.Timestamp | None = None
    last_timestamp: base.Timestamp | None = None


class LeaseSpec(base.Part, frozen=True):
    """`holder_identity` is empty after the holder has released the Lease."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: base.Timestamp | None = None


_LATE: Final = timedelta(seconds=60)
"""How overdue a renewal may be: dumps take a while, and clocks differ."""


class Lease(base.KubeObject, frozen=True):
    """coordination.k8s.io/v1 Lease, which the leader of a controller holds."""

    spec: LeaseSpec = LeaseSpec()

    def is_held(self, now: datetime) -> bool:
        renewed, seconds = self.spec.renew_time, self.spec.lease_duration_seconds or 0
        lasts = _LATE + timedelta(seconds=min(seconds, _LATE.seconds))
        return bool(self.spec.holder_identity and renewed and now - renewed <= lasts)


class RollingStatefulSet(base.Part, frozen=True):
    partition: int | None = None


class StatefulSetStrategy(base.Part, frozen=True):
    type: str = "RollingUpdate"
    rolling_update: RollingStatefulSet | None = None


class StatefulSetSpec(base.Part, frozen=True):
    replicas: int | None = None
    selector: base.LabelSelector | None = None
    template: PodTemplate = PodTemplate()
    update_strategy: StatefulSetStrategy | None = None


class StatefulSetStatus(base.Conditioned, frozen=True):
    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int | None = None
    current_revision: str = ""
    update_revision: str = ""


class StatefulSet(base.KubeObject, frozen=True):
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()

    @property
    def wanted(self) -> int:
        """Replicas asked for; the API's default is 1."""
        return 1 if self.spec.replicas is None else self.spec.replicas


class DaemonSetStrategy(base.Part, frozen=True):
    type: str = "RollingUpdate"


class DaemonTemplateSpec(TemplateSpec, frozen=True):
    """Also the fields that decide on which nodes the pods run."""

    node_selector: dict[str, str] | None = None
    affinity: demands.Affinity | None = None
    tolerations: tuple[demands.Toleration, ...] | None = None


class DaemonTemplate(base.Part, frozen=True):
    metadata: TemplateMetadata = TemplateMetadata()
    spec: DaemonTemplateSpec = DaemonTemplateSpec()


class DaemonSetSpec(base.Part, frozen=True):
    selector: base.LabelSelector | None = None
    template: DaemonTemplate = DaemonTemplate()
    update_strategy: DaemonSetStrategy | None = None


class DaemonSetStatus(base.Conditioned, frozen=True):
    observed_generation: int = 0
    desired_number_scheduled: int = 0
    current_number_scheduled: int = 0
    number_ready: int = 0
    number_available: int = 0
    number_unavailable: int = 0
    updated_number_scheduled: int = 0


class DaemonSet(base.KubeObject, frozen=True):
    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()

    @property
    def wanted(self) -> int:
        """How many nodes should run its pod, as counted by its controller."""
        return self.status.desired_number_scheduled


class GroupTemplate(base.Part, frozen=True):
    size: int | None = None
    leader_template: PodTemplate | None = None
    worker_template: PodTemplate = PodTemplate()


class LeaderWorkerSetSpec(base.Part, frozen=True):
    replicas: int | None = None
    startup_policy: str = ""
    leader_worker_template: GroupTemplate = GroupTemplate()


class LeaderWorkerSetStatus(base.Conditioned, frozen=True):
    """`status` of a LeaderWorkerSet; replicas are groups."""

    replicas: int = 0
    ready_replicas: int = 0
    updated_replicas: int = 0


class LeaderWorkerSet(base.KubeObject, frozen=True):
    spec: LeaderWorkerSetSpec = LeaderWorkerSetSpec()
    status: LeaderWorkerSetStatus = LeaderWorkerSetStatus()

    @property
    def wanted(self) -> int:
        """Groups asked for; the API's default is 1."""
        return 1 if self.spec.replicas is None else self.spec.replicas

    @property
    def size(self) -> int:
        """Pods per group, including the leader; the API's default is 1."""
        size = self.spec.leader_worker_template.size
        return 1 if size is None else size

    @property
    def template(self) -> PodTemplate:
        group = self.spec.leader_worker_template
        return group.leader_template or group.worker_template

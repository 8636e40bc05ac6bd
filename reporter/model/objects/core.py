"""Namespaces, Services, Nodes, ConfigMaps and Events of the core group."""

from msgspec import field

from reporter.model.objects.base import (
    NOT_READ,
    Annotations,
    Conditioned,
    KubeObject,
    Labels,
    ManagerEntry,
    Metadata,
    Part,
    Timestamp,
)
from reporter.model.objects.demands import Quantities, Taint, amount, is_device


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


class NodeStatus(Conditioned, frozen=True):
    """`status` of a Node."""

    allocatable: Quantities | None = None
    capacity: Quantities | None = None

    @property
    def devices(self) -> dict[str, float]:
        """How many devices of each extended resource pods may have, such as `nvidia.com/gpu`."""
        return {k: amount(v) for k, v in (self.allocatable or {}).items() if is_device(k)}


class NodeSpec(Part, frozen=True):
    """`spec` of a Node.

    Attributes:
        unschedulable: it is cordoned.
        taints: None where it has none.
        pod_cidrs: the ranges that its pods may have addresses of, one for each family.

    """

    unschedulable: bool = False
    taints: tuple[Taint, ...] | None = None
    pod_cidrs: tuple[str, ...] | None = field(name="podCIDRs", default=None)


class Node(KubeObject, frozen=True):
    """v1 Node."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


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


class EventAnnotations(Annotations, frozen=True):
    """What our Events say of themselves."""

    since: str | None = field(name="status-reporter.io/since", default=None)
    subject: str | None = field(name="status-reporter.io/subject", default=None)
    muted: str | None = field(name="status-reporter.io/muted", default=None)
    severity: str | None = field(name="status-reporter.io/severity", default=None)


class EventMetadata(Metadata, frozen=True):
    """`metadata` of an Event; who wrote it is not read."""

    annotations: EventAnnotations | None = None
    managed_fields: tuple[ManagerEntry, ...] | None = field(name=NOT_READ, default=None)


class Event(KubeObject, frozen=True):
    """v1 Event, as far as our own are read back."""

    metadata: EventMetadata
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

"""Pods."""

import msgspec
from msgspec.structs import force_setattr

from reporter.model.objects.base import (
    NOT_READ,
    Conditioned,
    KubeObject,
    ManagerEntry,
    Metadata,
    Part,
    Timestamp,
)


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


class HttpGet(Part, frozen=True):
    """`httpGet` of a probe."""

    scheme: str = ""


class ReadinessProbe(Part, frozen=True):
    """`readinessProbe` of a container; only the scheme is read."""

    http_get: HttpGet | None = None


class ContainerPort(Part, frozen=True):
    """An entry of `ports` of a container."""

    container_port: int
    name: str = ""


class Container(Part, frozen=True):
    """A container of a pod's spec."""

    name: str
    image: str = ""
    startup_probe: Probe | None = None
    readiness_probe: ReadinessProbe | None = None
    ports: tuple[ContainerPort, ...] | None = None

    def __post_init__(self) -> None:
        """Forget a readiness probe unless it tells of TLS: thousands of pods have one."""
        if self.readiness_probe is not None and not self.serves_tls:
            force_setattr(self, "readiness_probe", None)

    @property
    def serves_tls(self) -> bool:
        """Whether the kubelet asks it by HTTPS, and so whoever reads its metrics."""
        probe = self.readiness_probe
        return bool(probe and probe.http_get and probe.http_get.scheme == "HTTPS")


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


class PodMetadata(Metadata, frozen=True):
    """`metadata` of a Pod.

    Attributes:
        deletion_grace_period_seconds: what `deletionTimestamp` includes. Whoever deletes a pod may
            ask for another time than its spec names, as `kubectl drain --grace-period` does.
        managed_fields: not read, as nothing of what is wanted of a pod can be changed.

    """

    deletion_grace_period_seconds: int | None = None
    managed_fields: tuple[ManagerEntry, ...] | None = msgspec.field(name=NOT_READ, default=None)


class Pod(KubeObject, frozen=True):
    """v1 Pod."""

    metadata: PodMetadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

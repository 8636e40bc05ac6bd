"""A pod's requirements of nodes, and the objects that decide whether they are met.

Most pods are Ready, so nobody needs to know why they do not run. `settled` keeps only what matters
to other pods: how many devices they hold, and which claims they use.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import isfinite
from typing import Final, TypeAlias

from msgspec import field

from reporter.model.objects.base import (
    Conditioned,
    KubeObject,
    LabelSelector,
    Part,
    SelectorRequirement,
    UnmanagedMetadata,
)

Quantities: TypeAlias = dict[str, str | int | float]
"""Amounts by resource, as written: `4`, `500m`, `16Gi`."""

_UNITS: Final[Mapping[str, float]] = {
    "n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
    "E": 1e18, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50,
    "Ei": 2.0**60,
}  # fmt: skip


_LARGEST: Final = 2.0**63


def amount(written: str | float | None) -> float:
    """Return the number that a quantity stands for; 0 if it is missing or invalid.

    Numbers beyond 64 bits are capped (apimachinery, pkg/api/resource/quantity.go).
    """
    return _amount(str(written or 0).strip()[:64])


@lru_cache(maxsize=4_096)
def _amount(text: str) -> float:
    number = text.rstrip("numkKMGTPEi") if not text[-1:].isdigit() else text
    try:
        found = float(number) * _UNITS[text[len(number) :]]
    except (KeyError, ValueError):
        return 0.0
    return max(-_LARGEST, min(_LARGEST, found)) if isfinite(found) else 0.0


def is_device(resource: str) -> bool:
    return "/" in resource


class ResourceRequests(Part, frozen=True):
    requests: Quantities | None = None
    limits: Quantities | None = None


class Toleration(Part, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class Taint(Part, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSelectorTerm(Part, frozen=True):
    """A term of node affinity: requires all its expressions; without any, it selects nothing."""

    match_expressions: tuple[SelectorRequirement, ...] | None = None
    match_fields: tuple[SelectorRequirement, ...] | None = None


class NodeSelector(Part, frozen=True):
    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = None


class NodeAffinity(Part, frozen=True):
    required: NodeSelector | None = field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=None
    )


class Named(Part, frozen=True):
    name: str = ""


class ClaimSource(Part, frozen=True):
    claim_name: str = ""


class Something(Part, frozen=True):
    """A value whose presence alone matters."""


class PodAffinityTerm(Part, frozen=True):
    """Which pods a pod wants near, or away; without namespaces those of its own."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] | None = None
    namespace_selector: Something | None = None


class PodAffinity(Part, frozen=True):
    required: tuple[PodAffinityTerm, ...] | None = field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=None
    )


class Affinity(Part, frozen=True):
    """`affinity` of a pod; what it only prefers is not read."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None

    @property
    def kept_away(self) -> tuple[PodAffinityTerm, ...]:
        """Which pods may not be where this one is."""
        return (self.pod_anti_affinity.required or ()) if self.pod_anti_affinity else ()


class SecurityContext(Part, frozen=True):
    """As which user a pod or a container runs; a container's comes before its pod's."""

    run_as_user: int | None = None
    fs_group: int | None = None


class Volume(Part, frozen=True):
    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Something | None = None


def total(amounts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for each in amounts:
        for name, value in each.items():
            found[name] = found.get(name, 0.0) + value
    return found


def amounts(written: Quantities | None) -> dict[str, float]:
    return {name: amount(each) for name, each in (written or {}).items()}


class ClaimSpec(Part, frozen=True):
    """`spec` of a PersistentVolumeClaim; class None means the default class."""

    volume_name: str = ""
    storage_class_name: str | None = None
    access_modes: tuple[str, ...] | None = None


class Phased(Conditioned, frozen=True):
    phase: str = ""


class PersistentVolumeClaim(KubeObject, frozen=True):
    metadata: UnmanagedMetadata
    spec: ClaimSpec = ClaimSpec()
    status: Phased = Phased()


class VolumeNodeAffinity(Part, frozen=True):
    required: NodeSelector | None = None


class VolumeDriver(Part, frozen=True):
    driver: str = ""


class VolumeSpec(Part, frozen=True):
    node_affinity: VolumeNodeAffinity | None = None
    csi: VolumeDriver | None = None


class PersistentVolume(KubeObject, frozen=True):
    spec: VolumeSpec = VolumeSpec()
    status: Phased = Phased()


class AttachmentSource(Part, frozen=True):
    persistent_volume_name: str = ""


class AttachmentSpec(Part, frozen=True):
    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = AttachmentSource()


class AttachmentError(Part, frozen=True):
    message: str = ""


class AttachmentStatus(Part, frozen=True):
    attached: bool = False
    attach_error: AttachmentError | None = None


class VolumeAttachment(KubeObject, frozen=True):
    spec: AttachmentSpec = AttachmentSpec()
    status: AttachmentStatus = AttachmentStatus()


class CsiNodeSpec(Part, frozen=True):
    """`spec` of a CSINode: the drivers registered with its kubelet."""

    drivers: tuple[Named, ...] | None = None


class CsiNode(KubeObject, frozen=True):
    spec: CsiNodeSpec = CsiNodeSpec()


class StorageClass(KubeObject, frozen=True):
    provisioner: str = ""
    volume_binding_mode: str = ""


class NodePoolSpec(Part, frozen=True):
    limits: Quantities | None = None


class NodePoolStatus(Conditioned, frozen=True):
    resources: Quantities | None = None


class NodePool(KubeObject, frozen=True):
    spec: NodePoolSpec = NodePoolSpec()
    status: NodePoolStatus = NodePoolStatus()


class NodeClaimStatus(Conditioned, frozen=True):
    node_name: str = ""


class NodeClaim(KubeObject, frozen=True):
    status: NodeClaimStatus = NodeClaimStatus()


class PodGroupSpec(Part, frozen=True):
    min_member: int | None = None
    queue: str | None = None
    min_resources: Quantities | None = None


class PodGroupStatus(Conditioned, frozen=True):
    phase: str | None = None
    running: int | None = None


class PodGroup(KubeObject, frozen=True):
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class QueueSpec(Part, frozen=True):
    capability: Quantities | None = None


class QueueStatus(Part, frozen=True):
    state: str = ""
    allocated: Quantities | None = None


class VolcanoQueue(KubeObject, frozen=True):
    spec: QueueSpec = QueueSpec()
    status: QueueStatus = QueueStatus()


class WorkloadSpec(Part, frozen=True):
    queue_name: str = ""


class AdmissionCheck(Part, frozen=True):
    """The verdict of another controller on a Kueue Workload: Pending, Ready, Retry or Rejected."""

    name: str = ""
    state: str = ""
    message: str = ""


class KueueStatus(Conditioned, frozen=True):
    admission_checks: tuple[AdmissionCheck, ...] | None = None


class KueueWorkload(KubeObject, frozen=True):
    spec: WorkloadSpec = WorkloadSpec()
    status: KueueStatus = KueueStatus()


class LocalQueueSpec(Part, frozen=True):
    cluster_queue: str = ""


class LocalQueue(KubeObject, frozen=True):
    spec: LocalQueueSpec = LocalQueueSpec()
    status: Conditioned = Conditioned()


class ClusterQueue(KubeObject, frozen=True):
    status: Conditioned = Conditioned()


class ClusterPolicyStatus(Conditioned, frozen=True):
    state: str = ""


class ClusterPolicy(KubeObject, frozen=True):
    status: ClusterPolicyStatus = ClusterPolicyStatus()

"""What a pod asks of nodes, and the objects that decide whether it gets it.

Most pods run and are Ready: nobody asks why they do not. `settled` leaves of them what others need to
know: how many devices they hold, and which claims they use.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from msgspec import field

from reporter.model.objects.base import (
    Conditioned,
    KubeObject,
    ManagerEntry,
    Metadata,
    Part,
    SelectorRequirement,
)

Quantities: TypeAlias = dict[str, str | int | float]
"""Amounts by resource, as written: `4`, `500m`, `16Gi`."""

_UNITS: Final[Mapping[str, float]] = {
    "n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
    "E": 1e18, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50,
    "Ei": 2.0**60,
}  # fmt: skip


@lru_cache(maxsize=4_096)
def amount(written: str | float | None) -> float:
    """Return the number that a quantity stands for; 0 where there is none, or it is none.

    Source: apimachinery, pkg/api/resource/quantity.go.
    """
    text = str(written or 0).strip()[:64]
    number = text.rstrip("numkMGTPEi") if not text[-1:].isdigit() else text
    try:
        return float(number) * _UNITS[text[len(number) :]]
    except (KeyError, ValueError):
        return 0.0


def is_device(resource: str) -> bool:
    """Return whether a resource is an extended one, such as `nvidia.com/gpu`."""
    return "/" in resource


class ResourceRequests(Part, frozen=True):
    """`resources` of a container or of a pod."""

    requests: Quantities | None = None
    limits: Quantities | None = None


class Toleration(Part, frozen=True):
    """An entry of `tolerations`."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class Taint(Part, frozen=True):
    """An entry of `spec.taints` of a Node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSelectorTerm(Part, frozen=True):
    """A term of node affinity: all its requirements, and it selects nothing if it has none."""

    match_expressions: tuple[SelectorRequirement, ...] | None = None
    match_fields: tuple[SelectorRequirement, ...] | None = None


class NodeSelector(Part, frozen=True):
    """Terms of which one has to hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = None


class NodeAffinity(Part, frozen=True):
    """`affinity.nodeAffinity`, as far as it is required."""

    required: NodeSelector | None = field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=None
    )


class Affinity(Part, frozen=True):
    """`affinity` of a pod; what it asks of other pods is not worked out."""

    node_affinity: NodeAffinity | None = None


class Named(Part, frozen=True):
    """Something that only has a name, such as a scheduling gate."""

    name: str = ""


class ClaimSource(Part, frozen=True):
    """`persistentVolumeClaim` of a volume."""

    claim_name: str = ""


class Something(Part, frozen=True):
    """Something of which only counts that it is there."""


class Volume(Part, frozen=True):
    """An entry of `volumes` of a pod, as far as it is a claim."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Something | None = None


def total(amounts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the sum of amounts, by resource."""
    found: dict[str, float] = {}
    for each in amounts:
        for name, value in each.items():
            found[name] = found.get(name, 0.0) + value
    return found


def amounts(written: Quantities | None) -> dict[str, float]:
    """Return quantities as numbers."""
    return {name: amount(each) for name, each in (written or {}).items()}


class UnmanagedMetadata(Metadata, frozen=True):
    """`metadata` of which who wrote it is not read."""

    managed_fields: tuple[ManagerEntry, ...] | None = field(
        name="status-reporter.io/not-read", default=None
    )


class ClaimSpec(Part, frozen=True):
    """`spec` of a PersistentVolumeClaim; a class that is not set is the default one's."""

    volume_name: str = ""
    storage_class_name: str | None = None
    access_modes: tuple[str, ...] | None = None


class Phased(Conditioned, frozen=True):
    """A status with a phase."""

    phase: str = ""


class PersistentVolumeClaim(KubeObject, frozen=True):
    """v1 PersistentVolumeClaim."""

    metadata: UnmanagedMetadata
    spec: ClaimSpec = ClaimSpec()
    status: Phased = Phased()


class VolumeNodeAffinity(Part, frozen=True):
    """`spec.nodeAffinity` of a PersistentVolume."""

    required: NodeSelector | None = None


class VolumeDriver(Part, frozen=True):
    """`spec.csi` of a PersistentVolume."""

    driver: str = ""


class VolumeSpec(Part, frozen=True):
    """`spec` of a PersistentVolume."""

    node_affinity: VolumeNodeAffinity | None = None
    csi: VolumeDriver | None = None


class PersistentVolume(KubeObject, frozen=True):
    """v1 PersistentVolume."""

    spec: VolumeSpec = VolumeSpec()
    status: Phased = Phased()


class AttachmentSource(Part, frozen=True):
    """`spec.source` of a VolumeAttachment."""

    persistent_volume_name: str = ""


class AttachmentSpec(Part, frozen=True):
    """`spec` of a VolumeAttachment."""

    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = AttachmentSource()


class AttachmentError(Part, frozen=True):
    """`status.attachError` of a VolumeAttachment."""

    message: str = ""


class AttachmentStatus(Part, frozen=True):
    """`status` of a VolumeAttachment."""

    attached: bool = False
    attach_error: AttachmentError | None = None


class VolumeAttachment(KubeObject, frozen=True):
    """storage.k8s.io/v1 VolumeAttachment."""

    spec: AttachmentSpec = AttachmentSpec()
    status: AttachmentStatus = AttachmentStatus()


class CsiNodeSpec(Part, frozen=True):
    """`spec` of a CSINode: the drivers that its kubelet knows."""

    drivers: tuple[Named, ...] | None = None


class CsiNode(KubeObject, frozen=True):
    """storage.k8s.io/v1 CSINode."""

    spec: CsiNodeSpec = CsiNodeSpec()


class StorageClass(KubeObject, frozen=True):
    """storage.k8s.io/v1 StorageClass."""

    provisioner: str = ""
    volume_binding_mode: str = ""


class NodePoolSpec(Part, frozen=True):
    """`spec` of a NodePool."""

    limits: Quantities | None = None


class NodePoolStatus(Conditioned, frozen=True):
    """`status` of a NodePool."""

    resources: Quantities | None = None


class NodePool(KubeObject, frozen=True):
    """karpenter.sh NodePool."""

    spec: NodePoolSpec = NodePoolSpec()
    status: NodePoolStatus = NodePoolStatus()


class NodeClaimStatus(Conditioned, frozen=True):
    """`status` of a NodeClaim."""

    node_name: str = ""


class NodeClaim(KubeObject, frozen=True):
    """karpenter.sh NodeClaim."""

    status: NodeClaimStatus = NodeClaimStatus()


class PodGroupSpec(Part, frozen=True):
    """`spec` of a PodGroup."""

    min_member: int | None = None
    queue: str | None = None
    min_resources: Quantities | None = None


class PodGroupStatus(Conditioned, frozen=True):
    """`status` of a PodGroup."""

    phase: str | None = None
    running: int | None = None


class PodGroup(KubeObject, frozen=True):
    """scheduling.volcano.sh/v1beta1 PodGroup."""

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class QueueSpec(Part, frozen=True):
    """`spec` of a Queue."""

    capability: Quantities | None = None


class QueueStatus(Part, frozen=True):
    """`status` of a Queue."""

    state: str = ""
    allocated: Quantities | None = None


class VolcanoQueue(KubeObject, frozen=True):
    """scheduling.volcano.sh/v1beta1 Queue."""

    spec: QueueSpec = QueueSpec()
    status: QueueStatus = QueueStatus()


class WorkloadSpec(Part, frozen=True):
    """`spec` of a Workload."""

    queue_name: str = ""


class KueueWorkload(KubeObject, frozen=True):
    """kueue.x-k8s.io Workload."""

    spec: WorkloadSpec = WorkloadSpec()
    status: Conditioned = Conditioned()


class LocalQueueSpec(Part, frozen=True):
    """`spec` of a LocalQueue."""

    cluster_queue: str = ""


class LocalQueue(KubeObject, frozen=True):
    """kueue.x-k8s.io LocalQueue."""

    spec: LocalQueueSpec = LocalQueueSpec()
    status: Conditioned = Conditioned()


class ClusterQueue(KubeObject, frozen=True):
    """kueue.x-k8s.io ClusterQueue."""

    status: Conditioned = Conditioned()


class ClusterPolicyStatus(Conditioned, frozen=True):
    """`status` of a ClusterPolicy."""

    state: str = ""


class ClusterPolicy(KubeObject, frozen=True):
    """nvidia.com/v1 ClusterPolicy of the GPU operator."""

    status: ClusterPolicyStatus = ClusterPolicyStatus()

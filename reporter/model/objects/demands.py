"""A pod's requirements of nodes, and the objects that decide whether they are met.

Most pods are Ready, so nobody needs to know why they do not run. `settled` keeps only what matters
to other pods: how many devices they hold, and which claims they use.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import isfinite
from typing import Final, TypeAlias

from msgspec import field

from reporter.model.objects import base

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


class ResourceRequests(base.Part, frozen=True):
    requests: Quantities | None = None
    limits: Quantities | None = None


class Toleration(base.Part, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class Taint(base.Part, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSelectorTerm(base.Part, frozen=True):
    """A term of node affinity: requires all its expressions; without any, it selects nothing."""

    match_expressions: tuple[base.SelectorRequirement, ...] | None = None
    match_fields: tuple[base.SelectorRequirement, ...] | None = None


class NodeSelector(base.Part, frozen=True):
    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = None


class NodeAffinity(base.Part, frozen=True):
    required: NodeSelector | None = field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=None
    )


class Named(base.Part, frozen=True):
    name: str = ""


class ClaimSource(base.Part, frozen=True):
    claim_name: str = ""


class Something(base.Part, frozen=True):
    """A value whose presence alone matters."""


class PodAffinityTerm(base.Part, frozen=True):
    """Which pods a pod wants near, or away; without namespaces those of its own."""

    topology_key: str = ""
    label_selector: base.LabelSelector | None = None
    namespaces: tuple[str, ...] | None = None
    namespace_selector: Something | None = None


class PodAffinity(base.Part, frozen=True):
    required: tuple[PodAffinityTerm, ...] | None = field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=None
    )


class Affinity(base.Part, frozen=True):
    """`affinity` of a pod; what it only prefers is not read."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None

    @property
    def kept_away(self) -> tuple[PodAffinityTerm, ...]:
        """Which pods may not be where this one is."""
        return (self.pod_anti_affinity.required or ()) if self.pod_anti_affinity else ()


class SecurityContext(base.Part, frozen=True):
    """As which user a pod or a container runs; a container's comes before its pod's."""

    run_as_user: int | None = None
    fs_group: int | None = None


class Volume(base.Part, frozen=True):
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


class ClaimSpec(base.Part, frozen=True):
    """`spec` of a PersistentVolumeClaim; class None means the default class."""

    volume_name: str = ""
    storage_class_name: str | None = None
    access_modes: tuple[str, ...] | None = None


class Phased(base.Conditioned, frozen=True):
    phase: str = ""


class PersistentVolumeClaim(base.KubeObject, frozen=True):
    metadata: base.UnmanagedMetadata
    spec: ClaimSpec = ClaimSpec()
    status: Phased = Phased()


class VolumeNodeAffinity(base.Part, frozen=True):
    required: NodeSelector | None = None


class VolumeDriver(base.Part, frozen=True):
    driver: str = ""


class VolumeSpec(base.Part, frozen=True):
    node_affinity: VolumeNodeAffinity | None = None
    csi: VolumeDriver | None = None


class PersistentVolume(base.KubeObject, frozen=True):
    spec: VolumeSpec = VolumeSpec()
    status: Phased = Phased()


class AttachmentSource(base.Part, frozen=True):
    persistent_volume_name: str = ""


class AttachmentSpec(base.Part, frozen=True):
    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = AttachmentSource()


class AttachmentError(base.Part, frozen=True):
    message: str = ""


class AttachmentStatus(base.Part, frozen=True):
    attached: bool = False
    attach_error: AttachmentError | None = None


class VolumeAttachment(base.KubeObject, frozen=True):
    spec: AttachmentSpec = AttachmentSpec()
    status: AttachmentStatus = AttachmentStatus()


class CsiNodeSpec(base.Part, frozen=True):
    """`spec` of a CSINode: the drivers registered with its kubelet."""

    drivers: tuple[Named, ...] | None = None


class CsiNode(base.KubeObject, frozen=True):
    spec: CsiNodeSpec = CsiNodeSpec()


class StorageClass(base.KubeObject, frozen=True):
    provisioner: str = ""
    volume_binding_mode: str = ""


class NodePoolSpec(base.Part, frozen=True):
    limits: Quantities | None = None


class NodePoolStatus(base.Conditioned, frozen=True):
    resources: Quantities | None = None


class NodePool(base.KubeObject, frozen=True):
    spec: NodePoolSpec = NodePoolSpec()
    status: NodePoolStatus = NodePoolStatus()


class NodeClaimStatus(base.Conditioned, frozen=True):
    node_name: str = ""


class NodeClaim(base.KubeObject, frozen=True):
    status: NodeClaimStatus = NodeClaimStatus()


class PodGroupSpec(base.Part, frozen=True):
    min_member: int | None = None
    queue: str | None = None
    min_resources: Quantities | None = None


class PodGroupStatus(base.Conditioned, frozen=True):
    phase: str | None = None
    running: int | None = None


class PodGroup(base.KubeObject, frozen=True):
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class QueueSpec(base.Part, frozen=True):
    capability: Quantities | None = None


class QueueStatus(base.Part, frozen=True):
    state: str = ""
    allocated: Quantities | None = None


class VolcanoQueue(base.KubeObject, frozen=True):
    spec: QueueSpec = QueueSpec()
    status: QueueStatus = QueueStatus()


class WorkloadSpec(base.Part, frozen=True):
    queue_name: str = ""


class AdmissionCheck(base.Part, frozen=True):
    """The verdict of another controller on a Kueue Workload: Pending, Ready, Retry or Rejected."""

    name: str = ""
    state: str = ""
    message: str = ""


class KueueStatus(base.Conditioned, frozen=True):
    admission_checks: tuple[AdmissionCheck, ...] | None = None


class KueueWorkload(base.KubeObject, frozen=True):
    spec: WorkloadSpec = WorkloadSpec()
    status: KueueStatus = KueueStatus()


class LocalQueueSpec(base.Part, frozen=True):
    cluster_queue: str = ""


class LocalQueue(base.KubeObject, frozen=True):
    spec: LocalQueueSpec = LocalQueueSpec()
    status: base.Conditioned = base.Conditioned()


class ClusterQueue(base.KubeObject, frozen=True):
    status: base.Conditioned = base.Conditioned()


class ClusterPolicyStatus(base.Conditioned, frozen=True):
    state: str = ""


class ClusterPolicy(base.KubeObject, frozen=True):
    status: ClusterPolicyStatus = ClusterPolicyStatus()

"""What runs pods besides Deployments: StatefulSets, DaemonSets, LeaderWorkerSets; conditions of any kind."""

from reporter.model.objects.base import Conditioned, KubeObject, LabelSelector, Part
from reporter.model.objects.pods import PodTemplate


class RollingStatefulSet(Part, frozen=True):
    """`spec.updateStrategy.rollingUpdate` of a StatefulSet."""

    partition: int | None = None


class StatefulSetStrategy(Part, frozen=True):
    """`spec.updateStrategy` of a StatefulSet."""

    type: str = "RollingUpdate"
    rolling_update: RollingStatefulSet | None = None


class StatefulSetSpec(Part, frozen=True):
    """`spec` of a StatefulSet."""

    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplate = PodTemplate()
    update_strategy: StatefulSetStrategy | None = None


class StatefulSetStatus(Conditioned, frozen=True):
    """`status` of a StatefulSet."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int | None = None
    current_revision: str = ""
    update_revision: str = ""


class StatefulSet(KubeObject, frozen=True):
    """apps/v1 StatefulSet."""

    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()

    @property
    def wanted(self) -> int:
        """Replicas asked for; the API's default is 1."""
        return 1 if self.spec.replicas is None else self.spec.replicas


class DaemonSetStrategy(Part, frozen=True):
    """`spec.updateStrategy` of a DaemonSet."""

    type: str = "RollingUpdate"


class DaemonSetSpec(Part, frozen=True):
    """`spec` of a DaemonSet."""

    selector: LabelSelector | None = None
    update_strategy: DaemonSetStrategy | None = None


class DaemonSetStatus(Conditioned, frozen=True):
    """`status` of a DaemonSet."""

    observed_generation: int = 0
    desired_number_scheduled: int = 0
    current_number_scheduled: int = 0
    number_ready: int = 0
    number_available: int = 0
    number_unavailable: int = 0
    updated_number_scheduled: int = 0


class DaemonSet(KubeObject, frozen=True):
    """apps/v1 DaemonSet."""

    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()

    @property
    def wanted(self) -> int:
        """How many nodes should run its pod, as its controller counted them."""
        return self.status.desired_number_scheduled


class GroupTemplate(Part, frozen=True):
    """`spec.leaderWorkerTemplate` of a LeaderWorkerSet."""

    size: int | None = None
    leader_template: PodTemplate | None = None
    worker_template: PodTemplate = PodTemplate()


class LeaderWorkerSetSpec(Part, frozen=True):
    """`spec` of a LeaderWorkerSet."""

    replicas: int | None = None
    leader_worker_template: GroupTemplate = GroupTemplate()


class LeaderWorkerSetStatus(Conditioned, frozen=True):
    """`status` of a LeaderWorkerSet; replicas are groups."""

    replicas: int = 0
    ready_replicas: int = 0
    updated_replicas: int = 0


class LeaderWorkerSet(KubeObject, frozen=True):
    """leaderworkerset.x-k8s.io/v1 LeaderWorkerSet."""

    spec: LeaderWorkerSetSpec = LeaderWorkerSetSpec()
    status: LeaderWorkerSetStatus = LeaderWorkerSetStatus()

    @property
    def wanted(self) -> int:
        """Groups asked for; the API's default is 1."""
        return 1 if self.spec.replicas is None else self.spec.replicas

    @property
    def size(self) -> int:
        """Pods of a group, the leader included; the API's default is 1."""
        size = self.spec.leader_worker_template.size
        return 1 if size is None else size

    @property
    def template(self) -> PodTemplate:
        """The template of the pods that serve: the leaders', which the workers' stands in for."""
        group = self.spec.leader_worker_template
        return group.leader_template or group.worker_template


class ConditionedStatus(Conditioned, frozen=True):
    """`status` of an object of any kind, with what is read of conditions.

    Attributes:
        observed_generation: text too, where the CRD is Istio's (`x-kubernetes-int-or-string`).

    """

    observed_generation: int | str | None = None


class ConditionedObject(KubeObject, frozen=True):
    """An object of any kind, of which the conditions are read."""

    status: ConditionedStatus | None = None

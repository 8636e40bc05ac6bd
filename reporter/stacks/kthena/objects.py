"""The Kthena objects that are read, after github.com/volcano-sh/kthena,
pkg/apis/workload/v1alpha1, v1.0.0.

A ModelServing that Kthena's webhook would refuse is decoded and reported. The types rely only on
what the API server's own schema guarantees.
"""

import re
from typing import Final, Self, TypeAlias

from msgspec import field, structs

from reporter.model.objects import Conditioned, KubeObject, Metadata, Part

NAME_LABEL: Final = "modelserving.volcano.sh/name"
GROUP_LABEL: Final = "modelserving.volcano.sh/group-name"
ROLE_LABEL: Final = "modelserving.volcano.sh/role"
ROLE_ID_LABEL: Final = "modelserving.volcano.sh/role-id"
ENTRY_LABEL: Final = "modelserving.volcano.sh/entry"
REVISION_LABEL: Final = "modelserving.volcano.sh/revision"
ROLE_HASH_LABEL: Final = "modelserving.volcano.sh/role-template-hash"
"""Labels of the objects that make up a ModelServing."""

VOLCANO: Final = "volcano"
"""The scheduler for which Kthena creates PodGroups, and the default of `schedulerName`."""

ROLE_ROLLING_UPDATE: Final = "RoleRollingUpdate"
SERVING_GROUP_ROLLING_UPDATE: Final = "ServingGroupRollingUpdate"
"""Values of `rolloutStrategy.type`; the second is the default."""

SERVING_GROUP_RECREATE: Final = "ServingGroupRecreate"
ROLE_RECREATE: Final = "RoleRecreate"
"""Values of `recoveryPolicy`; the second is the default, and `None` is the third."""

MOST: Final = 2**31 - 1
"""The largest number of replicas, 32 bits in the API; a dump may contain larger numbers."""

_PERCENT: Final = re.compile(r"(\d{1,9})%", re.ASCII)

Template: TypeAlias = dict[str, object]
"""A pod template as raw JSON; only its images are read, the rest is compared."""


class Role(Part, frozen=True):
    """An entry of `spec.template.roles`, or of the roles in a ControllerRevision."""

    name: str = ""
    replicas: int | None = None
    worker_replicas: int | None = None
    entry_template: Template | None = None
    worker_template: Template | None = None
    max_unavailable: int | str | None = None
    partition: int | str | None = None

    @property
    def wanted(self) -> int:
        """The wanted number of instances; the API's default is 1."""
        return 1 if self.replicas is None else _count(self.replicas)

    @property
    def pods(self) -> int:
        """Pods of a complete instance: its entry pod and its workers."""
        return 1 + _count(self.worker_replicas or 0)


class GangPolicy(Part, frozen=True):
    min_role_replicas: dict[str, int] | None = None


class TopologyPolicy(Part, frozen=True):
    """How close to each other Volcano must place the pods of a group or of a role."""

    mode: str = ""
    highest_tier_allowed: int | None = None
    highest_tier_name: str = ""

    @property
    def is_hard(self) -> bool:
        """True if pods that do not fit the policy are not scheduled; the API's default."""
        return self.mode in {"", "hard"}


class NetworkTopology(TopologyPolicy, frozen=True):
    """`spec.template.networkTopology`: one policy in v0.1.0, later one per group and per role."""

    group_policy: TopologyPolicy | None = None
    role_policy: TopologyPolicy | None = None


class SpreadConstraint(Part, frozen=True):
    """An entry of `spec.topologySpreadConstraints`, which only v0.1.0 has."""

    topology_key: str = ""
    when_unsatisfiable: str = ""


class ServingGroupTemplate(Part, frozen=True):
    roles: tuple[Role, ...] | None = None
    gang_policy: GangPolicy | None = None
    gang_schedule: GangPolicy | None = None  # the former name of `gang_policy`, before v0.1.0
    network_topology: NetworkTopology | None = None


class RollingUpdate(Part, frozen=True):
    """`spec.rolloutStrategy.rollingUpdateConfiguration`."""

    max_unavailable: int | str | None = None
    max_surge: int | str | None = None
    partition: int | str | None = None


class RolloutStrategy(Part, frozen=True):
    type: str = ""
    rolling_update_configuration: RollingUpdate | None = None


class ModelServingSpec(Part, frozen=True):
    replicas: int | None = None
    scheduler_name: str | None = None
    recovery_policy: str | None = None
    rollout_strategy: RolloutStrategy | None = None
    template: ServingGroupTemplate = ServingGroupTemplate()
    topology_spread_constraints: tuple[SpreadConstraint, ...] | None = None


class RoleStatus(Part, frozen=True):
    """An entry of `status.roleStatuses`, which no release of Kthena has."""

    serving_group_name: str = ""
    role_name: str = ""
    role_id: str = field(name="roleID", default="")
    status: str = ""


class ModelServingStatus(Conditioned, frozen=True):
    """`status` of a ModelServing; zero values may be left out."""

    observed_generation: int = 0
    replicas: int = 0
    current_replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    label_selector: str = ""
    role_statuses: tuple[RoleStatus, ...] | None = None
    role_statuses_omitted: int = 0


class ManagedMetadata(Metadata, frozen=True):
    """`metadata` with all managed fields, including those of the status."""

    def __post_init__(self) -> None: ...

    def reads_as(self, other: Self) -> bool:
        """Return True if only the versions differ."""
        return self == structs.replace(other, resource_version=self.resource_version)


class ModelServing(KubeObject, frozen=True):
    """workload.serving.volcano.sh/v1alpha1 ModelServing."""

    metadata: ManagedMetadata
    spec: ModelServingSpec = ModelServingSpec()
    status: ModelServingStatus = ModelServingStatus()

    def status_manager_beside(self, own: str) -> str:
        """Return the other field manager that wrote the status last, or an empty string."""
        entries = self.metadata.managed_fields or ()
        others = [each for each in entries if each.subresource == "status" and each.manager != own]
        return max(others, key=lambda each: each.time).manager if others else ""

    @property
    def wanted(self) -> int:
        """The wanted number of ServingGroups; the API's default is 1."""
        return 1 if self.spec.replicas is None else _count(self.spec.replicas)

    @property
    def roles(self) -> tuple[Role, ...]:
        return self.spec.template.roles or ()

    @property
    def rolls_roles(self) -> bool:
        """True if an update replaces instances one by one, not whole groups."""
        strategy = self.spec.rollout_strategy
        return strategy is not None and strategy.type == ROLE_ROLLING_UPDATE

    @property
    def rolling_update(self) -> RollingUpdate:
        """`rollingUpdateConfiguration`; empty if it is not set or does not apply."""
        strategy = self.spec.rollout_strategy
        if strategy is None or self.rolls_roles:
            return RollingUpdate()
        return strategy.rolling_update_configuration or RollingUpdate()

    @property
    def surge(self) -> int:
        """How many groups may exist beyond the wanted number during a rollout."""
        return max(0, count_of(self.rolling_update.max_surge, self.wanted))


class ControllerRevision(KubeObject, frozen=True):
    """apps/v1 ControllerRevision of a ModelServing; `data` holds `{"data": [roles]}`."""

    data: object = None
    revision: int = 0


def count_of(value: int | str | None, replicas: int) -> int:
    """Return how many groups or instances a partition protects, or maxSurge adds.

    A percentage of `replicas` is rounded up. Any other text counts as 0, as in Kthena.
    """
    if isinstance(value, int):
        return value
    percent = _PERCENT.fullmatch(value or "")
    return -(-int(percent[1]) * replicas // 100) if percent else 0


def _count(number: int) -> int:
    return min(max(0, number), MOST)

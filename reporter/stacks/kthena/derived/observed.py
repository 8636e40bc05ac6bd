"""What is seen of the groups and instances of a ModelServing."""

from dataclasses import dataclass
from enum import StrEnum

from reporter.model.objects import Pod


class GroupStatus(StrEnum):
    """What a ServingGroup is doing, in Kthena's words."""

    CREATING = "Creating"
    RUNNING = "Running"
    SCALING = "Scaling"
    DELETING = "Deleting"


class InstanceStatus(StrEnum):
    """What an instance of a role is doing, in Kthena's words; the values of `roleStatuses`."""

    CREATING = "Creating"
    RUNNING = "Running"
    DELETING = "Deleting"
    NOT_FOUND = "NotFound"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceState:
    """One instance of a role in a group.

    Attributes:
        role: name of its role.
        id: its role ID, such as `prefill-0`.
        ordinal: the number at the end of its ID; -1 if there is none.
        status: what it is doing.
        expected: pods that make it complete.
        pods: its pods, terminating ones too, by name.
        listed: whether `roleStatuses` shows it: its role is one that its group should have.
        outdated: whether it is known to be of an older template; only looked at where an update
            replaces instances one by one (RoleRollingUpdate).
        protected: the partition of its role keeps it from being updated then.
        row: the row of `instances` that decided.

    """

    role: str
    id: str
    ordinal: int
    status: InstanceStatus
    expected: int
    pods: tuple[Pod, ...] = ()
    listed: bool = True
    outdated: bool = False
    protected: bool = False
    row: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """One ServingGroup of which something exists.

    Attributes:
        name: its name, such as `m-0`.
        ordinal: the number at the end of its name; -1 if there is none.
        status: what it is doing.
        revision: the revision it is on by the labels of its pods, an older one where they differ;
            empty while it has no pods.
        updated: it is known to be on the update revision.
        outdated: it is known to be on an older one. Neither is known of a group without pods, or
            while no ControllerRevision says what the revision of its pods is.
        protected: partition keeps it (or all its outdated instances) from being updated.
        instances: in the order of the roles it should have, then other roles by name, and by
            ordinal. Those that are still to be created are among them as NotFound; of a very large
            number only the first.
        absent: how many more are to be created than `instances` shows.
        row: the row of `groups` that decided.

    """

    name: str
    ordinal: int
    status: GroupStatus
    revision: str = ""
    updated: bool = False
    outdated: bool = False
    protected: bool = False
    instances: tuple[InstanceState, ...] = ()
    absent: int = 0
    row: str = ""

    @property
    def available(self) -> bool:
        """Whether it is complete and serves."""
        return self.status is GroupStatus.RUNNING

    @property
    def progressing(self) -> bool:
        """Whether it is being made, changed or removed."""
        return not self.available

    @property
    def deleting(self) -> bool:
        """Whether it is being removed as a whole."""
        return self.status is GroupStatus.DELETING

    @property
    def awaits_update(self) -> bool:
        """Whether the update has still to replace it, or some of its instances."""
        return self.outdated and not self.protected

"""The table of faults."""

from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final

from e2e.chaos import bounds, deletions, network, permissions, processes, servers
from e2e.chaos.cluster import Cluster
from e2e.chaos.form import Form


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong around the reporter, and what is promised in that case.

    Attributes:
        name: on the command line.
        text: what is done.
        lasting: starts the fault when entered and undoes it when left.
        seconds: how long it lasts, and in the short form; None if recovery takes too long for that.
        bound: seconds until all is reported again, from the form and the seconds it lasted.
        reached: an admin can write while it lasts, so faults of the stack come and go meanwhile.
        takes_over: the other replica must continue while it lasts: recovery counts from its start.
        allowed: reasons of Warnings that may be reported although nothing of the stack is wrong.
        moves_clock: it needs a first replica whose clock can be set.
    """

    name: str
    text: str
    lasting: Callable[[Cluster], AbstractAsyncContextManager[None]]
    seconds: tuple[float, float | None]
    bound: Callable[[Form, float], float]
    reached: bool = True
    takes_over: bool = False
    allowed: Collection[str] = ()
    moves_clock: bool = False

    def lasts(self, form: Form) -> float:
        """Return how long it lasts, in seconds."""
        return self.seconds[form.short] or 0.0


_UNKNOWN: Final = ("clusterStatusUnknown",)

FAULTS: Final = (
    Fault(
        "api-server-killed", "API server SIGKILLed, and started again",
        servers.api_server_killed, (15, 3), bounds.restarting, reached=False,
    ),
    Fault(
        "etcd-stopped", "etcd stopped, and started again",
        servers.etcd_stopped, (15, 3), bounds.restarting, reached=False,
    ),
    Fault(
        "restored", "cluster restored from an older copy of etcd",
        servers.restored, (0, 0), bounds.restarting, reached=False,
    ),
    Fault(
        "connections-cut", "all connections reset, again and again",
        network.cut_repeatedly, (15, 4), bounds.reconnecting,
    ),
    Fault(
        "connections-refused", "connections reset and new ones refused",
        network.refused, (15, 4), bounds.reconnecting,
    ),
    Fault(
        "connections-stranded", "open connections hang for good, new ones pass",
        network.stranded, (0, None), bounds.idling,
    ),
    Fault(
        "both-partitioned", "both replicas partitioned from the API server: packets dropped",
        network.both_partitioned, (25, 7), bounds.reconnecting,
    ),
    Fault(
        "leader-partitioned", "the leader partitioned from the API server only",
        network.leader_partitioned, (25, 8), bounds.takeover, takes_over=True,
    ),
    Fault(
        "leader-killed", "the leader SIGKILLed",
        processes.leader_killed, (20, 5), bounds.takeover, takes_over=True,
    ),
    Fault(
        "leader-paused", "the leader SIGSTOPped past its lease, and continued",
        processes.leader_paused, (25, 8), bounds.takeover, takes_over=True,
    ),
    Fault(
        "throttled", "429 for every request of the reporter (priority and fairness)",
        permissions.throttled, (20, 4), bounds.reconnecting,
    ),
    Fault(
        "reading-forbidden", "the ClusterRoleBinding deleted, and created again",
        permissions.reading_forbidden, (20, 4), bounds.reconnecting, allowed=_UNKNOWN,
    ),
    Fault(
        "events-forbidden", "Events taken out of the Role, and given back",
        permissions.events_forbidden, (20, 4), bounds.refused, allowed=_UNKNOWN,
    ),
    Fault(
        "crds-deleted", "two CRDs deleted with their objects, and both created again",
        deletions.crds_deleted, (20, 4), bounds.rediscovering,
    ),
    Fault(
        "events-deleted", "the reporter's Events deleted by somebody",
        deletions.events_deleted, (0, 0), bounds.refreshing,
    ),
    Fault(
        "lease-deleted", "the Lease deleted by somebody",
        deletions.lease_deleted, (0, 0), bounds.takeover,
    ),
    Fault(
        "clock-ahead", "the leader's clock moved +1 h, and back",
        processes.clock_ahead, (20, 4), bounds.telling, moves_clock=True,
    ),
    Fault(
        "clock-behind", "the leader's clock moved -1 h, and back",
        processes.clock_behind, (20, 4), bounds.telling, moves_clock=True,
    ),
)  # fmt: skip
"""All faults, in the order of the printed table."""

BY_NAME: Final = {fault.name: fault for fault in FAULTS}

SHORT_FAULTS: Final = tuple(fault for fault in FAULTS if fault.seconds[1] is not None)
"""The faults of the short form."""

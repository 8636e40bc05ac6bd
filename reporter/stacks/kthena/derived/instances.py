"""The status of an instance of a role, as a table: the first row that holds decides.

The rows are those of the table of instances in docs/modelserving.md, "States". What Kthena's
controller itself holds is in its memory and not in the cluster (github.com/volcano-sh/kthena,
pkg/model-serving-controller/datastore/store.go, v1.0.0); the table says what can be seen from
outside.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from reporter.model.objects import Pod
from reporter.stacks.kthena.derived.observed import InstanceStatus
from reporter.stacks.kthena.derived.parts import InstanceParts
from reporter.workload.pod import had_been_ready, is_ready

_RUNNING: Final = "Running"
_RESTARTABLE: Final = frozenset({_RUNNING, "Pending"})


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceFacts:
    """What the table asks about an instance.

    Attributes:
        pods: n: its pods.
        terminating: t: those that are being deleted.
        ready: r: those that are ready.
        expected: e: what makes it complete.
        failed: some pod has failed.
        restarted: some pod is not ready and has a container that was restarted.
        was_ready: some pod is not ready any more.
        service: it has a Service that stays.
        service_terminating: all Services that it has are being deleted.
        to_create: the controller creates it next.
        removed: its role is not one that its group should have.

    """

    pods: int = 0
    terminating: int = 0
    ready: int = 0
    expected: int = 0
    failed: bool = False
    restarted: bool = False
    was_ready: bool = False
    service: bool = False
    service_terminating: bool = False
    to_create: bool = False
    removed: bool = False

    @property
    def is_nothing(self) -> bool:
        """Whether neither a pod nor a Service of it exists."""
        return self.pods == 0 and not self.service and not self.service_terminating


@dataclass(frozen=True, slots=True)
class InstanceRow:
    """A row of the table: None as status means that there is no entry."""

    name: str
    holds: Callable[[InstanceFacts], bool]
    status: InstanceStatus | None


ROWS: Final = (
    InstanceRow("I2", lambda f: f.removed and f.terminating > 0, InstanceStatus.DELETING),
    InstanceRow("I3", lambda f: f.is_nothing and f.to_create, InstanceStatus.NOT_FOUND),
    InstanceRow("I4", lambda f: f.is_nothing, None),
    InstanceRow("I5", lambda f: f.pods == 0 and f.service_terminating, InstanceStatus.DELETING),
    InstanceRow("I6", lambda f: f.pods == 0, InstanceStatus.CREATING),
    InstanceRow("I7", lambda f: f.terminating == f.pods, InstanceStatus.DELETING),
    InstanceRow("I8", lambda f: f.terminating > 0, InstanceStatus.CREATING),
    InstanceRow("I9", lambda f: f.failed, InstanceStatus.CREATING),
    InstanceRow("I10", lambda f: f.restarted, InstanceStatus.CREATING),
    InstanceRow("I11", lambda f: f.ready == f.expected, InstanceStatus.RUNNING),
    InstanceRow("I12", lambda f: f.ready > f.expected, InstanceStatus.CREATING),
    InstanceRow("I13", lambda f: f.pods < f.expected, InstanceStatus.CREATING),
    InstanceRow("I14", lambda f: f.was_ready, InstanceStatus.CREATING),
    InstanceRow("I15", lambda _: True, InstanceStatus.CREATING),
)
"""The first row that holds decides. Neither the revision of an instance nor its ordinal matters.

Row I1 (the group is being deleted) is applied where `roleStatuses` is written, and so is the rule
that an instance of row I2 is not shown. Row I14 differs from the controller on purpose: lost
readiness counts at once here, while the controller takes no notice of it. Row I3 asks what the
controller creates next, not for the ordinal alone: where 2 are wanted and 0 and 2 exist, the
controller never creates 1.
"""


def decide(facts: InstanceFacts) -> InstanceRow:
    """Return the first row that holds for an instance."""
    return next(row for row in ROWS if row.holds(facts))


def facts_about(parts: InstanceParts, *, expected: int, removed: bool) -> InstanceFacts:
    """Return what the table asks about an instance of which something exists."""
    pods = parts.pods
    ready = [_ready(pod) for pod in pods]
    unready = [pod for pod, is_it in zip(pods, ready, strict=True) if not is_it]
    service = any(not each.deleting for each in parts.services)
    return InstanceFacts(
        pods=len(pods),
        terminating=sum(pod.deleting for pod in pods),
        ready=sum(ready),
        expected=expected,
        failed=any(pod.status.phase == "Failed" for pod in unready),
        restarted=any(_restarted(pod) for pod in unready),
        was_ready=any(had_been_ready(pod) for pod in unready),
        service=service,
        service_terminating=bool(parts.services) and not service,
        removed=removed,
    )


def _ready(pod: Pod) -> bool:
    return pod.status.phase == _RUNNING and is_ready(pod)


def _restarted(pod: Pod) -> bool:
    status = pod.status
    return status.phase in _RESTARTABLE and any(
        each.restart_count > 0
        for each in (*(status.init_container_statuses or ()), *(status.container_statuses or ()))
    )

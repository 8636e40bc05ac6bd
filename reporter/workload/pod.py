"""Faults of a pod, judged from its own status and its node.

There is no clock here: a state that may legitimately last for a while is a fault with a `budget`,
and the resolution decides from `transition` when the budget is used up.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from reporter.catalogue.resources import NODES
from reporter.diagnosis.case import CRASH_LOOP, Case, ending, is_error, statuses
from reporter.diagnosis.containers import OF_IMAGES, OF_START, of_container, of_its_log
from reporter.diagnosis.fit import some
from reporter.diagnosis.pod import UNSEEN_BUDGET, diagnose, has_started, recreated
from reporter.model.finding import Diagnosis, Fails, Sureness
from reporter.model.objects import ContainerStatus, Node, Pod, Terminated
from reporter.model.text import clean, cut, detail
from reporter.snapshot.snapshot import Snapshot
from reporter.snapshot.table import Table
from reporter.workload.node import waited_for

TERMINATION_SLACK: Final = timedelta(seconds=60)
"""How long a pod may stay after its deletionTimestamp, which includes its grace period."""

_GRACE_PERIOD_SECONDS: Final = 30
"""The API's default of `spec.terminationGracePeriodSeconds`."""

_LONGEST: Final = timedelta(days=10 * 365)
"""The API accepts longer budgets and grace periods, but those are typos."""

_ZERO_YEAR: Final = 1970
"""Unset times are in this year or in year 1; nothing can be subtracted from the latter."""

_NAME_BYTES: Final = 253
_CAUSE_BYTES: Final = 80
_DETAIL_BYTES: Final = 300
_CAUSE_TEXT_BYTES: Final = 480
_SAME_SYNC: Final = timedelta(seconds=1)

SET_UP_BUDGET: Final = timedelta(minutes=5)
"""How long the kubelet may take to mount volumes and set up the sandbox with its network.

Attaching a volume takes a minute or two; images and models are fetched later.
"""

NODE_LOST: Final = 60
CRASHED: Final = 50
ENDED: Final = 45
NOT_STARTED: Final = 40
NO_LONGER_READY: Final = 30
UNSCHEDULABLE: Final = 25
NOT_TERMINATED: Final = 20
NOT_SET_UP: Final = 15
STARTING: Final = 10
"""Severities, from the fault that explains most to the one that may not be a fault."""

_OF_CONTAINERS: Final = frozenset({CRASHED, ENDED, NOT_STARTED, NO_LONGER_READY, STARTING})

_EXEMPT_WAITING: Final = frozenset({CRASH_LOOP, "ErrImageNeverPull", "InvalidImageName"})
_WAITING: Final = _EXEMPT_WAITING | OF_IMAGES | OF_START | {
    "ConfigPodSandboxError", "CreatePodSandboxError", "KillContainerError", "PreCreateHookError",
    "PreStartHookError",
}  # fmt: skip
"""Waiting reasons that are errors; all others, including unknown ones, count as progress."""

_OF_IMAGES: Final = frozenset({"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"})
_PASSING: Final = frozenset({"ImagePullBackOff", "RunContainerError", "PostStartHookError"})
"""States that alternate with others: the kubelet pulls again after ImagePullBackOff, and a
container that ends or cannot run waits in CrashLoopBackOff until the next try. The other state,
which says more, is reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFault:
    """One fault of one pod.

    `cause` is a few words, such as `ImagePullBackOff`; `detail` is one clean, bounded line without
    the pod's own name. Larger `severity` is worse and explains more. `exempt` fires at once,
    whatever the grace. `budget` is the time that it may legitimately last from `transition`, or
    from the pod's creation if that is None; without a budget, the grace of its reason counts.
    `container` is the container at fault; `init_container` is its name as in `detail`. `part` is
    the part of the pod that alternates between this and other states, such as the image of a
    container; `passing`: one of the other states says more. `node` is the node that is the cause:
    the pod is on it or waits for it.
    """

    cause: str
    detail: str
    severity: int
    exempt: bool = False
    transition: datetime | None = None
    budget: timedelta | None = None
    init_container: str = ""
    part: str = ""
    passing: bool = False
    node: str = ""
    container: str = ""
    diagnosis: Diagnosis | None = None
    fails: Fails = Fails.OTHERWISE

    @property
    def of_containers(self) -> bool:
        """Whether it ends only when the pod is Ready or gone.

        A container that crashed and runs again has not recovered. A pod that was unschedulable, or
        whose node was lost, has recovered once that is over.
        """
        return self.severity in _OF_CONTAINERS


def is_ready(pod: Pod) -> bool:
    return pod.is_ready


def counts(pod: Pod) -> bool:
    """Tell whether the pod is a replica.

    A terminating pod is not, nor is a pod in a terminal phase, such as the leftover of an eviction.
    """
    return not pod.deleting and not pod.ended


def had_been_ready(pod: Pod) -> bool:
    """Tell whether the pod was Ready earlier and is not any more.

    The kubelet sets Ready=False when it first sees a pod, and Initialized=True in the same sync or,
    with init containers, later. Ready can become True only after Initialized, and both times change
    with the status only. So a Ready=False that is younger than Initialized=True was True in
    between. The times have whole seconds; a difference of one may be due to rounding.
    """
    ready = pod.status.condition("Ready")
    initialized = pod.status.condition("Initialized", "True")
    if ready is None or ready.status == "True" or initialized is None:
        return False
    if ready.last_transition_time is None or initialized.last_transition_time is None:
        return False
    return ready.last_transition_time - initialized.last_transition_time > _SAME_SYNC


def judge_pod(pod: Pod, snapshot: Snapshot, *, startup_budget: timedelta) -> PodFault | None:
    """Return the result of `fault_of`, with its diagnosis."""
    fault = fault_of(pod, nodes=nodes_of(pod, snapshot), startup_budget=startup_budget)
    return None if fault is None else _diagnosed(pod, fault, snapshot)


def nodes_of(pod: Pod, snapshot: Snapshot) -> Table[Node] | None:
    """Return the nodes, or None if the pod's node may exist without being among them."""
    known = snapshot.absence_known(NODES, name=pod.spec.node_name or "")
    return snapshot[NODES] if known else None


def _diagnosed(pod: Pod, fault: PodFault, snapshot: Snapshot) -> PodFault:
    if fault.severity in {NODE_LOST, NOT_TERMINATED}:
        # The log of a pod on a lost node cannot be read.
        lost = fault.severity == NODE_LOST
        return replace(fault, fails=Fails.WAITING if lost else Fails.UNREADY)
    fault = replace(fault, fails=_way(pod, fault))
    if fault.severity == STARTING and (loop := recreated(pod, snapshot)) is not None:
        # It starts, just as its predecessor did.
        fault = replace(fault, severity=ENDED, budget=None)
        return _by(pod, fault, diagnose(pod, snapshot) or loop)
    diagnosis = diagnose(pod, snapshot, fault.container)
    if diagnosis is not None and diagnosis.code == "no-scheduler":
        fault = replace(fault, severity=UNSCHEDULABLE, budget=UNSEEN_BUDGET)
    if diagnosis is not None:
        return _by(pod, fault, diagnosis)
    status = next((each for each in statuses(pod) if each.name == fault.container), None)
    more = of_its_log(Case(pod, snapshot), status) if status is not None else ""
    return replace(fault, detail=f"{cut(fault.detail, _DETAIL_BYTES)}{more}") if more else fault


def _way(pod: Pod, fault: PodFault) -> Fails:
    if not has_started(pod):
        return Fails.WAITING if pod.spec.node_name else Fails.UNSCHEDULED
    again = any(each.restart_count > 0 for each in statuses(pod))
    return Fails.CRASHING if again and fault.severity in {CRASHED, ENDED} else Fails.UNREADY


def why_ended(
    pod: Pod, status: ContainerStatus, snapshot: Snapshot, *, otherwise: str
) -> tuple[str, Diagnosis | None]:
    """Return the rest of a message about a container that ended: its cause, or `otherwise`."""
    case = Case(pod, snapshot)
    found = of_container(case, status)
    if found is not None:
        return f": {cut(clean(found.sentence), _CAUSE_TEXT_BYTES)}", found
    return otherwise + of_its_log(case, status), None


def _by(pod: Pod, fault: PodFault, diagnosis: Diagnosis) -> PodFault:
    # A pod on a node does not wait for it: its trouble there need not affect others.
    sure = diagnosis.sureness is Sureness.CERTAIN and not pod.spec.node_name
    waits = diagnosis.object if sure else None
    node = waits.name if waits is not None and waits.kind == NODES.kind else ""
    return replace(
        fault,
        detail=cut(clean(diagnosis.sentence), _CAUSE_TEXT_BYTES),
        node=fault.node or node,
        diagnosis=diagnosis,
    )


def fault_of(pod: Pod, *, nodes: Table[Node] | None, startup_budget: timedelta) -> PodFault | None:
    """Return the worst fault of a pod by its own status; None if Ready or in a terminal phase.

    `nodes` are all nodes of the cluster, or None if they are unknown, so that a node which is not
    among them does not count as gone. A pod that was never Ready may take `startup_budget`, unless
    a startup probe of its containers sets a time.
    """
    if pod.ended and not pod.deleting:
        return None
    if lost := _lost_node(pod, nodes):
        return lost
    if pod.deleting:
        return _terminating(pod)
    if is_ready(pod):
        return None
    container = max(_container_faults(pod), key=_worst, default=None)
    found = container or _unschedulable(pod, nodes)
    return found or _since_its_node_is_back(_not_ready(pod, startup_budget), pod, nodes)


def asked_to_end(pod: Pod) -> datetime | None:
    """Return when deletion was requested, or None."""
    ends = pod.metadata.deletion_timestamp
    if ends is None or ends.year <= _ZERO_YEAR:
        return ends
    return ends - _termination_grace(pod)


def _termination_grace(pod: Pod) -> timedelta:
    """Return the grace period of the deletion request, or else that of the spec."""
    asked = pod.metadata.deletion_grace_period_seconds
    seconds = pod.spec.termination_grace_period_seconds if asked is None else asked
    return _bounded(_GRACE_PERIOD_SECONDS if seconds is None else seconds)


def _bounded(seconds: int) -> timedelta:
    return timedelta(seconds=min(max(0, seconds), _LONGEST // timedelta(seconds=1)))


def _terminating(pod: Pod) -> PodFault:
    # A future time counts from now, so the grace period is part of the budget.
    text, began = f"does not terminate{_on_node(pod)}{kept(pod)}", asked_to_end(pod)
    budget = _termination_grace(pod) + TERMINATION_SLACK
    return _fault("terminating", text, NOT_TERMINATED, transition=began, budget=budget)


def judge_ended(pod: Pod, snapshot: Snapshot) -> PodFault | None:
    """Return why a pod in phase Failed ended; None for any other pod.

    It is not a fault by itself, as the replacement of an evicted pod may run. It explains a missing
    replica.
    """
    if pod.status.phase != "Failed":
        return None
    ended = max(_container_faults(pod), key=_worst, default=None)
    reason = pod.status.reason or (ended.cause if ended else "Failed")
    text = detail(reason, pod.status.message, _DETAIL_BYTES)
    fault = _fault(reason, text, ENDED, transition=ended.transition if ended else None)
    return _diagnosed(pod, replace(fault, container=ended.container if ended else ""), snapshot)


def startup_time(pod: Pod, default: timedelta) -> timedelta:
    """Return how long a start may take: the longest startup probe, or `default` without one."""
    probes = [each.startup_probe for each in pod.spec.containers or () if each.startup_probe]
    return _bounded(max(each.budget_seconds for each in probes)) if probes else default


def _fault(
    cause: str,
    text: str,
    severity: int,
    *,
    transition: datetime | None = None,
    budget: timedelta | None = None,
) -> PodFault:
    return PodFault(
        cause=cut(clean(cause), _CAUSE_BYTES),
        detail=cut(text, _DETAIL_BYTES),
        severity=severity,
        transition=transition,
        budget=budget,
    )


def _worst(fault: PodFault) -> tuple[int, bool, str]:
    return fault.severity, fault.exempt, fault.detail


def _name(name: str) -> str:
    return cut(clean(name), _NAME_BYTES)


def _on_node(pod: Pod) -> str:
    return f" on node {_name(pod.spec.node_name)}" if pod.spec.node_name else ""


def kept(pod: Pod) -> str:
    """Return ": its finalizer x.io/y is not removed" of a pod that is being deleted, or "".

    The API server keeps a pod until it has no finalizer. While a container runs, the kubelet is not
    done either.
    """
    found = pod.metadata.finalizers
    if not found or any(each.running for each in statuses(pod)):
        return ""
    return f": its finalizer {some(found)} is not removed"


def _lost_node(pod: Pod, nodes: Table[Node] | None) -> PodFault | None:
    if nodes is None or not pod.spec.node_name:
        return None
    node = nodes.get("", pod.spec.node_name)
    ready = node.status.condition("Ready") if node else None
    if node and (ready is None or ready.status == "True"):
        return None
    doing = "terminating on" if pod.deleting else "on"
    name = _name(pod.spec.node_name)
    if ready is None:
        if not _was_placed(pod):
            return None
        gone = _fault("node gone", f"{doing} node {name}, which is gone", NODE_LOST)
        return replace(gone, node=pod.spec.node_name)
    state = "NotReady" if ready.status == "False" else "not answering"
    text = detail(ready.reason, ready.message, _DETAIL_BYTES // 2)
    words = f"{doing} node {name}, which is {state}" + (f" ({text})" if text else "")
    if pod.deleting and pod.metadata.finalizers:
        words += f", and waits for its finalizer {some(pod.metadata.finalizers)}"
    lost = _fault(f"node {state}", words, NODE_LOST, transition=ready.last_transition_time)
    return replace(lost, node=pod.spec.node_name)


def _was_placed(pod: Pod) -> bool:
    """Tell whether a pod was ever on its node: a tenant may name any node in the spec of a pod.

    The evidence is the scheduler's condition, or what only the kubelet writes: its conditions and
    the states of containers. The phase proves nothing, as the garbage collector of pods also writes
    Failed (Kubernetes, pkg/controller/podgc).
    """
    status = pod.status
    return (
        status.condition("PodScheduled", "True") is not None
        or any(status.condition(name) is not None for name in ("Initialized", "Ready"))
        or any(statuses(pod))
    )


def _container_faults(pod: Pod) -> Iterator[PodFault]:
    for status in pod.status.init_container_statuses or ():
        for fault in _container_fault("init container", status, pod):
            yield replace(fault, init_container=_name(status.name))
    for status in pod.status.container_statuses or ():
        yield from _container_fault("container", status, pod)


def _container_fault(kind: str, status: ContainerStatus, pod: Pod) -> Iterator[PodFault]:
    if status.ready:
        return
    place, waiting, ended = f"{kind} {_name(status.name)}", status.waiting, status.ended
    if waiting is not None and waiting.reason in _WAITING:
        reason = waiting.reason
        exempt = reason in _EXEMPT_WAITING
        # The kubelet's text for a crash loop has the current back-off, which changes.
        why = detail(reason, None if reason == CRASH_LOOP else waiting.message, _DETAIL_BYTES - 80)
        text = f"{place} waits in {why}{_last_end(status)}"
        severity = CRASHED if exempt else NOT_STARTED
        yield replace(
            _fault(reason, text, severity, transition=_no_longer_ready_since(pod)),
            exempt=exempt,
            part=f"image of {place}" if reason in _OF_IMAGES else place,
            passing=reason in _PASSING,
            container=status.name,
        )
    elif ended is not None and is_error(ended):
        text = f"{place} ended with {_end(ended)}"
        fault = _fault(ended.reason or "Error", text, ENDED, transition=ended.finished_at)
        yield replace(fault, part=place, passing=True, container=status.name)


def _end(ended: Terminated) -> str:
    return f"{cut(clean(ended.reason or 'Error'), _CAUSE_BYTES)}{ending(ended)}"


def _last_end(status: ContainerStatus) -> str:
    """Return how the container last ended, if with an error, or an empty string."""
    last = status.ended_before
    return f"; last ended with {_end(last)}" if last is not None and is_error(last) else ""


def _unschedulable(pod: Pod, nodes: Table[Node] | None) -> PodFault | None:
    scheduled = pod.status.condition("PodScheduled", "False")
    if scheduled is None or scheduled.reason != "Unschedulable":
        return None
    text = detail("Unschedulable", scheduled.message, _DETAIL_BYTES)
    fault = _fault("Unschedulable", text, UNSCHEDULABLE, transition=scheduled.last_transition_time)
    return replace(fault, node=waited_for(scheduled.message, nodes))


def _no_longer_ready_since(pod: Pod) -> datetime | None:
    ready = pod.status.condition("Ready")
    return ready.last_transition_time if ready is not None and had_been_ready(pod) else None


def _since_its_node_is_back(fault: PodFault, pod: Pod, nodes: Table[Node] | None) -> PodFault:
    """Start the budget of a fault when its node is back: a frozen kubelet sets nothing up."""
    began = fault.transition or pod.created
    back = began_on_its_node(pod, began, nodes)
    return fault if fault.budget is None or back == began else replace(fault, transition=back)


def began_on_its_node(
    pod: Pod, began: datetime | None, nodes: Table[Node] | None
) -> datetime | None:
    """Return `began`, or when the pod's node was back if that was later."""
    node = nodes.get("", pod.spec.node_name) if nodes is not None and pod.spec.node_name else None
    ready = node.status.condition("Ready", "True") if node is not None else None
    back = ready.last_transition_time if ready is not None else None
    return back if back and began and began < back else began


_NO_START: Final = 3
"""A container restarted this often is taken not to start any more, whatever its state."""


def _not_ready(pod: Pod, startup_budget: timedelta) -> PodFault:
    containers = pod.status.container_statuses or ()
    ends = "".join(map(_last_end, containers))
    if had_been_ready(pod):
        ready = pod.status.condition("Ready")
        why = detail(ready.reason, ready.message, 150) if ready else ""
        text = "was Ready and is not any more" + (f" ({why})" if why else "") + ends
        began = _no_longer_ready_since(pod)
        fault = _fault("no longer Ready", text, NO_LONGER_READY, transition=began)
        again = next((each for each in containers if _last_end(each)), None)
        part = f"container {_name(again.name)}" if again and not again.ready else ""
        name = again.name if again else ""
        return replace(fault, part=part, passing=bool(part), container=name)
    unprepared = pod.status.condition(_SET_UP, "False")
    if unprepared is not None and pod.spec.node_name:
        why = detail(unprepared.reason, unprepared.message, _DETAIL_BYTES // 2)
        text = (
            f"volumes, network or sandbox are not set up{_on_node(pod)} "
            f"({why or 'the Events of the pod say which'}){ends}"
        )
        began, budget = unprepared.last_transition_time, min(SET_UP_BUDGET, startup_budget)
        return _fault("not set up", text, NOT_SET_UP, transition=began, budget=budget)
    restarts = max((each.restart_count for each in containers), default=0)
    turns = f"restarted {restarts} times" if restarts >= _NO_START else ""
    text = f"{turns}{': ' if turns else ''}{_not_yet(pod)}{_still_initializing(pod)}{ends}"
    budget = startup_time(pod, startup_budget)
    brief = turns or "not Ready yet"
    return _fault(brief, text, STARTING, transition=_start(pod), budget=budget)


_SET_UP: Final = "PodReadyToStartContainers"
"""The condition about volumes, network and sandbox.

The kubelet sets it to True once the sandbox has its network, after all volumes are mounted
(Kubernetes, "Pod Lifecycle", Pod network readiness; on by default since 1.29).
"""


def _not_yet(pod: Pod) -> str:
    """Return what a starting pod is not yet, and what its conditions wait for."""
    ready = pod.status.condition("Ready")
    scheduled = pod.status.condition("PodScheduled", "False")
    if scheduled or not pod.spec.node_name:
        half = _DETAIL_BYTES // 2
        text = detail(scheduled.reason, scheduled.message, half) if scheduled else ""
        return "not scheduled yet" + (f" ({text})" if text else "")
    gates = ready is not None and ready.reason == "ReadinessGatesNotReady"
    text = detail(ready.reason, ready.message, _DETAIL_BYTES // 2) if ready and gates else ""
    return f"not Ready yet{_on_node(pod)}" + (f" ({text})" if text else "")


def _still_initializing(pod: Pod) -> str:
    """Return a text with the init container that the others wait for, or an empty string.

    An init container that has finished is ready, and so is a sidecar that has started.
    """
    for status in pod.status.init_container_statuses or ():
        if status.running and not status.ready:
            return f", init container {_name(status.name)} still runs"
    return ""


def _start(pod: Pod) -> datetime | None:
    """Return the start of the startup budget; None if only the pod's creation is known.

    It is the start of the main container. A restart does not renew the budget: otherwise a
    container that its startup probe kills again and again would never be reported. Then it is the
    time when the init containers had finished. For a pod without a running container, it is when
    its volumes and sandbox were set up, or else when it was scheduled.
    """
    waiting = [each for each in pod.status.container_statuses or () if not each.ready]
    starts = [e.running.started_at for e in waiting if e.running and e.running.started_at]
    restarted = any(each.restart_count > 0 for each in waiting)
    if starts and not restarted:
        return max(starts)
    names = ("Initialized",) if restarted else (_SET_UP, "PodScheduled")
    anchor = next(filter(None, (pod.status.condition(each, "True") for each in names)), None)
    return (anchor.last_transition_time if anchor else None) or max(starts, default=None)

"""Why a queue or a gang keeps a pod waiting: Kueue, Volcano, KAI, scheduling gates.

The scheduler ignores a gated pod; the controller that set the gate reports why on its own object.
Volcano schedules a group of pods together or not at all: the pod that no node can take is the
cause, and the others wait for it. KAI is the default scheduler of Dynamo and Run:ai. Of a gang that
is not complete it tells in Events about the PodGroup only (KAI-Scheduler,
pkg/scheduler/cache/status_updater and pkg/scheduler/api).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from reporter.catalogue.resources import CLUSTERQUEUES, LOCALQUEUES, PODS, QUEUES, WORKLOADS
from reporter.diagnosis.fit import shown, some
from reporter.diagnosis.texts import Wording
from reporter.model import objects as o
from reporter.model.finding import Diagnosis, Sureness
from reporter.model.subject import ObjectRef
from reporter.model.text import clean, cut, quoted
from reporter.snapshot.index import grouped
from reporter.snapshot.snapshot import Snapshot

_GROUP_NAME: Final = "scheduling.k8s.io/group-name"


_QUOTED_BYTES: Final = 240

_NOT_ENOUGH_QUOTA: Final = re.compile(
    r"insufficient unused quota for (?P<what>\S+) in flavor (?P<flavor>\S+?),? (?P<more>\S+) more "
    r"needed"
)
_OF_QUOTA: Final = re.compile(r"couldn't assign flavors|insufficient (?:unused )?quota")
_OF_KUEUE: Final = Wording("gate", "it waits for Kueue to admit it", "scheduling gate {gates}",
    "Look at the Workload of the pod and at its queue.")  # fmt: skip
_GATE: Final = Wording("gate", "it waits for the scheduling gate {gates}",
    "scheduling gate {gates}",
    "Look at the controller that sets and removes the gate.")  # fmt: skip
_NO_QUEUE: Final = Wording("queue-missing", "its LocalQueue {name} does not exist in {place}",
    "no LocalQueue {name}",
    "Create the LocalQueue, or name one that exists.", missing=True)  # fmt: skip
_NO_NAME: Final = Wording("queue-missing",
    "Kueue does not admit it: it names no LocalQueue, and the namespace has no default one",
    "no LocalQueue is named",
    "Set the label kueue.x-k8s.io/queue-name on its owner, or create LocalQueue {place}/default.",
    missing=True)  # fmt: skip
_INACTIVE: Final = Wording("queue-inactive", "ClusterQueue {name} admits nothing: {message}",
    "ClusterQueue {name} is inactive", "Fix what the ClusterQueue names.")  # fmt: skip
_TOO_LARGE: Final = Wording("queue-quota", "{cause}", "not admitted by {place}",
    "Ask for less, or raise the quota of the queue.")  # fmt: skip
_NOT_ADMITTED: Final = Wording("queue-quota", "{cause}", "not admitted by {place}",
    "Free quota, raise it, or look at what Kueue names.")  # fmt: skip
_CHECK: Final = Wording("admission-check",
    "Kueue's admission check {check} keeps it in {place} ({state}): {message}",
    "admission check {check}", "Fix what the check names.")  # fmt: skip
_CLOSED: Final = Wording("queue-closed", "queue {name} of Volcano is closed",
    "queue {name} is closed",
    "Open the queue, or use another one.")  # fmt: skip
_FULL: Final = Wording("queue-quota",
    "queue {name}: {used} of {most} {resource} are used, and the group asks for {asks}",
    "queue {name} is full", "Free {resource} in the queue, or raise its capability.")  # fmt: skip
_KEPT_OUT: Final = Wording("queue-quota", "{place} of Volcano does not let its group in: {message}",
    "{place} is full",
    "Free what the queue uses, or raise its capability.")  # fmt: skip
_UNNAMED: Final = Wording("queue-quota",
    "{place} of Volcano does not let its group in: {message}; its capability "
    "does not name {names}, which may count as none of it there", "{place} is full",
    "Name {names} in the capability of the queue.", Sureness.LIKELY)  # fmt: skip
_GANG: Final = Wording("gang", "its group cannot be scheduled together: {message}",
    "its group cannot be scheduled together", "Look at PodGroup {name}.")  # fmt: skip
_OF_OTHERS: Final = Wording("gang",
    "it waits for {others} of its group, for which there is no node",
    "its group cannot be scheduled together", "Look at PodGroup {name}.",
    Sureness.LIKELY)  # fmt: skip
_WAITS: Final = re.compile(r"Pending|waiting for|once minAvailable is satisfied", re.IGNORECASE)


def why_in_line(pod: o.Pod, snapshot: Snapshot) -> Diagnosis | None:
    """Return why a gate or a queue keeps a pod from being scheduled, or None."""
    gates = [each.name for each in pod.spec.scheduling_gates or ()]
    if any(each in ("kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology") for each in gates):
        return _kueue(pod, snapshot) or _OF_KUEUE.of(gates=some(gates))
    if gates:
        return _GATE.of(gates=some(gates))
    group = pod.metadata.annotation(_GROUP_NAME)
    return _volcano(pod, group, snapshot) if group else _kai(pod, snapshot)


def _kueue(pod: o.Pod, snapshot: Snapshot) -> Diagnosis | None:
    workload = next(_workloads(pod, snapshot), None)
    queue = (
        workload.spec.queue_name
        if workload
        else pod.metadata.label("kueue.x-k8s.io/queue-name") or ""
    )
    local = snapshot[LOCALQUEUES].get(pod.namespace, queue)
    if queue and local is None and snapshot.absence_known(LOCALQUEUES, pod.namespace, queue):
        ref = LOCALQUEUES.ref_named(pod.namespace, queue)
        return _NO_QUEUE.of(ref, name=queue, place=pod.namespace)
    cluster = snapshot[CLUSTERQUEUES].get("", local.spec.cluster_queue) if local else None
    inactive = cluster.status.condition("Active", "False") if cluster else None
    if cluster is not None and inactive is not None:
        ref = CLUSTERQUEUES.ref(cluster)
        return _INACTIVE.of(ref, name=cluster.name, message=_quoted(inactive))
    if workload is None:
        return None
    waits = workload.status.condition("QuotaReserved", "False")
    if not queue and waits is not None and "LocalQueue" in (waits.message or ""):
        return _NO_NAME.of(place=pod.namespace)  # Kueue, pkg/cache/queue, Inadmissible
    place = CLUSTERQUEUES.ref(cluster) if cluster else LOCALQUEUES.ref(local) if local else None
    return _refused(workload, queue, place)


def _workloads(pod: o.Pod, snapshot: Snapshot) -> Iterator[o.KueueWorkload]:
    owners = [pod.metadata.uid, *(each.uid for each in pod.metadata.owner_references or ())]
    group = pod.metadata.label("kueue.x-k8s.io/pod-group-name")
    of_place = partial(_workloads_by_owner, pod.namespace)
    named = snapshot[WORKLOADS].get(pod.namespace, group) if group else None
    if named is not None:
        yield named
    for uid in filter(None, owners):
        yield from snapshot.entry(("Kueue's Workloads", pod.namespace), uid, of_place) or ()


def _workloads_by_owner(
    namespace: str, snapshot: Snapshot
) -> Mapping[str, tuple[o.KueueWorkload, ...]]:
    return grouped(
        (owner.uid, each)
        for each in snapshot[WORKLOADS].in_namespace(namespace)
        for owner in each.metadata.owner_references or ()
    )


def _refused(
    workload: o.KueueWorkload, queue: str, place_ref: ObjectRef | None
) -> Diagnosis | None:
    """Return why Kueue does not admit a Workload, from its failing check or its conditions."""
    line = f"queue {clean(queue)}" if queue else "its queue"
    if check := _failing_check(workload):
        message = quoted(check.message, _QUOTED_BYTES)
        values = {"check": check.name, "state": check.state, "message": message, "place": line}
        at_fault = _CHECK.of(WORKLOADS.ref(workload), shared=False, **values)
        waits = "Wait for the check, or look at what it names."
        return replace(at_fault, action=waits) if check.state == "Pending" else at_fault
    for name, status in (("Evicted", "True"), ("QuotaReserved", "False"), ("Admitted", "False")):
        found = workload.status.condition(name, status)
        if found is None:
            continue
        message, never = _quoted(found), "maximum capacity" in (found.message or "")
        quota = _NOT_ENOUGH_QUOTA.search(found.message or "")
        cause = f"Kueue does not admit it in {line}: {message}"
        if never or found.reason == "ExceedsMaxQuota":
            cause = (
                f"{line} can never admit it, it asks for more than the queue's maximum: {message}"
            )
        elif quota:
            what, flavor = clean(quota["what"]), clean(quota["flavor"])
            cause = f"{line} lacks {quota['more']} {what} of unused quota (flavor {flavor})"
        elif name == "Evicted":
            cause = f"Kueue evicted it ({clean(found.reason or 'Evicted')}): {message}"
        full = quota is not None and not never and place_ref is not None
        about = place_ref if full else WORKLOADS.ref(workload)
        wording = _TOO_LARGE if never else _NOT_ADMITTED
        return wording.of(about, shared=full, cause=cause, place=line)
    return None


def _failing_check(workload: o.KueueWorkload) -> o.AdmissionCheck | None:
    """Return the admission check that keeps a Workload out, or None.

    A Pending check counts only once quota is reserved; until then Kueue has not run it. If quota is
    lacking now, the states of checks are out of date.
    """
    waits = workload.status.condition("QuotaReserved", "False")
    if waits is not None and _OF_QUOTA.search(waits.message or ""):
        return None
    states = ["Rejected", "Retry"]
    if workload.status.condition("QuotaReserved", "True"):
        states.append("Pending")
    found = [e for e in workload.status.admission_checks or () if e.message and e.state in states]
    return min(found, key=lambda each: states.index(each.state), default=None)


def _quoted(condition: o.Condition) -> str:
    return quoted(condition.message or condition.reason or "", _QUOTED_BYTES)


def _volcano(pod: o.Pod, name: str, snapshot: Snapshot) -> Diagnosis | None:
    group = _pod_group(pod, name, snapshot)
    if group is None or group.status.phase in ("Running", "Completed"):
        return None
    # The queue counts an admitted group as used.
    refused = None if group.status.phase == "Inqueue" else why_not_let_in(group, snapshot)
    return refused or _gang(pod, group, snapshot)


def why_not_let_in(group: o.PodGroup, snapshot: Snapshot) -> Diagnosis | None:
    """Return why its queue does not admit a Volcano group; None if the queue is not the cause."""
    queue = snapshot[QUEUES].get("", group.spec.queue or "default")
    if queue is not None and queue.status.state == "Closed":
        return _CLOSED.of(QUEUES.ref(queue), name=queue.name)
    if queue is not None:
        allocated, asks = o.amounts(queue.status.allocated), o.amounts(group.spec.min_resources)
        for resource, most in sorted(o.amounts(queue.spec.capability).items()):
            used = allocated.get(resource, 0.0)
            if used + asks.get(resource, 0.0) > most and asks.get(resource):
                return _FULL.of(
                    QUEUES.ref(queue),
                    name=queue.name,
                    used=shown(resource, used),
                    most=shown(resource, most),
                    resource=resource,
                    asks=shown(resource, asks[resource]),
                )
    return _full_by_event(group, queue, snapshot)


def _full_by_event(
    group: o.PodGroup, queue: o.VolcanoQueue | None, snapshot: Snapshot
) -> Diagnosis | None:
    """Return a diagnosis if Volcano's Event says that the queue is full.

    Some versions treat resources that the capability omits as zero (volcano-sh/volcano#3426), so
    the diagnosis names those.
    """
    events = snapshot.evidence.events_of("PodGroup", group)
    full = next((e for e in events if "queue resource quota insufficient" in e.message
                 or "resource in cluster is overused" in e.message), None)  # fmt: skip
    if full is None:
        return None
    place = f"queue {clean(queue.name)}" if queue else "its queue"
    capability = o.amounts(queue.spec.capability) if queue else {}
    unnamed = sorted(o.amounts(group.spec.min_resources).keys() - capability) if capability else []
    ref, message = QUEUES.ref(queue) if queue else None, cut(clean(full.message), _QUOTED_BYTES)
    wording = _UNNAMED if unnamed else _KEPT_OUT
    return wording.of(ref, place=place, message=message, names=some(unnamed))


def _refused_by_group(namespace: str, snapshot: Snapshot) -> Mapping[str, tuple[o.Pod, ...]]:
    def is_refused(pod: o.Pod) -> bool:
        refused = pod.status.condition("PodScheduled", "False")
        message = (refused.message if refused else "") or ""
        own = "nodes are available" in message or not _WAITS.search(message)
        return refused is not None and own

    pods = snapshot[PODS].in_namespace(namespace)
    members = ((each.metadata.annotation(_GROUP_NAME), each) for each in pods)
    return grouped((group, each) for group, each in members if group and is_refused(each))


def _gang(pod: o.Pod, group: o.PodGroup, snapshot: Snapshot) -> Diagnosis | None:
    """Return Volcano's cause for the group if this pod only waits for others of its group."""
    condition = group.status.condition("Unschedulable", "True")
    scheduled = pod.status.condition("PodScheduled")
    message = (scheduled.message if scheduled else "") or ""
    if "nodes are available" in message or condition is None:
        return None
    refused = partial(_refused_by_group, pod.namespace)
    found = snapshot.entry(("refused of groups", pod.namespace), group.name, refused) or ()
    others = some(each.name for each in found if each.name != pod.name)
    wording = _OF_OTHERS if others else _GANG
    name = f"{group.namespace}/{group.name}"
    return wording.of(others=others, message=_quoted(condition), name=name)


def _pod_group(pod: o.Pod, name: str, snapshot: Snapshot) -> o.PodGroup | None:
    # One stack reads the kind, but pods of any stack may be members of a PodGroup.
    named = (each for each in snapshot.tables if str(each) == "podgroups.scheduling.volcano.sh")
    found = (snapshot[each].get(pod.namespace, name) for each in named)
    return next((each for each in found if isinstance(each, o.PodGroup)), None)


_INCOMPLETE: Final = Wording("gang", "its gang is not complete: {message}",
    "its gang is not complete", "Look at who makes the other pods of PodGroup {name}.")  # fmt: skip
_GANG_OF_KAI: Final = Wording("gang",
    "its gang needs {wanted} at once, and finds room for {few} in all: {message}",
    "its gang finds no room together", "Free what is missing, or add nodes.")  # fmt: skip
_OVER_QUOTA: Final = Wording("queue-quota",
    "queue {name}: its quota is {most}, non-preemptible pods have {used} of it, and it asks for "
    "{asks}", "queue {name} is full",
    "Free quota, raise it, or let the workload be preempted.")  # fmt: skip
_OVER_LIMIT: Final = Wording("queue-quota",
    "queue {name}: its limit is {most}, {used} are used, and it asks for {asks}",
    "queue {name} is full", "Free what the queue uses, or raise its limit.")  # fmt: skip

_AMOUNT: Final = r"[^,\n]{1,60}?"
_SAID: Final = (
    (_OVER_QUOTA, re.compile(
        rf"requested (?P<asks>{_AMOUNT}), but (?P<name>[^,\n]{{1,120}}?) quota is "
        rf"(?P<most>{_AMOUNT}), while (?P<used>{_AMOUNT}) are already allocated")),
    (_OVER_LIMIT, re.compile(
        r"(?:^|: )(?P<name>[^:\n]{1,120}?) quota has reached the allowable limit of [\w ]{1,20}\. "
        rf"Limit is (?P<most>{_AMOUNT}), currently (?P<used>{_AMOUNT}) allocated and workload "
        r"requested (?P<asks>[\d.]{1,12} \w{1,8})")),
    (_GANG_OF_KAI, re.compile(
        r"were found for (?P<few>[1-9]\d{0,5}) pods (?:from all sub-groups )?while "
        r"(?:sub-group (?P<part>\S{1,253}) requires )?(?P<wanted>\d{1,6}) (?:pods|are required) "
        r"for gang scheduling\. [^:\n]{1,90}: (?P<message>[^\0]{1,240})")),
)  # fmt: skip


def _kai(pod: o.Pod, snapshot: Snapshot) -> Diagnosis | None:
    """Return why the gang or the queue of a pod keeps it waiting, or None."""
    scheduled = pod.status.condition("PodScheduled")
    if scheduled is None:
        return _incomplete(pod, snapshot)
    message = (scheduled.message or "") if scheduled.status == "False" else ""
    for wording, pattern in _SAID:
        if found := pattern.search(message):
            values: dict[str, str] = {
                name: (each or "").strip(" .\n") for name, each in found.groupdict().items()
            }
            if wanted := values.get("wanted"):
                values["wanted"] = (
                    f"{wanted} pods of {values['part']}" if values["part"] else f"{wanted} pods"
                )
            return wording.of(None, shared=False, **values)
    return None


def _incomplete(pod: o.Pod, snapshot: Snapshot) -> Diagnosis | None:
    name = pod.metadata.annotation("pod-group-name")
    events = snapshot.evidence.events_about(pod.namespace, "PodGroup", name) if name else ()
    if not events or events[0].reason != "NotReady":
        return None
    message = quoted(events[0].message, _QUOTED_BYTES)
    return _INCOMPLETE.of(message=message, name=f"{pod.namespace}/{name}")

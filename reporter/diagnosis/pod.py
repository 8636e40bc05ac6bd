"""Why a pod does not work: the most direct cause, from all available evidence.

The problem. A failing pod shows symptoms in many places, none of which names the cause: the
scheduler counts nodes without naming them, the kubelet reports "CrashLoopBackOff", a controller
reports "not ready". The cause is on another object, in an Event that expires within an hour, or in
a log.

The choice. A pod's life is a sequence of steps: it passes admission, a queue admits it, its claims
get volumes, a node exists or is created, the node accepts it, mounts its volumes and sets up its
network, pulls images, creates and starts containers, and probes them until they are ready. A failed
step blocks all later steps, so the first step with a cause is the cause, and reports from later
steps are consequences. Each step is a function that returns a `Diagnosis`, or None if it does not
know. If none knows, the symptom itself is reported.

This module has no clock and no state. `reporter.workload.pod` decides how long a fault may last.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import takewhile
from typing import Final

from reporter.catalogue.resources import PODS
from reporter.diagnosis import case as c
from reporter.diagnosis.containers import OF_IMAGES, OF_START, of_container, unready
from reporter.diagnosis.daemons import on_nodes
from reporter.diagnosis.fit import bound_claims
from reporter.diagnosis.scheduling import DEFAULT_SCHEDULER, why_unscheduled
from reporter.diagnosis.storage import why_not_attached
from reporter.diagnosis.texts import MOUNTS, NODE_REFUSALS, end_of, meaning
from reporter.model.finding import Diagnosis, Sureness
from reporter.model.objects import Pod
from reporter.model.subject import ObjectRef
from reporter.model.text import clean, cut
from reporter.snapshot.snapshot import Snapshot

_OF_SET_UP: Final = (
    "FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox",
    "NetworkNotReady", "FailedPrepareDynamicResources", "FailedResourceClaimCreation",
    "VolumePermissionChangeInProgress",
)  # fmt: skip
"""Reasons of Events that explain why a pod on a node has no container yet."""

_PAST: Final = frozenset({"Pulling", "Pulled", "Created", "Started"})
"""Reasons of Events of a pod whose volumes and network were set up before."""

_SAYS_LESS: Final = ("Unable to attach or mount volumes", "context deadline exceeded")
"""Kubelet messages about a volume that only say that it took too long."""

_VOLUME: Final = re.compile(r'for volume "(?P<name>[^"]{1,253})"')
_SOURCE: Final = re.compile(
    r"Mounting arguments: [^\n]{0,600}? (?P<source>(?://|[\w.-]{1,253}:/)\S{0,200}) /\S+"
)
_COMMAND: Final = re.compile(r"\nMounting command: [^\n]*\nMounting arguments: [^\n]*\nOutput")
_MANUAL: Final = re.compile(r"\nRefer to the mount\.\w{1,20}\(8\) manual page[^\n]*")
"""Text that the kubelet puts around the output of `mount`."""

_REFERS: Final = re.compile(
    r"\s(?:For more information|Refer|Please refer|See)\b[^\n]{0,160}\s{1,4}https?://\S{1,300}\s*\Z"
)
"""The end of a message that only names a page of a manual."""

_SOCKET: Final = re.compile(r"/(?P<driver>[^/\s]{1,200})/csi\.sock")
_ENDS: Final = 4
"""Least length of a word that stands at the end of one, such as `file` in `csi-azurefile-node`."""

_OF_MANY_DRIVERS: Final = frozenset({
    "csi", "driver", "storage", "k8s", "io", "com", "org", "net", "aws", "azure", "gke", "google",
    "openshift", "node", "plugin", "rook", "ceph", "store",
})  # fmt: skip
"""Words in driver names that do not distinguish drivers."""

_RECREATED: Final = {
    "LeaderWorkerSet": (
        "leaderworkerset.x-k8s.io/v1", "RecreateGroup", "makes its group of pods again and again",
    ),
    "StatefulSet": ("apps/v1", "RecreatingFailedPod", "makes its pod again and again"),
    "Job": ("batch/v1", "BackoffLimitExceeded", "has given up: its pods failed too often"),
    "DaemonSet": ("apps/v1", "FailedDaemonPod", "makes its pod again and again"),
}  # fmt: skip
"""Controllers that replace a failed pod, so that no restart count shows the loop."""

UNSEEN_BUDGET: Final = timedelta(seconds=60)
"""How long a scheduler may take until it first sees a pod."""


def diagnose(pod: Pod, snapshot: Snapshot, container: str = "") -> Diagnosis | None:
    """Return why a pod is not Ready or has ended, or None if nothing explains it.

    `container` is the name of the container at fault, if known.
    """
    case = c.Case(pod, snapshot)
    if pod.status.phase == "Failed":
        return _refused(case) or _of_containers(case, container)
    first = _set_up(case) if pod.spec.node_name else _no_node(case)
    return first or _of_containers(case, container) or unready(case)


def _refused(case: c.Case) -> Diagnosis | None:
    """Return why its node rejected or evicted a pod."""
    spec, status = case.pod.spec, case.pod.status
    text = f"{status.reason or ''}: {status.message or ''}"
    found = meaning(NODE_REFUSALS, text, case.place())
    if found is None or found.code != "node-full" or not status.condition("PodScheduled", "True"):
        return found
    by = clean(spec.scheduler_name or DEFAULT_SCHEDULER)
    action = f"Delete the pod, and look why {by} does not count what others use of the node."
    return replace(found, cause=f"{found.cause}; {by} placed it there", action=action)


def has_started(pod: Pod) -> bool:
    """True if a container of the pod runs or ever ran, so that it has a log."""
    return c.has_run(pod) or any(e.restart_count > 0 or c.last_end(e) for e in c.statuses(pod))


def _of_containers(case: c.Case, container: str) -> Diagnosis | None:
    for status in c.statuses(case.pod):
        if (status.name == container) if container else not status.ready:
            found = of_container(case, status)
            if found is not None:
                return found
    return None


def _set_up(case: c.Case) -> Diagnosis | None:
    """Return why the volumes, network or devices of a pod on a node cannot be set up."""
    if c.has_run(case.pod) or _is_set_up(case.pod):
        return None
    if held := why_not_attached(case.pod, case.snapshot):
        return held
    since = takewhile(lambda each: each.reason not in _PAST, case.events)
    events = [each for each in since if each.reason in _OF_SET_UP]
    events = [e for e in events if not any(less in e.message for less in _SAYS_LESS)] or events
    place = case.place()
    for each in events:
        text = _COMMAND.sub("", _MANUAL.sub("", each.message))
        found = meaning(MOUNTS, text, place, mounted=_mounted(case, each.message))
        if found is not None:
            why = _why_silent(case, text) if found.code == "csi-silent" else None
            more = f": {why.cause}" if why else ""
            cause = f"it cannot be set up: {found.cause}{more}"
            if _lacks_sidecar(case, text):
                return replace(found, cause=f"{cause}; the pod has no {_SIDECAR}", action=_ADD)
            return replace(found, cause=cause, action=why.action if why else found.action)
    if not events:
        return None
    reason, text = events[0].reason, events[0].message
    volume = f" of {_mounted(case, text)}" if _VOLUME.search(text) else ""
    end = end_of(_REFERS.sub("", text), 240)
    cause = f"it cannot be set up on node {case.node} ({reason}{volume}): {end}"
    return Diagnosis("set-up", cause, reason, sureness=Sureness.UNKNOWN)


_SIDECAR: Final = "gke-gcsfuse-sidecar"
_ADD: Final = (
    'Set the annotation gke-gcsfuse/volumes: "true" in the pod template: with it GKE adds the '
    "sidecar, by which the driver gets the pod's account; else grant the account the permission."
)


def _lacks_sidecar(case: c.Case, text: str) -> bool:
    """Tell whether a bucket refuses a pod without the sidecar of GKE's driver (Google Cloud,
    "Configure the Cloud Storage FUSE CSI driver sidecar container").
    """
    spec = case.pod.spec
    names = {each.name for each in (*(spec.containers or ()), *(spec.init_containers or ()))}
    return "Caller does not have storage." in text and _SIDECAR not in names


def _is_set_up(pod: Pod) -> bool:
    """True if a container waits for what comes after volumes and network, such as its image."""
    waiting = (each.waiting for each in c.statuses(pod))
    return any(each and each.reason in OF_IMAGES | OF_START for each in waiting)


def _mounted(case: c.Case, text: str) -> str:
    """Return the volume in a kubelet message, with its claim and its source if they are known."""
    volume, source = _VOLUME.search(text), _SOURCE.search(text)
    name = f"volume {volume['name']}" if volume else "a volume"
    for claim, of in bound_claims(case.pod, case.snapshot):
        if volume and of == volume["name"]:
            name += f" of claim {claim.name}"
    return cut(clean(f"{name} ({source['source']})" if source else name), 320)


def _why_silent(case: c.Case, text: str) -> Diagnosis | None:
    """Return why the pod of a storage driver on the node does not work; its socket names it.

    None unless exactly one unready pod of a DaemonSet on the node shares a word with the driver's
    name, such as `efs-csi-node-x7k2p` with `efs.csi.aws.com`.
    """
    socket = _SOCKET.search(text)
    words = set(re.split(r"[.-]", socket["driver"] if socket else "")) - _OF_MANY_DRIVERS
    found = [
        each
        for each in case.snapshot.entry(_unready_daemons, case.node, _unready_daemons) or ()
        if _has_word(each.name, words) and not _waits_for_driver(each, case)
    ]
    why = diagnose(found[0], case.snapshot) if len(found) == 1 else None
    place = f"{found[0].namespace}/{found[0].name}" if why else ""
    return replace(why, cause=f"its pod {place} there fails: {why.cause}") if why else None


def _has_word(name: str, words: set[str]) -> bool:
    """Return whether a part of a name between dashes or dots begins, or ends, with such a word."""
    parts = re.split(r"[.-]", name)
    return any(
        part.startswith(word) or (len(word) >= _ENDS and part.endswith(word))
        for word in words
        if word
        for part in parts
    )


def _waits_for_driver(pod: Pod, case: c.Case) -> bool:
    """True if a pod waits for a driver's socket itself; diagnosing it could recurse endlessly."""
    events = c.Case(pod, case.snapshot).events
    return pod is case.pod or any(_SOCKET.search(each.message) for each in events)


def _unready_daemons(snapshot: Snapshot) -> Mapping[str, tuple[Pod, ...]]:
    def is_daemon(pod: Pod) -> bool:
        owners = pod.metadata.owner_references or ()
        return bool(pod.spec.node_name) and any(each.kind == "DaemonSet" for each in owners)

    found = on_nodes(snapshot, is_daemon)
    return {node: tuple(e for e in pods if not e.is_ready) for node, pods in found.items()}


def recreated(pod: Pod, snapshot: Snapshot) -> Diagnosis | None:
    """Return a diagnosis if a controller keeps recreating the pod, unseen in restart counts."""
    for kind, name in _controllers(pod):
        api, reason, what = _RECREATED[kind]
        events = [
            each
            for each in snapshot.evidence.events_about(pod.namespace, kind, name)
            if each.reason == reason
        ]
        if len(events) > 1 or any(each.count > 1 for each in events) or (events and kind == "Job"):
            brief = f"{kind} {name} {what}"
            cause = f"{brief} ({end_of(events[0].message, 200)})"
            action = "Look at the log of the pod that fails, as long as it is there."
            ref = ObjectRef(api, kind, pod.namespace, name)
            return Diagnosis("recreated", cause, brief, action, object=ref)
    return None


def why_job_fails(namespace: str, named: re.Pattern[str], snapshot: Snapshot) -> Diagnosis | None:
    """Return why a Job fails; None unless exactly one failing Job has a name that matches."""
    failing = snapshot.once(("failing jobs", namespace), partial(_failing_jobs, namespace))
    found = [why for name, why in failing.items() if named.fullmatch(name)]
    return found[0] if len(found) == 1 else None


def _failing_jobs(namespace: str, snapshot: Snapshot) -> Mapping[str, Diagnosis]:
    """Return the causes of failing Jobs by name, from their newest pods, else from Events.

    Jobs are not read: pods name their Job, and Events report pods that could not be created.
    """
    newest: dict[str, Pod] = {}
    for pod in snapshot[PODS].in_namespace(namespace):
        for owner in pod.metadata.owner_references or ():
            before = newest.get(owner.name)
            if owner.kind == "Job" and (before is None or f"{before.created}" < f"{pod.created}"):
                newest[owner.name] = pod
    names = (*newest, *snapshot.evidence.names_of(namespace, "Job"))
    found = ((e, _of_job(namespace, e, newest.get(e), snapshot=snapshot)) for e in names)
    return {name: why for name, why in found if why is not None}


def _of_job(namespace: str, name: str, pod: Pod | None, *, snapshot: Snapshot) -> Diagnosis | None:
    ref = ObjectRef("batch/v1", "Job", namespace, name)
    job = f"Job {cut(clean(name), 253)}"
    if pod is not None and pod.status.phase == "Succeeded":
        return None
    why = diagnose(pod, snapshot) if pod is not None else None
    if pod is not None and why is not None:
        return replace(why, cause=f"pod {pod.name} of {job} fails: {why.cause}")
    why = c.why_not_made("Job", ref, snapshot) if pod is None else None
    if why is not None:
        return replace(why, cause=f"{job} cannot make its pods: {why.cause}")
    events = snapshot.evidence.events_about(namespace, "Job", name)
    if not any(each.reason == "BackoffLimitExceeded" for each in events):
        return None
    ends = filter(None, map(c.last_end, c.statuses(pod))) if pod is not None else ()
    last = next((f": its last one ended{c.ending(each)}" for each in ends if c.is_error(each)), "")
    cause = f"{job} has given up, as its pods failed too often{last}"
    action = "Look at the log of a pod that failed, as long as it is there."
    return Diagnosis("job-failed", cause, f"{job} has given up", action, object=ref)


def _controllers(pod: Pod) -> Iterator[tuple[str, str]]:
    group = pod.metadata.label("leaderworkerset.sigs.k8s.io/name")
    if group:
        yield "LeaderWorkerSet", cut(clean(group), 253)
    for owner in pod.metadata.owner_references or ():
        if owner.kind in _RECREATED:
            yield owner.kind, cut(clean(owner.name), 253)


def _no_node(case: c.Case) -> Diagnosis | None:
    pod = case.pod
    if any(c.statuses(pod)):
        return None  # a kubelet has accepted it
    unseen = pod.status.condition("PodScheduled") is None and pod.created is not None
    # A pod without a scheduler is reported after `UNSEEN_BUDGET`, so assume that age here.
    now = pod.created + UNSEEN_BUDGET if unseen and pod.created else None

    def ask(other: Pod) -> Diagnosis | None:
        """Diagnose another pod, such as a device plugin's, if it has a node (no recursion)."""
        return diagnose(other, case.snapshot) if other.spec.node_name else None

    return why_unscheduled(pod, case.snapshot, now=now, ask=ask)

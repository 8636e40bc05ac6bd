"""Pods that do not work, each told once, by what they fail at.

llminferenceserviceStorageFailed, llminferenceserviceModelLoadFailed and llminferenceservicePodsNotReady.

llminferenceserviceObjectMissing: what KServe makes, and is not there.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, HTTPROUTES, INFERENCEPOOLS, PODS, SERVICES
from reporter.diagnosis.case import ending
from reporter.model.finding import Finding
from reporter.model.objects import ContainerStatus, KubeObject, Pod, Terminated
from reporter.model.resource import Resource
from reporter.model.text import clean
from reporter.probes.pods import fault_of_pod, pod_finding
from reporter.snapshot.snapshot import Served
from reporter.stacks.llmisvc.objects import LONGEST_NAME
from reporter.stacks.llmisvc.probes.roles import LlmRole
from reporter.stacks.llmisvc.probes.scope import LlmScope, component
from reporter.stacks.llmisvc.probes.spec import errors
from reporter.stacks.llmisvc.reasons import (
    LEADERWORKERSETS,
    MODEL_LOAD_FAILED,
    OBJECT_MISSING,
    PODS_NOT_READY,
    STORAGE_FAILED,
)
from reporter.workload.owners import is_true
from reporter.workload.pod import PodFault, counts, had_been_ready, startup_time, why_ended
from reporter.workload.standing import newest_failure

_STORAGE: Final = "storage-initializer"
_SERVING: Final = frozenset({"main", "modelcar", "modelcar-init", "llm-d-routing-sidecar"})
_NONE_SERVES: Final = 100
"""What is added to the severity where no pod of the role is ready: nothing is answered."""

_OFTEN: Final = 2
"""So many restarts before the first Ready are no accident."""


def probe_pods(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding for each pod at fault: of what serves, decodes, prefills, and of workers."""
    for role in scope.roles:
        judged = [(pod, fault_of_pod(scope, pod, role.pods)) for pod in role.pods]
        if (failed := newest_failure(role.pods, scope.snapshot)) is not None:
            judged.append(failed)
        for pod, fault in judged:
            if fault is not None:
                yield from _told(scope, role, pod, fault=fault)


def _told(scope: LlmScope, role: LlmRole, pod: Pod, *, fault: PodFault) -> Iterator[Finding]:
    where = f"{role.title}{_place(pod)}pod {pod.name}"
    worse = 0 if role.has_ready_pod else _NONE_SERVES
    although = "" if role.has_ready_pod else f"; no {role.title}pod is ready"
    ended = _fails_at(pod)
    if ended is None or _tries_again(ended[2]):  # which may hang
        yield pod_finding(
            scope,
            pod,
            fault,
            reason=PODS_NOT_READY,
            related=PODS.ref(pod),
            cause=f"{role.title}{fault.cause}",
            text=f"{where}: {fault.detail}{although}",
            severity=fault.severity + worse,
        )
    if ended is not None:
        reason, what, status = ended
        why, diagnosis = why_ended(pod, status, scope.snapshot, otherwise=_end(status))
        looping = _loops(status)
        yield scope.finding(
            reason=reason,
            related=PODS.ref(pod),
            cause=f"{role.title}{status.name} failed{_code(status)}",
            text=f"{where}: {what}{why}{although}",
            diagnosis=diagnosis,
            severity=int(looping) + worse,
            created=pod.created,
            exempt=looping,
            sustains=_tries_again(status),
            lingers=True,
        )


def _place(pod: Pod) -> str:
    part = component(pod)
    if part.startswith("workload-leader"):
        return "leader "
    return "worker " if part.startswith("workload-worker") else ""


def _fails_at(pod: Pod) -> tuple[str, str, ContainerStatus] | None:
    """Return the reason, words and container where a pod fails to fetch or to load the model."""
    if not counts(pod):
        return None
    for status in pod.status.init_container_statuses or ():
        if status.name == _STORAGE and _fetch_failed(status):
            return STORAGE_FAILED, "the model cannot be fetched", status
    if had_been_ready(pod):
        return None
    every = (*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ()))
    for status in every:
        if status.name in _SERVING and _load_failed(status):
            return MODEL_LOAD_FAILED, _how(pod, status), status
    return None


def _fetch_failed(status: ContainerStatus) -> bool:
    """Tell whether a download failed, also while it is tried again."""
    ended = _ended(status)
    now = status.state.terminated if status.state else None
    done = now is not None and not _is_bad(now)
    return not done and (_loops(status) or (ended is not None and _is_bad(ended)))


def _tries_again(status: ContainerStatus) -> bool:
    """Tell whether a download that failed is tried again; that it fails once more is not known."""
    return status.name == _STORAGE and not _loops(status)


def _load_failed(status: ContainerStatus) -> bool:
    """Tell whether a container that was never ready fails by itself; out of memory is told as such."""
    ended = _ended(status)
    if status.ready or ended is None or ended.reason == "OOMKilled" or not _is_bad(ended):
        return False
    stopped = status.state is not None and status.state.terminated is not None
    return _loops(status) or stopped or status.restart_count >= _OFTEN


def _how(pod: Pod, status: ContainerStatus) -> str:
    if _loops(status) or status.state is None or status.state.running is None:
        return f"container {status.name} ends before it is ready"
    seconds = int(startup_time(pod, timedelta(0)).total_seconds())
    allowed = f"; its start-up probe allows {seconds} s" if seconds else ""
    return f"container {status.name} is restarted again and again before it is ready{allowed}"


def _loops(status: ContainerStatus) -> bool:
    waiting = status.state.waiting if status.state else None
    return waiting is not None and waiting.reason == "CrashLoopBackOff"


def _is_bad(end: Terminated) -> bool:
    return end.exit_code != 0 or end.reason in {"Error", "OOMKilled"}


def _ended(status: ContainerStatus) -> Terminated | None:
    now = status.state.terminated if status.state else None
    return now or (status.last_state.terminated if status.last_state else None)


def _code(status: ContainerStatus) -> str:
    ended = _ended(status)
    return f", exit code {ended.exit_code}" if ended else ""


def _end(status: ContainerStatus) -> str:
    ended = _ended(status)
    if ended is None:
        return ""
    reason = clean(ended.reason or "")
    unusual = f", {reason}" if reason not in {"", "Error"} else ""
    return f"{unusual}{ending(ended)}"


def probe_missing(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding for each object that KServe should have made in a pass without an error."""
    if not scope.observed or not is_true(scope.condition("PresetsCombined")) or any(errors(scope)):
        return
    if scope.lacks_config:
        return
    for resource, suffix, what in _missing(scope):
        if scope.snapshot.state(resource).served is Served.ABSENT or not scope.known(resource):
            continue
        name = f"{scope.name}{suffix}"[:LONGEST_NAME]
        yield scope.finding(
            reason=OBJECT_MISSING,
            related=resource.ref_named(scope.place, name),
            cause=f"{resource.kind} {name} missing",
            text=f"{resource.kind} {name}, {what}, does not exist",
        )


def _missing(scope: LlmScope) -> Iterator[tuple[Resource[KubeObject], str, str]]:
    for role in scope.roles:
        if role.exists:
            continue
        side = "-prefill" if role.name == "prefill" else ""
        what = f"which its {role.title}pods are of"
        if role.multi:
            yield LEADERWORKERSETS, f"-kserve-mn{side}", what
        else:
            yield DEPLOYMENTS, f"-kserve{side}", what
    service = f"{scope.name}-kserve-workload-svc"
    if len(service) <= LONGEST_NAME and scope.snapshot[SERVICES].get(scope.place, service) is None:
        yield SERVICES, "-kserve-workload-svc", "which leads to its pods"
    wanted = scope.wanted
    if wanted.route is not None and not wanted.own_routes and scope.managed_route is None:
        yield HTTPROUTES, "-kserve-route", "which requests come by"
    if wanted.scheduler is not None and not wanted.own_pool:
        if scope.epp is None:
            yield DEPLOYMENTS, "-kserve-router-scheduler", "its endpoint picker"
        if scope.pool is None:
            yield INFERENCEPOOLS, "-inference-pool", "which its route leads to"

"""What a Workspace says about its model, apart from its nodes."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from reporter.model.finding import Diagnosis, Finding
from reporter.model.objects import Condition, Pod
from reporter.model.text import clean, cut
from reporter.stacks.kaito.objects import Workspace
from reporter.stacks.kaito.probes.scope import (
    AnyScope,
    believed,
    condition_text,
    is_refusal,
    moved,
    reconcile_error,
    wanted_pods,
)
from reporter.stacks.kaito.reasons import WORKSPACES
from reporter.workload.owners import is_false, is_true, latest
from reporter.workload.pod import counts, is_ready

_PENDING: Final = frozenset({"", "WorkspaceInferenceStatusPending"})
_TIMED_OUT: Final = ("context deadline exceeded", "has timed out progressing")
"""What KAITO up to 0.8 wrote as a failure when a workload was not ready in time (`CheckResourceStatus`)."""

_CONFIGURATION: Final = frozenset({
    "ModelMirrorCreateFailed", "ModelStreamingInvalidAnnotations",
    "ModelStreamingInvalidStorageClass", "ModelStreamingServiceAccountInvalid",
    "ModelStreamingStorageClassNotFound",
})  # fmt: skip
"""Reasons of the validation before any pod: only a change of the Workspace mends them."""

_OF_PODS: Final = frozenset({
    "ContainerCrashLoopBackOff", "ContainerOOMKilled", "ContainerStartError", "ImagePullError",
    "NodeDiskPressure", "NodeMemoryPressure", "PodEvicted", "SASTokenFetchFailed",
    "Unschedulable",
})  # fmt: skip
"""Reasons that KAITO derives from pods, which it does not watch: the pods know better."""

_MIRROR_IN_PROGRESS: Final = frozenset({"", "ModelMirrorPending"})

_CONFIGURED_WRONG, _FAILED, _MISSING, _MIRRORING, _UNEXPLAINED = 55, 38, 28, 8, 5
"""Severities, on the scale of those of pods."""


@dataclass(frozen=True, slots=True)
class WorkspaceFault:
    """What keeps the replica of a Workspace from serving."""

    cause: str
    text: str
    severity: int
    exempt: bool = False
    transition: datetime | None = None
    budget: timedelta | None = None
    of_mirror: bool = False  # the Job that mirrors the weights has not done so
    lacks_pods: bool = False  # its StatefulSet has not made all pods


def about_workspace(
    scope: AnyScope,
    workspace: Workspace,
    fault: WorkspaceFault,
    *,
    reason: str,
    more: str = "",
    why: Diagnosis | None = None,
) -> Finding:
    """Return the finding that tells of a Workspace's fault, and why it has it; `more` ends its text."""
    return scope.finding(
        reason=scope.named(reason),
        related=WORKSPACES.ref(workspace),
        cause=fault.cause,
        text=f"{scope.of_workspace(workspace)}{fault.text}{f': {why.told}' if why else ''}{more}",
        severity=fault.severity,
        transition=fault.transition,
        created=workspace.created,
        exempt=fault.exempt,
        # What is refused, or fails, does not go by waiting.
        budget=fault.budget if why is None else None,
        diagnosis=why,
    )


def judge_workspace(
    workspace: Workspace, pods: tuple[Pod, ...] | None, startup: timedelta
) -> WorkspaceFault | None:
    """Return what keeps the replica of a Workspace from serving, apart from faults of its pods.

    Args:
        workspace: one that is not being deleted.
        pods: its pods; None where they are unknown.
        startup: how long a start may take without a pod that says why.

    """
    return (
        _benchmark(workspace)
        or _mirror_failed(workspace)
        or _inference(workspace, pods)
        or _mirroring(workspace, startup)
        or (None if pods is None else _replica(workspace, pods, startup))
    )


def _benchmark(workspace: Workspace) -> WorkspaceFault | None:
    for name in ("BenchmarkCompleted", "WorkspaceSucceeded"):
        condition = workspace.status.condition(name)
        if is_false(condition) and condition.reason == "BenchmarkFailed":
            return _failure(condition, _CONFIGURED_WRONG, exempt=believed(condition, workspace))
    return None


def _mirror_failed(workspace: Workspace) -> WorkspaceFault | None:
    mirror = workspace.status.condition("ModelMirrorReady")
    if not is_false(mirror) or (mirror.reason or "") in _MIRROR_IN_PROGRESS:
        return None
    invalid = mirror.reason == "InvalidSpec"
    return _failure(
        mirror,
        _CONFIGURED_WRONG if invalid else _FAILED,
        exempt=invalid and believed(mirror, workspace),
        of_mirror=True,
    )


def _inference(workspace: Workspace, pods: tuple[Pod, ...] | None) -> WorkspaceFault | None:
    """Judge the reason of InferenceReady=False, the time of which is not that of the condition.

    A reason that comes from pods is dropped when they can be read: what they suffer from is told
    of them, and what they do not is stale, or a past OOM that sticks until the next success.
    """
    inference = workspace.status.condition("InferenceReady")
    if not is_false(inference) or _is_summary(inference):
        return None
    if inference.reason in _CONFIGURATION:
        return _failure(inference, _CONFIGURED_WRONG, exempt=believed(inference, workspace))
    if inference.reason in _OF_PODS and any(map(counts, pods or ())):
        return None
    loops = inference.reason == "ContainerCrashLoopBackOff" and pods is None
    return _failure(inference, _FAILED, exempt=loops and believed(inference, workspace))


def _is_summary(inference: Condition) -> bool:
    """Tell whether a condition says no more than that it is not ready: what it waits for has the cause."""
    return (inference.reason or "") in _PENDING or (inference.message or "").endswith(_TIMED_OUT)


def _mirroring(workspace: Workspace, startup: timedelta) -> WorkspaceFault | None:
    """Judge weights that are still being mirrored, which KAITO never times out."""
    mirror = workspace.status.condition("ModelMirrorReady")
    resource = workspace.status.condition("ResourceReady")
    waiting = mirror if is_false(mirror) else None
    if waiting is None and is_false(resource) and resource.reason == "ModelMirrorNotReady":
        waiting = resource
    if waiting is None:
        return None
    return WorkspaceFault(
        "weights not mirrored yet",
        f"{waiting.type} is False, {condition_text(waiting)}",
        _MIRRORING,
        transition=moved(waiting),
        budget=startup,
        of_mirror=True,
    )


def _replica(
    workspace: Workspace, pods: tuple[Pod, ...], startup: timedelta
) -> WorkspaceFault | None:
    """Judge a replica without a pod, or one whose pods are Ready while KAITO says it is not.

    While its nodes are missing there can be no pod, and inferencesetInfraProvisioningFailed speaks.
    """
    conditions = (workspace.status.condition(name) for name in ("NodeClaimReady", "NodesReady"))
    if any(is_false(each) for each in conditions):
        return None
    running = [each for each in pods if counts(each)]
    if not running:
        return _without_pod(workspace, pods, startup)
    wanted = wanted_pods(workspace, running)
    if len(running) < wanted and not any(pod.deleting for pod in pods):
        return WorkspaceFault(
            f"{len(running)} of {wanted} pods",
            f"has {len(running)} of {wanted} pods; quotas and webhooks refuse pods: look at the "
            f"Events of StatefulSet {workspace.name}",
            _MISSING,
            # While a pod starts, a StatefulSet may wait for it before it makes the next one.
            budget=None if all(map(is_ready, running)) else startup,
            lacks_pods=True,
        )
    inference = workspace.status.condition("InferenceReady")
    generic = inference is not None and _is_summary(inference)
    if inference is not None and generic and is_false(inference) and all(map(is_ready, running)):
        return WorkspaceFault(
            "InferenceReady is False",
            f"its pods are Ready but InferenceReady is False, {condition_text(inference)}",
            _UNEXPLAINED,
            transition=moved(inference),
            budget=startup,
        )
    return None


def _without_pod(workspace: Workspace, pods: tuple[Pod, ...], startup: timedelta) -> WorkspaceFault:
    """Judge a replica without a pod: what KAITO failed at is the reason, where it says so.

    A refusal of the API server, as by a webhook or a quota, does not go by waiting: it has no budget.
    Its time is not that of the condition, which was False before.
    """
    error = reconcile_error(workspace.status.condition("InferenceReady"))
    lacks = "has no running pod" if pods else "has no pod"
    if is_refusal(error):
        return WorkspaceFault(
            "refused by the API server",
            f"{lacks}: the API server refuses what KAITO makes for it: {error}",
            _FAILED,
        )
    return WorkspaceFault(
        "no pod",
        lacks + (f", KAITO's last reconcile error: {error}" if error else ""),
        _MISSING,
        transition=_without_pod_since(workspace, pods),
        budget=startup,
        lacks_pods=True,
    )


def _without_pod_since(workspace: Workspace, pods: tuple[Pod, ...]) -> datetime | None:
    """Return since when a Workspace may have had no pod, None if nothing tells.

    Its nodes were there first, and a pod that terminates was there until it was deleted. A
    Workspace that still counts as serving lost its pod a moment ago.
    """
    leaving = [each.metadata.deletion_timestamp for each in pods]
    inference = workspace.status.condition("InferenceReady")
    if is_true(inference):
        return latest(*leaving)
    names = ("NodeClaimReady", "NodesReady", "ModelMirrorReady", "InferenceReady")
    return latest(*leaving, *(moved(workspace.status.condition(name)) for name in names))


def _failure(
    condition: Condition, severity: int, *, exempt: bool, of_mirror: bool = False
) -> WorkspaceFault:
    return WorkspaceFault(
        cut(clean(condition.reason or condition.type), 80),
        f"{condition.type} is {condition.status}, {condition_text(condition)}",
        severity,
        exempt=exempt,
        of_mirror=of_mirror,
    )

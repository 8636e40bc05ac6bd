"""inferencesetModelPodsNotReady: the replicas of the model and their pods."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from reporter.catalogue.resources import PODS
from reporter.model.finding import Finding
from reporter.model.objects import Pod
from reporter.probes.pods import fault_of_pod, pod_finding, startup_budget
from reporter.stacks.kaito.probes.scope import WORKSPACE, InferenceSetScope, latest, moved, pods_of
from reporter.stacks.kaito.probes.workspace_faults import about_workspace, judge_workspace
from reporter.stacks.kaito.reasons import MODEL_PODS
from reporter.stacks.kaito.resources import INFERENCESETS, WORKSPACES
from reporter.workload.owners import is_false
from reporter.workload.pod import PodFault, judge_ended

_MISSING_WORKSPACES: Final = 26
"""Severity of Workspaces that were never made, on the scale of those of pods."""


def probe_pods(scope: InferenceSetScope) -> Iterator[Finding]:
    """Yield a finding for each pod, Workspace and missing replica at fault.

    Every pod that stands for a replica and is not Ready has a finding, one in its start-up too.
    So what a container suffered from ends only when its pod is Ready or gone.
    """
    for pod in scope.pods:
        fault = fault_of_pod(scope, pod, scope.pods)
        if fault is not None:
            yield _about_pod(scope, pod, fault)
    yield from _workspace_findings(scope)
    yield from _missing_workspaces(scope)


def _about_pod(scope: InferenceSetScope, pod: Pod, fault: PodFault) -> Finding:
    workspace = pod.metadata.label(WORKSPACE)
    place = f" (Workspace {workspace})" if workspace else ""
    return pod_finding(
        scope,
        pod,
        fault,
        reason=MODEL_PODS,
        related=PODS.ref(pod),
        cause=fault.cause,
        text=f"pod {pod.name}{place}: {fault.detail}",
    )


def _workspace_findings(scope: InferenceSetScope) -> Iterator[Finding]:
    pods_known = scope.snapshot.absence_known(PODS, scope.place, sought=scope.made)
    for workspace in scope.workspaces:
        own = pods_of(workspace, scope.pods)
        fault = judge_workspace(workspace, own if pods_known else None, startup_budget(scope))
        if fault is None:
            continue
        yield about_workspace(
            scope, workspace, fault, reason=MODEL_PODS, more=_last_end(scope, own)
        )


def _last_end(scope: InferenceSetScope, pods: tuple[Pod, ...]) -> str:
    """Return why pods of a replica that are left over ended, the first by name."""
    for pod in pods:
        ended = judge_ended(pod, scope.snapshot)
        if ended is not None:
            return f"; pod {pod.name} ended: {ended.detail}"
    return ""


def _missing_workspaces(scope: InferenceSetScope) -> Iterator[Finding]:
    """Yield a finding if KAITO made fewer Workspaces than replicas are wanted."""
    if not scope.snapshot.absence_known(WORKSPACES, scope.place, sought=scope.made):
        return
    present = len(scope.workspaces)
    if present >= scope.inferenceset.wanted:
        return
    count = f"{present}/{scope.inferenceset.wanted}"
    yield scope.finding(
        reason=MODEL_PODS,
        related=INFERENCESETS.ref(scope.inferenceset),
        cause=f"{count} replicas made",
        text=f"{count} wanted replicas have a Workspace",
        severity=_MISSING_WORKSPACES,
        transition=_missing_since(scope),
        created=scope.inferenceset.created,
        budget=startup_budget(scope),
    )


def _missing_since(scope: InferenceSetScope) -> datetime | None:
    """Return since when a Workspace has been missing, None if nothing tells.

    InferenceSetReady is False for any replica that does not serve, so its time says nothing of one
    that was asked for later. That none was is sure of the first generation alone: the API server
    raises it with each change of the spec.
    """
    ready = scope.inferenceset.status.condition("InferenceSetReady")
    if scope.inferenceset.metadata.generation != 1 or not is_false(ready):
        return None
    return latest(moved(ready), *(each.created for each in scope.workspaces))

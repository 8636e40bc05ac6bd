"""inferencesetModelPodsNotReady: the replicas of the model and their pods."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from reporter.catalogue.reasons import MODEL_PODS
from reporter.catalogue.resources import INFERENCESETS, NODES, PODS, WORKSPACES
from reporter.model.finding import Finding
from reporter.model.objects import InferenceSet, Pod
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kaito.probes.scope import (
    WORKSPACE,
    finding_about,
    is_false,
    live_workspaces,
    model_pods,
    moved,
    pods_of,
)
from reporter.stacks.kaito.probes.workspace_faults import about_workspace, judge_workspace
from reporter.workload.pod import PodFault, had_been_ready, is_ready, judge_ended, judge_pod

_MISSING_WORKSPACES: Final = 26
"""Severity of Workspaces that were never made, on the scale of those of pods."""


def probe_pods(
    inferenceset: InferenceSet, snapshot: Snapshot, settings: EvaluationSettings
) -> Iterator[Finding]:
    """Yield a finding for each pod, Workspace and missing replica at fault.

    Every pod that stands for a replica and is not Ready has a finding, one in its start-up too.
    So what a container suffered from ends only when its pod is Ready or gone (design 5.6).
    """
    startup = timedelta(seconds=settings.model_startup_budget_seconds)
    pods = model_pods(inferenceset, snapshot)
    yield from _pod_findings(inferenceset, snapshot, pods, startup)
    yield from _workspace_findings(inferenceset, snapshot, pods, startup)
    yield from _missing_workspaces(inferenceset, snapshot, startup)


def _pod_findings(
    inferenceset: InferenceSet, snapshot: Snapshot, pods: tuple[Pod, ...], startup: timedelta
) -> Iterator[Finding]:
    nodes = snapshot[NODES] if snapshot.absence_known(NODES) else None
    for pod in pods:
        fault = judge_pod(pod, nodes=nodes, startup_budget=startup)
        if fault is not None:
            yield _about_pod(inferenceset, snapshot, pod, fault)


def _about_pod(
    inferenceset: InferenceSet, snapshot: Snapshot, pod: Pod, fault: PodFault
) -> Finding:
    workspace = pod.metadata.label(WORKSPACE)
    place = f" (Workspace {workspace})" if workspace else ""
    return finding_about(
        inferenceset,
        snapshot,
        reason=MODEL_PODS,
        related=PODS.ref(pod),
        cause=fault.cause,
        text=f"pod {pod.name}{place}: {fault.detail}",
        severity=fault.severity,
        transition=fault.transition,
        created=pod.created,
        exempt=fault.exempt,
        budget=fault.budget,
        # What befalls a pod that had worked is no matter of the controller that made it.
        independent=had_been_ready(pod) or is_ready(pod),
        lingers=fault.of_containers,
    )


def _workspace_findings(
    inferenceset: InferenceSet, snapshot: Snapshot, pods: tuple[Pod, ...], startup: timedelta
) -> Iterator[Finding]:
    pods_known = snapshot.absence_known(PODS, inferenceset.namespace)
    for workspace in live_workspaces(inferenceset, snapshot):
        own = pods_of(workspace, pods)
        fault = judge_workspace(workspace, own if pods_known else None, startup)
        if fault is None:
            continue
        yield about_workspace(
            inferenceset, snapshot, workspace, fault, reason=MODEL_PODS, more=_last_end(own)
        )


def _last_end(pods: tuple[Pod, ...]) -> str:
    """Return why pods of a replica that are left over ended, the first by name."""
    for pod in pods:
        ended = judge_ended(pod)
        if ended is not None:
            return f"; pod {pod.name} ended: {ended.detail}"
    return ""


def _missing_workspaces(
    inferenceset: InferenceSet, snapshot: Snapshot, startup: timedelta
) -> Iterator[Finding]:
    """Yield a finding if KAITO made fewer Workspaces than replicas are wanted."""
    if not snapshot.absence_known(WORKSPACES, inferenceset.namespace):
        return
    present = len(live_workspaces(inferenceset, snapshot))
    if present >= inferenceset.wanted:
        return
    ready = inferenceset.status.condition("InferenceSetReady")
    count = f"{present}/{inferenceset.wanted}"
    yield finding_about(
        inferenceset,
        snapshot,
        reason=MODEL_PODS,
        related=INFERENCESETS.ref(inferenceset),
        cause=f"{count} replicas made",
        text=f"{count} wanted replicas have a Workspace",
        severity=_MISSING_WORKSPACES,
        transition=moved(ready) if is_false(ready) else None,
        created=inferenceset.created,
        budget=startup,
    )

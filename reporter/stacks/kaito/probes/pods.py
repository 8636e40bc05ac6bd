"""Faults that Workspaces report, replicas and pods, nodes under pressure, and provisioning."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from reporter.catalogue.resources import NODECLAIMS, NODES, PODS
from reporter.diagnosis.autoscalers import why_claims_wait
from reporter.diagnosis.case import why_not_made
from reporter.diagnosis.pod import why_job_fails
from reporter.diagnosis.texts import Wording
from reporter.model.finding import Diagnosis, Finding, Sureness
from reporter.model.objects import Condition, Node, Pod
from reporter.model.text import clean, cut
from reporter.probes.pods import fault_of_pod, pod_finding, startup_budget
from reporter.setting_types import TimeBudget
from reporter.snapshot.index import grouped
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kaito import reasons
from reporter.stacks.kaito.objects import Workspace
from reporter.stacks.kaito.probes.scope import (
    SCANNED,
    WORKSPACE,
    AnyScope,
    InferenceSetScope,
    WorkspaceScope,
    believed,
    condition_text,
    is_refusal,
    moved,
    pods_of,
    reconcile_error,
    wanted_pods,
    without_reconcile_error,
)
from reporter.workload.deployment import deployments_like
from reporter.workload.engines import command_line
from reporter.workload.owners import is_false, is_true, latest
from reporter.workload.pod import counts, is_ready, judge_ended

_PENDING: Final = frozenset({"", "WorkspaceInferenceStatusPending"})
_TIMED_OUT: Final = ("context deadline exceeded", "has timed out progressing")
"""What KAITO up to 0.8 wrote if a workload was late (`CheckResourceStatus`)."""

_CONFIGURATION: Final = frozenset({
    "ModelMirrorCreateFailed", "ModelStreamingInvalidAnnotations",
    "ModelStreamingInvalidStorageClass", "ModelStreamingServiceAccountInvalid",
    "ModelStreamingStorageClassNotFound",
})  # fmt: skip
"""Reasons of the validation before any pod: only a change of the Workspace fixes them."""

_OF_PODS: Final = frozenset({
    "ContainerCrashLoopBackOff", "ContainerOOMKilled", "ContainerStartError", "ImagePullError",
    "NodeDiskPressure", "NodeMemoryPressure", "PodEvicted", "SASTokenFetchFailed",
    "Unschedulable",
})  # fmt: skip
"""Reasons that KAITO derives from pods, which it does not watch: the pods are more current."""

_MIRROR_IN_PROGRESS: Final = frozenset({"", "ModelMirrorPending"})

_CONFIGURED_WRONG, _FAILED, _MISSING, _MIRRORING, _UNEXPLAINED = 55, 38, 28, 8, 5
"""Severities, on the scale of pod faults."""


@dataclass(frozen=True, slots=True)
class WorkspaceFault:
    """A fault that keeps the replica of a Workspace from serving."""

    cause: str
    text: str
    severity: int
    exempt: bool = False
    transition: datetime | None = None
    budget: timedelta | None = None
    of_mirror: bool = False  # the Job that mirrors the weights has not finished
    lacks_pods: bool = False  # its StatefulSet has not created all pods


_OF_BOOT: Final = frozenset({"device-missing", "node-not-joining", "node-starting"})
"""Codes of what any new machine goes through."""


def about_workspace(
    scope: AnyScope,
    workspace: Workspace,
    fault: WorkspaceFault,
    *,
    reason: str,
    more: str = "",
    why: Diagnosis | None = None,
) -> Finding:
    """Return the finding for a Workspace's fault, with its diagnosis; `more` ends the text."""
    note = f": {why.sentence}" if why else ""
    title = f"Workspace {workspace.name}: " if isinstance(scope, InferenceSetScope) else ""
    return scope.finding(
        reason=reasons.named(reason, scope.subject.kind),
        related=reasons.WORKSPACES.ref(workspace),
        cause=fault.cause,
        text=f"{title}{fault.text}{note}{more}",
        severity=fault.severity,
        transition=fault.transition,
        created=workspace.created,
        exempt=fault.exempt,
        # A refusal or a failure does not go away by waiting.
        budget=fault.budget if why is None or why.code in _OF_BOOT else None,
        diagnosis=why,
    )


def judge_workspace(
    workspace: Workspace, pods: tuple[Pod, ...] | None, startup: timedelta
) -> WorkspaceFault | None:
    """Return the fault that keeps a Workspace's replica from serving, apart from its pods' faults.

    Args:
        workspace: one that is not being deleted.
        pods: its pods; None if they are unknown.
        startup: how long a start may take while no pod explains it.

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
    """Judge the reason of InferenceReady=False, which the condition's time does not date.

    A reason that comes from pods is dropped if they can be read: their own faults are reported
    anyway, and any other reason is stale, or a past OOM that stays until the next success.
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
    """Return True if a condition says only that it is not ready: another one has the cause."""
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

    While its nodes are missing there can be no pod; inferencesetInfraProvisioningFailed reports it.
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


_OF_RECONCILE: Final = ("InferenceReady", "ResourceReady", "WorkspaceSucceeded")


def _without_pod(workspace: Workspace, pods: tuple[Pod, ...], startup: timedelta) -> WorkspaceFault:
    """Judge a replica without a pod: KAITO's reconcile error is the reason, if there is one.

    A refusal of the API server, as by a webhook or a quota, does not go away by waiting, so it has
    no budget. The condition's time does not date it: the condition was False before.
    """
    conditions = map(workspace.status.condition, _OF_RECONCILE)
    error = next(filter(None, map(reconcile_error, conditions)), "")
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
    """Return since when a Workspace may have had no pod, or None if unknown.

    Its nodes had to be ready first, and a terminating pod existed until it was deleted. A Workspace
    that still counts as serving lost its pod a moment ago.
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


_MISSING_WORKSPACES: Final = 26
"""Severity of Workspaces that were never created, on the scale of pod faults."""

_UNSET: Final = "; spec.replicas is not set, which releases of KAITO up to 0.9 take for 0: set it"


def probe_pods(scope: AnyScope) -> Iterator[Finding]:
    """Yield a finding for each pod, Workspace and missing replica at fault.

    Every pod that counts as a replica and is not Ready has a finding, even during its start-up. So
    a container's fault ends only when its pod is Ready or gone.
    """
    for pod in scope.pods:
        fault = fault_of_pod(scope, pod, scope.pods)
        if fault is None:
            continue
        workspace = pod.metadata.label(WORKSPACE)
        own = workspace is None or isinstance(scope, WorkspaceScope)
        yield pod_finding(
            scope,
            pod,
            fault,
            reason=reasons.named(reasons.MODEL_PODS, scope.subject.kind),
            related=PODS.ref(pod),
            cause=fault.cause,
            text=f"pod {pod.name}: {fault.detail}{'' if own else f' (Workspace {workspace})'}",
        )
    pods_known = scope.known(PODS)
    for each in scope.workspaces:
        pods = pods_of(each, scope.pods)
        lack = judge_workspace(each, pods if pods_known else None, startup_budget(scope))
        if lack is not None:
            why, more = _why(scope, each, lack), _last_end(scope, pods)
            yield about_workspace(scope, each, lack, reason=reasons.MODEL_PODS, more=more, why=why)
    if isinstance(scope, InferenceSetScope):
        yield from _missing_workspaces(scope)


_MIRRORS: Final = re.compile(r"[0-9a-f]{6}-download(?:-[a-z0-9]{1,20})?")
"""The names of the Jobs that mirror a model's weights (kaito, pkg/modelmirror)."""


def _why(scope: AnyScope, workspace: Workspace, fault: WorkspaceFault) -> Diagnosis | None:
    """Return why a Workspace's StatefulSet lacks pods, or why its weights' mirror Job fails."""
    if fault.lacks_pods:
        return why_not_made("StatefulSet", workspace, scope.snapshot)
    return why_job_fails(scope.place, _MIRRORS, scope.snapshot) if fault.of_mirror else None


def _last_end(scope: AnyScope, pods: tuple[Pod, ...]) -> str:
    """Return why a leftover pod of a replica ended, the first by name."""
    ends = ((each.name, judge_ended(each, scope.snapshot)) for each in pods)
    return next((f"; pod {name} ended: {ended.detail}" for name, ended in ends if ended), "")


def _missing_workspaces(scope: InferenceSetScope) -> Iterator[Finding]:
    """Yield a finding if KAITO created fewer Workspaces than replicas are wanted."""
    if not scope.known(reasons.WORKSPACES):
        return
    present = len(scope.workspaces)
    if present >= scope.object.wanted:
        return
    count = f"{present}/{scope.object.wanted}"
    unset = not present and scope.object.spec.replicas is None
    refused = None if present else _machine_refused(scope)
    why = f", as {refused.cause}" if refused else _UNSET if unset else ""
    yield scope.finding(
        reason=reasons.MODEL_PODS,
        related=reasons.INFERENCESETS.ref(scope.object),
        cause=f"{count} replicas made",
        text=f"{count} wanted replicas have a Workspace{why}",
        diagnosis=refused,
        severity=_MISSING_WORKSPACES,
        transition=_missing_since(scope),
        created=scope.object.created,
        budget=startup_budget(scope),
    )


_MACHINE_REFUSED: Final = Wording("machine-type",
    "its webhook probably refuses instanceType {machine} where nodes are not provisioned "
    "(Deployment {deployment} runs with {flag})", "instanceType is refused",
    "Leave resource.instanceType out; where the CRD demands it, use another release of KAITO.",
    Sureness.LIKELY)  # fmt: skip
"""Only KAITO's log has the refusal; kaito-project/kaito#2181."""

_BRINGS_ITS_NODES: Final = re.compile(
    r"--node-provisioner[= ]byo\b|disableNodeAutoProvisioning=true", re.IGNORECASE
)


def _machine_refused(scope: InferenceSetScope) -> Diagnosis | None:
    """Return the diagnosis that KAITO refuses the machine type of its template, or None."""
    machine = scope.object.spec.template.resource.instance_type
    name = scope.settings.text_of("kaito_deployment")
    places = scope.settings.names_of("kaito_namespace")
    for each in deployments_like(scope.snapshot, names=[name], labels={}, places=places):
        flag = _BRINGS_ITS_NODES.search(command_line(each.spec.template))
        if machine and flag:
            return _MACHINE_REFUSED.of(machine=machine, deployment=each.name, flag=flag[0])
    return None


def _missing_since(scope: InferenceSetScope) -> datetime | None:
    """Return since when a Workspace has been missing, or None if unknown.

    InferenceSetReady is False for any replica that does not serve, so its time does not date a
    replica that was requested later. Only the first generation rules that out: the API server
    raises it with each change of the spec.
    """
    ready = scope.object.status.condition("InferenceSetReady")
    if scope.object.metadata.generation != 1 or not is_false(ready):
        return None
    return latest(moved(ready), *(each.created for each in scope.workspaces))


_TYPES: Final = ("DiskPressure", "MemoryPressure", "PIDPressure")
_MARKER: Final = "under resource pressure"
_TYPE: Final = "(?:Disk|Memory|PID)Pressure"
_ENTRY: Final = re.compile(
    rf"(?<![a-z0-9.-])([a-z0-9][a-z0-9.-]{{0,252}}) \(({_TYPE}(?:, {_TYPE}){{0,2}})\)"
)
"""An entry of the text that KAITO appends to NodesReady (kaito-project/kaito v0.12.0)."""


def probe_node_pressure(scope: AnyScope) -> Iterator[Finding]:
    """Yield a finding for each node under pressure.

    The node's own conditions decide. KAITO does not watch nodes, so its text can be stale: it
    counts only for a node that cannot be read or does not say.
    """
    reason = reasons.named(reasons.MODEL_NODE_PRESSURE, scope.subject.kind)
    workspaces = scope.workspaces
    reported = dict(entry for each in workspaces for entry in _reported_by(each).items())
    names = {each.spec.node_name for each in scope.pods if each.spec.node_name and counts(each)}
    names.update(*(each.status.worker_nodes or () for each in workspaces), reported)
    for name in sorted(names):
        node = scope.snapshot[NODES].get("", name)
        types = [each for each in _TYPES if node and is_true(node.status.condition(each))]
        if node is not None and types:
            times = [moved(node.status.condition(each)) for each in types]
            yield scope.finding(
                reason=reason,
                related=NODES.ref(node),
                cause=", ".join(types),
                text=f"node {node.name} is under {', '.join(types)}",
                severity=len(types),
                transition=min(filter(None, times), default=None),
                created=node.created,
                independent=True,
            )
        elif name in reported and not _denied(name, node, scope.snapshot):
            workspace, told = reported[name]
            yield scope.finding(
                reason=reason,
                related=NODES.ref_named("", name),
                cause=told,
                text=f"node {name} is under {told} (according to Workspace {workspace})",
                severity=told.count("Pressure"),
            )
    for each in workspaces if not scope.snapshot.known(NODES) else ():
        if _pressure_text(each) and not _reported_by(each):
            yield scope.finding(
                reason=reason,
                related=reasons.WORKSPACES.ref(each),
                cause="a node under resource pressure",
                text=f"Workspace {each.name} says that a node is {_MARKER}",
                created=each.created,
            )


def _denied(name: str, node: Node | None, snapshot: Snapshot) -> bool:
    """Return True if a node says that it is under no pressure, or is gone."""
    if node is None:
        return snapshot.absence_known(NODES, name=name)
    conditions = (node.status.condition(each) for each in _TYPES)
    return all(each is not None and each.status == "False" for each in conditions)


def _reported_by(workspace: Workspace) -> dict[str, tuple[str, str]]:
    """Return the nodes that a Workspace reports, each with the Workspace and the pressures."""
    text = _pressure_text(workspace)
    return {node: (workspace.name, types) for node, types in _ENTRY.findall(text)}


def _pressure_text(workspace: Workspace) -> str:
    nodes = workspace.status.condition("NodesReady")
    if nodes is None:
        return ""
    _, found, rest = (nodes.message or "")[:SCANNED].partition(_MARKER)
    return found + rest


_IN_PROGRESS: Final = frozenset({
    "", "AwaitingReconciliation", "DRADriverPoolsNotPublished", "KnownEphemeralTaintsExist",
    "NodeClaimNotReady", "NodeNotFound", "NodeNotReady", "RegistrationHookPending",
    "ResourceNotRegistered", "StartupTaintsExist",
})  # fmt: skip
"""NodeClaimReady reasons of a normal boot, or without information."""

_SKU_NOT_AVAILABLE: Final = "SKUNotAvailable"
_TERMINAL, _CLOUD_ERROR, _PLUGINS, _BOOTING = 40, 30, 20, 10


def probe_infra(scope: AnyScope) -> Iterator[Finding]:
    boot = scope.settings.budget(TimeBudget.NODE_BOOT)
    for workspace in scope.workspaces:
        claims = workspace.status.condition("NodeClaimReady")
        nodes = workspace.status.condition("NodesReady")
        if is_false(claims):
            fault = _claims_fault(workspace, claims, boot)
        elif is_false(nodes):
            fault = _nodes_fault(nodes, claims, boot)
        else:
            continue
        vague = fault.severity == _BOOTING
        why = _why_no_machine(workspace, scope.snapshot) if vague else None
        yield about_workspace(scope, workspace, fault, reason=reasons.MODEL_INFRA, why=why)


def _why_no_machine(workspace: Workspace, snapshot: Snapshot) -> Diagnosis | None:
    """Return why a NodeClaim becomes no node: a Workspace may say only that they are few."""
    place = f"{workspace.namespace}/{workspace.name}"
    return why_claims_wait(snapshot.entry(_claims, place, _claims) or (), snapshot)


_OF_CLAIMS: Final = (
    ("kaito.sh/workspacenamespace", "kaito.sh/workspace"),
    ("karpenter.kaito.sh/workspace-namespace", "karpenter.kaito.sh/workspace-name"),
)
"""Labels of NodeClaims with the Workspace that they are for: of gpu-provisioner, of Karpenter."""


def _claims(snapshot: Snapshot) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the NodeClaims by Workspace, `namespace/name`."""
    return grouped(
        (f"{each.metadata.label(namespace)}/{each.metadata.label(name)}", each.name)
        for each in snapshot[NODECLAIMS]
        for namespace, name in _OF_CLAIMS
        if each.metadata.label(name) and not each.deleting
    )


def _claims_fault(workspace: Workspace, claims: Condition, boot: timedelta) -> WorkspaceFault:
    """Judge NodeClaimReady=False: a cloud error, or a boot that may take its time.

    The condition's time changes with its status, not with its reason, so it does not date a cloud
    error. For a boot the status counts: nodes have been missing since then, even in a loop of
    claims that are deleted and recreated, which shows generic reasons only.
    """
    reason = claims.reason or ""
    text = f"NodeClaimReady is False, {condition_text(claims)}"
    gone = "unavailable during launch" in without_reconcile_error(claims)
    if gone or reason == _SKU_NOT_AVAILABLE:
        exempt = believed(claims, workspace)
        return WorkspaceFault(reason or _SKU_NOT_AVAILABLE, text, _TERMINAL, exempt=exempt)
    if reason not in _IN_PROGRESS:
        return WorkspaceFault(cut(reason, 80), text, _CLOUD_ERROR)
    cause = f"nodes not there yet ({reason})" if reason else "nodes not there yet"
    return WorkspaceFault(cause, text, _BOOTING, transition=moved(claims), budget=boot)


def _nodes_fault(nodes: Condition, claims: Condition | None, boot: timedelta) -> WorkspaceFault:
    """Judge NodesReady=False; the budget starts again when the last NodeClaim became ready."""
    plugins = nodes.reason == "NodePluginsNotReady"
    cause = "device plugins missing" if plugins else "nodes not ready"
    return WorkspaceFault(
        f"{cause} ({nodes.reason})" if nodes.reason else cause,
        f"NodesReady is False, {condition_text(nodes)}",
        _PLUGINS if plugins else _BOOTING,
        transition=latest(moved(nodes), moved(claims)),
        budget=boot,
    )

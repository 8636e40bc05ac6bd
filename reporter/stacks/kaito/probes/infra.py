"""inferencesetInfraProvisioningFailed: the nodes of a Workspace."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from reporter.model.finding import Finding
from reporter.model.objects import Condition
from reporter.model.text import cut
from reporter.stacks.kaito.objects import Workspace
from reporter.stacks.kaito.probes.scope import InferenceSetScope, latest, moved
from reporter.stacks.kaito.probes.wording import believed, condition_text, without_reconcile_error
from reporter.stacks.kaito.probes.workspace_faults import WorkspaceFault, about_workspace
from reporter.stacks.kaito.reasons import MODEL_INFRA
from reporter.workload.owners import is_false

_IN_PROGRESS: Final = frozenset(
    {
        "",
        "AwaitingReconciliation",
        "DRADriverPoolsNotPublished",
        "KnownEphemeralTaintsExist",
        "NodeClaimNotReady",
        "NodeNotFound",
        "NodeNotReady",
        "RegistrationHookPending",
        "ResourceNotRegistered",
        "StartupTaintsExist",
    }
)
"""NodeClaimReady reasons of a boot that goes its way, or that say nothing."""

_SKU_NOT_AVAILABLE: Final = "SKUNotAvailable"
_UNAVAILABLE_TEXT: Final = "unavailable during launch"
_TERMINAL: Final = 40
_CLOUD_ERROR: Final = 30
_PLUGINS: Final = 20
_BOOTING: Final = 10


def probe_infra(scope: InferenceSetScope) -> Iterator[Finding]:
    """Yield a finding for each Workspace whose nodes are not there."""
    boot = timedelta(seconds=scope.settings.node_boot_budget_seconds)
    for workspace in scope.workspaces:
        fault = _judge(workspace, boot)
        if fault is None:
            continue
        yield about_workspace(scope, workspace, fault, reason=MODEL_INFRA)


def _judge(workspace: Workspace, boot: timedelta) -> WorkspaceFault | None:
    claims = workspace.status.condition("NodeClaimReady")
    if claims is not None and is_false(claims):
        return _claims_fault(workspace, claims, boot)
    nodes = workspace.status.condition("NodesReady")
    if nodes is not None and is_false(nodes):
        return _nodes_fault(nodes, claims, boot)
    return None


def _claims_fault(workspace: Workspace, claims: Condition, boot: timedelta) -> WorkspaceFault:
    """Judge NodeClaimReady=False: a cloud error, or a boot that may take its time.

    The time of the condition moves with its status, not with its reason, so it says nothing about
    a cloud error. For a boot the status is what counts: nodes have been missing since then, also
    through a loop of claims that are deleted and created again, of which only generic reasons show.
    """
    reason = claims.reason or ""
    text = f"NodeClaimReady is False, {condition_text(claims)}"
    if reason == _SKU_NOT_AVAILABLE or _UNAVAILABLE_TEXT in without_reconcile_error(claims):
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

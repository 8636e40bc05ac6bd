"""inferencesetNodeUnderPressure: nodes of the model short of disk, memory or processes."""

import re
from collections.abc import Iterator
from typing import Final

from reporter.catalogue.resources import NODES
from reporter.model.finding import Finding
from reporter.model.objects import Node
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kaito.objects import Workspace
from reporter.stacks.kaito.probes.scope import InferenceSetScope, moved
from reporter.stacks.kaito.probes.wording import SCANNED
from reporter.stacks.kaito.reasons import MODEL_NODE_PRESSURE
from reporter.stacks.kaito.resources import WORKSPACES
from reporter.workload.owners import is_true
from reporter.workload.pod import counts

_TYPES: Final = ("DiskPressure", "MemoryPressure", "PIDPressure")
_MARKER: Final = "under resource pressure"
_TYPE: Final = "(?:Disk|Memory|PID)Pressure"
_ENTRY: Final = re.compile(
    rf"(?<![a-z0-9.-])([a-z0-9][a-z0-9.-]{{0,252}}) \(({_TYPE}(?:, {_TYPE}){{0,2}})\)"
)
"""An entry of the text that KAITO appends to NodesReady (kaito-project/kaito v0.12.0)."""


def probe_node_pressure(scope: InferenceSetScope) -> Iterator[Finding]:
    """Yield a finding for each node under pressure.

    The node's own conditions decide. KAITO does not watch nodes, so its text can be stale: it
    counts only for a node that cannot be read or does not say.
    """
    workspaces = scope.workspaces
    told = dict(entry for each in workspaces for entry in _told_by(each).items())
    for name in sorted(_nodes_of(scope, workspaces) | told.keys()):
        node = scope.snapshot[NODES].get("", name)
        if node is not None and any(_pressures(node)):
            yield _from_node(scope, node)
        elif name in told and not _denied(name, node, scope.snapshot):
            yield _from_text(scope, name, told[name])
    for workspace in workspaces:
        if _is_unreadable(workspace) and not scope.snapshot.known(NODES):
            yield _from_unreadable_text(scope, workspace)


def _nodes_of(scope: InferenceSetScope, workspaces: tuple[Workspace, ...]) -> set[str]:
    pods = scope.pods
    nodes = {each.spec.node_name for each in pods if each.spec.node_name and counts(each)}
    return nodes.union(*(each.status.worker_nodes or () for each in workspaces))


def _pressures(node: Node) -> Iterator[str]:
    return (each for each in _TYPES if is_true(node.status.condition(each)))


def _denied(name: str, node: Node | None, snapshot: Snapshot) -> bool:
    """Tell whether a node says that it is under no pressure, or is gone."""
    if node is None:
        return snapshot.absence_known(NODES, name=name)
    conditions = (node.status.condition(each) for each in _TYPES)
    return all(each is not None and each.status == "False" for each in conditions)


def _from_node(scope: InferenceSetScope, node: Node) -> Finding:
    types = tuple(_pressures(node))
    times = [moved(node.status.condition(each)) for each in types]
    return scope.finding(
        reason=MODEL_NODE_PRESSURE,
        related=NODES.ref(node),
        cause=", ".join(types),
        text=f"node {node.name} is under {', '.join(types)}",
        severity=len(types),
        transition=min((each for each in times if each is not None), default=None),
        created=node.created,
        independent=True,
    )


def _from_text(scope: InferenceSetScope, node: str, told: tuple[str, str]) -> Finding:
    workspace, types = told
    return scope.finding(
        reason=MODEL_NODE_PRESSURE,
        related=NODES.ref_named("", node),
        cause=types,
        text=f"node {node} is under {types} (according to Workspace {workspace})",
        severity=types.count("Pressure"),
    )


def _from_unreadable_text(scope: InferenceSetScope, workspace: Workspace) -> Finding:
    return scope.finding(
        reason=MODEL_NODE_PRESSURE,
        related=WORKSPACES.ref(workspace),
        cause="a node under resource pressure",
        text=f"Workspace {workspace.name} says that a node is {_MARKER}",
        created=workspace.created,
    )


def _told_by(workspace: Workspace) -> dict[str, tuple[str, str]]:
    """Return what a Workspace says of its nodes: by node, its own name and the pressures."""
    text = _pressure_text(workspace)
    return {node: (workspace.name, types) for node, types in _ENTRY.findall(text)}


def _is_unreadable(workspace: Workspace) -> bool:
    """Tell whether the Workspace speaks of pressure in words that name no node."""
    return bool(_pressure_text(workspace)) and not _told_by(workspace)


def _pressure_text(workspace: Workspace) -> str:
    nodes = workspace.status.condition("NodesReady")
    if nodes is None:
        return ""
    _, found, rest = (nodes.message or "")[:SCANNED].partition(_MARKER)
    return found + rest

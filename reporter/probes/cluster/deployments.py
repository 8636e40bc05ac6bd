"""Whether the Deployments of the shared control plane are available.

clusterNodeNotReady: nodes that are the cause of what is on them, or waits for them.

A node that nothing of ours uses is none: nodes are judged that other findings rest on.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain

from reporter.catalogue.reasons import CLUSTER_NODE
from reporter.catalogue.resources import DEPLOYMENTS, NODES
from reporter.model.finding import Diagnosis, Evaluation, Finding
from reporter.model.objects import Deployment, Node
from reporter.model.subject import CLUSTER, ObjectRef, Subject
from reporter.model.text import clean
from reporter.probes.scope import ComponentScope, Scope
from reporter.setting_types import PartMode
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.components import ControlPlaneComponent, namespace_ref, still_needed_by
from reporter.workload.deployment import is_available, judge_deployment
from reporter.workload.node import GONE, NodeFault, node_fault
from reporter.workload.standing import MISSING, SCALED_TO_ZERO, WorkloadFault


def probe_component(scope: ComponentScope) -> Iterator[Finding]:
    """Yield a finding for each Deployment that is down or degraded, or missing where it is needed.

    Every component is judged, also a second one of the same reason.
    """
    component, snapshot = scope.component, scope.snapshot
    found = component.found(snapshot, scope.earlier.there)
    if found:
        yield from _judge_found(snapshot, component, found)
        return
    if not component.is_missing(snapshot):
        return
    by = still_needed_by(component.key, component.needs, snapshot, seen=scope.earlier)
    was = scope.earlier.there.get(component.key)
    if by or was or component.mode is PartMode.ON:
        yield _missing(snapshot, component, by=by, was=was)


def is_expected(scope: Scope, component: ControlPlaneComponent) -> bool:
    """Tell whether a component is there, or has to be."""
    return bool(
        component.mode is PartMode.ON
        or component.found(scope.snapshot)
        or component.key in scope.earlier.there
        or still_needed_by(component.key, component.needs, scope.snapshot, seen=scope.earlier)
    )


def is_component_available(scope: Scope, component: ControlPlaneComponent) -> bool:
    """Tell whether a component is there, available and without fault."""
    snapshot = scope.snapshot
    found = component.found(snapshot, scope.earlier.there)
    available = any(is_available(each) for each in found)
    return available and not any(_judge_found(snapshot, component, found))


def _judge_found(
    snapshot: Snapshot, component: ControlPlaneComponent, found: tuple[Deployment, ...]
) -> Iterator[Finding]:
    available = any(is_available(each) for each in found)
    others = component.elsewhere(snapshot, found)
    more = (
        f" (another one of its name, which does not count, is in namespace {', '.join(others)})"
        if others
        else ""
    )
    if not others and any(map(component.is_elsewhere, found)):
        places = ", ".join(component.namespaces)
        more = f" (found by its image; looked for as {component.deployment} in {places})"
    for deployment in found:
        fault = judge_deployment(deployment, snapshot)
        if fault is None or (available and deployment.wanted == 0):
            continue  # a revision that was scaled to zero next to one that took over is nothing
        yield _finding(
            snapshot,
            component,
            fault,
            related=DEPLOYMENTS.ref(deployment),
            created=deployment.created,
            more=more,
            governs=component.governs and not available,
        )


def _missing(
    snapshot: Snapshot, component: ControlPlaneComponent, *, by: str, was: ObjectRef | None
) -> Finding:
    """Return the finding of one that is not there, with what needs it and where it was."""
    namespace = was.namespace if was else component.home(snapshot)
    more = (
        f" (looked in {', '.join(component.namespaces)})" if len(component.namespaces) > 1 else ""
    )
    more += f", needed by {by}" if by else ""
    more += ", and it was there before" if was and not by else ""
    return _finding(
        snapshot,
        component,
        MISSING,
        related=was or DEPLOYMENTS.ref_named(namespace, component.deployment),
        more=more,
        governs=component.governs,
        sole_place=component.sole_place(snapshot) if was is None else "",
    )


def _finding(
    snapshot: Snapshot,
    component: ControlPlaneComponent,
    fault: WorkloadFault,
    *,
    related: ObjectRef,
    created: datetime | None = None,
    more: str = "",
    governs: bool,
    sole_place: str = "",
) -> Finding:
    return Finding(
        reason=component.reason,
        subject=CLUSTER,
        involved=namespace_ref(snapshot, related.namespace),
        related=related,
        message=clean(f"{related} is {fault.standing}: {fault.detail}{more}"),
        cause=fault.cause,
        # The one that governs is the one to tell: its message carries what it suppresses.
        severity=fault.severity + governs,
        transition=fault.transition,
        created=created,
        governs=governs,
        lost_node=fault.lost_node,
        diagnosis=fault.diagnosis,
        started=fault.started,
        passing=fault.passing,
        down=fault.down,
        by_spec=fault == SCALED_TO_ZERO,
        sole_place=sole_place,
    )


def probe_nodes(snapshot: Snapshot, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield a finding for each node that others rest on and that is at fault."""
    resting: dict[str, list[Finding]] = {}
    for each in findings:
        if each.lost_node:
            resting.setdefault(each.lost_node, []).append(each)
    for name, rests in sorted(resting.items()):
        node = snapshot[NODES].get("", name)
        fault = node_fault(node) if node is not None else GONE
        told = [each for each in rests if each.diagnosis and each.diagnosis.shared]
        several = len({each.subject for each in told}) > 1
        if node is not None and fault is None and several:
            whys = (each.diagnosis for each in told if each.diagnosis)
            first = min(whys, key=lambda of: of.cause)
            yield _node_finding(name, node, NodeFault(first.brief, ""), why=first)
        if fault is not None and (node is not None or snapshot.absence_known(NODES, name=name)):
            why = _why(rests) if fault.lacking else None
            yield _node_finding(name, node, fault, why=why)


def with_shared_nodes(parts: Sequence[Evaluation], snapshot: Snapshot) -> tuple[Evaluation, ...]:
    """Return the same, where what several subjects suffer from on one node rests on that node.

    Its driver, runtime or network is told once, at the node. One subject alone tells it of its pod, and
    so do all where the node has a fault of its own, which need not be that one.
    """
    subjects: dict[tuple[str, str], set[Subject]] = {}
    for each in chain.from_iterable(part.findings for part in parts):
        if key := _shared_node(each):
            subjects.setdefault(key, set()).add(each.subject)
    shared = {
        key for key, found in subjects.items() if len(found) > 1 and _is_well(key[0], snapshot)
    }
    if not shared:
        return tuple(parts)

    def rest(finding: Finding) -> Finding:
        key = _shared_node(finding)
        return replace(finding, lost_node=key[0]) if key in shared and key else finding

    return tuple(replace(part, findings=tuple(map(rest, part.findings))) for part in parts)


def _shared_node(finding: Finding) -> tuple[str, str] | None:
    """Return the node and the kind of cause, where the cause of a pod on it is to be mended there."""
    found = finding.diagnosis
    if finding.lost_node or found is None or not found.shared or found.object is None:
        return None
    return (found.object.name, found.code) if found.object.kind == NODES.kind else None


def _is_well(name: str, snapshot: Snapshot) -> bool:
    node = snapshot[NODES].get("", name)
    return node is not None and node_fault(node) is None


def _why(resting: Iterable[Finding]) -> Diagnosis | None:
    """Return why the node has no devices, as those that wait for it were diagnosed."""
    found = (each.diagnosis for each in resting)
    devices = (each for each in found if each and each.code.startswith("device"))
    return min(devices, key=lambda each: each.cause, default=None)


def _node_finding(
    name: str, node: Node | None, fault: NodeFault, *, why: Diagnosis | None
) -> Finding:
    ref = NODES.ref(node) if node is not None else NODES.ref_named("", name)
    return Finding(
        reason=CLUSTER_NODE,
        subject=CLUSTER,
        involved=ref,
        related=ref,
        message=clean(f"{ref} {fault.text}" if why is None else f"{ref}: {why.told}"),
        cause=fault.cause,
        transition=fault.transition,
        created=node.created if node is not None else None,
        governs=True,
        diagnosis=why,
    )

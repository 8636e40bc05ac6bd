"""Whether the Deployments of the shared control plane are available."""

from collections.abc import Iterator

from reporter.catalogue.resources import DEPLOYMENTS
from reporter.model.finding import Finding
from reporter.model.objects import Deployment
from reporter.model.subject import CLUSTER
from reporter.model.text import clean
from reporter.probes.cluster.scope import ComponentScope
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.components import Component
from reporter.workload.deployment import is_available, judge_deployment
from reporter.workload.namespaces import namespace_ref
from reporter.workload.standing import MISSING, WorkloadFault


def probe_component(scope: ComponentScope) -> Iterator[Finding]:
    """Yield a finding for each Deployment that is down or degraded, or missing where it should be.

    Every component is judged, also a second one of the same reason.
    """
    found = scope.component.found(scope.snapshot)
    if found:
        yield from _judge_found(scope.snapshot, scope.component, found)
    elif scope.component.is_missing(scope.snapshot):
        yield _missing(scope.snapshot, scope.component)


def is_component_available(snapshot: Snapshot, component: Component) -> bool:
    """Tell whether a component is there, available and without fault."""
    found = component.found(snapshot)
    available = any(is_available(each) for each in found)
    return available and not any(_judge_found(snapshot, component, found))


def _judge_found(
    snapshot: Snapshot, component: Component, found: tuple[Deployment, ...]
) -> Iterator[Finding]:
    available = any(is_available(each) for each in found)
    for deployment in found:
        fault = judge_deployment(deployment, snapshot)
        if fault is None or (available and deployment.wanted == 0):
            continue  # a revision that was scaled to zero beside one that took over is nothing
        yield _finding(
            snapshot,
            component,
            fault,
            namespace=deployment.namespace,
            name=deployment.name,
            deployment=deployment,
            governs=component.governs and not available,
        )


def _missing(snapshot: Snapshot, component: Component) -> Finding:
    return _finding(
        snapshot,
        component,
        MISSING,
        namespace=component.home(snapshot),
        name=component.deployment,
        deployment=None,
        governs=component.governs,
    )


def _finding(
    snapshot: Snapshot,
    component: Component,
    fault: WorkloadFault,
    *,
    namespace: str,
    name: str,
    deployment: Deployment | None,
    governs: bool,
) -> Finding:
    text = f"Deployment {namespace}/{name} is {fault.standing}: {fault.detail}"
    if deployment is None and len(component.namespaces) > 1:
        text += f" (looked in {', '.join(component.namespaces)})"
    related = DEPLOYMENTS.ref(deployment) if deployment else DEPLOYMENTS.ref_named(namespace, name)
    return Finding(
        reason=component.reason,
        subject=CLUSTER,
        involved=namespace_ref(snapshot, namespace),
        related=related,
        message=clean(text),
        cause=fault.cause,
        # The one that governs is the one to tell: its message carries what it suppresses.
        severity=fault.severity + governs,
        transition=fault.transition,
        created=deployment.created if deployment else None,
        governs=governs,
        lost_node=fault.lost_node,
    )

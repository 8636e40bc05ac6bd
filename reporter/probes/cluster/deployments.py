"""Whether the Deployments of the shared control plane are available."""

from collections.abc import Iterator
from datetime import datetime

from reporter.catalogue.reasons import CLUSTER_READY
from reporter.catalogue.resources import DEPLOYMENTS
from reporter.model.finding import Finding, ReadyEvidence
from reporter.model.objects import Deployment
from reporter.model.subject import CLUSTER, Layer, ObjectRef
from reporter.model.text import clean
from reporter.probes.cluster.crds import missed_crds, required_crds
from reporter.probes.scope import ComponentScope, Scope, of_workload
from reporter.setting_types import PartMode
from reporter.snapshot.snapshot import Served, Snapshot
from reporter.workload.components import (
    NEEDED_BY,
    ControlPlaneComponent,
    components,
    may_be_needed,
    namespace_ref,
    needed_since,
    still_needed_by,
)
from reporter.workload.deployment import is_available, judge_deployment
from reporter.workload.owners import declared_workloads, is_workload_available
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
    if was is None and component.is_at_work(snapshot):
        return
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
    if not found and component.key not in scope.earlier.there:
        return component.is_at_work(snapshot)
    available = any(is_available(each) for each in found)
    return available and not any(_judge_found(snapshot, component, found))


def _judge_found(
    snapshot: Snapshot, component: ControlPlaneComponent, found: tuple[Deployment, ...]
) -> Iterator[Finding]:
    available = any(is_available(each) for each in found)
    more, places = "", ", ".join(component.namespaces)
    if others := component.elsewhere(snapshot, found):
        more = (
            f" (another one of its name, which does not count, is in namespace {', '.join(others)})"
        )
    elif any(map(component.is_elsewhere, found)):
        more = f" (found by its image or label; looked for as {component.deployment} in {places})"
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
    more += f"{NEEDED_BY}{by}" if by else ""
    more += ", and it was there before" if was and not by else ""
    return _finding(
        snapshot,
        component,
        MISSING,
        related=was or DEPLOYMENTS.ref_named(namespace, component.deployment),
        more=more,
        # While statuses keep up, whoever writes them may work out of sight: no cause hides behind that.
        governs=component.governs and (was is not None or not component.keeps_up(snapshot)),
        sole_place=component.sole_place(snapshot) if was is None else "",
        no_older_than=needed_since(component.needs, snapshot) if by and was is None else None,
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
    no_older_than: datetime | None = None,
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
        created=created,
        governs=governs,
        down=fault.down,
        by_spec=fault == SCALED_TO_ZERO,
        sole_place=sole_place,
        no_older_than=no_older_than,
        **of_workload(fault),
    )


def probe_cluster_ready(scope: Scope) -> Iterator[ReadyEvidence]:
    """Yield the evidence if every Deployment that is there or needed is available, every CRD served.

    What users declare counts with them, unless they said that Ready need not wait for it. Where no
    component is there or needed, there is nothing that could be seen to work; where it cannot be read
    whether one is needed, nobody can say so.
    """
    every = components(scope.settings)
    configured = tuple(each for each in every if is_expected(scope, each))
    if any(may_be_needed(each.needs, scope.snapshot) for each in every if each not in configured):
        return
    declared = tuple(
        each
        for each in declared_workloads(scope.settings, Layer.CLUSTER)
        if each.component.blocks_ready
    )
    if not configured and not declared:
        return
    if not all(is_component_available(scope, each) for each in configured):
        return
    workloads = [each.found(scope.snapshot) for each in declared]
    if not all(each is not None and is_workload_available(each) for each in workloads):
        return
    discovery = scope.snapshot.discovery
    users = (each.component for each in scope.settings.catalogue.declared)
    declared_crds = [
        discovery.state(each.crd.name)
        for each in users
        if each.crd is not None and each.blocks_ready
    ]
    if any(missed_crds(scope)) or any(each is not Served.SERVED for each in declared_crds):
        return
    served = {
        each.name
        for each in required_crds(scope.settings)
        if each.served(discovery) is Served.SERVED
    }
    available = len(configured) + len(declared)
    release = namespace_ref(scope.snapshot, scope.settings.release_namespace)
    yield ReadyEvidence(
        reason=CLUSTER_READY,
        subject=CLUSTER,
        involved=release,
        related=release,
        message=f"The cluster layer is healthy: {available} component(s) available, "
        f"{len(served) + len(declared_crds)} of their CustomResourceDefinition(s) served",
    )

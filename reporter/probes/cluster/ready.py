"""Positive evidence that the shared control plane works."""

from collections.abc import Iterator

from reporter.catalogue.reasons import CLUSTER_READY
from reporter.model.finding import ReadyEvidence
from reporter.model.subject import CLUSTER, Layer
from reporter.probes.cluster.crds import missed_crds, required_crds
from reporter.probes.cluster.deployments import is_component_available, is_expected
from reporter.probes.scope import Scope
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Served, Snapshot
from reporter.workload.components import (
    ControlPlaneComponent,
    components,
    may_be_needed,
    namespace_ref,
)
from reporter.workload.owners import DeclaredWorkload, declared_workloads, is_workload_available


def probe_cluster_ready(scope: Scope) -> Iterator[ReadyEvidence]:
    """Yield the evidence if every Deployment that is there or needed is available, every CRD served.

    What users declare counts with them, unless they said that Ready need not wait for it. Where no
    component is there or needed, there is nothing that could be seen to work; where it cannot be read
    whether one is needed, nobody can say so.
    """
    every = components(scope.settings)
    configured = tuple(each for each in every if is_expected(scope, each))
    if any(_may_be_needed(scope.snapshot, each) for each in every if each not in configured):
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
    if not all(_is_available(scope.snapshot, each) for each in declared):
        return
    discovery = scope.snapshot.discovery
    declared_crds = [discovery.state(each) for each in _declared_crds(scope.settings)]
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


def _may_be_needed(snapshot: Snapshot, component: ControlPlaneComponent) -> bool:
    return may_be_needed(component.needs, snapshot)


def _is_available(snapshot: Snapshot, workload: DeclaredWorkload) -> bool:
    found = workload.found(snapshot)
    return found is not None and is_workload_available(found)


def _declared_crds(settings: EvaluationSettings) -> Iterator[str]:
    for each in settings.catalogue.declared:
        component = each.component
        if component.crd is not None and component.blocks_ready:
            yield component.crd.name

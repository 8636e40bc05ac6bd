"""Positive evidence that the shared control plane works."""

from collections.abc import Iterator

from reporter.catalogue.reasons import CLUSTER_READY
from reporter.model.finding import ReadyEvidence
from reporter.model.subject import CLUSTER, Layer
from reporter.probes.cluster.crds import missed_crds, required_crds
from reporter.probes.cluster.deployments import is_component_available, is_expected
from reporter.probes.scope import Scope
from reporter.snapshot.snapshot import Served
from reporter.workload.components import components, may_be_needed, namespace_ref
from reporter.workload.owners import declared_workloads, is_workload_available


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

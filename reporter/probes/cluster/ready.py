"""Positive evidence that the shared control plane works (design 5.7)."""

from collections.abc import Iterator

from reporter.catalogue.reasons import CLUSTER_READY
from reporter.model.finding import ReadyEvidence
from reporter.model.subject import CLUSTER
from reporter.probes.cluster.crds import required_crds
from reporter.probes.cluster.deployments import is_component_available
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Served, Snapshot
from reporter.workload.components import components
from reporter.workload.namespaces import namespace_ref


def probe_cluster_ready(
    snapshot: Snapshot, settings: EvaluationSettings
) -> Iterator[ReadyEvidence]:
    """Yield the evidence if every configured Deployment is available and every CRD is served.

    With every component switched off there is nothing that could be seen to work.
    """
    configured = tuple(
        each for each in components(settings) if not each.optional or each.found(snapshot)
    )
    crds = required_crds(settings)
    if not configured or not all(is_component_available(snapshot, each) for each in configured):
        return
    if any(each.served(snapshot.discovery) is not Served.SERVED for each in crds):
        return
    release = namespace_ref(snapshot, settings.release_namespace)
    yield ReadyEvidence(
        reason=CLUSTER_READY,
        subject=CLUSTER,
        involved=release,
        related=release,
        message=f"The cluster layer is healthy: {len(configured)} component(s) available, "
        f"{len(crds)} required CustomResourceDefinition(s) served",
    )

"""Probes of the shared control plane; the subject is the cluster."""

from typing import Final

from reporter.model.finding import Evaluation, KnownSubject
from reporter.model.subject import CLUSTER
from reporter.probes.cluster.crds import probe_crds
from reporter.probes.cluster.deployments import probe_deployments
from reporter.probes.cluster.mesh_provider import probe_mesh_provider
from reporter.probes.cluster.ready import probe_cluster_ready
from reporter.probes.cluster.scaledobjects import probe_scaled_objects
from reporter.probes.cluster.unknown import probe_unknown_resources
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot

_PROBES: Final = (
    probe_crds,
    probe_deployments,
    probe_mesh_provider,
    probe_scaled_objects,
    probe_unknown_resources,
)


def evaluate_cluster(snapshot: Snapshot, settings: EvaluationSettings) -> Evaluation:
    """Return all that is known of the cluster layer."""
    return Evaluation(
        findings=tuple(finding for probe in _PROBES for finding in probe(snapshot, settings)),
        ready=tuple(probe_cluster_ready(snapshot, settings)),
        subjects=(KnownSubject(CLUSTER),),
    )

"""Probes of the shared control plane; the subject is the cluster."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final, TypeAlias

from reporter.catalogue import reasons
from reporter.model.finding import Evaluation, Finding, KnownSubject
from reporter.model.subject import CLUSTER
from reporter.probes.cluster.crds import probe_crds
from reporter.probes.cluster.deployments import probe_component
from reporter.probes.cluster.mesh_provider import probe_mesh_provider
from reporter.probes.cluster.ready import probe_cluster_ready
from reporter.probes.cluster.unknown import probe_unknown_resources
from reporter.probes.parts import contained, contained_probe, joined
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kaito.probes.scaledobjects import probe_scaled_objects
from reporter.workload.components import components

_Probe: TypeAlias = Callable[[Snapshot, EvaluationSettings], Iterable[Finding]]

_PROBES: Final[tuple[tuple[str, str, _Probe], ...]] = (
    (reasons.CLUSTER_CRD_MISSING, "CustomResourceDefinitions", probe_crds),
    (reasons.CLUSTER_GATEWAY_AUTH, "MeshConfig", probe_mesh_provider),
    (reasons.CLUSTER_KEDA_SCALER, "ScaledObjects", probe_scaled_objects),
    (reasons.CLUSTER_STATUS_UNKNOWN, "resources", probe_unknown_resources),
)
"""Of each the reason of its findings, and what it is called where it fails."""


def evaluate_cluster(snapshot: Snapshot, settings: EvaluationSettings) -> Evaluation:
    """Return all that is known of the cluster layer.

    Evidence that it works is not sought where a probe failed: it would mostly fail there too.
    """
    parts = [Evaluation((), (), (KnownSubject(CLUSTER),)), *_judged(snapshot, settings)]
    if not any(part.unjudged for part in parts):
        ready = partial(_ready, snapshot, settings)
        parts.append(contained(ready, CLUSTER, reason=reasons.CLUSTER_READY, probe="evidence"))
    return joined(parts)


def _judged(snapshot: Snapshot, settings: EvaluationSettings) -> Iterator[Evaluation]:
    for reason, name, probe in _PROBES:
        yield contained_probe(reason, name, partial(probe, snapshot, settings))
    for component in components(settings):
        name = f"Deployment {component.deployment}"
        yield contained_probe(component.reason, name, partial(probe_component, snapshot, component))


def _ready(snapshot: Snapshot, settings: EvaluationSettings) -> Evaluation:
    return Evaluation((), tuple(probe_cluster_ready(snapshot, settings)), ())

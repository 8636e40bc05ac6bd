"""Positive evidence that the entrance of a workload namespace works."""

from collections.abc import Iterator
from typing import Final

from reporter.catalogue.reasons import HARNESS_READY
from reporter.catalogue.resources import DEPLOYMENTS, GATEWAYS, NAMESPACES
from reporter.model.finding import ReadyEvidence, ServingEvidence
from reporter.model.objects import Gateway
from reporter.model.subject import Subject
from reporter.model.text import cut
from reporter.probes.scope import NamespaceScope
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.routing import data_planes, is_programmed, workload_gateways

_NAMES_BYTES: Final = 300


def probe_harness_ready(scope: NamespaceScope) -> Iterator[ReadyEvidence]:
    """Yield the evidence if every Gateway is programmed and has a data plane that is ready."""
    gateways = workload_gateways(scope.snapshot, scope.namespace.name)
    works = all(is_programmed(each) and _has_plane(scope.snapshot, each) for each in gateways)
    if not gateways or not works:
        return
    ref = NAMESPACES.ref(scope.namespace)
    names = cut(", ".join(each.name for each in gateways), _NAMES_BYTES)
    yield ReadyEvidence(
        reason=HARNESS_READY,
        subject=Subject.of_namespace(scope.namespace.name),
        involved=ref,
        related=ref,
        message=f"Namespace {scope.namespace.name} is ready: Gateway {names} programmed, "
        "data plane ready",
    )


def probe_harness_serving(scope: NamespaceScope) -> Iterator[ServingEvidence]:
    """Yield how many Gateways work, by the same evidence, and which let nothing through.

    Of one that is programmed without a Deployment, as by the load balancer of a cloud, nothing is
    seen.
    """
    snapshot, place = scope.snapshot, scope.namespace.name
    known = all(snapshot.absence_known(each, place) for each in (GATEWAYS, DEPLOYMENTS))
    gateways = workload_gateways(snapshot, place)
    if not known or any(
        is_programmed(each) and not data_planes(snapshot, each) for each in gateways
    ):
        return
    closed = [(each.namespace, each.name) for each in gateways if not _has_plane(snapshot, each)]
    yield ServingEvidence(
        subject=Subject.of_namespace(place),
        wanted=len(gateways),
        serving=len(gateways) - len(closed),
        closed=frozenset(closed),
    )


def _has_plane(snapshot: Snapshot, gateway: Gateway) -> bool:
    return any(each.status.ready_replicas > 0 for each in data_planes(snapshot, gateway))

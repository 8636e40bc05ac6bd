"""Positive evidence that the entrance of a workload namespace works."""

from collections.abc import Iterator
from typing import Final

from reporter.catalogue.reasons import HARNESS_READY
from reporter.catalogue.resources import NAMESPACES
from reporter.model.finding import ReadyEvidence
from reporter.model.objects import Gateway
from reporter.model.subject import Subject
from reporter.model.text import cut
from reporter.probes.scope import NamespaceScope
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.gateways import data_planes, is_programmed, workload_gateways

_NAMES_BYTES: Final = 300


def probe_harness_ready(scope: NamespaceScope) -> Iterator[ReadyEvidence]:
    """Yield the evidence if every Gateway is programmed and has a data plane that is ready."""
    gateways = workload_gateways(scope.snapshot, scope.namespace.name)
    if not gateways or not all(_serves(scope.snapshot, each) for each in gateways):
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


def _serves(snapshot: Snapshot, gateway: Gateway) -> bool:
    planes = data_planes(snapshot, gateway)
    return is_programmed(gateway) and any(each.status.ready_replicas > 0 for each in planes)

"""Whether a programmed Gateway has pods that serve it.

Istio does not look at pods when it sets Programmed, so a Gateway can be programmed and dead.
"""

from collections.abc import Iterator

from reporter.catalogue.reasons import HARNESS_GATEWAY_DATA_PLANE
from reporter.catalogue.resources import DEPLOYMENTS
from reporter.model.finding import Finding
from reporter.probes.harness.finding import harness_finding
from reporter.probes.scope import NamespaceScope
from reporter.workload.routing import is_programmed, judge_data_plane, workload_gateways


def probe_gateway_data_plane(scope: NamespaceScope) -> Iterator[Finding]:
    """Yield a finding for each programmed Gateway whose Deployment has no ready replica.

    A Gateway without such a Deployment is served in another way.
    """
    for gateway in workload_gateways(scope.snapshot, scope.namespace.name):
        if not is_programmed(gateway):
            continue
        for plane, fault in judge_data_plane(scope.snapshot, gateway):
            yield harness_finding(
                HARNESS_GATEWAY_DATA_PLANE,
                scope.namespace,
                DEPLOYMENTS.ref(plane),
                text=f"of Gateway {gateway.name} has no ready pod: {fault.detail}",
                cause=fault.cause,
                severity=fault.severity,
                transition=fault.transition,
                created=plane.created,
                passing=fault.passing,
                lost_node=fault.lost_node,
                diagnosis=fault.diagnosis,
                started=fault.started,
            )

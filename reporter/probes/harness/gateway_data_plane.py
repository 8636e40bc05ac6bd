"""Whether a programmed Gateway has pods that serve it.

Istio does not look at pods when it sets Programmed, so a Gateway can be programmed and dead.
"""

from collections.abc import Iterator

from reporter.catalogue.reasons import HARNESS_GATEWAY_DATA_PLANE
from reporter.catalogue.resources import DEPLOYMENTS
from reporter.model.finding import Finding
from reporter.probes.harness.finding import harness_finding
from reporter.probes.scope import NamespaceScope
from reporter.workload.deployment import judge_deployment
from reporter.workload.gateways import data_planes, is_programmed, workload_gateways


def probe_gateway_data_plane(scope: NamespaceScope) -> Iterator[Finding]:
    """Yield a finding for each programmed Gateway whose Deployment has no ready replica.

    One pod of several that is not ready is no outage. A Gateway without such a Deployment is
    served in another way.
    """
    for gateway in workload_gateways(scope.snapshot, scope.namespace.name):
        planes = data_planes(scope.snapshot, gateway) if is_programmed(gateway) else ()
        if any(plane.status.ready_replicas > 0 for plane in planes):
            continue
        for plane in planes:
            fault = judge_deployment(plane, scope.snapshot)
            if fault is None:
                continue
            yield harness_finding(
                HARNESS_GATEWAY_DATA_PLANE,
                scope.namespace,
                DEPLOYMENTS.ref(plane),
                text=f"of Gateway {gateway.name} has no ready pod: {fault.detail}",
                cause=fault.cause,
                severity=fault.severity,
                transition=fault.transition,
                created=plane.created,
            )

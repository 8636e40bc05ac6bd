"""The Gateways of a workload namespace and their data planes."""

from collections.abc import Iterator

from reporter.catalogue.needs import GATEWAY_NAME, is_of_harness
from reporter.catalogue.resources import DEPLOYMENTS, GATEWAYS, PODS
from reporter.model.objects import Deployment, Gateway, Pod
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.deployment import judge_deployment
from reporter.workload.pod import counts
from reporter.workload.standing import WorkloadFault


def workload_gateways(snapshot: Snapshot, namespace: str) -> tuple[Gateway, ...]:
    """Return the Gateways of a workload namespace that are not being deleted, by name.

    These are the ones that the harness owns, so that somebody's own Gateway next to them is left
    alone. Where none carries the owner's label the namespace was set up by hand, and all count.
    """
    there = tuple(each for each in snapshot[GATEWAYS].in_namespace(namespace) if not each.deleting)
    owned = tuple(each for each in there if is_of_harness(each))
    return owned or there


def is_programmed(gateway: Gateway) -> bool:
    """Tell whether the Gateway's Programmed condition is True."""
    programmed = gateway.status.condition("Programmed")
    return programmed is not None and programmed.status == "True"


def data_planes(snapshot: Snapshot, gateway: Gateway) -> tuple[Deployment, ...]:
    """Return the Deployments that were made for a Gateway; one at most as Istio works.

    They are found by the Gateway's name alone: Istio copies the owner's label only sometimes.
    """
    found = snapshot[DEPLOYMENTS].labelled(gateway.namespace, GATEWAY_NAME, gateway.name)
    return tuple(each for each in found if not each.deleting)


def judge_data_plane(
    snapshot: Snapshot, gateway: Gateway
) -> Iterator[tuple[Deployment, WorkloadFault]]:
    """Yield what is wrong with each Deployment of a Gateway that has no ready pod at all.

    One pod of several that is not ready is no outage.
    """
    planes = data_planes(snapshot, gateway)
    if any(plane.status.ready_replicas > 0 for plane in planes):
        return
    for plane in planes:
        fault = judge_deployment(plane, snapshot)
        if fault is not None:
            yield plane, fault


def data_plane_pods(snapshot: Snapshot, gateway: Gateway) -> tuple[Pod, ...]:
    """Return the pods of a Gateway that stand for replicas."""
    found = snapshot[PODS].labelled(gateway.namespace, GATEWAY_NAME, gateway.name)
    return tuple(each for each in found if counts(each))

"""modelserviceReady: positive evidence that a ModelService serves."""

from collections.abc import Iterator

from reporter.catalogue.resources import DEPLOYMENTS, HTTPROUTES, INFERENCEPOOLS, PODS
from reporter.model.finding import ReadyEvidence
from reporter.stacks.otterscale.probes.epp import epp_fault
from reporter.stacks.otterscale.probes.scope import ModelServiceScope, RoleView
from reporter.stacks.otterscale.reasons import READY
from reporter.workload.routing import is_accepted


def probe_ready(scope: ModelServiceScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if the pods of each role run and requests reach them.

    Nothing is concluded while anything that it rests on is unknown.
    """
    rests_on = (PODS, DEPLOYMENTS, INFERENCEPOOLS, HTTPROUTES)
    if not all(
        scope.snapshot.absence_known(each, scope.place, sought=scope.own) for each in rests_on
    ):
        return
    if not all(map(_is_served, scope.roles)):
        return
    if scope.epp is None or scope.epp.wanted == 0 or epp_fault(scope, scope.epp) is not None:
        return
    if scope.pool is None or not _is_routed(scope):
        return
    counts = [_count(each) for each in scope.roles]
    route = "route accepted" if scope.route is not None else "no route"
    parts = ", ".join((*counts, "endpoint picker available", route))
    caveat = "the pods have no probes: ready only means that their containers run"
    yield scope.evidence(READY, f"{parts} ({caveat})")


def _is_routed(scope: ModelServiceScope) -> bool:
    """Tell whether its route is accepted; one that it does not ask for may not be there."""
    if scope.route is None:
        return scope.service.spec.http_route is None
    return is_accepted(scope.route)


def _is_served(role: RoleView) -> bool:
    """Tell whether a role has its Deployment, and as many Ready pods as it wants."""
    deployment = role.deployment
    if deployment is None or deployment.wanted < role.wanted:
        return False
    return min(role.ready, deployment.status.ready_replicas) >= role.wanted


def _count(role: RoleView) -> str:
    return role.count if role.wanted else f"0 {role.role} pods wanted"

"""modelserviceReady: positive evidence that a ModelService serves."""

from collections.abc import Iterator

from reporter.catalogue.resources import DEPLOYMENTS, HTTPROUTES, INFERENCEPOOLS, PODS
from reporter.model.finding import ReadyEvidence, ServingEvidence
from reporter.stacks.otterscale.probes.epp import epp_fault, is_reached
from reporter.stacks.otterscale.probes.scope import ModelServiceScope, RoleView
from reporter.stacks.otterscale.reasons import READY
from reporter.workload.routing import entrances_of, fails_open, is_accepted, is_reachable


def probe_ready(scope: ModelServiceScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if the pods of each role run and requests reach them.

    Nothing is concluded while anything that it rests on is unknown.
    """
    if not _is_known(scope) or not all(map(_is_served, scope.roles)):
        return
    if scope.epp is None or scope.epp.wanted == 0 or epp_fault(scope, scope.epp) is not None:
        return
    if scope.pool is None or not is_reached(scope) or not _is_routed(scope):
        return
    counts = [_count(each) for each in scope.roles]
    route = "route accepted" if scope.route is not None else "no route"
    parts = ", ".join((*counts, "endpoint picker available", route))
    caveat = "the pods have no probes: ready only means that their containers run"
    yield scope.evidence(READY, f"{parts} ({caveat})")


def probe_serving(scope: ModelServiceScope) -> Iterator[ServingEvidence]:
    """Yield how many pods serve, and whether requests reach them, by the same evidence.

    Without a pod that decodes nothing serves; without one that prefills, those that decode do it all.
    """
    if not _is_known(scope):
        return
    routes = (scope.route,) if scope.route is not None else ()
    routed = is_reachable(routes) if routes else scope.service.spec.http_route is None
    decoding = _serving(scope.roles[0])
    yield ServingEvidence(
        subject=scope.subject,
        wanted=sum(each.wanted for each in scope.roles) if scope.roles[0].wanted else 0,
        serving=sum(map(_serving, scope.roles)) if decoding else 0,
        reached=scope.pool is not None and routed and _is_picked(scope),
        entrances=entrances_of(routes),
    )


def _is_known(scope: ModelServiceScope) -> bool:
    rests_on = (PODS, DEPLOYMENTS, INFERENCEPOOLS, HTTPROUTES)
    return all(
        scope.snapshot.absence_known(each, scope.place, sought=scope.own) for each in rests_on
    )


def _is_picked(scope: ModelServiceScope) -> bool:
    picker = scope.epp
    there = picker is not None and picker.wanted > 0 and picker.status.ready_replicas > 0
    return (there and is_reached(scope)) or fails_open(scope.pool)


def _serving(role: RoleView) -> int:
    deployment = role.deployment
    return min(role.ready, deployment.status.ready_replicas) if deployment is not None else 0


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

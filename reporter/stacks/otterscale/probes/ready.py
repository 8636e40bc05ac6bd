"""modelserviceReady: positive evidence that a ModelService serves (design 5.7)."""

from collections.abc import Iterator

from reporter.catalogue.resources import DEPLOYMENTS, HTTPROUTES, INFERENCEPOOLS, PODS
from reporter.model.finding import ReadyEvidence
from reporter.model.text import MESSAGE_BYTES, clean, cut
from reporter.stacks.otterscale.probes.epp import epp_fault
from reporter.stacks.otterscale.probes.scope import RoleView, View
from reporter.stacks.otterscale.reasons import READY
from reporter.workload.routing import is_accepted


def probe_ready(view: View) -> Iterator[ReadyEvidence]:
    """Yield evidence if the pods of each role run and requests reach them.

    Nothing is concluded while anything that it rests on is unknown.
    """
    rests_on = (PODS, DEPLOYMENTS, INFERENCEPOOLS, HTTPROUTES)
    if not all(view.snapshot.absence_known(each, view.namespace) for each in rests_on):
        return
    if not all(map(_is_served, view.roles)):
        return
    if view.epp is None or view.epp.wanted == 0 or epp_fault(view, view.epp) is not None:
        return
    if view.pool is None or not _is_routed(view):
        return
    counts = [_count(each) for each in view.roles]
    route = "route accepted" if view.route is not None else "no route"
    parts = ", ".join((*counts, "endpoint picker available", route))
    caveat = "the pods have no probes: ready says that their containers run"
    yield ReadyEvidence(
        reason=READY,
        subject=view.subject,
        involved=view.involved,
        related=view.ref,
        message=cut(clean(f"{view.title} is ready: {parts} ({caveat})"), MESSAGE_BYTES),
    )


def _is_routed(view: View) -> bool:
    """Tell whether its route is accepted; one that it does not ask for may not be there."""
    if view.route is None:
        return view.service.spec.http_route is None
    return is_accepted(view.route)


def _is_served(role: RoleView) -> bool:
    """Tell whether a role has its Deployment, and as many Ready pods as it wants."""
    deployment = role.deployment
    if deployment is None or deployment.wanted < role.wanted:
        return False
    return min(role.ready, deployment.status.ready_replicas) >= role.wanted


def _count(role: RoleView) -> str:
    return role.count if role.wanted else f"0 {role.role} pods wanted"

"""Probes of plain workloads: their pods, and the path of requests."""

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Final

from reporter.catalogue import resources as r
from reporter.model.finding import Diagnosis, Evaluation, Finding, ReadyEvidence, ServingEvidence
from reporter.model.subject import Subject
from reporter.probes.reuse import Question
from reporter.probes.scope import Scope, evaluated
from reporter.probes.subjects import StackProbes
from reporter.served import ways
from reporter.served.pods import judge_roles
from reporter.served.role import all_serve, serving_of
from reporter.served.scaledobjects import judge_scalers
from reporter.snapshot.trace import Cell, How
from reporter.stacks.workloads import reasons as w
from reporter.stacks.workloads.scope import Member, WorkloadScope, models_of
from reporter.workload.components import is_left_out
from reporter.workload.deployment import is_available
from reporter.workload.routing import WRONG_PORT, ParentFault


def probe_ways(scope: WorkloadScope) -> Iterator[Finding]:
    """Yield a finding for each router, picker, route, pool or Service that does not lead to its
    pods, or not only to them.
    """
    if scope.router is not None and not is_available(scope.router):
        what = "router of its release"
        yield ways.deployment_down(scope, scope.router, reason=w.ROUTER_NOT_READY, what=what)
    yield from ways.judge_pickers(scope, scope.ways)
    yield from ways.judge_routes(scope, scope.ways)
    yield from ways.judge_services(scope, scope.ways, scope.name)
    for service, other in scope.shared_services:
        brief = f"selects pods of {other} too"
        text = f"{brief}, which serves another model: requests reach either"
        action = f"Narrow the selector of Service {service.name} to the pods of one model."
        why = Diagnosis("shared-selector", text, brief, action)
        fault = ParentFault(brief, text, WRONG_PORT, diagnosis=why)
        yield ways.refused_way(scope, r.SERVICES.ref(service), fault, reason=w.ROUTE_NOT_READY)


def probe_ready(scope: WorkloadScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if each role has an available replica, and requests reach the pods."""
    if all_serve(scope.roles) and not any(probe_ways(scope)):
        text = ", ".join(
            f"{each.title}{each.available}/{each.replicas} available" for each in scope.roles
        )
        yield scope.evidence(w.READY, text)


def probe_serving(scope: WorkloadScope) -> Iterator[ServingEvidence]:
    """Yield how many replicas serve, and whether requests reach them.

    If a router or a pool does not work, requests may still arrive through a Service of the pods, so
    the model counts as reached.
    """
    reached, routes = scope.ways.is_picked, scope.ways.routes
    yield serving_of(scope.subject, scope.roles, reached=reached, routes=routes)


class WorkloadProbes:
    """Finds the models among workloads, and evaluates each."""

    def questions(self, scope: Scope) -> Iterator[Question]:
        catalogue = scope.settings.catalogue
        models = scope.snapshot.once("models of no kind", lambda each: models_of(each, catalogue))
        for members in models:
            first = members[0][1]
            if is_left_out(first.namespace, scope.snapshot, scope.settings):
                continue
            yield Question(
                Subject(w.WORKLOAD_KIND, first.namespace, first.name),
                partial(_answer, members),
                rests_on=tuple(
                    Cell(each, How.NAME, (one.namespace, one.name)) for each, one in members
                ),
            )


def _answer(members: tuple[Member, ...], of: Scope) -> Evaluation:
    resource, obj = members[0]
    scope = WorkloadScope(**of.basis, resource=resource, object=obj, members=members)
    scaling = judge_scalers(scope, ((resource.kind, obj.name) for resource, obj in members))
    findings = chain(judge_roles(scope, scope.roles), probe_ways(scope), scaling)
    return evaluated(scope, findings, probe_ready(scope), serving=probe_serving(scope))


PROBES: Final = StackProbes(subjects=WorkloadProbes())

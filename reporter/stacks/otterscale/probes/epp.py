"""The endpoint picker, and the path from the Gateway to the pods."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import msgspec

from reporter.catalogue import resources as r
from reporter.diagnosis.reach import selects_ready
from reporter.model import objects as o
from reporter.model.finding import Finding
from reporter.model.text import detail
from reporter.probes.scope import of_workload
from reporter.served.ways import NO_SERVICE, worst_way
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.otterscale import reasons
from reporter.stacks.otterscale.manifests.names import ISTIO
from reporter.stacks.otterscale.manifests.wanted import config_key
from reporter.stacks.otterscale.probes.drift import is_missing
from reporter.stacks.otterscale.probes.scope import ModelServiceScope
from reporter.workload import endpoint_pickers, routing
from reporter.workload.deployment import judge_deployment
from reporter.workload.pod import counts
from reporter.workload.replica_faults import DOWN, WorkloadFault

_UNREACHABLE: Final = DOWN - 5
_OF_PROGRESS: Final = frozenset({"Available", "Progressing"})


def probe_epp(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding if the endpoint picker is down, or cannot be reached through its Service."""
    deployment = scope.epp
    if deployment is None or deployment.deleting:
        return  # `probe_missing` reports a missing Deployment
    fault = epp_fault(scope, deployment)
    if fault is not None:
        yield _down(scope, deployment, fault)
    elif not _is_selected(scope):
        yield _about_service(
            scope,
            "Service selects no ready pod",
            f"Service {scope.epp_name} selects no ready pod of the endpoint picker",
        )
    if (port := _unserved_port(scope)) is not None:
        yield _about_service(
            scope,
            f"Service lacks port {port}",
            f"InferencePool {scope.name} names port {port} of Service "
            f"{scope.epp_name}, which it does not have",
        )


def is_reached(scope: ModelServiceScope) -> bool:
    """Return True if requests reach the picker by the Service that the pool names.

    Also if that is unknown.
    """
    if scope.pool is not None and endpoint_pickers.missing_picker_service(
        scope.pool, scope.snapshot
    ):
        return False
    return _is_selected(scope) and _unserved_port(scope) is None


def epp_fault(scope: ModelServiceScope, deployment: o.Deployment) -> WorkloadFault | None:
    """Return the fault of the Deployment, or None.

    With several replicas only the leader is Ready: the Deployment never becomes Available, and its
    rollout exceeds the deadline. So neither condition shows that a picker has no leader, nor since
    when.
    """
    if deployment.wanted <= 1:
        return judge_deployment(deployment, scope.snapshot)
    if deployment.status.ready_replicas > 0:
        return None
    fault = judge_deployment(_without_progress(deployment), scope.snapshot)
    return replace(fault, transition=None) if fault else None


def _without_progress(deployment: o.Deployment) -> o.Deployment:
    status = deployment.status
    kept = tuple(each for each in status.conditions or () if each.type not in _OF_PROGRESS)
    return msgspec.structs.replace(
        deployment, status=msgspec.structs.replace(status, conditions=kept)
    )


def _down(scope: ModelServiceScope, deployment: o.Deployment, fault: WorkloadFault) -> Finding:
    explained = tuple(_explanations(scope)) if deployment.wanted else ()
    why = f" ({' and '.join(explained)})" if explained else ""
    return scope.finding(
        reason=reasons.EPP,
        related=r.DEPLOYMENTS.ref(deployment),
        cause=explained[0] if explained else fault.cause,
        text=f"endpoint picker is {fault.state}{why}: {fault.detail} "
        f"(Deployment {deployment.name}); {scope.without_picker}",
        severity=fault.severity,
        created=deployment.created,
        **of_workload(fault),
    )


def _explanations(scope: ModelServiceScope) -> Iterator[str]:
    """Yield what the endpoint picker lacks but needs to start."""
    if is_missing(scope, reasons.SERVICEACCOUNTS, scope.epp_name):
        yield f"ServiceAccount {scope.epp_name} is missing"
    config = f"{scope.epp_name}-config"
    key = config_key(scope.object)
    found = scope.snapshot[reasons.PLUGINS_CONFIGMAPS].get(scope.place, config)
    if is_missing(scope, reasons.PLUGINS_CONFIGMAPS, config):
        yield f"ConfigMap {config} is missing"
    elif found is not None and key not in (found.data or {}):
        yield f"ConfigMap {config} has no key {key}"
    # With leader election, no probe depends on the pool.
    if scope.object.picker.replicas == 1 and is_missing(scope, r.INFERENCEPOOLS, scope.name):
        yield f"InferencePool {scope.name} is missing"


def _is_selected(scope: ModelServiceScope) -> bool:
    if scope.epp is None or scope.epp.status.ready_replicas == 0 or scope.epp_service is None:
        return True
    return selects_ready(scope.epp_service, scope.snapshot) is not False


def _unserved_port(scope: ModelServiceScope) -> int | None:
    reference = scope.pool.spec.endpoint_picker_ref if scope.pool else None
    if reference is None or reference.port is None or scope.epp_service is None:
        return None
    if reference.name != scope.epp_service.name:
        return None
    served = {each.port for each in scope.epp_service.spec.ports or ()}
    return None if reference.port.number in served else reference.port.number


def _about_service(scope: ModelServiceScope, cause: str, text: str) -> Finding:
    service = scope.epp_service
    return scope.finding(
        reason=reasons.EPP,
        related=r.SERVICES.ref(service)
        if service
        else r.SERVICES.ref_named(scope.place, scope.epp_name),
        cause=cause,
        text=f"{text}; {scope.without_picker}",
        severity=_UNREACHABLE,
        created=service.created if service else None,
    )


_NOT_INSTALLED, _NOT_PROGRAMMED, _RULE_MISSING, _SELECTS_NONE, _UNSETTLED = 50, 28, 22, 15, 5


def probe_route(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding for each object that lets no request through."""
    for resource, is_wanted in (
        (r.INFERENCEPOOLS, True),
        (r.HTTPROUTES, scope.object.spec.http_route is not None),
    ):
        if is_wanted and scope.snapshot.absent(resource):
            yield scope.finding(
                reason=reasons.ROUTE,
                related=resource.ref_named(scope.place, scope.name),
                cause=f"{resource.kind} is not installed",
                text=f"{resource.kind} {scope.name} cannot exist: CustomResourceDefinition "
                f"{resource.crd_name} is not installed",
                severity=_NOT_INSTALLED,
            )
    route, pool = scope.route, scope.pool
    if route is not None and not route.deleting:
        ref, faults = r.HTTPROUTES.ref(route), _of_route(scope, route)
        yield from worst_way(scope, ref, route.created, reason=reasons.ROUTE, faults=faults)
    if pool is not None and not pool.deleting:
        ref, faults = r.INFERENCEPOOLS.ref(pool), _of_pool(scope, pool)
        yield from worst_way(scope, ref, pool.created, reason=reasons.ROUTE, faults=faults)
    yield from _missing_rule(scope)


def _of_route(scope: ModelServiceScope, route: o.HttpRoute) -> Iterator[routing.ParentFault]:
    yield from routing.route_faults(route, scope.snapshot)
    named = routing.named(route)
    for parent in sorted(named):
        if parent.is_gateway and (fault := _not_programmed(parent, scope.snapshot)):
            yield fault
    entries = route.status.parents or ()
    yield from _unsettled(
        scope,
        tuple(each for each in entries if routing.parent_of(each.parent_ref, scope.place) in named),
    )


def _of_pool(scope: ModelServiceScope, pool: o.InferencePool) -> Iterator[routing.ParentFault]:
    yield from routing.pool_faults(pool, scope.snapshot)
    yield from _unsettled(scope, pool.status.parents or ())
    service = endpoint_pickers.missing_picker_service(pool, scope.snapshot)
    if service not in {"", scope.epp_name}:  # `probe_missing` reports its own
        text = f"its endpoint picker's Service {service} does not exist"
        yield routing.ParentFault(f"Service {service} missing", text, NO_SERVICE)
    if _selects_none(scope, pool):
        text = "its selector matches none of the pods, so requests find no endpoint"
        yield routing.ParentFault("InferencePool selects no pod", text, _SELECTS_NONE)


def _not_programmed(parent: routing.Parent, snapshot: Snapshot) -> routing.ParentFault | None:
    gateway = snapshot[r.GATEWAYS].get(parent.namespace, parent.name)
    programmed = gateway.status.condition("Programmed", "False") if gateway else None
    if programmed is None:
        return None
    text = detail(programmed.reason, programmed.message) or "no reason"
    return routing.ParentFault(
        "Gateway is not programmed",
        f"Programmed is False for its {parent}, {text}",
        _NOT_PROGRAMMED,
        programmed.last_transition_time,
    )


def _unsettled(
    scope: ModelServiceScope, entries: tuple[o.ParentStatus, ...]
) -> Iterator[routing.ParentFault]:
    """Yield a fault for each Gateway that does not say whether it accepts.

    A Gateway that is gone may have left its entry. If one controller accepts, others need not.
    """
    for entry in entries:
        parent = routing.parent_of(entry.parent_ref, scope.place)
        accepted = entry.condition("Accepted", "Unknown")
        if accepted is None:
            continue
        others = (each for each in entries if each.controller_name != entry.controller_name)
        if any(
            routing.serves(each) and routing.parent_of(each.parent_ref, scope.place) == parent
            for each in others
        ):
            continue
        gateway = scope.snapshot[r.GATEWAYS].get(parent.namespace, parent.name)
        is_gone = (
            gateway.deleting
            if gateway
            else scope.snapshot.lacks(r.GATEWAYS, parent.namespace, parent.name)
        )
        if parent.is_gateway and not is_gone:
            text = detail(accepted.reason, accepted.message) or "no reason"
            yield routing.ParentFault(
                "Accepted is Unknown",
                f"Accepted is Unknown for {parent}, {text}",
                _UNSETTLED,
                accepted.last_transition_time,
            )


def _selects_none(scope: ModelServiceScope, pool: o.InferencePool) -> bool:
    own = [each for each in scope.pods if counts(each)]
    selector = pool.spec.selector
    if selector is None or not own or not scope.known(r.PODS):
        return False
    return not any(selector.matches(each.metadata.labels) for each in own)


def _missing_rule(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding if the DestinationRule is missing, which the operator does not watch.

    Another rule may cover the Service.
    """
    if scope.operator.provider != ISTIO or not is_missing(
        scope, r.DESTINATIONRULES, scope.epp_name
    ):
        return
    effect = (
        "the gateway spreads requests without it (failureMode is FailOpen)"
        if scope.fails_open
        else "requests fail (failureMode is FailClose)"
    )
    yield scope.finding(
        reason=reasons.ROUTE,
        related=r.DESTINATIONRULES.ref_named(scope.place, scope.epp_name),
        cause=f"DestinationRule {scope.epp_name} missing",
        text=f"DestinationRule {scope.epp_name}, which makes the gateway speak TLS with the "
        f"endpoint picker, is missing: unless another rule does so, {effect}",
        severity=_RULE_MISSING,
    )

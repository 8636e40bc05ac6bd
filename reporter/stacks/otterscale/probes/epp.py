"""modelserviceEPPNotReady: the endpoint picker."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import msgspec

from reporter.catalogue.resources import DEPLOYMENTS, INFERENCEPOOLS, PODS, SERVICES
from reporter.model.finding import Finding
from reporter.model.objects import Deployment, LabelSelector
from reporter.snapshot.decode import selected_by
from reporter.stacks.otterscale.manifests import epp_config, names
from reporter.stacks.otterscale.probes.missing import is_missing
from reporter.stacks.otterscale.probes.scope import ModelServiceScope
from reporter.stacks.otterscale.reasons import EPP
from reporter.stacks.otterscale.resources import PLUGINS_CONFIGMAPS, SERVICEACCOUNTS
from reporter.workload.deployment import judge_deployment
from reporter.workload.pod import is_ready
from reporter.workload.routing import missing_picker_service
from reporter.workload.standing import DOWN, WorkloadFault

_UNREACHABLE: Final = DOWN - 5
_OF_PROGRESS: Final = frozenset({"Available", "Progressing"})


def probe_epp(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding if the endpoint picker is down, or cannot be reached through its Service."""
    deployment = scope.epp
    if deployment is None or deployment.deleting:
        return  # that it is missing is told as such
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
            f"InferencePool {names.inference_pool(scope.service.name)} names port {port} of Service "
            f"{scope.epp_name}, which it does not have",
        )


def is_reached(scope: ModelServiceScope) -> bool:
    """Tell whether requests get to the picker by the Service that the pool names.

    Also where nobody can tell.
    """
    if scope.pool is not None and missing_picker_service(scope.pool, scope.snapshot):
        return False
    return _is_selected(scope) and _unserved_port(scope) is None


def epp_fault(scope: ModelServiceScope, deployment: Deployment) -> WorkloadFault | None:
    """Return what is wrong with the Deployment, None if nothing is.

    With several replicas only the leader is Ready: the Deployment never becomes Available, and its
    rollout ends past the deadline. So neither says anything of a picker without a leader,
    nor of how long it has been so.
    """
    if deployment.wanted <= 1:
        return judge_deployment(deployment, scope.snapshot)
    if deployment.status.ready_replicas > 0:
        return None
    fault = judge_deployment(_without_progress(deployment), scope.snapshot)
    return replace(fault, transition=None) if fault else None


def _without_progress(deployment: Deployment) -> Deployment:
    """Return a Deployment without the conditions that are False by design."""
    status = deployment.status
    kept = tuple(each for each in status.conditions or () if each.type not in _OF_PROGRESS)
    return msgspec.structs.replace(
        deployment, status=msgspec.structs.replace(status, conditions=kept)
    )


def _down(scope: ModelServiceScope, deployment: Deployment, fault: WorkloadFault) -> Finding:
    explained = tuple(_explanations(scope)) if deployment.wanted else ()
    why = f" ({' and '.join(explained)})" if explained else ""
    return scope.finding(
        reason=EPP,
        related=DEPLOYMENTS.ref(deployment),
        cause=explained[0] if explained else fault.cause,
        text=f"endpoint picker Deployment {deployment.name} is {fault.standing}{why}: "
        f"{fault.detail}; {scope.without_picker}",
        severity=fault.severity,
        transition=fault.transition,
        created=deployment.created,
        passing=fault.passing,
        lost_node=fault.lost_node,
        diagnosis=fault.diagnosis,
        started=fault.started,
    )


def _explanations(scope: ModelServiceScope) -> Iterator[str]:
    """Yield what an endpoint picker needs to start and does not have."""
    name = scope.service.name
    if is_missing(scope, SERVICEACCOUNTS, scope.epp_name):
        yield f"ServiceAccount {scope.epp_name} is missing"
    config = names.epp_config_map(name)
    key = epp_config.key(scope.service)
    found = scope.snapshot[PLUGINS_CONFIGMAPS].get(scope.place, config)
    if is_missing(scope, PLUGINS_CONFIGMAPS, config):
        yield f"ConfigMap {config} is missing"
    elif found is not None and key not in (found.data or {}):
        yield f"ConfigMap {config} has no key {key}"
    # With leader election no probe waits for the pool.
    if scope.service.picker.replicas == 1 and _has_no_pool(scope):
        yield f"InferencePool {names.inference_pool(name)} is missing"


def _has_no_pool(scope: ModelServiceScope) -> bool:
    return is_missing(scope, INFERENCEPOOLS, names.inference_pool(scope.service.name))


def _is_selected(scope: ModelServiceScope) -> bool:
    """Tell whether the Service selects a ready pod, also where that cannot be known."""
    service = scope.epp_service
    if service is None or not service.spec.selector:
        return True
    if scope.epp is None or scope.epp.status.ready_replicas == 0:
        return True
    selector = LabelSelector(match_labels=service.spec.selector)
    if not scope.snapshot.absence_known(PODS, scope.place, sought=selected_by(selector)):
        return True
    return any(map(is_ready, scope.snapshot[PODS].selected(scope.place, selector)))


def _unserved_port(scope: ModelServiceScope) -> int | None:
    """Return the port that the pool names and the Service does not have."""
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
        reason=EPP,
        related=SERVICES.ref(service)
        if service
        else SERVICES.ref_named(scope.place, scope.epp_name),
        cause=cause,
        text=f"{text}; {scope.without_picker}",
        severity=_UNREACHABLE,
        created=service.created if service else None,
    )

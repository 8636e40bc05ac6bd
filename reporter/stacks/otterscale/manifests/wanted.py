"""All objects of a ModelService: which should exist, and which the operator deletes."""

from collections.abc import Iterator
from dataclasses import dataclass

from reporter.model.subject import ObjectRef
from reporter.stacks.otterscale.manifests import (
    epp,
    epp_config,
    monitors,
    names,
    pool,
    rbac,
    routes,
    serving,
)
from reporter.stacks.otterscale.manifests.manifest import Manifest
from reporter.stacks.otterscale.manifests.operator import GKE, ISTIO, OperatorSettings
from reporter.stacks.otterscale.objects import ModelService


@dataclass(frozen=True, slots=True)
class Unwanted:
    """An object that the operator deletes if it exists, by its name alone, whoever owns it."""

    ref: ObjectRef
    why: str


def wanted(service: ModelService, operator: OperatorSettings) -> tuple[Manifest, ...]:
    """Return what should exist for a ModelService, in the order in which it is created."""
    return tuple(each for each in _judged(service, operator) if isinstance(each, Manifest))


def unwanted(service: ModelService, operator: OperatorSettings) -> tuple[Unwanted, ...]:
    """Return what the operator deletes in the same pass, in the same order."""
    return tuple(each for each in _judged(service, operator) if isinstance(each, Unwanted))


def _judged(service: ModelService, operator: OperatorSettings) -> Iterator[Manifest | Unwanted]:
    """Yield each object in the operator's order: it is created, or else deleted."""
    yield serving.decode_deployment(service, operator)
    yield _prefill(service, operator)
    yield epp.service_account(service, operator)
    yield epp_config.config_map(service, operator)
    yield epp.deployment(service, operator)
    yield epp.service(service, operator)
    yield from _metrics_secret(service, operator)
    yield rbac.role(service, operator)
    yield rbac.role_binding(service, operator)
    yield from _cluster_rbac(service, operator)
    yield _former_pool(service)
    yield pool.inference_pool(service, operator)
    yield _route(service, operator)
    yield _destination_rule(service, operator)
    yield from _pod_monitors(service, operator)
    yield _service_monitor(service, operator)


def _prefill(service: ModelService, operator: OperatorSettings) -> Manifest | Unwanted:
    role = service.spec.prefill
    if role is not None:
        return serving.prefill_deployment(service, operator, role)
    name = names.prefill_deployment(service.name)
    return _unwanted(service, "apps/v1", "Deployment", name=name, why="spec.prefill is not set")


def _metrics_secret(
    service: ModelService, operator: OperatorSettings
) -> Iterator[Manifest | Unwanted]:
    why = _no_metrics_auth(service, operator)
    if not why and operator.provider == GKE:
        why = "the provider is gke"
    if why:
        yield _unwanted(service, "v1", "Secret", name=names.epp_secret(service.name), why=why)
    else:
        yield epp.token_secret(service, operator)


def _cluster_rbac(
    service: ModelService, operator: OperatorSettings
) -> Iterator[Manifest | Unwanted]:
    why = _no_metrics_auth(service, operator)
    for made in (
        rbac.cluster_role(service, operator),
        rbac.cluster_role_binding(service, operator),
    ):
        yield Unwanted(made.ref, why) if why else made


def _no_metrics_auth(service: ModelService, operator: OperatorSettings) -> str:
    """Return why the endpoint picker's metrics need no token, empty if they need one."""
    if service.spec.inference_pool is None:
        return "spec.inferencePool is not set"
    return "" if operator.metrics_endpoint_auth else "metrics need no token"


def _former_pool(service: ModelService) -> Unwanted:
    # The name that pools once had. Another ModelService may have that name, and loses its pool.
    name = names.epp(service.name)
    return _unwanted(
        service, pool.API_VERSION, pool.KIND, name=name, why="a former name; deleted in each pass"
    )


def _route(service: ModelService, operator: OperatorSettings) -> Manifest | Unwanted:
    why = "spec.httpRoute is not set and there is no default Gateway"
    name = names.http_route(service.name)
    return routes.http_route(service, operator) or _unwanted(
        service, routes.ROUTE_API_VERSION, "HTTPRoute", name=name, why=why
    )


def _destination_rule(service: ModelService, operator: OperatorSettings) -> Manifest | Unwanted:
    rule = routes.destination_rule(service, operator)
    return rule if operator.provider == ISTIO else Unwanted(rule.ref, "the provider is not istio")


def _pod_monitors(
    service: ModelService, operator: OperatorSettings
) -> Iterator[Manifest | Unwanted]:
    off = "" if service.has_pod_monitors else "spec.monitoring.podMonitor does not enable it"
    no_prefill = "" if service.spec.prefill else "spec.prefill is not set"
    for role, why in ((names.DECODE, off), (names.PREFILL, off or no_prefill)):
        monitor = monitors.pod_monitor(service, operator, role)
        yield Unwanted(monitor.ref, why) if why else monitor


def _service_monitor(service: ModelService, operator: OperatorSettings) -> Manifest | Unwanted:
    monitor = monitors.service_monitor(service, operator)
    if service.has_service_monitor:
        return monitor
    why = (
        "spec.monitoring.podMonitor does not enable it"
        if service.spec.inference_pool
        else "spec.inferencePool is not set"
    )
    return Unwanted(monitor.ref, why)


def _unwanted(
    service: ModelService, api_version: str, kind: str, *, name: str, why: str
) -> Unwanted:
    return Unwanted(ObjectRef(api_version, kind, service.namespace, name), why)

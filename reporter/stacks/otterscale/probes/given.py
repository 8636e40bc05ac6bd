"""What is compared only where the operator's setting for it is given: images, tracing, tokens."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from reporter.catalogue import resources as r
from reporter.model.objects import Deployment, KubeObject, TemplateContainer
from reporter.model.resource import Resource
from reporter.stacks.otterscale import operator_flags as given
from reporter.stacks.otterscale.manifests import epp, serving
from reporter.stacks.otterscale.manifests.init_containers import MODEL_UNPACK, ROUTING_PROXY
from reporter.stacks.otterscale.objects import (
    MetricsEndpoint,
    ModelService,
    PodMonitor,
    ServiceMonitor,
)
from reporter.stacks.otterscale.probes.compared import Entries
from reporter.stacks.otterscale.probes.scope import ModelServiceScope

_ENDPOINT_VARIABLE: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
_SETTING_OF_VARIABLE: Final = {
    _ENDPOINT_VARIABLE: given.ENDPOINT,
    "OTEL_TRACES_SAMPLER": given.SAMPLER,
    "OTEL_TRACES_SAMPLER_ARG": given.SAMPLER_ARG,
}
_METRICS_AUTH_OFF: Final = tuple(epp.METRICS_AUTH_OFF.split("="))
_TRACING_FLAG: Final = epp.TRACING_ON.partition("=")[0]
_TRACED: Final = (epp.CONTAINER, ROUTING_PROXY)


def _proxy_image(service: ModelService) -> str:
    return service.spec.routing_proxy.image if service.spec.routing_proxy else ""


_IMAGES: Final[Mapping[str, tuple[str, Callable[[ModelService], str]]]] = {
    serving.CONTAINER: (given.ENGINE_IMAGE, lambda service: service.spec.engine.image),
    epp.CONTAINER: (given.EPP_IMAGE, lambda service: service.picker.image),
    ROUTING_PROXY: (given.PROXY_IMAGE, _proxy_image),
    MODEL_UNPACK: (given.KIT_IMAGE, lambda _: ""),
}
"""For each container the setting with its image, and the image that the resource names instead."""


def given_entries(
    scope: ModelServiceScope, resource: Resource[KubeObject], obj: KubeObject
) -> dict[str, Entries]:
    """Return the parts of an object that given settings tell of, by their path."""
    if not scope.given:
        return {}
    match obj:
        case Deployment() if resource is r.DEPLOYMENTS:
            return dict(_of_deployment(scope, obj))
        case PodMonitor() if given.METRICS_AUTH in scope.given:
            path = "spec.podMetricsEndpoints.authorization"
            return {path: _tokens(obj.spec.pod_metrics_endpoints)}
        case ServiceMonitor() if given.METRICS_AUTH in scope.given:
            return {"spec.endpoints.authorization": _tokens(obj.spec.endpoints)}
        case _:
            return {}


def _of_deployment(scope: ModelServiceScope, obj: Deployment) -> Iterator[tuple[str, Entries]]:
    pod = obj.spec.template.spec
    for group, containers in (
        ("initContainers", pod.init_containers),
        ("containers", pod.containers),
    ):
        for container in containers or ():
            path = f"spec.template.spec.{group}[{container.name}]"
            if _tells_image(scope, container.name):
                yield f"{path}.image", {"0": container.image}
            if container.name == epp.CONTAINER:
                yield f"{path}.args", _arguments(scope, container)
            if container.name in _TRACED and given.TRACING in scope.given:
                yield f"{path}.env", _variables(scope, container)


def _tells_image(scope: ModelServiceScope, container: str) -> bool:
    """Tell whether the image of a container is the one that a given setting names."""
    if container not in _IMAGES:
        return False
    setting, own = _IMAGES[container]
    return setting in scope.given and not own(scope.service)


def _arguments(scope: ModelServiceScope, container: TemplateContainer) -> Entries:
    found: dict[str, str] = {}
    for argument in container.args or ():
        flag, _, value = argument.partition("=")
        if flag == _TRACING_FLAG and given.TRACING in scope.given:
            found[flag] = value or "true"
        elif (flag, value) == _METRICS_AUTH_OFF and given.METRICS_AUTH in scope.given:
            found[flag] = value
    return found


def _variables(scope: ModelServiceScope, container: TemplateContainer) -> Entries:
    """Return the variables of tracing; with tracing off there should be none."""
    is_on = scope.operator.tracing_enabled
    found: dict[str, str] = {}
    for variable in container.env or ():
        setting = _SETTING_OF_VARIABLE.get(variable.name)
        if is_on and setting is not None and setting not in scope.given:
            continue
        value = variable.value or ""
        is_endpoint = variable.name == _ENDPOINT_VARIABLE
        found[variable.name] = _endpoint(scope, value) if is_endpoint else value
    return found


def _endpoint(scope: ModelServiceScope, url: str) -> str:
    """Return a word for an address: there may be a password in it."""
    if not scope.operator.tracing_enabled:
        return "(set)"
    return "(as given)" if url == scope.operator.tracing_otel_endpoint else "(another one)"


def _tokens(endpoints: Iterable[MetricsEndpoint] | None) -> Entries:
    """Return which key of which Secret each endpoint is asked with."""
    return {
        str(n): f"{token.name}/{token.key}"
        for n, each in enumerate(endpoints or ())
        if (token := each.authorization.credentials if each.authorization else None)
    }

"""All objects of a ModelService: which should exist, and which the operator deletes.

Settings of the operator are recovered from the objects that it made: it makes those of all
ModelServices, so each is looked for in all of them, and what stands in most of them counts.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import msgspec

from reporter.model.objects import (
    Deployment,
    DestinationRule,
    HttpRoute,
    KubeObject,
    Part,
    TemplateContainer,
)
from reporter.model.subject import ObjectRef
from reporter.stacks.otterscale.manifests import epp, names
from reporter.stacks.otterscale.manifests import names as labels
from reporter.stacks.otterscale.manifests import pods as serving
from reporter.stacks.otterscale.manifests.filling import filled
from reporter.stacks.otterscale.manifests.names import GKE, ISTIO, NONE, Manifest, OperatorSettings
from reporter.stacks.otterscale.manifests.pods import MODEL_UNPACK, ROUTING_PROXY
from reporter.stacks.otterscale.manifests.values import Values
from reporter.stacks.otterscale.objects import Json, ModelService


@dataclass(frozen=True, slots=True)
class Unwanted:
    """An object that the operator deletes if it exists, by its name alone, whoever owns it."""

    ref: ObjectRef
    why: str


class _Place(Part, frozen=True):
    name: str
    namespace: str = ""


class _Head(Part, frozen=True):
    api_version: str
    kind: str
    metadata: _Place


def wanted(service: ModelService, operator: OperatorSettings) -> tuple[Manifest, ...]:
    """Return what should exist for a ModelService, in the order in which it is created."""
    documents = (
        filled(template, values) for template, values, why in _judged(service, operator) if not why
    )
    return tuple(Manifest(_ref(each), each) for each in documents)


def unwanted(service: ModelService, operator: OperatorSettings) -> tuple[Unwanted, ...]:
    """Return what the operator deletes in the same pass, in the same order."""
    return tuple(
        Unwanted(_ref(filled(template, values, is_head=True)), why)
        for template, values, why in _judged(service, operator)
        if why
    )


def _ref(document: Json) -> ObjectRef:
    head = msgspec.convert(document, _Head)
    return ObjectRef(head.api_version, head.kind, head.metadata.namespace, head.metadata.name)


def _judged(service: ModelService, operator: OperatorSettings) -> Iterator[tuple[str, Values, str]]:
    """Yield each object in the operator's order: its template, and why it is deleted; empty: it is made."""
    picker = Values(service, operator)
    decode, prefill = (replace(picker, role_name=each) for each in (names.DECODE, names.PREFILL))
    no_pool = "" if service.spec.inference_pool else "spec.inferencePool is not set"
    no_tokens = no_pool or ("" if operator.metrics_endpoint_auth else "metrics need no token")
    no_prefill = "" if service.spec.prefill else "spec.prefill is not set"
    not_enabled = "spec.monitoring.podMonitor does not enable it"
    off = "" if service.has_pod_monitors else not_enabled
    has_route = service.spec.http_route or operator.default_gateway_name
    yield "deployment", decode, ""
    yield "deployment", prefill, no_prefill
    yield "epp-serviceaccount", picker, ""
    yield "epp-configmap", picker, ""
    yield "epp-deployment", picker, ""
    yield "epp-service", picker, ""
    by_provider = "the provider is gke" if operator.provider == GKE else ""
    yield "epp-secret", picker, no_tokens or by_provider
    yield "epp-role", picker, ""
    yield "epp-rolebinding", picker, ""
    yield "epp-clusterrole", picker, no_tokens
    yield "epp-clusterrolebinding", picker, no_tokens
    # The name that pools once had. Another ModelService may have that name, and loses its pool.
    yield "inferencepool", replace(picker, pool=picker.epp), "a former name; deleted in each pass"
    yield "inferencepool", picker, ""
    no_route = "spec.httpRoute is not set and there is no default Gateway"
    yield "httproute", picker, "" if has_route else no_route
    yield (
        "destinationrule",
        picker,
        "" if operator.provider == ISTIO else "the provider is not istio",
    )
    yield "podmonitor", decode, off
    yield "podmonitor", prefill, off or no_prefill
    yield "servicemonitor", picker, no_pool or ("" if service.has_service_monitor else not_enabled)


T = TypeVar("T", bool, str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Children:
    """A ModelService and those of its objects that tell of the operator; None if absent."""

    service: ModelService
    decode: Deployment | None = None
    prefill: Deployment | None = None
    epp: Deployment | None = None
    route: HttpRoute | None = None
    destination_rule: DestinationRule | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """What is known of the operator's settings; None where nothing tells.

    Attributes:
        provider: `istio`, or `none` for any other: whether it is `gke` cannot be told.
        default_gateway_name: empty if ModelServices without a route of their own have none.

    """

    provider: str | None = None
    metrics_endpoint_auth: bool | None = None
    default_gateway_name: str | None = None
    default_engine_image: str | None = None
    default_epp_image: str | None = None
    default_routing_proxy_image: str | None = None
    kit_image: str | None = None
    tracing_enabled: bool | None = None
    version: str | None = None
    unpack_script: str | None = None

    def over(self, settings: OperatorSettings) -> OperatorSettings:
        known = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(settings, **{key: each for key, each in known.items() if each is not None})


def recover(services: Sequence[Children]) -> Recovered:
    """Return the operator's settings, as far as the objects of all ModelServices tell."""
    return Recovered(
        provider=_provider(services),
        metrics_endpoint_auth=_most(metrics_auth, services),
        default_gateway_name=_gateway(services),
        default_engine_image=_most(_engine_image, services),
        default_epp_image=_most(_epp_image, services),
        default_routing_proxy_image=_most(_proxy_image, services),
        kit_image=_most(_kit_image, services),
        tracing_enabled=_most(_tracing, services),
        version=_version(services),
        unpack_script=_most(_unpack_script, services),
    )


def _most(read: Callable[[Children], T | None], services: Iterable[Children]) -> T | None:
    return _commonest(each for service in services if (each := read(service)) is not None)


def _commonest(values: Iterable[T]) -> T | None:
    """Return the most frequent value; of equally frequent ones always the same."""
    counts = Counter(values)
    return max(counts, key=lambda each: (counts[each], each)) if counts else None


def _provider(services: Sequence[Children]) -> str | None:
    if any(each.destination_rule for each in services):
        return ISTIO
    return NONE if any(each.epp for each in services) else None


def _gateway(services: Sequence[Children]) -> str | None:
    by_default = [each for each in services if each.service.spec.http_route is None]
    found = _most(_parent, by_default)
    if found is not None:
        return found
    return "" if any(each.epp for each in by_default) else None


def _parent(children: Children) -> str | None:
    """Return the Gateway of the route, None if the route's labels are not the operator's."""
    route = children.route
    if route is None or route.metadata.label(labels.MANAGED_BY) != labels.OPERATOR:
        return None
    parents = route.spec.parent_refs
    return parents[0].name if parents else None


def _version(services: Sequence[Children]) -> str | None:
    made = [each for service in services for each in _objects(service)]
    found = _commonest(each for obj in made if (each := obj.metadata.label(labels.VERSION)))
    if found is not None:
        return found
    return "" if made else None


def _objects(children: Children) -> list[KubeObject]:
    parts: tuple[KubeObject | None, ...] = (
        children.decode,
        children.prefill,
        children.epp,
        children.route,
        children.destination_rule,
    )
    return [each for each in parts if each is not None]


def metrics_auth(children: Children) -> bool | None:
    """Return whether the endpoint picker asks for a token; None where there is no endpoint picker."""
    arguments = _epp_arguments(children)
    return None if arguments is None else epp.METRICS_AUTH_OFF not in arguments


def _tracing(children: Children) -> bool | None:
    arguments = _epp_arguments(children) or ()
    told = {epp.TRACING_ON: True, epp.TRACING_OFF: False}
    return next((told[each] for each in arguments if each in told), None)


def _epp_arguments(children: Children) -> tuple[str, ...] | None:
    for container in _containers(children.epp):
        if container.name == epp.CONTAINER:
            return container.args or ()
    return None


def _engine_image(children: Children) -> str | None:
    if children.service.spec.engine.image:
        return None
    return _image(children.decode, serving.CONTAINER) or _image(children.prefill, serving.CONTAINER)


def _epp_image(children: Children) -> str | None:
    return None if children.service.picker.image else _image(children.epp, epp.CONTAINER)


def _proxy_image(children: Children) -> str | None:
    proxy = children.service.spec.routing_proxy
    if proxy is None or proxy.image:
        return None
    return _image(children.decode, ROUTING_PROXY)


def _kit_image(children: Children) -> str | None:
    if children.decode is None:
        return None
    return _image(children.decode, MODEL_UNPACK) or ""


def _unpack_script(children: Children) -> str | None:
    deployments = (each for each in (children.decode, children.prefill) if each is not None)
    return next((each for each in map(script_of, deployments) if each), None)


def script_of(deployment: Deployment) -> str:
    """Return the script by which a serving Deployment unpacks its model; empty if there is none."""
    found = (each.args for each in _containers(deployment) if each.name == MODEL_UNPACK)
    arguments = next(found, None)
    return arguments[-1] if arguments else ""


def _image(deployment: Deployment | None, name: str) -> str | None:
    found = (each.image for each in _containers(deployment) if each.name == name)
    return next(found, "") or None


def _containers(deployment: Deployment | None) -> tuple[TemplateContainer, ...]:
    if deployment is None:
        return ()
    pod = deployment.spec.template.spec
    return (*(pod.init_containers or ()), *(pod.containers or ()))

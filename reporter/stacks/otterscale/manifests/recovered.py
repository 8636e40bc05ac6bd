"""The operator's settings, recovered from the objects that it made.

One operator makes the objects of all ModelServices, so each setting is looked for in all of them,
and what stands in most of them counts.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar

from reporter.model.objects import Deployment, HttpRoute, KubeObject, TemplateContainer
from reporter.stacks.otterscale.manifests import epp, labels, serving
from reporter.stacks.otterscale.manifests.init_containers import MODEL_UNPACK, ROUTING_PROXY
from reporter.stacks.otterscale.manifests.operator import ISTIO, NONE, OperatorSettings
from reporter.stacks.otterscale.objects import DestinationRule, ModelService

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
        """Return `settings` with what is known in their place."""
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

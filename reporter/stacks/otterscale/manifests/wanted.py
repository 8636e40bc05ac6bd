"""All objects of a ModelService: which should exist, and which the operator deletes.

The operator's settings are recovered from its objects. It creates the objects of all ModelServices,
so each setting is looked up in all of them, and the most frequent value counts.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Final, TypeVar

import msgspec

from reporter.model import objects as o
from reporter.model.subject import ObjectRef
from reporter.stacks.otterscale import objects as api
from reporter.stacks.otterscale.manifests import names
from reporter.stacks.otterscale.manifests.filling import filled
from reporter.stacks.otterscale.manifests.names import Given, OperatorSettings

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object that should exist, or that the operator deletes by name, whoever owns it."""

    ref: ObjectRef
    document: api.Json  # the whole object as JSON; not to be changed
    why: str  # why it is deleted; empty if it should exist

    def typed(self, type_: type[T]) -> T:
        """Return it as the struct of its kind, for comparison with existing objects."""
        return msgspec.convert(self.document, type_)


def wanted(service: api.ModelService, operator: OperatorSettings) -> tuple[Manifest, ...]:
    """Return the objects that should exist for a ModelService, in the order of their creation."""
    return tuple(_filled(*row) for row in _judged(service, operator) if not row[2])


def unwanted(service: api.ModelService, operator: OperatorSettings) -> tuple[Manifest, ...]:
    """Return the objects that the operator deletes in the same pass, in the same order."""
    return tuple(_filled(*row) for row in _judged(service, operator) if row[2])


def _filled(template: str, values: SimpleNamespace, why: str) -> Manifest:
    document = filled(template, values)
    obj = msgspec.convert(document, o.KubeObject)
    of = ObjectRef(str(document["apiVersion"]), str(document["kind"]), obj.namespace, obj.name)
    return Manifest(of, document, why)


def _judged(
    service: api.ModelService, operator: OperatorSettings
) -> Iterator[tuple[str, SimpleNamespace, str]]:
    """Yield each object in order: its template, its values, and why it is deleted, if it is."""
    picker = values_of(service, operator)
    decode = values_of(service, operator, names.DECODE)
    prefill = values_of(service, operator, names.PREFILL)
    no_pool = "" if service.spec.inference_pool else "spec.inferencePool is not set"
    no_tokens = no_pool or ("" if operator.metrics_endpoint_auth else "metrics need no token")
    no_prefill = "" if service.spec.prefill else "spec.prefill is not set"
    not_enabled = "spec.monitoring.podMonitor does not enable it"
    off = "" if service.has_pod_monitors else not_enabled
    has_route = service.spec.http_route or operator.default_gateway_name
    no_route = "" if has_route else "spec.httpRoute is not set and there is no default Gateway"
    yield "deployment", decode, ""
    yield "deployment", prefill, no_prefill
    yield "epp-serviceaccount", picker, ""
    yield "epp-configmap", picker, ""
    yield "epp-deployment", picker, ""
    yield "epp-service", picker, ""
    by_provider = "the provider is gke" if operator.provider == names.GKE else ""
    yield "epp-secret", picker, no_tokens or by_provider
    yield "epp-role", picker, ""
    yield "epp-rolebinding", picker, ""
    yield "epp-clusterrole", picker, no_tokens
    yield "epp-clusterrolebinding", picker, no_tokens
    # Pools once had this name. Another ModelService with this name loses its pool.
    former = SimpleNamespace(**{**vars(picker), "pool_name": picker.epp})
    yield "inferencepool", former, "a former name; deleted in each pass"
    yield "inferencepool", picker, ""
    yield "httproute", picker, no_route
    not_istio = "" if operator.provider == names.ISTIO else "the provider is not istio"
    yield "destinationrule", picker, not_istio
    yield "podmonitor", decode, off
    yield "podmonitor", prefill, off or no_prefill
    yield "servicemonitor", picker, no_pool or ("" if service.has_service_monitor else not_enabled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Children:
    """A ModelService and its objects that show the operator's settings; None if absent."""

    service: api.ModelService
    decode: o.Deployment | None = None
    prefill: o.Deployment | None = None
    epp: o.Deployment | None = None
    route: o.HttpRoute | None = None
    destination_rule: o.DestinationRule | None = None

    @property
    def made(self) -> tuple[o.KubeObject, ...]:
        every = (self.decode, self.prefill, self.epp, self.route, self.destination_rule)
        return tuple(each for each in every if each is not None)


def recover(services: Sequence[Children]) -> Given:
    """Return the operator's settings, as far as the objects of all ModelServices show them.

    The provider is `istio`, or `none` for any other: objects do not show whether it is `gke`. There
    is no default Gateway if ModelServices without a route of their own have none.
    """
    found = {field: _commonest(map(read, services)) for field, read in _SHOWN.items()}
    if any(each.destination_rule for each in services):
        found["provider"] = names.ISTIO
    elif any(each.epp for each in services):
        found["provider"] = names.NONE
    by_default = [each for each in services if each.service.spec.http_route is None]
    if found["default_gateway_name"] is None and any(each.epp for each in by_default):
        found["default_gateway_name"] = ""
    made = [obj for each in services for obj in each.made]
    versions = _commonest(obj.metadata.label(names.VERSION) or None for obj in made)
    found["version"] = "" if made and versions is None else versions
    return {field: value for field, value in found.items() if value is not None}


def _commonest(values: Iterable[str | bool | None]) -> str | bool | None:
    """Return the most frequent value; ties are always resolved in the same way."""
    counts = Counter(each for each in values if each is not None)
    return max(counts, key=lambda each: (counts[each], each)) if counts else None


def _parent(children: Children) -> str | None:
    """Return the default Gateway from the route; None if the operator did not create the route."""
    route = children.route
    if children.service.spec.http_route is not None or route is None:
        return None
    is_operators = route.metadata.label(names.MANAGED_BY) == names.OPERATOR
    parents = route.spec.parent_refs if is_operators else None
    return parents[0].name if parents else None


def metrics_auth(children: Children) -> bool | None:
    """Return whether the endpoint picker requires a token; None if there is no picker."""
    arguments = _epp_arguments(children)
    return None if arguments is None else names.METRICS_AUTH_OFF not in arguments


def _tracing(children: Children) -> bool | None:
    states = {names.TRACING_ON: True, names.TRACING_OFF: False}
    arguments = _epp_arguments(children) or ()
    return next((states[each] for each in arguments if each in states), None)


def _epp_arguments(children: Children) -> tuple[str, ...] | None:
    found = container_of(children.epp, names.PICKER)
    return (found.args or ()) if found else None


IMAGES: Final[Mapping[str, tuple[str, Callable[[api.ModelService], str]]]] = {
    names.ENGINE: ("default_engine_image", lambda of: of.spec.engine.image),
    names.PICKER: ("default_epp_image", lambda of: of.picker.image),
    names.ROUTING_PROXY: (
        "default_routing_proxy_image",
        lambda of: of.spec.routing_proxy.image if of.spec.routing_proxy else "",
    ),
    names.MODEL_UNPACK: ("kit_image", lambda _: ""),
}
"""The image of each container: a setting of the operator, unless the ModelService names one."""


def _image(name: str, children: Children) -> str | None:
    """Return the image of a container in the Deployments; empty if nothing unpacks a model."""
    if IMAGES[name][1](children.service):
        return None
    made = (children.decode, children.prefill, children.epp)
    found = (each.image for of in made if (each := container_of(of, name)) and each.image)
    return next(found, "" if name == names.MODEL_UNPACK and children.decode else None)


_SHOWN: Final[Mapping[str, Callable[[Children], str | bool | None]]] = {
    "metrics_endpoint_auth": metrics_auth,
    "default_gateway_name": _parent,
    **{setting: partial(_image, name) for name, (setting, _) in IMAGES.items()},
    "tracing_enabled": _tracing,
    "unpack_script": lambda of: script_of(of.decode) or script_of(of.prefill) or None,
}
"""How to read each setting of the operator from the objects of one ModelService."""


def script_of(deployment: o.Deployment | None) -> str:
    """Return the script that unpacks the model of a serving Deployment, or an empty string."""
    found = container_of(deployment, names.MODEL_UNPACK)
    return found.args[-1] if found and found.args else ""


def container_of(deployment: o.Deployment | None, name: str) -> o.TemplateContainer | None:
    """Return the first container or init container of that name."""
    if deployment is None:
        return None
    pod = deployment.spec.template.spec
    containers = (*(pod.init_containers or ()), *(pod.containers or ()))
    return next((each for each in containers if each.name == name), None)


_PORT: Final = re.compile(r"\+?0*([0-9]{1,5})")
_MOST_PORT: Final = 65_535

_OF_PICKERS: Final[api.Json] = {
    "requests": {"cpu": "4", "memory": "8Gi"},
    "limits": {"memory": "16Gi"},
}

RESOURCE_NAMES: Final = {
    "nvidia": "nvidia.com/gpu",
    "amd": "amd.com/gpu",
    "intel-gaudi": "habana.ai/gaudi",
    "google": "google.com/tpu",
}
"""The extended resource that pods request, by the type of their accelerator."""


def values_of(
    service: api.ModelService, operator: OperatorSettings, role_name: str = ""
) -> SimpleNamespace:
    """Return the values that templates may name; `role_name` is for the objects of a role."""
    spec, picker = service.spec, service.picker
    role = (spec.prefill if role_name == names.PREFILL else spec.decode) or api.ServingRole()
    ways = zip(_WAYS, msgspec.structs.astuple(role.parallelism), strict=True)
    proxy = spec.routing_proxy or api.RoutingProxy()
    is_proxied = spec.routing_proxy is not None and role_name == names.DECODE
    listen_port = proxy.target_port if is_proxied else spec.engine.port
    side_channel = side_channel_port(spec.engine.env or ())
    secrets = [each.name for each in spec.model.image_pull_secrets or ()]
    unpacks = bool(operator.kit_image and spec.model.image)
    gateway = api.GatewayRef(operator.default_gateway_name, "llm-d")
    if spec.http_route:
        gateway = spec.http_route.gateway_ref
        if gateway.namespace == service.namespace:
            gateway = api.GatewayRef(gateway.name)
    is_sized = picker.resources.requests is not None or picker.resources.limits is not None
    values = SimpleNamespace(
        service=service,
        operator=operator,
        role_name=role_name,
        role=role,
        role_resources=with_accelerators(
            role.resources, spec.accelerator.type, count(role.parallelism)
        ),
        variables=[_variable(each) for each in spec.engine.env or ()],
        ways=[text for flag, number in ways if number > 1 for text in (flag, str(number))],
        listen_port=listen_port,  # of vLLM: behind the proxy if there is one
        side_channel=side_channel if side_channel != listen_port else None,
        unpacks=unpacks,  # whether a container fetches the model
        is_proxied=is_proxied,
        has_init_containers=unpacks or is_proxied,
        pull_secrets=[{"name": each} for each in secrets] or None,
        pull_secret=next(iter(secrets), None),  # the only one that unpacking uses
        proxy=proxy,
        # The operator's first write, of its finalizer, omits an empty text, and the schema then
        # fills it in.
        default_connector=api.DEFAULT_CONNECTOR,
        is_secure=bool(proxy.secure_proxy),
        prefiller_tls=None
        if proxy.prefiller_use_tls is None
        else str(proxy.prefiller_use_tls).lower(),
        epp=names.epp(service.name),
        # The user's as a whole, or the operator's.
        picker_resources=_resources_json(picker.resources) if is_sized else _OF_PICKERS,
        elects=picker.replicas > 1,  # whether replicas of the endpoint picker elect a leader
        readiness="readiness" if picker.replicas > 1 else "inference-extension",
        liveness="liveness" if picker.replicas > 1 else "inference-extension",
        is_open=not operator.metrics_endpoint_auth,  # whether metrics need no token
        is_unified=spec.prefill is None,
        config_key=config_key(service),
        failure_mode=picker.failure_mode or api.FAIL_CLOSE,
        pool_name=service.name,
        gateway=gateway,
        hostnames=list((spec.http_route and spec.http_route.hostnames) or ()) or None,
        monitoring=service.pod_monitoring or api.PodMonitoring(),
        default=api.PodMonitoring(),
    )
    if not role_name:
        data = msgspec.convert(filled("epp-configmap", values)["data"], dict[str, str])
        values.config_checksum = config_checksum(data)
    return values


def config_key(service: api.ModelService) -> str:
    """Return the key of the picker's configuration, which is the name of the mounted file."""
    return "default-plugins.yaml" if service.spec.prefill is None else "pd-config.yaml"


def config_checksum(content: Mapping[str, str]) -> str:
    """Return the checksum of the `data` of a ConfigMap, as the operator computes it."""
    joined = "".join(f"{name}{text}" for name, text in sorted(content.items()))
    return hashlib.sha256(joined.encode()).hexdigest()


_WAYS: Final = ("--tensor-parallel-size", "--data-parallel-size", "--data-parallel-size-local")


def _variable(given: api.EnvVar) -> api.Json:
    """Return a user's variable, with the default that the API server fills in."""
    source = given.value_from
    if source is not None and isinstance(field := source.get("fieldRef"), Mapping):
        source = {**source, "fieldRef": {"apiVersion": "v1", **field}}
    # The API omits empty values.
    parts = {"name": given.name, "value": given.value or None, "valueFrom": source}
    return {key: part for key, part in parts.items() if part is not None}


def count(parallelism: api.Parallelism) -> int:
    """Return how many accelerators a pod requests; data parallelism does not count."""
    return max(parallelism.tensor, 1) * max(parallelism.data_local, 1)


def with_accelerators(resources: api.Resources, accelerator: str, number: int) -> api.Json:
    """Return the resources of a container, with the accelerators in limits and in requests.

    A value that the user set for the same key is replaced.
    """
    wanted = _resources_json(resources)
    name = RESOURCE_NAMES.get(accelerator)
    if name is None or number == 0:
        return wanted
    own = {name: str(number)}
    return {
        **wanted,
        "limits": {**(resources.limits or {}), **own},
        "requests": {**(resources.requests or {}), **own},
    }


def _resources_json(resources: api.Resources) -> api.Json:
    parts: api.Json = {
        "limits": resources.limits,
        "requests": resources.requests,
        "claims": list(resources.claims) if resources.claims else None,
    }
    return {key: value for key, value in parts.items() if value is not None}


def side_channel_port(variables: tuple[api.EnvVar, ...]) -> int | None:
    """Return the port of vLLM's side channel, if its first variable names one literally."""
    for variable in variables:
        if variable.name == names.SIDE_CHANNEL_VARIABLE:
            literal = _PORT.fullmatch(variable.value)
            number = int(literal[1]) if literal else 0
            return number if 0 < number <= _MOST_PORT else None
    return None

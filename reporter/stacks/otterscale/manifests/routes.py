"""The HTTPRoute, by default or as the resource says, and the DestinationRule."""

from typing import Final

from reporter.stacks.otterscale.manifests import labels, names
from reporter.stacks.otterscale.manifests.manifest import Manifest, owned
from reporter.stacks.otterscale.manifests.operator import OperatorSettings
from reporter.stacks.otterscale.objects import Json, ModelService

GATEWAY_GROUP: Final = "gateway.networking.k8s.io"
ROUTE_API_VERSION: Final = f"{GATEWAY_GROUP}/v1"
RULE_API_VERSION: Final = "networking.istio.io/v1beta1"
DEFAULT_GATEWAY_NAMESPACE: Final = "llm-d"
MODEL_HEADER: Final = "OtterScale-Model-Name"


def http_route(service: ModelService, operator: OperatorSettings) -> Manifest | None:
    """Return the HTTPRoute; None if the resource names no Gateway and there is no default one."""
    parent = _parent(service, operator)
    if parent is None:
        return None
    spec: Json = {"parentRefs": [parent]}
    if service.spec.http_route and service.spec.http_route.hostnames:
        spec["hostnames"] = list(service.spec.http_route.hostnames)
    spec["rules"] = [{"matches": [_match(service)], "backendRefs": [_backend(service)]}]
    name = names.http_route(service.name)
    metadata = labels.routing_metadata(service.name, operator.version)
    return owned(
        service, ROUTE_API_VERSION, "HTTPRoute", name=name, labels=metadata, content={"spec": spec}
    )


def destination_rule(service: ModelService, operator: OperatorSettings) -> Manifest:
    """Return the DestinationRule: TLS to the endpoint picker, whose certificate is not verified."""
    name = names.epp(service.name)
    spec = {
        "host": f"{name}.{service.namespace}.svc.cluster.local",
        "trafficPolicy": {"tls": {"mode": "SIMPLE", "insecureSkipVerify": True}},
    }
    metadata = labels.epp_metadata(service.name, operator.version)
    return owned(
        service,
        RULE_API_VERSION,
        "DestinationRule",
        name=name,
        labels=metadata,
        content={"spec": spec},
    )


def _parent(service: ModelService, operator: OperatorSettings) -> Json | None:
    """Return the reference to the Gateway."""
    route = service.spec.http_route
    if route is None:
        if not operator.default_gateway_name:
            return None
        return {
            "group": GATEWAY_GROUP,
            "kind": "Gateway",
            "namespace": DEFAULT_GATEWAY_NAMESPACE,
            "name": operator.default_gateway_name,
        }
    gateway = route.gateway_ref
    if gateway.namespace in {"", service.namespace}:
        return {"name": gateway.name}
    return {"namespace": gateway.namespace, "name": gateway.name}


def _match(service: ModelService) -> Json:
    """Return what a request must have: the name of the ModelService, not that of the model."""
    return {
        "path": {"type": "PathPrefix", "value": "/"},
        "headers": [{"type": "Exact", "name": MODEL_HEADER, "value": service.name}],
    }


def _backend(service: ModelService) -> Json:
    return {
        "group": "inference.networking.k8s.io",
        "kind": "InferencePool",
        "name": names.inference_pool(service.name),
    }

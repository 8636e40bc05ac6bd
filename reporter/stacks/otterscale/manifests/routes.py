"""The HTTPRoute, by default or as the resource says, and the DestinationRule.

The InferencePool, by default or as the resource says.

What tells Prometheus to scrape: PodMonitors and ServiceMonitor.
"""

from typing import Final

from reporter.stacks.otterscale.manifests import names
from reporter.stacks.otterscale.manifests import names as labels
from reporter.stacks.otterscale.manifests.epp import METRICS_PORT_NAME
from reporter.stacks.otterscale.manifests.names import Manifest, OperatorSettings, owned
from reporter.stacks.otterscale.objects import FAIL_CLOSE, Json, ModelService, PodMonitoring

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


POOL_API_VERSION: Final = "inference.networking.k8s.io/v1"
KIND: Final = "InferencePool"


def inference_pool(service: ModelService, operator: OperatorSettings) -> Manifest:
    """Return the InferencePool: the pods of both roles, behind the endpoint picker."""
    spec = {
        "targetPorts": [{"number": service.engine_port}],
        "selector": {"matchLabels": labels.pool_selector(service.name)},
        "endpointPickerRef": {
            "group": "",
            "kind": "Service",
            "name": names.epp(service.name),
            "port": {"number": service.picker_port},
            "failureMode": service.picker.failure_mode or FAIL_CLOSE,
        },
    }
    name = names.inference_pool(service.name)
    metadata = labels.routing_metadata(service.name, operator.version)
    return owned(
        service, POOL_API_VERSION, KIND, name=name, labels=metadata, content={"spec": spec}
    )


MONITOR_API_VERSION: Final = "monitoring.coreos.com/v1"

_DEFAULT: Final = PodMonitoring()


def pod_monitor(service: ModelService, operator: OperatorSettings, role: str) -> Manifest:
    """Return the PodMonitor of a role."""
    told = service.pod_monitoring or _DEFAULT
    endpoint = {
        "port": told.port_name or _DEFAULT.port_name,
        "path": told.path or _DEFAULT.path,
        "interval": told.interval or _DEFAULT.interval,
        "relabelings": [
            {
                "action": "replace",
                "sourceLabels": ["__meta_kubernetes_pod_label_app_kubernetes_io_name"],
                "targetLabel": "model_service",
            }
        ],
    }
    spec = {
        "selector": {"matchLabels": labels.role_selector(service.name, role)},
        "podMetricsEndpoints": [endpoint],
    }
    name = names.pod_monitor(service.name, role)
    metadata = labels.role_metadata(service.name, role, operator.version)
    return owned(
        service,
        MONITOR_API_VERSION,
        "PodMonitor",
        name=name,
        labels=metadata,
        content={"spec": spec},
    )


def service_monitor(service: ModelService, operator: OperatorSettings) -> Manifest:
    """Return the ServiceMonitor of the endpoint picker."""
    endpoint: Json = {"port": METRICS_PORT_NAME, "interval": "30s"}
    if operator.metrics_endpoint_auth:
        # With the provider gke the operator names this Secret here and never makes it.
        token = {"name": names.epp_secret(service.name), "key": "token"}
        endpoint["authorization"] = {"credentials": token}
    spec = {
        "selector": {"matchLabels": labels.epp_selector(service.name)},
        "endpoints": [endpoint],
    }
    metadata = labels.epp_metadata(service.name, operator.version)
    name = names.epp(service.name)
    return owned(
        service,
        MONITOR_API_VERSION,
        "ServiceMonitor",
        name=name,
        labels=metadata,
        content={"spec": spec},
    )

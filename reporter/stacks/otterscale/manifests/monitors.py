"""What tells Prometheus to scrape: PodMonitors and ServiceMonitor."""

from typing import Final

from reporter.stacks.otterscale.manifests import labels, names
from reporter.stacks.otterscale.manifests.epp import METRICS_PORT_NAME
from reporter.stacks.otterscale.manifests.manifest import Manifest, owned
from reporter.stacks.otterscale.manifests.operator import OperatorSettings
from reporter.stacks.otterscale.objects import Json, ModelService, PodMonitoring

API_VERSION: Final = "monitoring.coreos.com/v1"

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
        service, API_VERSION, "PodMonitor", name=name, labels=metadata, content={"spec": spec}
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
        service, API_VERSION, "ServiceMonitor", name=name, labels=metadata, content={"spec": spec}
    )

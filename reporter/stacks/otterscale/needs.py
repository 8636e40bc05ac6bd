"""What shows that a cluster needs OtterScale's model operator."""

from typing import Final

from reporter.catalogue import resources as r
from reporter.model.stack import Need, need
from reporter.stacks.otterscale.resources import MODELSERVICES

_MANAGED_BY: Final = "app.kubernetes.io/managed-by"

OF_OTTERSCALE: Final[tuple[Need, ...]] = (
    need(
        MODELSERVICES,
        "ModelServices",
        evidence="the model operator makes Deployments, an endpoint picker and an InferencePool for "
        "each (otterscale/model-operator)",
    ),
)
ROUTED_MODELSERVICES: Final = need(
    MODELSERVICES,
    "ModelServices with spec.httpRoute",
    evidence="the model operator makes an HTTPRoute to the Gateway that it names "
    "(otterscale/model-operator)",
    shows=lambda service, _: service.spec.http_route is not None,
)
MONITORED_MODELSERVICES: Final = need(
    MODELSERVICES,
    "ModelServices whose spec.monitoring.podMonitor is not off",
    evidence="the model operator makes PodMonitors, by default too, and ends in an error where it "
    "cannot (otterscale/model-operator)",
    shows=lambda service, _: service.has_pod_monitors,
)
MODELSERVICES_WITH_MONITORED_PICKERS: Final = need(
    MODELSERVICES,
    "ModelServices with spec.inferencePool and spec.monitoring.podMonitor.enabled",
    evidence="the model operator makes a ServiceMonitor for the endpoint picker "
    "(otterscale/model-operator)",
    shows=lambda service, _: service.has_service_monitor,
)
DEPLOYMENTS_OF_MODELSERVICES: Final = need(
    r.DEPLOYMENTS,
    f"Deployments with {_MANAGED_BY}: model-operator",
    evidence="the model operator makes them for a ModelService (otterscale/model-operator)",
    shows=lambda deployment, _: deployment.metadata.label(_MANAGED_BY) == "model-operator",
)

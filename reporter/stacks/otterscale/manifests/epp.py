"""The endpoint picker: Deployment, Service, ServiceAccount, Secret."""

from typing import Final

from reporter.stacks.otterscale.manifests import epp_config, labels, names, pods
from reporter.stacks.otterscale.manifests.gpu import resources_json
from reporter.stacks.otterscale.manifests.manifest import Manifest, owned
from reporter.stacks.otterscale.manifests.operator import OperatorSettings
from reporter.stacks.otterscale.objects import Json, ModelService

CONTAINER: Final = "epp"
CHECKSUM: Final = "checksum/config"
HEALTH_PORT: Final = 9003
METRICS_PORT: Final = 9090
METRICS_PORT_NAME: Final = "http-metrics"
GRPC_PORT_NAME: Final = "grpc-ext-proc"
POOL_GROUP: Final = "inference.networking.k8s.io"

METRICS_AUTH_OFF: Final = "--metrics-endpoint-auth=false"
TRACING_ON: Final = "--tracing=true"
TRACING_OFF: Final = "--tracing=false"

_CONFIG_VOLUME: Final = "epp-config"
_CONFIG_PATH: Final = "/config"
_GRACE_SECONDS: Final = 130
_NODE: Final = "OTEL_RESOURCE_ATTRIBUTES_NODE_NAME"
_POD: Final = "OTEL_RESOURCE_ATTRIBUTES_POD_NAME"


def deployment(service: ModelService, operator: OperatorSettings) -> Manifest:
    """Return the Deployment of the endpoint picker."""
    name = names.epp(service.name)
    checksum = epp_config.checksum(epp_config.data(service))
    template = {
        "metadata": {
            "labels": labels.epp_pods(service.name, operator.version),
            "annotations": {CHECKSUM: checksum},
        },
        "spec": {
            "serviceAccountName": name,
            "terminationGracePeriodSeconds": _GRACE_SECONDS,
            "securityContext": pods.pod_security(),
            "containers": [_container(service, operator)],
            "volumes": [
                {
                    "name": _CONFIG_VOLUME,
                    "configMap": {"name": names.epp_config_map(service.name), "optional": True},
                }
            ],
        },
    }
    spec = {
        "replicas": service.picker.replicas,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": labels.epp_deployment_selector(service.name)},
        "template": template,
    }
    return _owned(service, operator, "apps/v1", kind="Deployment", content={"spec": spec})


def service(service: ModelService, operator: OperatorSettings) -> Manifest:
    """Return the Service of the endpoint picker; its health port is not in it."""
    ports = ((GRPC_PORT_NAME, service.picker_port), (METRICS_PORT_NAME, METRICS_PORT))
    spec = {
        "selector": labels.epp_selector(service.name),
        "ports": [
            {"name": name, "port": number, "targetPort": number, "protocol": "TCP"}
            for name, number in ports
        ],
    }
    return _owned(service, operator, "v1", kind="Service", content={"spec": spec})


def service_account(service: ModelService, operator: OperatorSettings) -> Manifest:
    """Return the ServiceAccount of the endpoint picker."""
    return _owned(service, operator, "v1", kind="ServiceAccount", content={})


def token_secret(service: ModelService, operator: OperatorSettings) -> Manifest:
    """Return the Secret that Kubernetes fills with a token, for Prometheus."""
    return owned(
        service,
        "v1",
        "Secret",
        name=names.epp_secret(service.name),
        labels=labels.epp_metadata(service.name, operator.version),
        content={"type": "kubernetes.io/service-account-token"},
        annotations={"kubernetes.io/service-account.name": names.epp(service.name)},
    )


def _owned(
    service: ModelService, operator: OperatorSettings, api_version: str, *, kind: str, content: Json
) -> Manifest:
    metadata = labels.epp_metadata(service.name, operator.version)
    return owned(
        service, api_version, kind, name=names.epp(service.name), labels=metadata, content=content
    )


def _container(service: ModelService, operator: OperatorSettings) -> Json:
    picker = service.picker
    readiness, liveness = (
        ("readiness", "liveness")
        if picker.replicas > 1
        else ("inference-extension", "inference-extension")
    )
    return {
        "name": CONTAINER,
        "image": picker.image or operator.default_epp_image,
        "imagePullPolicy": "IfNotPresent",
        "args": _arguments(service, operator),
        "env": _environment(operator),
        "resources": _resources(service),
        "ports": [
            pods.port(GRPC_PORT_NAME, service.picker_port),
            pods.port("grpc-health", HEALTH_PORT),
            pods.port(METRICS_PORT_NAME, METRICS_PORT),
        ],
        "volumeMounts": [{"name": _CONFIG_VOLUME, "mountPath": _CONFIG_PATH, "readOnly": True}],
        "readinessProbe": _probe(readiness, delay=0, period=2),
        "livenessProbe": _probe(liveness, delay=5, period=10),
        "securityContext": pods.container_security(),
    }


def _arguments(service: ModelService, operator: OperatorSettings) -> list[str]:
    arguments = [
        f"--pool-name={names.inference_pool(service.name)}",
        f"--pool-namespace={service.namespace}",
        f"--pool-group={POOL_GROUP}",
        f"--config-file={_CONFIG_PATH}/{epp_config.key(service)}",
        f"--grpc-port={service.picker_port}",
        "--zap-encoder=json",
    ]
    if service.picker.replicas > 1:
        arguments.append("--ha-enable-leader-election")
    arguments.append(TRACING_ON if operator.tracing_enabled else TRACING_OFF)
    if not operator.metrics_endpoint_auth:
        arguments.append(METRICS_AUTH_OFF)
    return [*arguments, *(f"--{name}={value}" for name, value in sorted(operator.epp_flags))]


def _environment(operator: OperatorSettings) -> list[Json]:
    environment = [
        pods.variable_from("NAMESPACE", "metadata.namespace"),
        pods.variable_from("POD_NAME", "metadata.name"),
    ]
    if not operator.tracing_enabled:
        return environment
    attributes = {"namespace": "NAMESPACE", "node": _NODE, "pod": _POD}
    return [
        *environment,
        *pods.exporter(operator, "gateway-api-inference-extension"),
        pods.variable_from(_NODE, "spec.nodeName", versioned=True),
        pods.variable_from(_POD, "metadata.name", versioned=True),
        pods.variable(
            "OTEL_RESOURCE_ATTRIBUTES",
            ",".join(f"k8s.{noun}.name=$({name})" for noun, name in attributes.items()),
        ),
        *pods.sampler(operator),
    ]


def _resources(service: ModelService) -> Json:
    given = service.picker.resources
    if given.requests is not None or given.limits is not None:
        return resources_json(given)
    return {"requests": {"cpu": "4", "memory": "8Gi"}, "limits": {"memory": "16Gi"}}


def _probe(asked: str, *, delay: int, period: int) -> Json:
    return {
        "grpc": {"port": HEALTH_PORT, "service": asked},
        "initialDelaySeconds": delay,
        "periodSeconds": period,
    }

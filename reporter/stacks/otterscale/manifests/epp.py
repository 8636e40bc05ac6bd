"""The endpoint picker: Deployment, Service, ServiceAccount, Secret.

The configuration of the endpoint picker: its ConfigMap and checksum.

The text is written from tables. Its bytes matter: the operator puts a checksum of them into the
pod template of the endpoint picker.

What the endpoint picker may do.
"""

import hashlib
from typing import Final, TypeAlias

import yaml

from reporter.stacks.otterscale.manifests import names, pods
from reporter.stacks.otterscale.manifests import names as labels
from reporter.stacks.otterscale.manifests.names import (
    Manifest,
    OperatorSettings,
    cluster_scoped,
    owned,
)
from reporter.stacks.otterscale.manifests.pods import resources_json
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
    checksum = config_checksum(data(service))
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
        f"--config-file={_CONFIG_PATH}/{key(service)}",
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
        *pods.exporter_variables(operator, "gateway-api-inference-extension"),
        pods.variable_from(_NODE, "spec.nodeName", versioned=True),
        pods.variable_from(_POD, "metadata.name", versioned=True),
        pods.env_variable(
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


GROUP: Final = "rbac.authorization.k8s.io"
_API: Final = f"{GROUP}/v1"

_READ: Final = ("get", "watch", "list")
_RULES: Final = (
    ("", ("pods",), _READ),
    ("inference.networking.x-k8s.io", ("inferenceobjectives", "inferencemodelrewrites"), _READ),
    ("inference.networking.k8s.io", ("inferencepools",), _READ),
)
_LEADING_RULES: Final = (
    (
        "coordination.k8s.io",
        ("leases",),
        ("get", "list", "watch", "create", "update", "patch", "delete"),
    ),
    ("", ("events",), ("create", "patch")),
)
_METRICS_RULES: Final = (
    ("authentication.k8s.io", ("tokenreviews",), ("create",)),
    ("authorization.k8s.io", ("subjectaccessreviews",), ("create",)),
)


def role(service: ModelService, operator: OperatorSettings) -> Manifest:
    """Return the Role; several replicas also elect a leader."""
    rules = [*_RULES, *(_LEADING_RULES if service.picker.replicas > 1 else ())]
    content: Json = {"rules": [_rule(*each) for each in rules]}
    metadata = labels.epp_metadata(service.name, operator.version)
    return owned(
        service, _API, "Role", name=names.epp(service.name), labels=metadata, content=content
    )


def role_binding(service: ModelService, operator: OperatorSettings) -> Manifest:
    """Return what gives the Role to the ServiceAccount."""
    name = names.epp(service.name)
    metadata = labels.epp_metadata(service.name, operator.version)
    content = _binding(service, "Role", name)
    return owned(service, _API, "RoleBinding", name=name, labels=metadata, content=content)


def cluster_role(service: ModelService, operator: OperatorSettings) -> Manifest:
    """Return the ClusterRole, which lets the endpoint picker check who reads its metrics."""
    name = names.epp_cluster_role(service.namespace, service.name)
    metadata = labels.epp_metadata(service.name, operator.version)
    rules = [_rule(*each) for each in _METRICS_RULES]
    rules.append({"nonResourceURLs": ["/metrics"], "verbs": ["get"]})
    return cluster_scoped(_API, "ClusterRole", name, labels=metadata, content={"rules": rules})


def cluster_role_binding(service: ModelService, operator: OperatorSettings) -> Manifest:
    """Return what gives the ClusterRole to the ServiceAccount."""
    name = names.epp_cluster_role(service.namespace, service.name)
    metadata = labels.epp_metadata(service.name, operator.version)
    content = _binding(service, "ClusterRole", name)
    return cluster_scoped(_API, "ClusterRoleBinding", name, labels=metadata, content=content)


def _rule(group: str, resources: tuple[str, ...], verbs: tuple[str, ...]) -> Json:
    return {"apiGroups": [group], "resources": [*resources], "verbs": [*verbs]}


def _binding(service: ModelService, kind: str, name: str) -> Json:
    account = {
        "kind": "ServiceAccount",
        "name": names.epp(service.name),
        "namespace": service.namespace,
    }
    return {
        "subjects": [account],
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": name},
    }


UNIFIED_KEY: Final = "default-plugins.yaml"
DISAGGREGATED_KEY: Final = "pd-config.yaml"

Plugins: TypeAlias = tuple[tuple[str, dict[str, int | str]], ...]
Profiles: TypeAlias = tuple[tuple[str, tuple[tuple[str, int | None], ...]], ...]

_UNIFIED_PLUGINS: Final[Plugins] = (
    ("queue-scorer", {}),
    ("kv-cache-utilization-scorer", {}),
    ("prefix-cache-scorer", {}),
)
_UNIFIED_PROFILES: Final[Profiles] = (
    (
        "default",
        (("queue-scorer", 2), ("kv-cache-utilization-scorer", 2), ("prefix-cache-scorer", 3)),
    ),
)

_DECIDER: Final = "prefix-based-pd-decider"
_DISAGGREGATED_PLUGINS: Final[Plugins] = (
    ("prefill-header-handler", {}),
    ("prefix-cache-scorer", {"maxPrefixBlocksToMatch": 256, "lruCapacityPerServer": 31250}),
    ("queue-scorer", {}),
    ("prefill-filter", {}),
    ("decode-filter", {}),
    ("max-score-picker", {}),
    (_DECIDER, {"nonCachedTokens": 16}),
    ("pd-profile-handler", {"primaryPort": 0, "deciderPluginName": _DECIDER}),
)
_DISAGGREGATED_PROFILES: Final[Profiles] = tuple(
    (
        role,
        (
            (f"{role}-filter", None),
            ("max-score-picker", None),
            ("prefix-cache-scorer", 2),
            ("queue-scorer", 1),
        ),
    )
    for role in (names.PREFILL, names.DECODE)
)


def config_map(service: ModelService, operator: OperatorSettings) -> Manifest:
    """Return the ConfigMap with the configuration."""
    name = names.epp_config_map(service.name)
    metadata = labels.epp_metadata(service.name, operator.version)
    return owned(
        service, "v1", "ConfigMap", name=name, labels=metadata, content={"data": data(service)}
    )


def key(service: ModelService) -> str:
    """Return the key of the configuration, which is the name of the mounted file."""
    return UNIFIED_KEY if service.spec.prefill is None else DISAGGREGATED_KEY


def data(service: ModelService) -> dict[str, str]:
    """Return `data` of the ConfigMap: one key."""
    if service.spec.prefill is None:
        return {UNIFIED_KEY: _text(_UNIFIED_PLUGINS, _UNIFIED_PROFILES)}
    gates = ("prepareDataPlugins",)
    return {DISAGGREGATED_KEY: _text(_DISAGGREGATED_PLUGINS, _DISAGGREGATED_PROFILES, gates)}


def config_checksum(content: dict[str, str]) -> str:
    """Return the config_checksum of the `data` of a ConfigMap, as the operator computes it."""
    joined = "".join(f"{name}{text}" for name, text in sorted(content.items()))
    return hashlib.sha256(joined.encode()).hexdigest()


def _text(plugins: Plugins, profiles: Profiles, gates: tuple[str, ...] = ()) -> str:
    document: Json = {
        "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
        "kind": "EndpointPickerConfig",
    }
    if gates:
        document["featureGates"] = list(gates)
    document["plugins"] = [
        {"type": name, "parameters": parameters} if parameters else {"type": name}
        for name, parameters in plugins
    ]
    document["schedulingProfiles"] = [
        {"name": name, "plugins": [_reference(*each) for each in references]}
        for name, references in profiles
    ]
    return yaml.safe_dump(document, sort_keys=False)


def _reference(plugin: str, weight: int | None) -> Json:
    return {"pluginRef": plugin} if weight is None else {"pluginRef": plugin, "weight": weight}

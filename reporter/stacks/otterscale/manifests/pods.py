"""Parts that several pods have in common.

Init containers of the serving pods: the model, and the routing proxy.

Accelerators of a serving pod.

The Deployments that serve the model, decode and prefill.
"""

import re
from typing import Final

from reporter.stacks.otterscale.manifests import names
from reporter.stacks.otterscale.manifests import names as labels
from reporter.stacks.otterscale.manifests.names import Manifest, OperatorSettings, owned
from reporter.stacks.otterscale.objects import (
    DEFAULT_CONNECTOR,
    EnvVar,
    Json,
    ModelService,
    Parallelism,
    Resources,
    RoutingProxy,
    ServingRole,
)


def container_security() -> Json:
    """Return the security context of every container."""
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def pod_security() -> Json:
    """Return the security context of every pod; there is no fsGroup."""
    return {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def port(name: str, number: int) -> Json:
    """Return a port of a container."""
    return {"name": name, "containerPort": number, "protocol": "TCP"}


def env_variable(name: str, value: str) -> Json:
    """Return an environment env_variable; an empty value is not written, as the API does not either."""
    return {"name": name, "value": value} if value else {"name": name}


def variable_from(name: str, path: str, *, versioned: bool = False) -> Json:
    """Return an environment env_variable with a field of the pod."""
    reference = {"apiVersion": "v1", "fieldPath": path} if versioned else {"fieldPath": path}
    return {"name": name, "valueFrom": {"fieldRef": reference}}


def exporter_variables(operator: OperatorSettings, service: str) -> list[Json]:
    """Return what says where traces go, under which name."""
    return [
        env_variable("OTEL_SERVICE_NAME", service),
        env_variable("OTEL_EXPORTER_OTLP_ENDPOINT", operator.tracing_otel_endpoint),
        env_variable("OTEL_TRACES_EXPORTER", "otlp"),
    ]


def sampler(operator: OperatorSettings) -> list[Json]:
    """Return what says which traces are kept; what is empty is left out."""
    told = (
        ("OTEL_TRACES_SAMPLER", operator.tracing_sampler),
        ("OTEL_TRACES_SAMPLER_ARG", operator.tracing_sampler_arg),
    )
    return [env_variable(name, value) for name, value in told if value]


MODEL_UNPACK: Final = "model-unpack"
ROUTING_PROXY: Final = "routing-proxy"

MODEL_VOLUME: Final = "model"
MODEL_TMP_VOLUME: Final = "model-tmp"
DOCKER_CONFIG_VOLUME: Final = "docker-config"

CACHE_PATH: Final = "/tmp/model-oci"  # noqa: S108  # a path in the container
DOCKER_CONFIG_PATH: Final = "/.docker"


def model_unpack(service: ModelService, operator: OperatorSettings) -> Json | None:
    """Return the container that fetches the model; None without an image for it."""
    image = service.spec.model.image
    if not operator.kit_image or not image:
        return None
    environment = [
        env_variable("OCI_MODEL_IMAGE", image),
        env_variable("MODEL_MOUNT_PATH", service.mount_path),
        env_variable("KITOPS_HOME", CACHE_PATH),
    ]
    mounts: list[Json] = [
        {"name": MODEL_TMP_VOLUME, "mountPath": CACHE_PATH},
        {"name": MODEL_VOLUME, "mountPath": service.mount_path},
    ]
    if service.spec.model.image_pull_secrets:
        environment.append(env_variable("DOCKER_CONFIG", DOCKER_CONFIG_PATH))
        mounts.append(
            {"name": DOCKER_CONFIG_VOLUME, "mountPath": DOCKER_CONFIG_PATH, "readOnly": True}
        )
    return {
        "name": MODEL_UNPACK,
        "image": operator.kit_image,
        "command": ["/bin/sh", "-c"],
        "args": [operator.unpack_script],
        "env": environment,
        "volumeMounts": mounts,
        "securityContext": container_security(),
    }


def routing_proxy(service: ModelService, operator: OperatorSettings) -> Json | None:
    """Return the native sidecar in front of vLLM; None if the resource asks for none."""
    proxy = service.spec.routing_proxy
    if proxy is None:
        return None
    container: Json = {
        "name": ROUTING_PROXY,
        "image": proxy.image or operator.default_routing_proxy_image,
        "args": _arguments(service, proxy),
        "ports": [port("proxy", service.engine_port)],
        "restartPolicy": "Always",
        "securityContext": container_security(),
    }
    if operator.tracing_enabled:
        exporter = exporter_variables(operator, "llm-d-routing-sidecar")
        container["env"] = [*exporter, *sampler(operator)]
    return container


def _arguments(service: ModelService, proxy: RoutingProxy) -> list[str]:
    arguments = [
        *("--port", str(service.engine_port)),
        *("--vllm-port", str(service.target_port)),
        # The operator's first write, of its finalizer, leaves an empty text out; the schema fills it in.
        *("--connector", proxy.connector or DEFAULT_CONNECTOR),
    ]
    if proxy.zap_encoder:
        arguments += ["--zap-encoder", proxy.zap_encoder]
    if proxy.zap_log_level:
        arguments += ["--zap-log-level", proxy.zap_log_level]
    arguments.append(f"--secure-proxy={_word(proxy.secure_proxy or False)}")
    if proxy.prefiller_use_tls is not None:
        arguments.append(f"--prefiller-use-tls={_word(proxy.prefiller_use_tls)}")
    if proxy.cert_path:
        arguments += ["--cert-path", proxy.cert_path]
    return arguments


def _word(value: bool) -> str:  # noqa: FBT001  # it is the value, not a mode
    return "true" if value else "false"


RESOURCE_NAMES: Final = {
    "nvidia": "nvidia.com/gpu",
    "amd": "amd.com/gpu",
    "intel-gaudi": "habana.ai/gaudi",
    "google": "google.com/tpu",
}


def resource_name(accelerator: str) -> str | None:
    """Return the name of the extended resource; None if pods ask for none."""
    return RESOURCE_NAMES.get(accelerator)


def count(parallelism: Parallelism) -> int:
    """Return how many accelerators a pod asks for; data parallelism does not count."""
    return max(parallelism.tensor, 1) * max(parallelism.data_local, 1)


def with_accelerators(resources: Resources, accelerator: str, number: int) -> Json:
    """Return the resources of a container, with the accelerators in limits and in requests.

    A value that the user set for the same key is replaced.
    """
    wanted = resources_json(resources)
    name = resource_name(accelerator)
    if name is None or number == 0:
        return wanted
    own = {name: str(number)}
    return {
        **wanted,
        "limits": {**(resources.limits or {}), **own},
        "requests": {**(resources.requests or {}), **own},
    }


def resources_json(resources: Resources) -> Json:
    """Return what is set, in the API's form."""
    parts: Json = {
        "limits": resources.limits,
        "requests": resources.requests,
        "claims": list(resources.claims) if resources.claims else None,
    }
    return {key: value for key, value in parts.items() if value is not None}


CONTAINER: Final = "vllm"
SIDE_CHANNEL_VARIABLE: Final = "VLLM_NIXL_SIDE_CHANNEL_PORT"
SIDE_CHANNEL_PORT: Final = "nixl-side"

_PORT: Final = re.compile(r"\+?0*([0-9]{1,5})")
_MOST_PORT: Final = 65_535


def decode_deployment(service: ModelService, operator: OperatorSettings) -> Manifest:
    """Return the Deployment of the decode pods, the only serving pods without prefill."""
    name = names.decode_deployment(service.name)
    return _deployment(service, operator, service.spec.decode, role_name=names.DECODE, name=name)


def prefill_deployment(
    service: ModelService, operator: OperatorSettings, role: ServingRole
) -> Manifest:
    """Return the Deployment of the prefill pods."""
    name = names.prefill_deployment(service.name)
    return _deployment(service, operator, role, role_name=names.PREFILL, name=name)


def listen_port(service: ModelService, role: str) -> int:
    """Return the port where vLLM listens in the pods of a role: behind the proxy if there is one."""
    proxied = role == names.DECODE and service.spec.routing_proxy is not None
    return service.target_port if proxied else service.engine_port


def _deployment(
    service: ModelService,
    operator: OperatorSettings,
    role: ServingRole,
    *,
    role_name: str,
    name: str,
) -> Manifest:
    template = {
        "metadata": _without_none(
            {
                "labels": labels.role_pods(service.name, role_name, operator.version),
                "annotations": role.annotations,
            }
        ),
        "spec": _pod_spec(service, operator, role, role_name=role_name),
    }
    spec = {
        "replicas": role.replicas,
        "selector": {"matchLabels": labels.role_selector(service.name, role_name)},
        "template": template,
    }
    metadata = labels.role_metadata(service.name, role_name, operator.version)
    return owned(
        service, "apps/v1", "Deployment", name=name, labels=metadata, content={"spec": spec}
    )


def _pod_spec(
    service: ModelService, operator: OperatorSettings, role: ServingRole, *, role_name: str
) -> Json:
    init = [model_unpack(service, operator)]
    if role_name == names.DECODE:
        init.append(routing_proxy(service, operator))
    secrets = service.spec.model.image_pull_secrets
    return _without_none(
        {
            "initContainers": [each for each in init if each is not None] or None,
            "containers": [_vllm(service, operator, role, role_name=role_name)],
            "volumes": _volumes(service),
            "imagePullSecrets": [{"name": each.name} for each in secrets] if secrets else None,
            "automountServiceAccountToken": False,
            "securityContext": pod_security(),
            "nodeSelector": role.node_selector,
            "tolerations": list(role.tolerations) if role.tolerations else None,
        }
    )


def _vllm(
    service: ModelService, operator: OperatorSettings, role: ServingRole, *, role_name: str
) -> Json:
    engine = service.spec.engine
    listen = listen_port(service, role_name)
    ports = [port("http", listen)]
    side_channel = side_channel_port(engine.env or ())
    if side_channel is not None and side_channel != listen:
        ports.append(port(SIDE_CHANNEL_PORT, side_channel))
    return _without_none(
        {
            "name": CONTAINER,
            "image": engine.image or operator.default_engine_image,
            "imagePullPolicy": engine.image_pull_policy or None,
            "command": ["vllm", "serve"],
            "args": _server_arguments(service, role.parallelism, listen),
            "env": _environment(service, role.parallelism),
            "ports": ports,
            "volumeMounts": [
                {"name": MODEL_VOLUME, "mountPath": service.mount_path, "readOnly": True}
            ],
            "resources": with_accelerators(
                role.resources, service.spec.accelerator.type, count(role.parallelism)
            ),
            "securityContext": container_security(),
        }
    )


def _server_arguments(service: ModelService, parallelism: Parallelism, listen: int) -> list[str]:
    arguments = [service.mount_path, "--port", str(listen)]
    arguments += ["--served-model-name", service.spec.model.name]
    for flag, ways in (
        ("--tensor-parallel-size", parallelism.tensor),
        ("--data-parallel-size", parallelism.data),
        ("--data-parallel-size-local", parallelism.data_local),
    ):
        if ways > 1:
            arguments += [flag, str(ways)]
    return [*arguments, *(service.spec.engine.args or ())]


def _environment(service: ModelService, parallelism: Parallelism) -> list[Json]:
    return [
        env_variable("TP_SIZE", str(max(parallelism.tensor, 1))),
        env_variable("DP_SIZE", str(max(parallelism.data, 1))),
        env_variable("DP_SIZE_LOCAL", str(max(parallelism.data_local, 1))),
        *map(_given_variable, service.spec.engine.env or ()),
    ]


def _given_variable(given: EnvVar) -> Json:
    variable = env_variable(given.name, given.value)
    return variable if given.value_from is None else {**variable, "valueFrom": given.value_from}


def side_channel_port(variables: tuple[EnvVar, ...]) -> int | None:
    """Return the port of vLLM's side channel, if its first variable names one literally."""
    for variable in variables:
        if variable.name == SIDE_CHANNEL_VARIABLE:
            literal = _PORT.fullmatch(variable.value)
            number = int(literal[1]) if literal else 0
            return number if 0 < number <= _MOST_PORT else None
    return None


def _volumes(service: ModelService) -> list[Json]:
    volumes: list[Json] = [
        {"name": MODEL_VOLUME, "emptyDir": {}},
        {"name": MODEL_TMP_VOLUME, "emptyDir": {}},
    ]
    secrets = service.spec.model.image_pull_secrets
    if secrets:
        items = [{"key": ".dockerconfigjson", "path": "config.json"}]
        secret = {"secretName": secrets[0].name, "items": items}
        volumes.append({"name": DOCKER_CONFIG_VOLUME, "secret": secret})
    return volumes


def _without_none(parts: Json) -> Json:
    return {key: value for key, value in parts.items() if value is not None}

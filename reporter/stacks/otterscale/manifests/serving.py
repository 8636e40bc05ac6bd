"""The Deployments that serve the model, decode and prefill."""

import re
from typing import Final

from reporter.stacks.otterscale.manifests import labels, names, pods
from reporter.stacks.otterscale.manifests.gpu import count, with_accelerators
from reporter.stacks.otterscale.manifests.init_containers import (
    DOCKER_CONFIG_VOLUME,
    MODEL_TMP_VOLUME,
    MODEL_VOLUME,
    model_unpack,
    routing_proxy,
)
from reporter.stacks.otterscale.manifests.manifest import Manifest, owned
from reporter.stacks.otterscale.manifests.operator import OperatorSettings
from reporter.stacks.otterscale.objects import EnvVar, Json, ModelService, Parallelism, ServingRole

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
            "securityContext": pods.pod_security(),
            "nodeSelector": role.node_selector,
            "tolerations": list(role.tolerations) if role.tolerations else None,
        }
    )


def _vllm(
    service: ModelService, operator: OperatorSettings, role: ServingRole, *, role_name: str
) -> Json:
    engine = service.spec.engine
    listen = listen_port(service, role_name)
    ports = [pods.port("http", listen)]
    side_channel = side_channel_port(engine.env or ())
    if side_channel is not None and side_channel != listen:
        ports.append(pods.port(SIDE_CHANNEL_PORT, side_channel))
    return _without_none(
        {
            "name": CONTAINER,
            "image": engine.image or operator.default_engine_image,
            "imagePullPolicy": engine.image_pull_policy or None,
            "command": ["vllm", "serve"],
            "args": _arguments(service, role.parallelism, listen),
            "env": _environment(service, role.parallelism),
            "ports": ports,
            "volumeMounts": [
                {"name": MODEL_VOLUME, "mountPath": service.mount_path, "readOnly": True}
            ],
            "resources": with_accelerators(
                role.resources, service.spec.accelerator.type, count(role.parallelism)
            ),
            "securityContext": pods.container_security(),
        }
    )


def _arguments(service: ModelService, parallelism: Parallelism, listen: int) -> list[str]:
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
        pods.variable("TP_SIZE", str(max(parallelism.tensor, 1))),
        pods.variable("DP_SIZE", str(max(parallelism.data, 1))),
        pods.variable("DP_SIZE_LOCAL", str(max(parallelism.data_local, 1))),
        *map(_given_variable, service.spec.engine.env or ()),
    ]


def _given_variable(given: EnvVar) -> Json:
    variable = pods.variable(given.name, given.value)
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

"""Init containers of the serving pods: the model, and the routing proxy."""

from typing import Final

from reporter.stacks.otterscale.manifests import pods
from reporter.stacks.otterscale.manifests.operator import OperatorSettings
from reporter.stacks.otterscale.objects import DEFAULT_CONNECTOR, Json, ModelService, RoutingProxy

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
        pods.variable("OCI_MODEL_IMAGE", image),
        pods.variable("MODEL_MOUNT_PATH", service.mount_path),
        pods.variable("KITOPS_HOME", CACHE_PATH),
    ]
    mounts: list[Json] = [
        {"name": MODEL_TMP_VOLUME, "mountPath": CACHE_PATH},
        {"name": MODEL_VOLUME, "mountPath": service.mount_path},
    ]
    if service.spec.model.image_pull_secrets:
        environment.append(pods.variable("DOCKER_CONFIG", DOCKER_CONFIG_PATH))
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
        "securityContext": pods.container_security(),
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
        "ports": [pods.port("proxy", service.engine_port)],
        "restartPolicy": "Always",
        "securityContext": pods.container_security(),
    }
    if operator.tracing_enabled:
        exporter = pods.exporter(operator, "llm-d-routing-sidecar")
        container["env"] = [*exporter, *pods.sampler(operator)]
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

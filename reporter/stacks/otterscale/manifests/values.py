"""What the templates of a ModelService's objects name: the resource, the settings, and what follows."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Final

import msgspec

from reporter.stacks.otterscale.manifests import names
from reporter.stacks.otterscale.manifests.filling import filled
from reporter.stacks.otterscale.manifests.names import OperatorSettings
from reporter.stacks.otterscale.objects import (
    DEFAULT_CONNECTOR,
    FAIL_CLOSE,
    GROUP_VERSION,
    KIND,
    EnvVar,
    Json,
    ModelService,
    Parallelism,
    PodMonitoring,
    Resources,
    RoutingProxy,
    ServingRole,
)

_MONITORED: Final = PodMonitoring()
_PORT: Final = re.compile(r"\+?0*([0-9]{1,5})")
_MOST_PORT: Final = 65_535

_OF_PICKERS: Final[Json] = {
    "requests": {"cpu": "4", "memory": "8Gi"},
    "limits": {"memory": "16Gi"},
}

RESOURCE_NAMES: Final = {
    "nvidia": "nvidia.com/gpu",
    "amd": "amd.com/gpu",
    "intel-gaudi": "habana.ai/gaudi",
    "google": "google.com/tpu",
}
"""The extended resource that pods ask for, by the type of their accelerator."""


def values_of(
    service: ModelService, operator: OperatorSettings, role_name: str = ""
) -> SimpleNamespace:
    """Return what templates may name.

    Args:
        service: the ModelService.
        operator: how its operator was started.
        role_name: `decode` or `prefill`, for what is made of each role.

    """
    spec, picker, proxy = service.spec, service.picker, service.spec.routing_proxy
    role = (spec.prefill if role_name == names.PREFILL else spec.decode) or ServingRole()
    ways = tuple(
        max(each, 1)
        for each in (role.parallelism.tensor, role.parallelism.data, role.parallelism.data_local)
    )
    is_proxied = proxy is not None and role_name == names.DECODE
    listen_port = service.target_port if is_proxied else service.engine_port
    side_channel = side_channel_port(spec.engine.env or ())
    secrets = [each.name for each in spec.model.image_pull_secrets or ()]
    unpacks = bool(operator.kit_image and spec.model.image)
    gateway = spec.http_route.gateway_ref.namespace if spec.http_route else ""
    told = service.pod_monitoring or _MONITORED
    values = SimpleNamespace(
        service=service,
        operator=operator,
        version=operator.version or None,
        owner=_owner(service),
        role_name=role_name,
        role=role,
        role_resources=with_accelerators(
            role.resources, spec.accelerator.type, count(role.parallelism)
        ),
        tolerations=list(role.tolerations or ()) or None,
        engine_image=spec.engine.image or operator.default_engine_image,
        variables=_variables(service, ways),
        parallel_arguments=_parallel_arguments(ways),
        listen_port=listen_port,  # of vLLM: behind the proxy if there is one
        side_channel=side_channel if side_channel != listen_port else None,
        unpacks=unpacks,  # whether a container fetches the model
        is_proxied=is_proxied,
        has_init_containers=unpacks or is_proxied,
        pull_secrets=[{"name": each} for each in secrets] or None,
        pull_secret=next(iter(secrets), None),  # the only one that unpacking uses
        proxy_image=(proxy and proxy.image) or operator.default_routing_proxy_image,
        proxy_arguments=_proxy_arguments(proxy or RoutingProxy()),
        epp=names.epp(service.name),
        picker_image=picker.image or operator.default_epp_image,
        picker_resources=_resources_json(picker.resources)
        if picker.resources.requests is not None or picker.resources.limits is not None
        else _OF_PICKERS,  # the user's as a whole, or the operator's
        elects=picker.replicas > 1,  # whether replicas of the endpoint picker elect a leader
        readiness="readiness" if picker.replicas > 1 else "inference-extension",
        liveness="liveness" if picker.replicas > 1 else "inference-extension",
        is_open=not operator.metrics_endpoint_auth,  # whether metrics need no token
        epp_flags=[f"--{name}={value}" for name, value in sorted(operator.epp_flags)],
        is_unified=spec.prefill is None,
        config_key=config_key(service),
        failure_mode=picker.failure_mode or FAIL_CLOSE,
        pool_name=service.name,
        uses_default_gateway=spec.http_route is None,
        gateway_namespace=None if gateway in {"", service.namespace} else gateway,
        hostnames=list((spec.http_route and spec.http_route.hostnames) or ()) or None,
        monitored=PodMonitoring(
            port_name=told.port_name or _MONITORED.port_name,
            path=told.path or _MONITORED.path,
            interval=told.interval or _MONITORED.interval,
        ),
    )
    if not role_name:
        data = msgspec.convert(filled("epp-configmap", values)["data"], dict[str, str])
        values.config_checksum = config_checksum(data)
    return values


def config_key(service: ModelService) -> str:
    """Return the key of the picker's configuration, which is the name of the mounted file."""
    return "default-plugins.yaml" if service.spec.prefill is None else "pd-config.yaml"


def config_checksum(content: Mapping[str, str]) -> str:
    """Return the checksum of the `data` of a ConfigMap, as the operator computes it."""
    joined = "".join(f"{name}{text}" for name, text in sorted(content.items()))
    return hashlib.sha256(joined.encode()).hexdigest()


def _owner(service: ModelService) -> list[Json] | None:
    """Return the reference to the ModelService, once it has a uid."""
    if not service.metadata.uid:
        return None
    reference = {"apiVersion": GROUP_VERSION, "kind": KIND, "name": service.name}
    return [
        {**reference, "uid": service.metadata.uid, "controller": True, "blockOwnerDeletion": True}
    ]


def _variables(service: ModelService, ways: Iterable[int]) -> list[Json]:
    """Return the variables of vLLM: three of the operator's, and the user's."""
    own = zip(("TP_SIZE", "DP_SIZE", "DP_SIZE_LOCAL"), map(str, ways), strict=True)
    made: list[Json] = [{"name": name, "value": value} for name, value in own]
    for each in service.spec.engine.env or ():
        # The API writes no empty value.
        parts = {"name": each.name, "value": each.value or None, "valueFrom": each.value_from}
        made.append({key: part for key, part in parts.items() if part is not None})
    return made


def _parallel_arguments(ways: Iterable[int]) -> list[str]:
    flags = ("--tensor-parallel-size", "--data-parallel-size", "--data-parallel-size-local")
    told = zip(flags, ways, strict=True)
    return [text for flag, number in told if number > 1 for text in (flag, str(number))]


def _proxy_arguments(proxy: RoutingProxy) -> list[str]:
    told = (
        # The operator's first write, of its finalizer, leaves an empty text out; the schema fills it in.
        ("--connector", proxy.connector or DEFAULT_CONNECTOR),
        ("--zap-encoder", proxy.zap_encoder),
        ("--zap-log-level", proxy.zap_log_level),
    )
    made = [text for flag, value in told if value for text in (flag, value)]
    made.append(f"--secure-proxy={str(bool(proxy.secure_proxy)).lower()}")
    if proxy.prefiller_use_tls is not None:
        made.append(f"--prefiller-use-tls={str(proxy.prefiller_use_tls).lower()}")
    return [*made, *(("--cert-path", proxy.cert_path) if proxy.cert_path else ())]


def count(parallelism: Parallelism) -> int:
    """Return how many accelerators a pod asks for; data parallelism does not count."""
    return max(parallelism.tensor, 1) * max(parallelism.data_local, 1)


def with_accelerators(resources: Resources, accelerator: str, number: int) -> Json:
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


def _resources_json(resources: Resources) -> Json:
    parts: Json = {
        "limits": resources.limits,
        "requests": resources.requests,
        "claims": list(resources.claims) if resources.claims else None,
    }
    return {key: value for key, value in parts.items() if value is not None}


def side_channel_port(variables: tuple[EnvVar, ...]) -> int | None:
    """Return the port of vLLM's side channel, if its first variable names one literally."""
    for variable in variables:
        if variable.name == names.SIDE_CHANNEL_VARIABLE:
            literal = _PORT.fullmatch(variable.value)
            number = int(literal[1]) if literal else 0
            return number if 0 < number <= _MOST_PORT else None
    return None

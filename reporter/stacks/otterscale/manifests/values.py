"""What the templates of a ModelService's objects name: the resource, the settings, and what follows."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from reporter.stacks.otterscale.manifests import epp, names, pods
from reporter.stacks.otterscale.manifests.filling import filled
from reporter.stacks.otterscale.manifests.names import OperatorSettings
from reporter.stacks.otterscale.objects import (
    DEFAULT_CONNECTOR,
    FAIL_CLOSE,
    GROUP_VERSION,
    KIND,
    Json,
    ModelService,
    PodMonitoring,
    RoutingProxy,
    ServingRole,
)

_MONITORED: Final = PodMonitoring()


@dataclass(frozen=True)
class Values:
    """What the templates of one ModelService name.

    Attributes:
        role_name: `decode` or `prefill`, for what is made of each role.
        pool: the name of the InferencePool, the ModelService's own if empty.

    """

    service: ModelService
    operator: OperatorSettings
    role_name: str = ""
    pool: str = ""

    @cached_property
    def epp(self) -> str:
        """The name that most objects of the endpoint picker share."""
        return names.epp(self.service.name)

    @property
    def pool_name(self) -> str:
        return self.pool or names.inference_pool(self.service.name)

    @property
    def version(self) -> str | None:
        return self.operator.version or None

    @property
    def owner(self) -> list[Json] | None:
        """The reference to the ModelService, once it has a uid."""
        if not self.service.metadata.uid:
            return None
        return [
            {
                "apiVersion": GROUP_VERSION,
                "kind": KIND,
                "name": self.service.name,
                "uid": self.service.metadata.uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]

    @property
    def role(self) -> ServingRole:
        spec = self.service.spec
        return (spec.prefill if self.role_name == names.PREFILL else spec.decode) or ServingRole()

    @property
    def ways(self) -> tuple[int, int, int]:
        """Tensor, data and local data parallelism."""
        told = self.role.parallelism
        return max(told.tensor, 1), max(told.data, 1), max(told.data_local, 1)

    @property
    def variables(self) -> list[Json]:
        """The variables of vLLM: three of the operator's, and the user's."""
        own = zip(("TP_SIZE", "DP_SIZE", "DP_SIZE_LOCAL"), map(str, self.ways), strict=True)
        made: list[Json] = [{"name": name, "value": value} for name, value in own]
        for each in self.service.spec.engine.env or ():
            # The API writes no empty value.
            parts = {"name": each.name, "value": each.value or None, "valueFrom": each.value_from}
            made.append({key: part for key, part in parts.items() if part is not None})
        return made

    @property
    def parallel_arguments(self) -> list[str]:
        """The flags of vLLM for what is parallel."""
        flags = ("--tensor-parallel-size", "--data-parallel-size", "--data-parallel-size-local")
        told = zip(flags, self.ways, strict=True)
        return [text for flag, ways in told if ways > 1 for text in (flag, str(ways))]

    @property
    def listen_port(self) -> int:
        """Where vLLM listens: behind the proxy if there is one."""
        return self.service.target_port if self.is_proxied else self.service.engine_port

    @property
    def side_channel(self) -> int | None:
        """The port of vLLM's side channel, if it is another one."""
        found = pods.side_channel_port(self.service.spec.engine.env or ())
        return found if found != self.listen_port else None

    @property
    def role_resources(self) -> Json:
        """The resources of vLLM, with its accelerators."""
        number = pods.count(self.role.parallelism)
        return pods.with_accelerators(
            self.role.resources, self.service.spec.accelerator.type, number
        )

    @property
    def tolerations(self) -> list[Json] | None:
        return list(self.role.tolerations or ()) or None

    @property
    def engine_image(self) -> str:
        return self.service.spec.engine.image or self.operator.default_engine_image

    @property
    def unpacks(self) -> bool:
        """Whether a container fetches the model."""
        return bool(self.operator.kit_image and self.service.spec.model.image)

    @property
    def is_proxied(self) -> bool:
        """Whether the routing proxy stands in front of vLLM."""
        return self.proxy is not None and self.role_name == names.DECODE

    @property
    def has_init_containers(self) -> bool:
        return self.unpacks or self.is_proxied

    @property
    def pull_secrets(self) -> list[Json] | None:
        secrets = self.service.spec.model.image_pull_secrets or ()
        return [{"name": each.name} for each in secrets] or None

    @property
    def pull_secret(self) -> str:
        """The first of them, the only one that unpacking uses."""
        return (self.service.spec.model.image_pull_secrets or ())[0].name

    @property
    def proxy(self) -> RoutingProxy | None:
        return self.service.spec.routing_proxy

    @property
    def proxy_arguments(self) -> list[str]:
        proxy = self.proxy or RoutingProxy()
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

    @property
    def proxy_image(self) -> str:
        own = self.proxy.image if self.proxy else ""
        return own or self.operator.default_routing_proxy_image

    @property
    def picker_image(self) -> str:
        return self.service.picker.image or self.operator.default_epp_image

    @property
    def picker_resources(self) -> Json:
        """The resources of the endpoint picker: the user's as a whole, or the operator's."""
        given = self.service.picker.resources
        if given.requests is not None or given.limits is not None:
            return pods.resources_json(given)
        return {"requests": {"cpu": "4", "memory": "8Gi"}, "limits": {"memory": "16Gi"}}

    @property
    def elects(self) -> bool:
        """Whether replicas of the endpoint picker elect a leader."""
        return self.service.picker.replicas > 1

    @property
    def readiness(self) -> str:
        return "readiness" if self.elects else "inference-extension"

    @property
    def liveness(self) -> str:
        return "liveness" if self.elects else "inference-extension"

    @property
    def is_open(self) -> bool:
        """Whether metrics need no token."""
        return not self.operator.metrics_endpoint_auth

    @property
    def epp_flags(self) -> list[str]:
        """Further flags of the endpoint picker."""
        return [f"--{name}={value}" for name, value in sorted(self.operator.epp_flags)]

    @property
    def is_unified(self) -> bool:
        """Whether the same pods do prefill and decode."""
        return self.service.spec.prefill is None

    @property
    def config_key(self) -> str:
        """The key of the endpoint picker's configuration."""
        return epp.key(self.service)

    @property
    def config_checksum(self) -> str:
        """The checksum of the endpoint picker's configuration."""
        data = filled("epp-configmap", self)["data"]
        return epp.config_checksum(data if isinstance(data, dict) else {})

    @property
    def failure_mode(self) -> str:
        """What the gateway does without the endpoint picker."""
        return self.service.picker.failure_mode or FAIL_CLOSE

    @property
    def uses_default_gateway(self) -> bool:
        """Whether the route is that of the operator's own Gateway."""
        return self.service.spec.http_route is None

    @property
    def gateway_namespace(self) -> str | None:
        route = self.service.spec.http_route
        named = route.gateway_ref.namespace if route else ""
        return None if named in {"", self.service.namespace} else named

    @property
    def hostnames(self) -> list[str] | None:
        route = self.service.spec.http_route
        return list((route and route.hostnames) or ()) or None

    @property
    def monitored(self) -> PodMonitoring:
        told = self.service.pod_monitoring or _MONITORED
        return PodMonitoring(
            port_name=told.port_name or _MONITORED.port_name,
            path=told.path or _MONITORED.path,
            interval=told.interval or _MONITORED.interval,
        )

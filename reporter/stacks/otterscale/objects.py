"""The objects of OtterScale that are read (github.com/otterscale/api, v1.0.0).

Defaults are those of the CRD's schema, which the API server fills in if the object around a field
is present. Properties return what the operator uses if a field is empty nevertheless.
"""

import hashlib
import secrets
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta
from msgspec.structs import force_setattr

from reporter.model.objects import (
    Condition,
    Conditioned,
    KubeObject,
    Labels,
    LabelSelector,
    Metadata,
    Part,
)

GROUP_VERSION: Final = "model.otterscale.io/v1alpha1"
KIND: Final = "ModelService"

ACCELERATORS: Final = ("nvidia", "amd", "intel-gaudi", "google", "cpu")
"""The values of `spec.accelerator.type` that the schema allows."""

DEFAULT_MOUNT_PATH: Final = "/models"
DEFAULT_CONNECTOR: Final = "nixlv2"
FAIL_OPEN: Final = "FailOpen"
FAIL_CLOSE: Final = "FailClose"

Json: TypeAlias = dict[str, object]
Port: TypeAlias = Annotated[int, Meta(ge=1, le=65535)]
Quantities: TypeAlias = dict[str, str | int | float]
Replicas: TypeAlias = Annotated[int, Meta(ge=0)]
Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Ways: TypeAlias = Annotated[int, Meta(ge=1)]


class SecretName(Part, frozen=True):
    name: str = ""


class Model(Part, frozen=True):
    name: Annotated[str, Meta(min_length=1, max_length=253)]
    image: Text
    mount_path: str = DEFAULT_MOUNT_PATH
    image_pull_secrets: tuple[SecretName, ...] | None = None


class EnvVar(Part, frozen=True):
    name: str
    value: str = ""
    value_from: Json | None = None


class EngineSpec(Part, frozen=True):
    image: str = ""
    image_pull_policy: str = ""
    args: tuple[str, ...] | None = None
    env: tuple[EnvVar, ...] | None = None
    port: Port = 8000  # where requests arrive in the pods; the target port of the pool


class Accelerator(Part, frozen=True):
    """`spec.accelerator`; the type is one of `ACCELERATORS`, or newer than this program."""

    type: str


class Parallelism(Part, frozen=True):
    tensor: Ways = 1
    data: Ways = 1
    data_local: Ways = 1


class Resources(Part, frozen=True):
    limits: Quantities | None = None
    requests: Quantities | None = None
    claims: tuple[Json, ...] | None = None


class ServingRole(Part, frozen=True):
    """`spec.decode` and `spec.prefill`."""

    replicas: Replicas = 1
    parallelism: Parallelism = Parallelism()
    resources: Resources = Resources()
    node_selector: Labels | None = None
    tolerations: tuple[Json, ...] | None = None
    annotations: dict[str, str] | None = None


class RoutingProxy(Part, frozen=True):
    image: str = ""
    connector: str = DEFAULT_CONNECTOR
    target_port: Port = 8200  # where vLLM listens in decode pods, behind the proxy
    zap_encoder: str = ""
    zap_log_level: str = ""
    secure_proxy: bool | None = None
    prefiller_use_tls: bool | None = msgspec.field(name="prefillerUseTLS", default=None)
    cert_path: str = ""


class EndpointPicker(Part, frozen=True):
    image: str = ""
    replicas: Replicas = 1
    resources: Resources = Resources()
    port: Port = 9002
    failure_mode: str = FAIL_OPEN


DEFAULT_PICKER: Final = EndpointPicker(failure_mode=FAIL_CLOSE)
"""The picker of a ModelService without `spec.inferencePool`, where no schema default applies."""


class Pool(Part, frozen=True):
    endpoint_picker: EndpointPicker


class GatewayRef(Part, frozen=True):
    """`spec.httpRoute.gatewayRef`; the namespace is the ModelService's own if empty."""

    name: Text
    namespace: str = ""


class Route(Part, frozen=True):
    gateway_ref: GatewayRef
    hostnames: tuple[str, ...] | None = None


class PodMonitoring(Part, frozen=True):
    enabled: bool = False
    port_name: str = "http"
    path: str = "/metrics"
    interval: str = "30s"


class Monitoring(Part, frozen=True):
    pod_monitor: PodMonitoring | None = None


class ModelServiceSpec(Part, frozen=True):
    model: Model
    engine: EngineSpec
    accelerator: Accelerator
    decode: ServingRole
    prefill: ServingRole | None = None
    routing_proxy: RoutingProxy | None = None
    inference_pool: Pool | None = None
    http_route: Route | None = None
    monitoring: Monitoring | None = None


class ModelServiceStatus(Conditioned, frozen=True):
    """`status` of a ModelService; an empty phase means that no status was written yet."""

    observed_generation: int = 0
    phase: str = ""
    decode_ready: int = 0
    decode_replicas: int = 0
    prefill_ready: int = 0
    prefill_replicas: int = 0


class FinalizedMetadata(Metadata, frozen=True):
    finalizers: tuple[str, ...] | None = None


class ModelService(KubeObject, frozen=True):
    """model.otterscale.io/v1alpha1 ModelService."""

    metadata: FinalizedMetadata
    spec: ModelServiceSpec
    status: ModelServiceStatus = ModelServiceStatus()

    @property
    def is_behind(self) -> bool:
        """True if the status is of an older generation, or there is none yet."""
        return self.status.observed_generation < self.metadata.generation

    @property
    def reconcile_error(self) -> Condition | None:
        """The condition by which the operator reports an error, or None."""
        ready = self.status.condition("Ready", "False")
        return ready if ready is not None and ready.reason == "ReconcileError" else None

    @property
    def mount_path(self) -> str:
        return self.spec.model.mount_path or DEFAULT_MOUNT_PATH

    @property
    def picker(self) -> EndpointPicker:
        """The endpoint picker of the spec, or the default one."""
        pool = self.spec.inference_pool
        return pool.endpoint_picker if pool else DEFAULT_PICKER

    @property
    def pod_monitoring(self) -> PodMonitoring | None:
        return self.spec.monitoring.pod_monitor if self.spec.monitoring else None

    @property
    def has_pod_monitors(self) -> bool:
        """True if PodMonitors should exist: unless `spec.monitoring.podMonitor` is off."""
        monitoring = self.pod_monitoring
        return monitoring is None or monitoring.enabled

    @property
    def has_service_monitor(self) -> bool:
        """True if a ServiceMonitor should exist: only with a pool in the spec and monitoring on."""
        monitoring = self.pod_monitoring
        return bool(self.spec.inference_pool and monitoring and monitoring.enabled)


class SecretKey(Part, frozen=True):
    name: str = ""
    key: str = ""


class Authorization(Part, frozen=True):
    credentials: SecretKey | None = None


class MetricsEndpoint(Part, frozen=True):
    port: str = ""
    path: str = ""
    interval: str = ""
    scheme: str = ""
    authorization: Authorization | None = None
    relabelings: tuple[Json, ...] | None = None


class MonitorSpec(Part, frozen=True):
    selector: LabelSelector = LabelSelector()
    pod_metrics_endpoints: tuple[MetricsEndpoint, ...] | None = None  # of a PodMonitor
    endpoints: tuple[MetricsEndpoint, ...] | None = None  # of a ServiceMonitor


class Monitor(KubeObject, frozen=True):
    """monitoring.coreos.com/v1 PodMonitor and ServiceMonitor."""

    spec: MonitorSpec = MonitorSpec()


class PluginsConfigMap(KubeObject, frozen=True):
    data: dict[str, str] | None = None


MASKED: Final = "masked-"
"""The prefix of the placeholders for possible credentials in a dump."""

_KEY: Final = secrets.token_bytes(16)
_HIDDEN: Final = f"hidden-{secrets.token_hex(4)}-"
"""Unpredictable, so that no user's value can be mistaken for a placeholder."""


def hidden(value: str) -> str:
    """Return a placeholder for the value of a variable: equal for equal values in this process."""
    # A placeholder stays as it is: an object may be read again, as by `check --with`.
    if value.startswith((MASKED, _HIDDEN)):
        return value
    digest = hashlib.blake2b(value.encode("utf-8", "replace"), key=_KEY, digest_size=8)
    return f"{_HIDDEN}{digest.hexdigest()}"


HARMLESS_HEADERS: Final = frozenset(
    {"accept", "content-type", "host", "otterscale-model-name", "user-agent"}
)
"""Headers, in lower case, whose values are not secret; any other value may be a credential."""

_HEADERS: Final = frozenset({"headers", "httpHeaders", "set", "add"})
"""Lists of headers: in matches and probes, and in the filters of routes."""


class Made(KubeObject, frozen=True):
    """A second copy, with the whole spec, of an object whose kind is read anyway.

    Values of variables and headers may be passwords, so `hidden` replaces them.
    """

    spec: Json | None = None

    def __post_init__(self) -> None:
        if self.spec is not None:
            force_setattr(self, "spec", _without_values(self.spec))


def _without_values(value: object, key: str = "") -> object:
    match value:
        case dict() if key in _HEADERS and str(value.get("name")).lower() in HARMLESS_HEADERS:
            return value
        case dict() if key == "env" or key in _HEADERS:
            text = value.get("value")
            return {**value, "value": hidden(text)} if text and isinstance(text, str) else value
        case dict():
            return {name: _without_values(each, name) for name, each in value.items()}
        case list() | tuple():
            return [_without_values(each, key) for each in value]
        case _:
            return value

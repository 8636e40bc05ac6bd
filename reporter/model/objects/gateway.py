"""Kinds of the Gateway API, its Inference Extension, Istio, Cilium, KEDA and gateway auth."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

import msgspec
from msgspec import structs

from reporter.model.objects.base import Conditioned, KubeObject, Labels, LabelSelector, Part
from reporter.model.objects.demands import Named


class GatewayClassSpec(Part, frozen=True):
    controller_name: str = ""


class GatewayClass(KubeObject, frozen=True):
    spec: GatewayClassSpec = GatewayClassSpec()
    status: Conditioned = Conditioned()


class ListenerStatus(Conditioned, frozen=True):
    name: str = ""


class GatewaySpec(Part, frozen=True):
    gateway_class_name: str = ""


class GatewayStatus(Conditioned, frozen=True):
    listeners: tuple[ListenerStatus, ...] | None = None


class Gateway(KubeObject, frozen=True):
    spec: GatewaySpec = GatewaySpec()
    status: GatewayStatus = GatewayStatus()


class RouteReference(Part, frozen=True):
    """A reference to a parent, by default a Gateway, or to a backend; by default in the same
    namespace.
    """

    name: str = ""
    namespace: str | None = None
    kind: str | None = None
    group: str | None = None


class ParentStatus(Conditioned, frozen=True):
    parent_ref: RouteReference = RouteReference()
    controller_name: str = ""


class PathMatch(Part, frozen=True):
    """The path of a request to match: exact, a prefix, or a regular expression."""

    value: str = ""


class RouteMatch(Part, frozen=True):
    path: PathMatch | None = None
    headers: tuple[Named, ...] | None = None


class RouteRule(Part, frozen=True):
    backend_refs: tuple[RouteReference, ...] | None = None
    matches: tuple[RouteMatch, ...] | None = None


class HttpRouteSpec(Part, frozen=True):
    parent_refs: tuple[RouteReference, ...] | None = None
    rules: tuple[RouteRule, ...] | None = None


class ParentsStatus(Part, frozen=True):
    parents: tuple[ParentStatus, ...] | None = None


class HttpRoute(KubeObject, frozen=True):
    spec: HttpRouteSpec = HttpRouteSpec()
    status: ParentsStatus = ParentsStatus()


class TargetPort(Part, frozen=True):
    number: int = 0


class EndpointPickerRef(Part, frozen=True):
    group: str | None = None
    kind: str | None = None
    name: str = ""
    port: TargetPort | None = None
    failure_mode: str | None = None


class InferencePoolSpec(Part, frozen=True):
    selector: LabelSelector | None = None
    target_ports: tuple[TargetPort, ...] | None = None
    endpoint_picker_ref: EndpointPickerRef | None = None


class InferencePool(KubeObject, frozen=True):
    """inference.networking.k8s.io/v1 InferencePool; its conditions are under `parents`."""

    spec: InferencePoolSpec = InferencePoolSpec()
    status: ParentsStatus = ParentsStatus()


class FormerPoolSpec(Part, frozen=True):
    """`spec` of an InferencePool of the former group; the selector has labels only."""

    selector: Labels | None = None
    target_port_number: int | None = None
    extension_ref: EndpointPickerRef | None = None


class FormerPoolStatus(Part, frozen=True):
    parent: tuple[ParentStatus, ...] | None = None


class FormerPool(KubeObject, frozen=True):
    """inference.networking.x-k8s.io/v1alpha2 InferencePool.

    Source: Gateway API Inference Extension, api/v1alpha2/inferencepool_types.go.
    """

    spec: FormerPoolSpec = FormerPoolSpec()
    status: FormerPoolStatus = FormerPoolStatus()

    @property
    def pool(self) -> InferencePool:
        selector = self.spec.selector
        spec = InferencePoolSpec(
            selector=LabelSelector(match_labels=selector) if selector else None,
            target_ports=(TargetPort(port),) if (port := self.spec.target_port_number) else None,
            endpoint_picker_ref=self.spec.extension_ref,
        )
        status = ParentsStatus(parents=self.status.parent)
        return InferencePool(metadata=self.metadata, spec=spec, status=status)


class AuthorizationPolicySpec(Part, frozen=True):
    action: str | None = None
    provider: Named | None = None
    selector: LabelSelector | None = None
    target_refs: tuple[RouteReference, ...] | None = None


class AuthorizationPolicy(KubeObject, frozen=True):
    spec: AuthorizationPolicySpec = AuthorizationPolicySpec()


class WorkloadSelector(Part, frozen=True):
    labels: Labels | None = None


class ValidationMessage(Part, frozen=True):
    level: str | None = None
    documentation_url: str | None = None


class EnvoyFilterSpec(Part, frozen=True):
    """`spec` of an EnvoyFilter; `without_patches` reduces its free-form patches."""

    workload_selector: WorkloadSelector | None = None
    target_refs: tuple[RouteReference, ...] | None = None
    config_patches: tuple[object, ...] | None = None

    @property
    def asked(self) -> tuple["AskedService", ...]:
        return tuple(islice(_all_asked(self.config_patches or ()), _HOSTS))


class AskedService(Part, frozen=True):
    """A service that a filter calls for each request, and whether requests pass without an answer.

    `host` is an Envoy cluster or an address. Without `failure_mode_allow` both filters fail closed
    (Envoy, extensions/filters/http/ext_proc/v3/ext_proc.proto and ext_authz/v3/ext_authz.proto).
    """

    host: str
    fails_open: bool = False


class _Cluster(msgspec.Struct, frozen=True):
    cluster_name: str = ""


class _Address(msgspec.Struct, frozen=True):
    target_uri: str = ""


class _Uri(msgspec.Struct, frozen=True):
    cluster: str = ""


class _HttpService(msgspec.Struct, frozen=True):
    server_uri: _Uri = _Uri()


class _GrpcService(msgspec.Struct, frozen=True):
    envoy_grpc: _Cluster = _Cluster()
    google_grpc: _Address = _Address()


class _TypedConfig(msgspec.Struct, frozen=True):
    grpc_service: _GrpcService = _GrpcService()
    http_service: _HttpService = _HttpService()
    failure_mode_allow: bool = False


class _Filter(msgspec.Struct, frozen=True):
    typed_config: _TypedConfig = _TypedConfig()


class _Patch(msgspec.Struct, frozen=True):
    operation: str = ""
    value: _Filter = _Filter()


class _ConfigPatch(msgspec.Struct, frozen=True):
    patch: _Patch = _Patch()


def _all_asked(patches: Iterable[object]) -> Iterator[AskedService]:
    for each in patches:
        asked = each if isinstance(each, AskedService) else _asked(each)
        if asked is not None:
            yield asked


def _asked(patch: object) -> AskedService | None:
    if not isinstance(patch, dict):
        return None
    try:
        read = msgspec.convert(_snake(patch), _ConfigPatch).patch
    except msgspec.ValidationError:
        return None
    config = read.value.typed_config
    grpc = config.grpc_service
    host = grpc.envoy_grpc.cluster_name or grpc.google_grpc.target_uri
    host = host or config.http_service.server_uri.cluster
    gone = not host or read.operation == "REMOVE"
    return None if gone else AskedService(host=host, fails_open=config.failure_mode_allow)


_DEEP: Final = 7
"""Depth of the host below a patch."""


def _snake(tree: object, depth: int = 0) -> object:
    """Return a tree with the names in Envoy's snake case; JSON also allows `grpcService`."""
    if not isinstance(tree, dict) or depth > _DEEP:
        return tree
    return {
        _UPPER.sub(lambda found: f"_{found[0].lower()}", str(key)): _snake(each, depth + 1)
        for key, each in tree.items()
    }


_UPPER: Final = re.compile(r"(?<=[a-z])[A-Z]")


_HOST: Final = re.compile(rb'"([A-Za-z0-9_.:/|+?=&%~@-]{3,400})"')
"""A string that may name a host or an Envoy cluster; patches are searched only for these."""

_HOSTS: Final = 1000


def without_patches(obj: KubeObject) -> KubeObject:
    """Return an EnvoyFilter with its patches replaced by the services that they call, strings that
    may name a host, and a digest. A megabyte of patches would take twenty in memory.
    """
    if not isinstance(obj, EnvoyFilter) or not obj.spec.config_patches:
        return obj
    written = msgspec.json.encode(obj.spec.config_patches)
    hosts = {each.decode() for each in _HOST.findall(written) if b"." in each}
    digest = f"sha256:{hashlib.sha256(written).hexdigest()}"
    kept = (*dict.fromkeys(obj.spec.asked), *sorted(hosts)[:_HOSTS], digest)
    return structs.replace(obj, spec=structs.replace(obj.spec, config_patches=kept))


class EnvoyFilterStatus(Conditioned, frozen=True):
    """`status` of an EnvoyFilter; empty unless Istio's analysis is enabled."""

    validation_messages: tuple[ValidationMessage, ...] | None = None


class EnvoyFilter(KubeObject, frozen=True):
    spec: EnvoyFilterSpec = EnvoyFilterSpec()
    status: EnvoyFilterStatus = EnvoyFilterStatus()


class IngressRule(Part, frozen=True):
    from_endpoints: tuple[LabelSelector, ...] | None = None


class CiliumNetworkPolicySpec(Part, frozen=True):
    ingress: tuple[IngressRule, ...] | None = None


class CiliumNetworkPolicy(KubeObject, frozen=True):
    spec: CiliumNetworkPolicySpec = CiliumNetworkPolicySpec()


class ScaleTarget(Part, frozen=True):
    """`spec.scaleTargetRef` of an autoscaler; the default kind is Deployment."""

    kind: str = ""
    name: str = ""


class Fallback(Part, frozen=True):
    """`spec.fallback` of a ScaledObject: its replicas while a trigger fails."""

    replicas: int = 0
    behavior: str = ""


class ScaledObjectSpec(Part, frozen=True):
    scale_target_ref: ScaleTarget = ScaleTarget()
    fallback: Fallback | None = None


class ScaledObject(KubeObject, frozen=True):
    spec: ScaledObjectSpec = ScaledObjectSpec()
    status: Conditioned = Conditioned()


class PodAutoscalerStatus(Conditioned, frozen=True):
    """The replicas that its target had when it last looked, and those that it then set."""

    current_replicas: int = 0
    desired_replicas: int = 0


class PodAutoscaler(KubeObject, frozen=True):
    """autoscaling/v2 HorizontalPodAutoscaler, without its constantly changing metrics."""

    spec: ScaledObjectSpec = ScaledObjectSpec()
    status: PodAutoscalerStatus = PodAutoscalerStatus()


class ApiServiceSpec(Part, frozen=True):
    group: str = ""


class ApiService(KubeObject, frozen=True):
    """apiregistration.k8s.io/v1 APIService: a group of the API that another server answers."""

    spec: ApiServiceSpec = ApiServiceSpec()
    status: Conditioned = Conditioned()


class ApiKeyStatus(Conditioned, frozen=True):
    phase: str | None = None


class ApiKey(KubeObject, frozen=True):
    status: ApiKeyStatus = ApiKeyStatus()


class DestinationRuleSpec(Part, frozen=True):
    host: str = ""
    traffic_policy: dict[str, object] | None = None
    subsets: tuple[dict[str, object], ...] | None = None
    export_to: tuple[str, ...] | None = None


class DestinationRule(KubeObject, frozen=True):
    spec: DestinationRuleSpec = DestinationRuleSpec()

"""The kinds of the Gateway API and of its Inference Extension.

The kinds of Istio, Cilium, KEDA and the gateway authentication.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

import msgspec
from msgspec import structs

from reporter.model.objects.base import Conditioned, KubeObject, Labels, LabelSelector, Part


class GatewayClassStatus(Conditioned, frozen=True):
    """`status` of a GatewayClass."""


class GatewayClassSpec(Part, frozen=True):
    """`spec` of a GatewayClass."""

    controller_name: str = ""


class GatewayClass(KubeObject, frozen=True):
    """gateway.networking.k8s.io/v1 GatewayClass."""

    spec: GatewayClassSpec = GatewayClassSpec()
    status: GatewayClassStatus = GatewayClassStatus()


class ListenerStatus(Conditioned, frozen=True):
    """An entry of `status.listeners` of a Gateway."""

    name: str = ""


class GatewaySpec(Part, frozen=True):
    """`spec` of a Gateway."""

    gateway_class_name: str = ""


class GatewayStatus(Conditioned, frozen=True):
    """`status` of a Gateway."""

    listeners: tuple[ListenerStatus, ...] | None = None


class Gateway(KubeObject, frozen=True):
    """gateway.networking.k8s.io/v1 Gateway."""

    spec: GatewaySpec = GatewaySpec()
    status: GatewayStatus = GatewayStatus()


class ParentReference(Part, frozen=True):
    """A route's or pool's reference to its parent; a Gateway of the same namespace by default."""

    name: str = ""
    namespace: str | None = None
    kind: str | None = None
    group: str | None = None


class ParentStatus(Conditioned, frozen=True):
    """An entry of `status.parents`."""

    parent_ref: ParentReference = ParentReference()
    controller_name: str = ""


class BackendReference(Part, frozen=True):
    """A backend of a route's rule; in the route's own namespace by default."""

    name: str = ""
    namespace: str | None = None
    kind: str | None = None
    group: str | None = None


class HeaderMatch(Part, frozen=True):
    """A header that a request must have."""

    name: str = ""


class PathMatch(Part, frozen=True):
    """The path that a request must have: the whole of it, its beginning, or an expression."""

    value: str = ""


class RouteMatch(Part, frozen=True):
    """What a request must have for a rule to apply."""

    path: PathMatch | None = None
    headers: tuple[HeaderMatch, ...] | None = None


class RouteRule(Part, frozen=True):
    """A rule of a route."""

    backend_refs: tuple[BackendReference, ...] | None = None
    matches: tuple[RouteMatch, ...] | None = None


class HttpRouteSpec(Part, frozen=True):
    """`spec` of an HTTPRoute."""

    parent_refs: tuple[ParentReference, ...] | None = None
    rules: tuple[RouteRule, ...] | None = None


class ParentsStatus(Part, frozen=True):
    """A status that is kept per parent."""

    parents: tuple[ParentStatus, ...] | None = None


class HttpRoute(KubeObject, frozen=True):
    """gateway.networking.k8s.io/v1 HTTPRoute."""

    spec: HttpRouteSpec = HttpRouteSpec()
    status: ParentsStatus = ParentsStatus()


class TargetPort(Part, frozen=True):
    """An entry of `targetPorts` of an InferencePool, and the port of a reference."""

    number: int = 0


class EndpointPickerRef(Part, frozen=True):
    """`spec.endpointPickerRef` of an InferencePool."""

    group: str | None = None
    kind: str | None = None
    name: str = ""
    port: TargetPort | None = None
    failure_mode: str | None = None


class InferencePoolSpec(Part, frozen=True):
    """`spec` of an InferencePool."""

    selector: LabelSelector | None = None
    target_ports: tuple[TargetPort, ...] | None = None
    endpoint_picker_ref: EndpointPickerRef | None = None


class InferencePool(KubeObject, frozen=True):
    """inference.networking.k8s.io/v1 InferencePool; its conditions sit under `parents`."""

    spec: InferencePoolSpec = InferencePoolSpec()
    status: ParentsStatus = ParentsStatus()


class FormerPoolSpec(Part, frozen=True):
    """`spec` of an InferencePool of the former group: the selector has labels alone."""

    selector: Labels | None = None
    target_port_number: int | None = None
    extension_ref: EndpointPickerRef | None = None


class FormerPoolStatus(Part, frozen=True):
    """`status` of an InferencePool of the former group."""

    parent: tuple[ParentStatus, ...] | None = None


class FormerPool(KubeObject, frozen=True):
    """inference.networking.x-k8s.io/v1alpha2 InferencePool.

    Source: Gateway API Inference Extension, api/v1alpha2/inferencepool_types.go.
    """

    spec: FormerPoolSpec = FormerPoolSpec()
    status: FormerPoolStatus = FormerPoolStatus()

    @property
    def pool(self) -> InferencePool:
        """The same as an InferencePool of the present group."""
        selector = self.spec.selector
        spec = InferencePoolSpec(
            selector=LabelSelector(match_labels=selector) if selector else None,
            target_ports=(TargetPort(port),) if (port := self.spec.target_port_number) else None,
            endpoint_picker_ref=self.spec.extension_ref,
        )
        status = ParentsStatus(parents=self.status.parent)
        return InferencePool(metadata=self.metadata, spec=spec, status=status)


class ProviderReference(Part, frozen=True):
    """`spec.provider` of an AuthorizationPolicy."""

    name: str = ""


class AuthorizationPolicySpec(Part, frozen=True):
    """`spec` of an AuthorizationPolicy."""

    action: str | None = None
    provider: ProviderReference | None = None
    selector: LabelSelector | None = None
    target_refs: tuple[ParentReference, ...] | None = None


class AuthorizationPolicy(KubeObject, frozen=True):
    """security.istio.io/v1 AuthorizationPolicy."""

    spec: AuthorizationPolicySpec = AuthorizationPolicySpec()


class WorkloadSelector(Part, frozen=True):
    """`spec.workloadSelector` of an EnvoyFilter."""

    labels: Labels | None = None


class ValidationMessage(Part, frozen=True):
    """An entry of Istio's `status.validationMessages`."""

    level: str | None = None
    documentation_url: str | None = None


class EnvoyFilterSpec(Part, frozen=True):
    """`spec` of an EnvoyFilter; of its free-form patches `without_patches` keeps what is sought."""

    workload_selector: WorkloadSelector | None = None
    target_refs: tuple[ParentReference, ...] | None = None
    config_patches: tuple[object, ...] | None = None

    @property
    def asked(self) -> tuple["AskedService", ...]:
        """The services that each request is sent to."""
        return tuple(islice(_all_asked(self.config_patches or ()), _HOSTS))


class AskedService(Part, frozen=True):
    """A service that a filter sends each request to, and whether requests pass without its answer.

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
"""How deep below a patch the host that is asked stands."""


def _snake(tree: object, depth: int = 0) -> object:
    """Return a tree with its names as Envoy's sources have them; JSON may say `grpcService` too."""
    if not isinstance(tree, dict) or depth > _DEEP:
        return tree
    return {
        _UPPER.sub(lambda found: f"_{found[0].lower()}", str(key)): _snake(each, depth + 1)
        for key, each in tree.items()
    }


_UPPER: Final = re.compile(r"(?<=[a-z])[A-Z]")


_HOST: Final = re.compile(rb'"([A-Za-z0-9_.:/|+?=&%~@-]{3,400})"')
"""A string that may name a host or an Envoy cluster: all that is sought in a patch."""

_HOSTS: Final = 1000


def without_patches(obj: KubeObject) -> KubeObject:
    """Return an EnvoyFilter whose patches are what they ask, strings that may name a host, and a digest.

    A megabyte of them would be twenty in memory.
    """
    if not isinstance(obj, EnvoyFilter) or not obj.spec.config_patches:
        return obj
    written = msgspec.json.encode(obj.spec.config_patches)
    hosts = {each.decode() for each in _HOST.findall(written) if b"." in each}
    digest = f"sha256:{hashlib.sha256(written).hexdigest()}"
    kept = (*dict.fromkeys(obj.spec.asked), *sorted(hosts)[:_HOSTS], digest)
    return structs.replace(obj, spec=structs.replace(obj.spec, config_patches=kept))


class EnvoyFilterStatus(Conditioned, frozen=True):
    """`status` of an EnvoyFilter; empty unless Istio runs with its analysis on."""

    validation_messages: tuple[ValidationMessage, ...] | None = None


class EnvoyFilter(KubeObject, frozen=True):
    """networking.istio.io/v1alpha3 EnvoyFilter."""

    spec: EnvoyFilterSpec = EnvoyFilterSpec()
    status: EnvoyFilterStatus = EnvoyFilterStatus()


class IngressRule(Part, frozen=True):
    """An entry of `spec.ingress` of a CiliumNetworkPolicy."""

    from_endpoints: tuple[LabelSelector, ...] | None = None


class CiliumNetworkPolicySpec(Part, frozen=True):
    """`spec` of a CiliumNetworkPolicy."""

    ingress: tuple[IngressRule, ...] | None = None


class CiliumNetworkPolicy(KubeObject, frozen=True):
    """cilium.io/v2 CiliumNetworkPolicy."""

    spec: CiliumNetworkPolicySpec = CiliumNetworkPolicySpec()


class ScaledObjectStatus(Conditioned, frozen=True):
    """`status` of a ScaledObject."""


class ScaleTarget(Part, frozen=True):
    """`spec.scaleTargetRef` of a ScaledObject; without a kind it is a Deployment."""

    kind: str = ""
    name: str = ""


class ScaledObjectSpec(Part, frozen=True):
    """`spec` of a ScaledObject."""

    scale_target_ref: ScaleTarget = ScaleTarget()


class ScaledObject(KubeObject, frozen=True):
    """keda.sh/v1alpha1 ScaledObject."""

    spec: ScaledObjectSpec = ScaledObjectSpec()
    status: ScaledObjectStatus = ScaledObjectStatus()


class ApiKeyStatus(Conditioned, frozen=True):
    """`status` of an APIKey."""

    phase: str | None = None


class ApiKey(KubeObject, frozen=True):
    """kaito.sh/v1alpha1 APIKey."""

    status: ApiKeyStatus = ApiKeyStatus()


class DestinationRuleSpec(Part, frozen=True):
    """`spec` of a DestinationRule."""

    host: str = ""
    traffic_policy: dict[str, object] | None = None
    subsets: tuple[dict[str, object], ...] | None = None
    export_to: tuple[str, ...] | None = None


class DestinationRule(KubeObject, frozen=True):
    """networking.istio.io DestinationRule."""

    spec: DestinationRuleSpec = DestinationRuleSpec()

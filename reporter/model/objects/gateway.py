"""The kinds of the Gateway API and of its Inference Extension.

The kinds of Istio, Cilium, KEDA and the gateway authentication.
"""

import hashlib
import re
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
    """`spec` of an EnvoyFilter; its patches are free-form, only cluster names are sought there."""

    workload_selector: WorkloadSelector | None = None
    config_patches: tuple[object, ...] | None = None


_HOST: Final = re.compile(rb'"([A-Za-z0-9_.:/|+?=&%~@-]{3,400})"')
"""A string that may name a host or an Envoy cluster: all that is sought in a patch."""

_HOSTS: Final = 1000


def without_patches(obj: KubeObject) -> KubeObject:
    """Return an EnvoyFilter whose patches are but the strings that may name a host, and a digest of the rest.

    A megabyte of them would be twenty in memory.
    """
    if not isinstance(obj, EnvoyFilter) or not obj.spec.config_patches:
        return obj
    written = msgspec.json.encode(obj.spec.config_patches)
    hosts = {each.decode() for each in _HOST.findall(written) if b"." in each}
    digest = f"sha256:{hashlib.sha256(written).hexdigest()}"
    kept = (*sorted(hosts)[:_HOSTS], digest)
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

"""The kinds of Istio, Cilium, KEDA and the gateway authentication."""

import hashlib
import re
from typing import Final

import msgspec
from msgspec import structs

from reporter.model.objects.base import Conditioned, KubeObject, Labels, Part
from reporter.model.objects.selectors import LabelSelector


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


class ScaledObject(KubeObject, frozen=True):
    """keda.sh/v1alpha1 ScaledObject."""

    status: ScaledObjectStatus = ScaledObjectStatus()


class ApiKeyStatus(Conditioned, frozen=True):
    """`status` of an APIKey."""

    phase: str | None = None


class ApiKey(KubeObject, frozen=True):
    """kaito.sh/v1alpha1 APIKey."""

    status: ApiKeyStatus = ApiKeyStatus()

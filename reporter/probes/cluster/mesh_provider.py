"""Whether the mesh defines the provider that policies made by older charts rely on."""

from collections.abc import Iterator
from typing import Final

from reporter.catalogue.needs import API_KEY_PROVIDER
from reporter.catalogue.reasons import CLUSTER_GATEWAY_AUTH
from reporter.catalogue.resources import AUTHORIZATIONPOLICIES, CONFIGMAPS, NAMESPACES
from reporter.model.finding import Finding
from reporter.model.subject import CLUSTER
from reporter.model.text import clean
from reporter.probes.scope import Scope
from reporter.workload.components import managed_namespaces, namespace_ref
from reporter.workload.routing import lacks_api_key_provider, mesh_configs, required_provider

_SEVERITY: Final = 5
"""Less than a Deployment that does not run."""


def probe_mesh_provider(scope: Scope) -> Iterator[Finding]:
    """Yield a finding if policies need the provider of API keys and no mesh defines it.

    Current charts make neither the policies nor the provider, so it is normal that the
    provider alone is away.
    """
    if not lacks_api_key_provider(scope.snapshot, scope.settings):
        return
    needed = any(
        required_provider(policy) == API_KEY_PROVIDER
        for namespace in managed_namespaces(scope.snapshot)
        for policy in scope.snapshot[AUTHORIZATIONPOLICIES].in_namespace(namespace.name)
    )
    if not needed:
        return
    config = mesh_configs(scope.snapshot, scope.settings)[0]
    table = scope.snapshot[NAMESPACES]
    candidates = scope.settings.gateway_auth_namespace
    home = next((each for each in candidates if table.get("", each)), candidates[0])
    yield Finding(
        reason=CLUSTER_GATEWAY_AUTH,
        subject=CLUSTER,
        involved=namespace_ref(scope.snapshot, home),
        related=CONFIGMAPS.ref(config),
        message=clean(
            f"ConfigMap {config.namespace}/{config.name} does not define the extension provider "
            f"{API_KEY_PROVIDER}, which AuthorizationPolicies of workload namespaces name"
        ),
        cause=f"provider {API_KEY_PROVIDER} missing",
        severity=_SEVERITY,
    )

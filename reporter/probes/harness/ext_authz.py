"""Whether what requests are sent to for authorization exists.

Charts since June 2026 point an EnvoyFilter at the Service; older ones made an AuthorizationPolicy
that names a provider of the mesh configuration.
"""

import re
from collections.abc import Iterator
from typing import Final

from reporter.catalogue.needs import API_KEY_PROVIDER
from reporter.catalogue.reasons import HARNESS_EXT_AUTHZ
from reporter.catalogue.resources import (
    AUTHORIZATIONPOLICIES,
    ENVOYFILTERS,
    NAMESPACES,
    SERVICES,
)
from reporter.model.finding import Finding
from reporter.model.objects import EnvoyFilter, Namespace
from reporter.model.text import clean, cut
from reporter.probes.harness.finding import harness_finding
from reporter.probes.scope import NamespaceScope
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.routing import lacks_api_key_provider, mesh_providers, required_provider

EXT_AUTHZ_FILTERS: Final = ("apikey-ext-authz", "ext-authz")
"""Names of the EnvoyFilters that send requests to an authorization Service."""

_NAME: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_CLUSTER: Final = re.compile(rf"outbound\|\d+\|[^|]*\|({_NAME})\.({_NAME})\.svc(?:\..*)?")
"""How Istio names the Envoy cluster of a Service's port."""

_TARGET: Final = re.compile(
    rf"(?:[a-z0-9+.-]+:/+)?({_NAME})\.({_NAME})(\.svc(?:\.[^:/]+)?)?(:\d+)?(?:/.*)?"
)
"""A target or address: `[<scheme>://]<service>.<namespace>[.svc[.<domain>]][:<port>][/<path>]`."""

_PROVIDER_BYTES: Final = 100


def probe_ext_authz(scope: NamespaceScope) -> Iterator[Finding]:
    """Yield a finding for each policy or filter that relies on what does not exist."""
    yield from _policies(scope.snapshot, scope.settings, scope.namespace)
    yield from _filters(scope.snapshot, scope.settings, scope.namespace)


def _policies(
    snapshot: Snapshot, settings: EvaluationSettings, namespace: Namespace
) -> Iterator[Finding]:
    providers = mesh_providers(snapshot, settings)
    if providers is None:
        return
    if lacks_api_key_provider(snapshot, settings):  # told once, as clusterGatewayAuthNotReady
        providers |= {API_KEY_PROVIDER}
    for policy in snapshot[AUTHORIZATIONPOLICIES].in_namespace(namespace.name):
        provider = required_provider(policy)
        if not provider or provider in providers:
            continue
        name = cut(clean(provider), _PROVIDER_BYTES)
        yield harness_finding(
            HARNESS_EXT_AUTHZ,
            namespace,
            AUTHORIZATIONPOLICIES.ref(policy),
            text=f"names the provider {name}, which the mesh configuration does not define",
            cause=f"provider {name} missing",
            created=policy.created,
            by_spec=True,
            independent=provider != API_KEY_PROVIDER,
        )


def _filters(
    snapshot: Snapshot, settings: EvaluationSettings, namespace: Namespace
) -> Iterator[Finding]:
    table = snapshot[ENVOYFILTERS]
    for name in EXT_AUTHZ_FILTERS:
        envoy_filter = table.get(namespace.name, name)
        if envoy_filter is None or envoy_filter.deleting:
            continue
        missing = sorted(
            (place, service)
            for place, service in _targets(envoy_filter, snapshot, settings)
            if snapshot[SERVICES].get(place, service) is None
            and snapshot.absence_known(SERVICES, place, service)
        )
        if missing:
            names = [f"{place}/{service}" for place, service in missing]
            yield harness_finding(
                HARNESS_EXT_AUTHZ,
                namespace,
                ENVOYFILTERS.ref(envoy_filter),
                text=f"sends requests to Service {', '.join(names)}, which does not exist",
                cause=f"Service {names[0]} missing",
                created=envoy_filter.created,
                by_spec=True,
                independent=any(
                    place not in settings.gateway_auth_namespace for place, _ in missing
                ),
            )


def _targets(
    envoy_filter: EnvoyFilter, snapshot: Snapshot, settings: EvaluationSettings
) -> frozenset[tuple[str, str]]:
    """Return namespace and name of the Services that a filter's patches point to.

    `<a>.<b>:<port>` may be a host outside the cluster as well: it counts as a Service only where
    `<b>` is a namespace.
    """
    namespaces = {*settings.gateway_auth_namespace, *settings.azure_authz_namespace}
    found: set[tuple[str, str]] = set()
    for text in _strings(envoy_filter.spec.config_patches or ()):
        if cluster := _CLUSTER.fullmatch(text):
            found.add((cluster[2], cluster[1]))
        elif target := _TARGET.fullmatch(text):
            service, place, suffix, port = target.groups()
            is_namespace = place in namespaces or snapshot[NAMESPACES].get("", place)
            if suffix or (port and is_namespace):
                found.add((place, service))
    return frozenset(found)


def _strings(tree: object) -> Iterator[str]:
    """Yield every text in a tree of JSON values."""
    rest = [tree]
    while rest:
        match rest.pop():
            case str() as text:
                yield text
            case dict() as members:
                rest.extend(members.values())
            case list() | tuple() as items:
                rest.extend(items)

"""Probes for the policies of a workload namespace.

- whether the operator of API keys accepted the keys;
- whether the filter that answers requests for unknown models is in effect. Istio fills the status
  of an EnvoyFilter only with its analysis on, so the usual sign is a selector that matches nothing;
- whether the authorization service exists. Charts since June 2026 have an EnvoyFilter that points
  at the Service; older ones an AuthorizationPolicy that names a provider of the mesh configuration;
- whether the network policy of the inference pods names the right namespaces.
"""

import re
from collections.abc import Iterator
from typing import Final

from reporter.catalogue import reasons
from reporter.catalogue import resources as r
from reporter.catalogue.needs import API_KEY_PROVIDER
from reporter.model.finding import Finding
from reporter.model.objects import ApiKey, CiliumNetworkPolicy, EnvoyFilter, LabelSelector
from reporter.model.text import clean, cut, detail
from reporter.probes.harness.gateways import HarnessFault
from reporter.probes.scope import NamespaceScope
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.workload import routing
from reporter.workload.components import readers_of_pods
from reporter.workload.passing import CLUSTER, TARGET


def probe_api_keys(scope: NamespaceScope) -> Iterator[Finding]:
    """Yield a finding for each APIKey that was refused, expired, or is still pending."""
    for key in scope.snapshot[r.APIKEYS].in_namespace(scope.namespace.name):
        fault = None if key.deleting else _fault(key)
        if fault is not None:
            yield scope.finding(
                reason=reasons.HARNESS_API_KEY,
                related=r.APIKEYS.ref(key),
                text=fault.text,
                cause=fault.cause,
                severity=fault.severity,
                transition=fault.transition,
                created=key.created,
            )


def _fault(key: ApiKey) -> HarnessFault | None:
    """Judge a key by Ready, then by its phase.

    The operator's condition types are not part of the CRD, so the phase is the fallback.
    """
    ready = key.status.condition("Ready")
    phase = key.status.phase
    if ready is not None and ready.status == "False":
        text = detail(ready.reason, ready.message) or "Ready is False"
        expired = " (phase Expired)" if phase == "Expired" else ""
        return HarnessFault(
            f"was not reconciled{expired}: {text}",
            ready.reason or "not Ready",
            severity=30,
            transition=ready.last_transition_time,
        )
    if phase == "Expired":
        return HarnessFault("is expired", "expired", severity=20)
    if phase == "Pending" and (ready is None or ready.status != "True"):
        return HarnessFault(
            "is still Pending: its operator has not issued it", "Pending", severity=10
        )
    return None


CATCH_ALL_FILTER: Final = "model-not-found-direct"

_CODE: Final = re.compile(r"ist\d{4}", re.IGNORECASE)
"""The code of an analysis message, which is only in the URL of its documentation."""

_LABELS_BYTES: Final = 200


def probe_catch_all_filter(scope: NamespaceScope) -> Iterator[Finding]:
    """Yield a finding if Istio reports an error of the filter or it selects no Gateway pod."""
    envoy_filter = scope.snapshot[r.ENVOYFILTERS].get(scope.namespace.name, CATCH_ALL_FILTER)
    if envoy_filter is None or envoy_filter.deleting:
        return
    messages = envoy_filter.status.validation_messages or ()
    errors = [each for each in messages if each.level == "ERROR"]
    # Without a selector, the filter applies to all pods of its namespace.
    chosen = envoy_filter.spec.workload_selector
    selector = LabelSelector(match_labels=chosen.labels if chosen else None)
    pods = [
        pod
        for gateway in routing.workload_gateways(scope.snapshot, envoy_filter.namespace)
        for pod in routing.data_plane_pods(scope.snapshot, gateway)
    ]
    if errors:
        found = (_CODE.search(each.documentation_url or "") for each in errors)
        codes = ", ".join(sorted({code[0].upper() for code in found if code}))
        text = f"was rejected by Istio{f' ({codes})' if codes else ''}"
        cause, severity = "rejected", 20
    elif pods and not any(selector.matches(pod.metadata.labels) for pod in pods):
        labels = (f"{key}={value}" for key, value in sorted((selector.match_labels or {}).items()))
        named = cut(clean(", ".join(labels)), _LABELS_BYTES)
        text = f"selects no pod of the Gateway: its workloadSelector is {named}"
        cause, severity = "selector matches no Gateway pod", 10
    else:
        return
    yield scope.finding(
        reason=reasons.HARNESS_CATCH_ALL,
        related=r.ENVOYFILTERS.ref(envoy_filter),
        text=text,
        cause=cause,
        severity=severity,
        created=envoy_filter.created,
    )


EXT_AUTHZ_FILTERS: Final = ("apikey-ext-authz", "ext-authz")
"""Names of the EnvoyFilters that send requests to an authorization Service."""

_PROVIDER_BYTES: Final = 100


def probe_ext_authz(scope: NamespaceScope) -> Iterator[Finding]:
    """Yield a finding for each policy or filter that refers to something missing."""
    yield from _filters(scope)
    snapshot, settings = scope.snapshot, scope.settings
    providers = routing.mesh_providers(snapshot, settings)
    if providers is None:
        return
    if routing.lacks_api_key_provider(snapshot, settings):
        # Reported once, as clusterGatewayAuthNotReady.
        providers |= {API_KEY_PROVIDER}
    for policy in snapshot[r.AUTHORIZATIONPOLICIES].in_namespace(scope.namespace.name):
        provider = routing.required_provider(policy)
        if not provider or provider in providers:
            continue
        name = cut(clean(provider), _PROVIDER_BYTES)
        yield scope.finding(
            reason=reasons.HARNESS_EXT_AUTHZ,
            related=r.AUTHORIZATIONPOLICIES.ref(policy),
            text=f"names the provider {name}, which the mesh configuration does not define",
            cause=f"provider {name} missing",
            created=policy.created,
            by_spec=True,
            independent=provider != API_KEY_PROVIDER,
        )


def _filters(scope: NamespaceScope) -> Iterator[Finding]:
    snapshot, settings = scope.snapshot, scope.settings
    for name in EXT_AUTHZ_FILTERS:
        envoy_filter = snapshot[r.ENVOYFILTERS].get(scope.namespace.name, name)
        if envoy_filter is None or envoy_filter.deleting:
            continue
        missing = sorted(
            (place, service)
            for place, service in _targets(envoy_filter, snapshot, settings)
            if snapshot.lacks(r.SERVICES, place, service)
        )
        if missing:
            names = [f"{place}/{service}" for place, service in missing]
            yield scope.finding(
                reason=reasons.HARNESS_EXT_AUTHZ,
                related=r.ENVOYFILTERS.ref(envoy_filter),
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

    `<a>.<b>:<port>` may also be a host outside the cluster: it counts as a Service only if `<b>` is
    a namespace.
    """
    namespaces = {*settings.gateway_auth_namespace, *settings.azure_authz_namespace}
    found: set[tuple[str, str]] = set()
    for text in _strings(envoy_filter.spec.config_patches or ()):
        if cluster := CLUSTER.fullmatch(text):
            found.add((cluster[2], cluster[1]))
        elif target := TARGET.fullmatch(text):
            service, place, suffix, port = target.groups()
            is_namespace = place in namespaces or snapshot[r.NAMESPACES].get("", place)
            if suffix or (port and is_namespace):
                found.add((place, service))
    return frozenset(found)


def _strings(tree: object) -> Iterator[str]:
    rest = [tree]
    while rest:
        match rest.pop():
            case str() as text:
                yield text
            case dict() as members:
                rest.extend(members.values())
            case list() | tuple() as items:
                rest.extend(items)


INFERENCE_POLICY: Final = "inference-pods-ingress"

_NAMESPACE_KEYS: Final = frozenset(
    {"k8s:io.kubernetes.pod.namespace", "io.kubernetes.pod.namespace"}
)
_NAMESPACE_LABELS: Final = "io.cilium.k8s.namespace.labels."
"""Part of the keys with which Cilium selects namespaces by label."""

_NAMES_BYTES: Final = 300


def probe_network_policy(scope: NamespaceScope) -> Iterator[Finding]:
    """Yield a finding if the policy names namespaces that do not exist or shuts out the scaler.

    Some of the chart's default namespaces often do not exist, which does no harm; they are ignored.
    Without Cilium or without the policy there is no finding.
    """
    policy = scope.snapshot[r.CILIUMNETWORKPOLICIES].get(scope.namespace.name, INFERENCE_POLICY)
    if policy is None or policy.deleting:
        return
    faults = []
    named = {name for each in _sources(policy) for name in _named(each)}
    missing = sorted(
        name
        for name in named - scope.settings.network_policy_ignored
        if scope.snapshot.lacks(r.NAMESPACES, "", name)
    )
    if missing:
        names = cut(clean(", ".join(missing)), _NAMES_BYTES)
        faults.append(f"names namespaces that do not exist: {names}")
    if shut_out := _shut_out(scope.snapshot, scope.settings, policy):
        faults.append(shut_out)
    if faults:
        yield scope.finding(
            reason=reasons.HARNESS_NETWORK_POLICY,
            related=r.CILIUMNETWORKPOLICIES.ref(policy),
            text="; it ".join(faults),
            cause=faults[0],
            severity=len(faults),
            created=policy.created,
        )


def _shut_out(snapshot: Snapshot, settings: EvaluationSettings, policy: CiliumNetworkPolicy) -> str:
    """Return a text if the namespace where the scaler runs is not admitted, or an empty string."""
    readers = readers_of_pods(settings)
    running = readers[0].found(snapshot) if readers else ()
    rules = policy.spec.ingress or ()
    if not running or not rules or any(rule.from_endpoints is None for rule in rules):
        return ""  # a rule without fromEndpoints admits by other means, which are not read
    home = running[0].namespace
    if any(_admits(each, home, policy.namespace) for each in _sources(policy)):
        return ""
    return f"does not admit namespace {home}, where {running[0].name} runs"


def _sources(policy: CiliumNetworkPolicy) -> Iterator[LabelSelector]:
    for rule in policy.spec.ingress or ():
        yield from rule.from_endpoints or ()


def _named(source: LabelSelector) -> Iterator[str]:
    for key, value in (source.match_labels or {}).items():
        if key in _NAMESPACE_KEYS:
            yield value
    for each in source.match_expressions or ():
        if each.key in _NAMESPACE_KEYS and each.operator == "In":
            yield from each.values or ()


def _admits(source: LabelSelector, namespace: str, own: str) -> bool:
    """Tell whether a source may be in a namespace; without one, it is in the policy's own.

    Other labels of a source are not judged: the labels of the scaler's pods and of its namespace
    are not known.
    """
    labels = source.match_labels or {}
    expressions = source.match_expressions or ()
    if any(_NAMESPACE_LABELS in key for key in (*labels, *(each.key for each in expressions))):
        return True
    about = [each for each in expressions if each.key in _NAMESPACE_KEYS]
    keys = _NAMESPACE_KEYS.intersection(labels)
    if not keys and not about:
        return namespace == own
    where = LabelSelector({key: labels[key] for key in keys}, tuple(about))
    return where.matches(dict.fromkeys(_NAMESPACE_KEYS, namespace))

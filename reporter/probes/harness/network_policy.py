"""Whether the network policy of the inference pods names the right namespaces."""

from collections.abc import Iterator
from typing import Final

from reporter.catalogue.reasons import HARNESS_NETWORK_POLICY
from reporter.catalogue.resources import CILIUMNETWORKPOLICIES, NAMESPACES
from reporter.model.finding import Finding
from reporter.model.objects import CiliumNetworkPolicy, LabelSelector
from reporter.model.text import clean, cut
from reporter.probes.harness.finding import harness_finding
from reporter.probes.scope import NamespaceScope
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.components import readers_of_pods

INFERENCE_POLICY: Final = "inference-pods-ingress"

_NAMESPACE_KEYS: Final = frozenset(
    {"k8s:io.kubernetes.pod.namespace", "io.kubernetes.pod.namespace"}
)
_NAMESPACE_LABELS: Final = "io.cilium.k8s.namespace.labels."
"""Part of the keys by which Cilium selects namespaces by their labels."""

_NAMES_BYTES: Final = 300


def probe_network_policy(scope: NamespaceScope) -> Iterator[Finding]:
    """Yield a finding if the policy names namespaces that do not exist or shuts out the scaler.

    The chart names some namespaces by default that often do not exist, which does no harm; they
    are ignored. Without Cilium or without the policy there is nothing to say.
    """
    policy = scope.snapshot[CILIUMNETWORKPOLICIES].get(scope.namespace.name, INFERENCE_POLICY)
    if policy is None or policy.deleting:
        return
    faults = [
        *_nonexistent(scope.snapshot, scope.settings, policy),
        *_shut_out(scope.snapshot, scope.settings, policy),
    ]
    if faults:
        yield harness_finding(
            HARNESS_NETWORK_POLICY,
            scope.namespace,
            CILIUMNETWORKPOLICIES.ref(policy),
            text="; it ".join(faults),
            cause=faults[0],
            severity=len(faults),
            created=policy.created,
        )


def _nonexistent(
    snapshot: Snapshot, settings: EvaluationSettings, policy: CiliumNetworkPolicy
) -> Iterator[str]:
    table = snapshot[NAMESPACES]
    named = {name for each in _sources(policy) for name in _named(each)}
    wrong = named.difference(settings.network_policy_ignored_namespaces)
    missing = sorted(
        name
        for name in wrong
        if table.get("", name) is None and snapshot.absence_known(NAMESPACES, name=name)
    )
    if missing:
        names = cut(clean(", ".join(missing)), _NAMES_BYTES)
        yield f"names namespaces that do not exist: {names}"


def _shut_out(
    snapshot: Snapshot, settings: EvaluationSettings, policy: CiliumNetworkPolicy
) -> Iterator[str]:
    """Yield that the scaler's namespace is not admitted, where the scaler is known to run."""
    readers = readers_of_pods(settings)
    running = readers[0].found(snapshot) if readers else ()
    rules = policy.spec.ingress or ()
    if not running or not rules or any(rule.from_endpoints is None for rule in rules):
        return  # a rule without fromEndpoints admits by other means, which are not read
    home = running[0].namespace
    if not any(_admits(each, home, policy.namespace) for each in _sources(policy)):
        yield f"does not admit namespace {home}, where {running[0].name} runs"


def _sources(policy: CiliumNetworkPolicy) -> Iterator[LabelSelector]:
    for rule in policy.spec.ingress or ():
        yield from rule.from_endpoints or ()


def _named(source: LabelSelector) -> Iterator[str]:
    """Yield the namespaces that a source names."""
    for key, value in (source.match_labels or {}).items():
        if key in _NAMESPACE_KEYS:
            yield value
    for each in source.match_expressions or ():
        if each.key in _NAMESPACE_KEYS and each.operator == "In":
            yield from each.values or ()


def _admits(source: LabelSelector, namespace: str, own: str) -> bool:
    """Tell whether a source may be in a namespace; one that names none is in the policy's own.

    Other labels of a source are not judged: we do not know those of the scaler's pods, nor those of
    its namespace.
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

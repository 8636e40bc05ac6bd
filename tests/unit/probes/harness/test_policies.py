"""Policies of a namespace: API keys, filters, and references to other objects."""

import dataclasses

import pytest

from reporter.catalogue.resources import (
    APIKEYS,
    CILIUMNETWORKPOLICIES,
    CONFIGMAPS,
    DEPLOYMENTS,
    ENVOYFILTERS,
    GATEWAYS,
    NAMESPACES,
    PODS,
    SERVICES,
)
from reporter.probes.harness.policies import probe_network_policy
from reporter.stacks.settings import FullEvaluationSettings
from reporter.workload.components import managed_namespaces
from tests.tables import rows
from tests.unit.probes.asking import evaluate_harness, namespace_scope
from tests.unit.probes.building import (
    ALL_CRDS,
    CREATED_AT,
    DELETING,
    FORBIDDEN,
    SINCE_AT,
    condition,
    deployment,
    document,
    healthy_harness,
    namespace,
    replaced,
    says,
    snapshot_of,
)

KEYS, FILTER, AUTHZ, POLICY = (
    f"modelharness{each}"
    for each in ("APIKeyReconcileFailed", "CatchAllFilterRejected", "ExtAuthzProviderMissing", "NetworkPolicyMisconfigured")
)  # fmt: skip
DEFAULTS = FullEvaluationSettings()
NS, MANAGED = "my-models", namespace("my-models", managed=True)


def told(reason, *docs, settings=DEFAULTS, **options):
    evaluation = evaluate_harness(snapshot_of(*docs, **options), settings)
    return [each for each in evaluation.findings if each.reason == reason]


# API keys that their operator refused.
REFUSED = condition("Ready", "False", "SecretExists", "Secret llm-api-key is not ours")
READY = condition("Ready", "True", "Reconciled")
QUOTES_A_KEY = condition("Ready", "False", "Duplicate", "duplicate of sk-abcdefghijklmnopqrst")


def key(*patches, phase=None, conditions=()):
    status = {"status": {"phase": phase, "conditions": list(conditions)}}
    return [MANAGED, document("APIKey", "default", NS, status, *patches)]


# The filter that answers requests for unknown models.
HARNESS = healthy_harness(NS)
GATEWAY_NAME = "gateway.networking.k8s.io/gateway-name"
MATCHING, WRONG = ({GATEWAY_NAME: f"my-{each}-gw"} for each in ("models", "modles"))


def selecting(labels, *patches, name="model-not-found-direct", around=HARNESS):
    spec = {"spec": {"workloadSelector": {"labels": labels}}}
    return [*around, document("EnvoyFilter", name, NS, spec, *patches)]


def errors(*levels):
    url = "https://istio.io/latest/docs/reference/config/analysis/ist0{}/"
    messages = [
        {"type": {"code": "x"}, "level": level, "documentationUrl": url.format(133 + n)}
        for n, level in enumerate(levels)
    ]
    return {"status": {"validationMessages": messages}}


def harness_without(kind):
    return [each for each in HARNESS if each["kind"] != kind]


def of_harness(kind, patch):
    return replaced([each for each in HARNESS if each["kind"] == kind], kind, patch)


TWO_GATEWAYS = [
    *HARNESS,
    *of_harness("Gateway", {"metadata": {"name": "b"}}),
    *of_harness("Pod", {"metadata": {"name": "b-1", "labels": {GATEWAY_NAME: "b"}}}),
]
AS_TEXT = {"type": "Reconciled", "status": "True", "observedGeneration": "1"}
"""Istio's CRDs allow numbers as text (`x-kubernetes-int-or-string`)."""


# What requests are sent to for authorization.
AUTHZ_BASE = [MANAGED, namespace("llm-gateway-auth")]
HOST = "apikey-authz.llm-gateway-auth"
SERVICE = document("Service", "apikey-authz", "llm-gateway-auth")
TARGETS = [
    f"outbound|9001||{HOST}.svc.cluster.local", f"outbound|9001|v1|{HOST}.svc.example.internal",
    f"{HOST}.svc.cluster.local:9001", f"{HOST}.svc:9001", f"{HOST}:9001",
    f"dns:///{HOST}.svc.cluster.local:9001", f"http://{HOST}.svc.cluster.local:9001/check",
    f"{HOST}.svc.cluster.local",
]  # fmt: skip


def asks(provider, *docs, patch=None):
    """An AuthorizationPolicy with action CUSTOM, as in older charts, and related objects."""
    spec = {"spec": {"action": "CUSTOM", "provider": {"name": provider}}}
    return [*AUTHZ_BASE, document("AuthorizationPolicy", "p", NS, spec, patch or {}), *docs]


def mesh(*providers, place="istio-system", name="istio", text=None):
    lines = ["accessLogFile: /dev/stdout", "extensionProviders:"]
    lines += [f"- name: {each}\n  envoyExtAuthzGrpc: {{port: 9001}}" for each in providers]
    return document("ConfigMap", name, place, {"data": {"mesh": text or "\n".join(lines)}})


def sends(target, *patches, name="apikey-ext-authz", beside=()):
    """An EnvoyFilter that sends requests to an authorization Service, as in current charts."""
    service = {"grpc_service": {"envoy_grpc": {"cluster_name": target}}}
    config = {"name": "envoy.filters.http.ext_authz", "typed_config": service}
    patch = {"applyTo": "HTTP_FILTER", "patch": {"operation": "INSERT_BEFORE", "value": config}}
    spec = {"spec": {"configPatches": [patch]}}
    return [*AUTHZ_BASE, *beside, document("EnvoyFilter", name, NS, spec, *patches)]


def sends_to(*hosts):
    patches = [{"value": f"outbound|1||{each}.ns.svc.cluster.local"} for each in hosts]
    return sends("x", {"spec": {"configPatches": patches}})


# Namespaces that the network policy of the inference pods names.
KEY = "k8s:io.kubernetes.pod.namespace"
BY_LABEL = "io.cilium.k8s.namespace.labels.kubernetes.io/metadata.name"
CHART = ("keda", "kaito-system", "kube-system", "monitoring")
NO_SCALER = [MANAGED, namespace("keda"), namespace("other")]
BASE = [*NO_SCALER, deployment("keda", "keda-kaito-scaler")]


def admits(*names, patch=None, name="inference-pods-ingress", sources=(), around=BASE):
    endpoints = [{}, *({"matchLabels": {KEY: each}} for each in names), *sources]
    spec = {"spec": {"ingress": [{"fromEndpoints": endpoints}]}}
    return [*around, document("CiliumNetworkPolicy", name, NS, spec, patch or {})]


def admits_by(operator, **more):
    return admits(sources=[{"matchExpressions": [{"key": KEY, "operator": operator, **more}]}])


NAMES = {
    KEYS: {"APIKey my-models/default"},
    FILTER: {"EnvoyFilter my-models/model-not-found-direct"},
    AUTHZ: {"AuthorizationPolicy my-models/p", "EnvoyFilter my-models/apikey-ext-authz", "EnvoyFilter my-models/ext-authz"},
    POLICY: {"CiliumNetworkPolicy my-models/inference-pods-ingress"},
}  # fmt: skip
UNDEFINED = "which the mesh configuration does not define"
ABSENT = "Service llm-gateway-auth/apikey-authz, which does not exist"


@rows(
    ("reason", "docs", "since", "text"),
    {
        "refused, in the operator's words": (
            KEYS, key(phase="Pending", conditions=[REFUSED]), SINCE_AT, "was not reconciled: SecretExists: Secret llm-api-key is not ours",
        ),
        "expired, whatever Ready says": (KEYS, key(phase="Expired", conditions=[READY]), None, "expired"),
        "expired and refused": (KEYS, key(phase="Expired", conditions=[REFUSED]), SINCE_AT, "...(phase Expired)..."),
        "pending, where the operator sets no Ready": (KEYS, key(phase="Pending"), None, "...Pending..."),
        "a selector that matches no pod of the Gateway": (
            FILTER, selecting(WRONG), None,
            "selects no pod of the Gateway: its workloadSelector is gateway.networking.k8s.io/gateway-name=my-modles-gw",
        ),
        "a generation that Istio wrote as text": (FILTER, selecting(WRONG, {"status": {"conditions": [AS_TEXT]}}), None, "...selects no pod..."),
        "all labels of the selector count": (FILTER, selecting({**MATCHING, "app": "x"}), None, "...selects no pod..."),
        "no pod of any of two Gateways": (FILTER, selecting(WRONG, around=TWO_GATEWAYS), None, "...selects no pod..."),
        "an error of Istio's analysis, without its link": (
            FILTER, selecting(MATCHING, errors("ERROR", "WARNING")), None, "was rejected by Istio (IST0133)",
        ),
        "a provider that the mesh does not define": (
            AUTHZ, asks("apikey-ext-autz", mesh("apikey-ext-authz")), None, f"names the provider apikey-ext-autz, {UNDEFINED}",
        ),
        **{
            f"a mesh without providers: {text}": (AUTHZ, asks("oauth2", mesh(text=text)), None, UNDEFINED)
            for text in ("accessLogFile: /dev/stdout", "extensionProviders: []", "# empty")
        },
        "a mesh with entries that are no providers": (
            AUTHZ, asks("x", mesh(text="extensionProviders: [1, {}, {name: 7}, {name: oauth2}]")), None, UNDEFINED,
        ),
        **{f"no Service: {each}": (AUTHZ, sends(each), None, f"sends requests to {ABSENT}") for each in TARGETS},
        "the filter of Azure": (AUTHZ, sends(TARGETS[0], name="ext-authz"), None, ABSENT),
        "a short host where its namespace is known": (AUTHZ, sends("authz.mine:9001", beside=[namespace("mine")]), None, "...Service mine/authz..."),
        "several Services in order": (AUTHZ, sends_to("a", "b"), None, "...Service ns/a, ns/b, which..."),
        "several Services in another order": (AUTHZ, sends_to("b", "a"), None, "...Service ns/a, ns/b, which..."),
        "namespaces that do not exist, in order": (
            POLICY, admits("keda", "promehteus", "grafna", "other"), None, "names namespaces that do not exist: grafna, promehteus",
        ),
        "a namespace in an expression": (POLICY, admits_by("In", values=["keda", "nowhere"]), None, "exist: nowhere"),
        "all but the scaler's namespace": (POLICY, admits_by("NotIn", values=["keda"]), None, ""),
        "the scaler is shut out": (POLICY, admits("other"), None, "does not admit namespace keda, where keda-kaito-scaler runs"),
    },
)  # fmt: skip
def test_told(reason, docs, since, text):
    (finding,) = told(reason, *docs)
    assert str(finding.related) in NAMES[reason]
    assert finding.message.startswith(f"{finding.related} ")
    assert (finding.transition, finding.created) == (since, CREATED_AT)
    assert says(finding.message, text)
    assert "https://" not in finding.message


def test_causes():
    """The short causes by which faults are counted together."""
    kinds = {"expired": key(phase="Expired", conditions=[READY]), "Pending": key(phase="Pending"), "SecretExists": key(conditions=[REFUSED])}  # fmt: skip
    assert {name: told(KEYS, *docs)[0].cause for name, docs in kinds.items()} == {
        name: name for name in kinds
    }
    assert told(FILTER, *selecting(MATCHING, errors("ERROR")))[0].cause == "rejected"


OFF = FullEvaluationSettings(gateway_auth_deployment="")
NO_KEDA = FullEvaluationSettings(keda_scaler_deployment="")
MOVED = FullEvaluationSettings(keda_scaler_namespace=("other",))
UNREADABLE = [
    "[1, 2]", "text", "a: [", "extensionProviders: text", "!!python/object:os.system {}",
    "!!int ''", "? [a]\n: b", "a: *nowhere", "[" * 3000,
]  # fmt: skip


@rows(
    ("reason", "docs", "options"),
    {
        "active": (KEYS, key(phase="Active", conditions=[READY]), {}),
        "active without conditions": (KEYS, key(phase="Active"), {}),
        "no conditions yet": (KEYS, key(), {}),
        "not judged yet": (KEYS, key(conditions=[condition("Ready", "Unknown")]), {}),
        "ready with a phase that is late": (KEYS, key(phase="Pending", conditions=[READY]), {}),
        "a key that is being deleted": (KEYS, key(DELETING, phase="Expired", conditions=[REFUSED]), {}),
        "a key elsewhere": (KEYS, key({"metadata": {"namespace": "other"}}, conditions=[REFUSED]), {}),
        "keys cannot be read": (KEYS, key(conditions=[REFUSED]), {"unknown": {APIKEYS: FORBIDDEN}}),
        "a matching selector and an empty status": (FILTER, selecting(MATCHING), {}),
        "pods of one Gateway of two": (FILTER, selecting(MATCHING, around=TWO_GATEWAYS), {}),
        "a warning": (FILTER, selecting(MATCHING, errors("WARNING", "INFO")), {}),
        "no selector: all pods": (FILTER, selecting({}, {"spec": {"workloadSelector": None}}), {}),
        "no such filter": (FILTER, HARNESS, {}),
        "another filter": (FILTER, selecting(WRONG, name="bbr-ext-proc"), {}),
        "a filter that is being deleted": (FILTER, selecting(WRONG, DELETING), {}),
        "a Gateway without pods": (FILTER, selecting(WRONG, around=harness_without("Pod")), {}),
        "pods of the Gateway on their way out": (FILTER, selecting(WRONG, around=replaced(HARNESS, "Pod", DELETING)), {}),
        "no Gateway": (FILTER, selecting(WRONG, around=harness_without("Gateway")), {}),
        **{f"{each} cannot be read": (FILTER, selecting(WRONG), {"unknown": {each: FORBIDDEN}}) for each in (ENVOYFILTERS, GATEWAYS, PODS)},
        "defined": (AUTHZ, asks("oauth2", mesh("other", "oauth2")), {}),
        "defined for another revision": (AUTHZ, asks("oauth2", mesh("other"), mesh("oauth2", name="istio-1-29")), {}),
        "defined for the AKS add-on": (AUTHZ, asks("oauth2", mesh("oauth2", place="aks-istio-system", name="istio-shared-configmap-asm-1-27")), {}),
        "defined beside entries that are no providers": (
            AUTHZ, asks("oauth2", mesh(text="extensionProviders: [1, {}, {name: 7}, {name: oauth2}]")), {},
        ),
        "no provider": (AUTHZ, asks("x", mesh("oauth2"), patch={"spec": {"provider": None}}), {}),
        "an empty provider": (AUTHZ, asks("", mesh("oauth2")), {}),
        "another action": (AUTHZ, asks("x", mesh("oauth2"), patch={"spec": {"action": "ALLOW"}}), {}),
        "no action": (AUTHZ, asks("x", mesh("oauth2"), patch={"spec": {"action": None}}), {}),
        "a policy that is being deleted": (AUTHZ, asks("x", mesh("oauth2"), patch=DELETING), {}),
        "no mesh configuration was found": (AUTHZ, asks("x"), {}),
        "a ConfigMap without mesh": (AUTHZ, asks("x", document("ConfigMap", "istio", "istio-system", {"data": {"root": "x"}})), {}),
        "a mesh configuration elsewhere": (AUTHZ, asks("x", mesh("oauth2", place="other")), {}),
        "an unreadable revision": (AUTHZ, asks("x", mesh("oauth2"), mesh(text="{", name="istio-b")), {}),
        "missing cluster-wide: told once": (AUTHZ, asks("apikey-ext-authz", mesh("oauth2")), {}),
        **{f"unreadable: {each[:30]}": (AUTHZ, asks("x", mesh(text=each)), {}) for each in UNREADABLE},
        "the mesh configuration cannot be read": (AUTHZ, asks("x", mesh("oauth2")), {"unknown": {CONFIGMAPS: FORBIDDEN}}),
        **{f"there is a Service: {each}": (AUTHZ, sends(each, beside=[SERVICE]), {}) for each in TARGETS},
        "a host outside the cluster": (AUTHZ, sends("auth.example:443"), {}),
        "an external cluster": (AUTHZ, sends("outbound|443||auth.example.com"), {}),
        "a static cluster": (AUTHZ, sends("xds-grpc"), {}),
        "a short host of no namespace": (AUTHZ, sends("authz.mine:9001"), {}),
        "a filter for something else": (AUTHZ, sends(TARGETS[0], name="bbr-ext-proc"), {}),
        "a filter on its way out": (AUTHZ, sends(TARGETS[0], DELETING), {}),
        "without patches": (AUTHZ, sends(TARGETS[0], {"spec": {"configPatches": None}}), {}),
        "Services cannot be read": (AUTHZ, sends(TARGETS[0]), {"unknown": {SERVICES: FORBIDDEN}}),
        "a Service that was not dumped": (AUTHZ, sends(TARGETS[0]), {"covered": {NS}}),
        "namespaces cannot be read": (AUTHZ, sends(TARGETS[0]), {"unknown": {NAMESPACES: FORBIDDEN}}),
        "the chart's defaults, which often do not exist": (POLICY, admits(*CHART), {}),
        "no policy": (POLICY, BASE, {}),
        "another policy": (POLICY, admits("nowhere", name="mine"), {}),
        "a network policy that is being deleted": (POLICY, admits("nowhere", patch=DELETING), {}),
        "a namespace on its way out exists": (POLICY, [namespace("leaving", DELETING), *admits("keda", "leaving")], {}),
        "no scaler to admit": (POLICY, admits("other", around=NO_SCALER), {}),
        "the key without its source prefix": (POLICY, admits(sources=[{"matchLabels": {"io.kubernetes.pod.namespace": "keda"}}]), {}),
        "the scaler's namespace with further labels": (POLICY, admits(sources=[{"matchLabels": {KEY: "keda", "app": "keda-kaito-scaler"}}]), {}),
        "namespaces selected by their labels": (POLICY, admits(sources=[{"matchLabels": {f"k8s:{BY_LABEL}": "keda"}}]), {}),
        "namespaces selected by expressions on their labels": (
            POLICY, admits(sources=[{"matchExpressions": [{"key": BY_LABEL, "operator": "Exists"}]}]), {},
        ),
        "any namespace": (POLICY, admits_by("Exists"), {}),
        "a rule that admits by other means": (POLICY, admits(patch={"spec": {"ingress": [{"fromEntities": ["cluster"]}]}}), {}),
        "no rules": (POLICY, admits(patch={"spec": {"ingress": None}}), {}),
        "the scaler runs elsewhere": (POLICY, [*admits("other"), deployment("other", "keda-kaito-scaler")], {"settings": MOVED}),
        "the scaler is switched off": (POLICY, admits("other"), {"settings": NO_KEDA}),
        "the scaler cannot be looked for": (POLICY, admits("other"), {"unknown": {DEPLOYMENTS: FORBIDDEN}}),
        "Cilium is not installed": (POLICY, BASE, {"served": ALL_CRDS - {"ciliumnetworkpolicies.cilium.io"}}),
        "network policies cannot be read": (POLICY, admits("keda", "nowhere"), {"unknown": {CILIUMNETWORKPOLICIES: FORBIDDEN}}),
    },
)  # fmt: skip
def test_silent(reason, docs, options):
    """Works, does no harm, is young or being deleted, is not ours to judge, or is unknown."""
    assert told(reason, *docs, **options) == []


@rows(
    ("reason", "docs", "options"),
    {
        "an error is told without pods": (FILTER, selecting(MATCHING, errors("ERROR")), {"unknown": {PODS: FORBIDDEN}}),
        "a Service of a namespace that was dumped": (AUTHZ, sends(TARGETS[0]), {"covered": {NS, "llm-gateway-auth"}}),
        "a provider that no cluster reason tells": (AUTHZ, asks("apikey-ext-authz", mesh("a")), {"settings": OFF}),
    },
)  # fmt: skip
def test_told_all_the_same(reason, docs, options):
    assert len(told(reason, *docs, **options)) == 1


@pytest.mark.parametrize(("state", "count"), [({}, 1), ({NAMESPACES: FORBIDDEN}, 0)])
def test_a_namespace_is_not_expected_where_none_can_be_looked_for(state, count):
    snapshot = snapshot_of(*admits("keda", "nowhere"))
    (workload,) = managed_namespaces(snapshot)
    seen = dataclasses.replace(snapshot, states={**snapshot.states, **state})
    assert len([*probe_network_policy(namespace_scope(seen, DEFAULTS, workload))]) == count


def test_key_material_is_redacted():
    """A condition that quotes a key does not carry it into an Event."""
    (finding,) = told(KEYS, *key(conditions=[QUOTES_A_KEY]))
    assert "abcdefghijklmnopqrst" not in finding.message

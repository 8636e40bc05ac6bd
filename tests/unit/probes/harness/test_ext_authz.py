"""What requests are sent to for authorization."""

import pytest

from reporter.catalogue.resources import CONFIGMAPS, NAMESPACES, SERVICES
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.asking import evaluate_harness
from tests.unit.probes.building import (
    CREATED_AT,
    DELETING,
    FORBIDDEN,
    document,
    merged,
    namespace,
    snapshot_of,
)

REASON = "modelharnessExtAuthzProviderMissing"
HOST = "apikey-authz.llm-gateway-auth"


def probe(*docs, settings=None, **options):
    base = [namespace("my-models", managed=True), namespace("llm-gateway-auth")]
    snapshot = snapshot_of(*base, *docs, **options)
    evaluation = evaluate_harness(snapshot, settings or FullEvaluationSettings())
    return [each for each in evaluation.findings if each.reason == REASON]


def policy(provider, *patches):
    spec = {"spec": {"action": "CUSTOM", "provider": {"name": provider}}}
    return document("AuthorizationPolicy", "p", "my-models", spec, *patches)


def mesh(*providers, place="istio-system", name="istio", text=None):
    lines = ["accessLogFile: /dev/stdout", "extensionProviders:"]
    lines += [f"- name: {each}\n  envoyExtAuthzGrpc: {{port: 9001}}" for each in providers]
    return document("ConfigMap", name, place, {"data": {"mesh": text or "\n".join(lines)}})


SILENT_POLICIES = {
    "defined": [policy("oauth2"), mesh("other", "oauth2")],
    "defined for another revision": [
        policy("oauth2"), mesh("other"), mesh("oauth2", name="istio-1-29"),
    ],
    "defined for the AKS add-on": [
        policy("oauth2"),
        mesh("oauth2", place="aks-istio-system", name="istio-shared-configmap-asm-1-27"),
    ],
    "no provider": [policy("x", {"spec": {"provider": None}}), mesh("oauth2")],
    "an empty provider": [policy(""), mesh("oauth2")],
    "another action": [policy("x", {"spec": {"action": "ALLOW"}}), mesh("oauth2")],
    "no action": [policy("x", {"spec": {"action": None}}), mesh("oauth2")],
    "being deleted": [policy("x", DELETING), mesh("oauth2")],
    "no mesh configuration was found": [policy("x")],
    "a ConfigMap without mesh": [
        policy("x"), document("ConfigMap", "istio", "istio-system", {"data": {"root": "x"}}),
    ],
    "a mesh configuration elsewhere": [policy("x"), mesh("oauth2", place="other")],
    "an unreadable revision": [policy("x"), mesh("oauth2"), mesh(text="{", name="istio-b")],
    "missing cluster-wide: told once": [policy("apikey-ext-authz"), mesh("oauth2")],
}  # fmt: skip


class TestPolicies:
    """AuthorizationPolicies with action CUSTOM, as older charts made them."""

    def test_a_provider_that_the_mesh_does_not_define(self):
        (finding,) = probe(policy("apikey-ext-autz"), mesh("apikey-ext-authz"))
        assert str(finding.related) == "AuthorizationPolicy my-models/p"
        assert finding.message == (
            "AuthorizationPolicy my-models/p names the provider apikey-ext-autz, "
            "which the mesh configuration does not define"
        )
        assert (finding.transition, finding.created) == (None, CREATED_AT)

    def test_a_mesh_without_any_provider(self):
        """An empty or absent list defines nothing."""
        for text in ("accessLogFile: /dev/stdout", "extensionProviders: []", "# empty"):
            assert len(probe(policy("oauth2"), mesh(text=text))) == 1

    @pytest.mark.parametrize("name", SILENT_POLICIES)
    def test_silent(self, name):
        assert probe(*SILENT_POLICIES[name]) == []

    def test_missing_cluster_wide_without_gateway_authentication(self):
        """Where the cluster reason is switched off the namespace tells it."""
        settings = FullEvaluationSettings(gateway_auth_deployment="")
        assert len(probe(policy("apikey-ext-authz"), mesh("a"), settings=settings)) == 1

    @pytest.mark.parametrize(
        "text",
        ["[1, 2]", "text", "a: [", "extensionProviders: text", "!!python/object:os.system {}",
         "!!int ''", "? [a]\n: b", "a: *nowhere", "[" * 3000],
    )  # fmt: skip
    def test_a_mesh_that_cannot_be_read(self, text):
        """Unreadable is unknown, and no text stops the pass."""
        assert probe(policy("x"), mesh(text=text)) == []

    def test_entries_that_are_no_providers_are_passed_over(self):
        text = "extensionProviders: [1, {}, {name: 7}, {name: oauth2}]"
        assert probe(policy("oauth2"), mesh(text=text)) == []
        assert len(probe(policy("x"), mesh(text=text))) == 1

    def test_unknown(self):
        """A mesh configuration that is forbidden defines we do not know what."""
        assert probe(policy("x"), mesh("oauth2"), unknown={CONFIGMAPS: FORBIDDEN}) == []


def envoy_filter(target, *patches, name="apikey-ext-authz"):
    service = {"grpc_service": {"envoy_grpc": {"cluster_name": target}}}
    config = {"name": "envoy.filters.http.ext_authz", "typed_config": service}
    patch = {"applyTo": "HTTP_FILTER", "patch": {"operation": "INSERT_BEFORE", "value": config}}
    return document(
        "EnvoyFilter", name, "my-models", {"spec": {"configPatches": [patch]}}, *patches
    )


SERVICE = document("Service", "apikey-authz", "llm-gateway-auth")
TARGETS = [
    f"outbound|9001||{HOST}.svc.cluster.local",
    f"outbound|9001|v1|{HOST}.svc.example.internal",
    f"{HOST}.svc.cluster.local:9001",
    f"{HOST}.svc:9001",
    f"{HOST}:9001",
    f"dns:///{HOST}.svc.cluster.local:9001",
    f"http://{HOST}.svc.cluster.local:9001/check",
    f"{HOST}.svc.cluster.local",
]


SILENT_FILTERS = {
    "a host outside the cluster": envoy_filter("auth.example:443"),
    "an external cluster": envoy_filter("outbound|443||auth.example.com"),
    "a static cluster": envoy_filter("xds-grpc"),
    "another filter": envoy_filter(TARGETS[0], name="bbr-ext-proc"),
    "being deleted": envoy_filter(TARGETS[0], DELETING),
    "without patches": envoy_filter(TARGETS[0], {"spec": {"configPatches": None}}),
}


class TestFilters:
    """EnvoyFilters that send requests to an authorization Service, as charts make them now."""

    @pytest.mark.parametrize("target", TARGETS)
    def test_a_service_that_does_not_exist(self, target):
        (finding,) = probe(envoy_filter(target))
        assert str(finding.related) == "EnvoyFilter my-models/apikey-ext-authz"
        assert finding.message == (
            "EnvoyFilter my-models/apikey-ext-authz sends requests to Service "
            "llm-gateway-auth/apikey-authz, which does not exist"
        )
        assert (finding.transition, finding.created) == (None, CREATED_AT)

    @pytest.mark.parametrize("target", TARGETS)
    def test_a_service_that_exists(self, target):
        assert probe(envoy_filter(target), SERVICE) == []

    def test_the_filter_of_azure(self):
        """`ext-authz` is judged like its sibling."""
        assert len(probe(envoy_filter(TARGETS[0], name="ext-authz"))) == 1

    @pytest.mark.parametrize("name", SILENT_FILTERS)
    def test_silent(self, name):
        assert probe(SILENT_FILTERS[name]) == []

    def test_absence_needs_a_look(self):
        """A Service that cannot be read, or was not dumped, is not missing."""
        found = envoy_filter(TARGETS[0])
        assert probe(found, unknown={SERVICES: FORBIDDEN}) == []
        assert probe(found, covered={"my-models"}) == []
        assert len(probe(found, covered={"my-models", "llm-gateway-auth"})) == 1

    def test_a_short_host_counts_where_its_namespace_is_known(self):
        short = envoy_filter("authz.mine:9001")
        assert probe(short) == []
        (finding,) = probe(short, namespace("mine"))
        assert "Service mine/authz" in finding.message

    def test_several_services_are_named_in_order(self):
        patches = [{"value": f"outbound|1||{each}.ns.svc.cluster.local"} for each in "ba"]
        docs = [
            merged(envoy_filter("x"), {"spec": {"configPatches": order}})
            for order in (patches, patches[::-1])
        ]
        messages = {probe(each)[0].message for each in docs}
        assert len(messages) == 1
        assert "Service ns/a, ns/b, which" in messages.pop()


def test_no_namespaces_no_subjects():
    assert probe(envoy_filter(TARGETS[0]), unknown={NAMESPACES: FORBIDDEN}) == []

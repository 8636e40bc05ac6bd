"""The provider of API keys in the mesh configuration."""

import pytest

from reporter.catalogue.resources import AUTHORIZATIONPOLICIES, CONFIGMAPS
from reporter.probes.cluster.parts import probe_mesh_provider
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.asking import scope
from tests.unit.probes.building import (
    DELETING,
    FORBIDDEN,
    document,
    healthy_cluster,
    merged,
    namespace,
    snapshot_of,
)

DEFAULTS = FullEvaluationSettings()


def mesh(text, name="istio"):
    return document("ConfigMap", name, "istio-system", {"data": {"mesh": text}})


def policy(provider="apikey-ext-authz", place="my-models"):
    return document(
        "AuthorizationPolicy", "p", place,
        {"spec": {"action": "CUSTOM", "provider": {"name": provider}}},
    )  # fmt: skip


DEFINED = mesh("extensionProviders: [{name: apikey-ext-authz}]")
UNDEFINED = mesh("accessLogFile: /dev/stdout")


def probe(*docs, settings=DEFAULTS, **options):
    base = [*healthy_cluster(), namespace("my-models", managed=True)]
    return list(probe_mesh_provider(scope(snapshot_of(*base, *docs, **options), settings)))


def test_policies_without_their_provider():
    """What all workload namespaces lack is told once, about the gateway authentication."""
    (finding,) = probe(UNDEFINED, policy())
    assert finding.reason == "clusterGatewayAuthNotReady"
    assert str(finding.involved) == "Namespace llm-gateway-auth"
    assert str(finding.related) == "ConfigMap istio-system/istio"
    assert "apikey-ext-authz" in finding.message
    assert not finding.governs


SILENT = {
    "current charts make no policy": [UNDEFINED],
    "the provider is there": [DEFINED, policy()],
    "a policy of another provider": [UNDEFINED, policy("oauth2-proxy")],
    "a policy on its way out": [UNDEFINED, merged(policy(), DELETING)],
    "a policy that is not custom": [UNDEFINED, merged(policy(), {"spec": {"action": "ALLOW"}})],
    "a policy elsewhere": [UNDEFINED, policy(place="keda")],
    "one revision defines it": [UNDEFINED, mesh(DEFINED["data"]["mesh"], "istio-1-29"), policy()],
    "no mesh configuration was found": [policy()],
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(name):
    """The provider alone being away is normal since the charts use EnvoyFilters."""
    assert probe(*SILENT[name]) == []


@pytest.mark.parametrize("resource", [AUTHORIZATIONPOLICIES, CONFIGMAPS])
def test_unknown(resource):
    assert probe(UNDEFINED, policy(), unknown={resource: FORBIDDEN}) == []


def test_switched_off():
    """Without API keys their provider is not missed."""
    settings = FullEvaluationSettings(gateway_auth_deployment="")
    assert probe(UNDEFINED, policy(), settings=settings) == []

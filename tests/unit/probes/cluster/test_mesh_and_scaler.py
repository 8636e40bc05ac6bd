"""The provider of API keys in the mesh configuration, and ScaledObjects that KEDA rejected."""

from reporter.catalogue.resources import AUTHORIZATIONPOLICIES, CONFIGMAPS, SCALEDOBJECTS
from reporter.probes.cluster.parts import probe_mesh_provider
from reporter.stacks.kaito.probes.scaling import probe_scaled_objects
from reporter.stacks.kaito.reasons import INFERENCESETS
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import rows
from tests.unit.probes.asking import scope
from tests.unit.probes.building import (
    CREATED_AT,
    DELETING,
    FORBIDDEN,
    SINCE_AT,
    condition,
    document,
    healthy_cluster,
    merged,
    namespace,
    snapshot_of,
)

BASE = [*healthy_cluster(), namespace("my-models", managed=True)]
REJECTED = condition("Ready", "False", "ScaledObjectCheckFailed", "failed to ensure HPA")
READY = condition("Ready", "True", "ScaledObjectReady")
SET = document("InferenceSet", "qwen", "my-models", {"spec": {"replicas": 1}})
ELSEWHERE = {"metadata": {"namespace": "keda"}}


def mesh(text, name="istio"):
    return document("ConfigMap", name, "istio-system", {"data": {"mesh": text}})


def policy(provider="apikey-ext-authz", *patches):
    spec = {"spec": {"action": "CUSTOM", "provider": {"name": provider}}}
    return document("AuthorizationPolicy", "p", "my-models", spec, *patches)


def scaled(*conditions, name="qwen"):
    return document("ScaledObject", name, "my-models", {"status": {"conditions": list(conditions)}})


DEFINED = mesh("extensionProviders: [{name: apikey-ext-authz}]")
UNDEFINED = mesh("accessLogFile: /dev/stdout")


def told(probe, docs, settings=(), **options):
    snapshot = snapshot_of(*BASE, *docs, **options)
    return list(probe(scope(snapshot, FullEvaluationSettings(**dict(settings)))))


def test_policies_without_their_provider():
    """What all workload namespaces lack is reported once, about the gateway authentication."""
    (finding,) = told(probe_mesh_provider, [UNDEFINED, policy()])
    assert finding.reason == "clusterGatewayAuthNotReady"
    assert str(finding.involved) == "Namespace llm-gateway-auth"
    assert str(finding.related) == "ConfigMap istio-system/istio"
    assert "apikey-ext-authz" in finding.message
    assert not finding.governs


def test_rejected():
    """Ready=False of an InferenceSet's ScaledObject is reported about the scaler's namespace."""
    (finding,) = told(probe_scaled_objects, [SET, scaled(REJECTED)])
    assert finding.reason == "clusterKedaKaitoScalerNotReady"
    assert str(finding.involved) == "Namespace keda"
    assert finding.message == (
        f"{finding.related} was rejected by KEDA: ScaledObjectCheckFailed: failed to ensure HPA"
    )
    assert str(finding.related) == "ScaledObject my-models/qwen"
    assert (finding.transition, finding.created) == (SINCE_AT, CREATED_AT)
    assert not finding.governs


@rows(
    ("docs", "options"),
    {
        "current charts make no policy": ([UNDEFINED], {}),
        "the provider is there": ([DEFINED, policy()], {}),
        "a policy of another provider": ([UNDEFINED, policy("oauth2-proxy")], {}),
        "a policy on its way out": ([UNDEFINED, policy("apikey-ext-authz", DELETING)], {}),
        "a policy that is not custom": ([UNDEFINED, merged(policy(), {"spec": {"action": "ALLOW"}})], {}),
        "a policy elsewhere": ([UNDEFINED, merged(policy(), ELSEWHERE)], {}),
        "one revision defines it": ([UNDEFINED, mesh(DEFINED["data"]["mesh"], "istio-1-29"), policy()], {}),
        "no mesh configuration was found": ([policy()], {}),
        "policies cannot be read": ([UNDEFINED, policy()], {"unknown": {AUTHORIZATIONPOLICIES: FORBIDDEN}}),
        "the configuration cannot be read": ([UNDEFINED, policy()], {"unknown": {CONFIGMAPS: FORBIDDEN}}),
        "no API keys": ([UNDEFINED, policy()], {"settings": {"gateway_auth_deployment": ""}}),
    },
)  # fmt: skip
def test_no_provider_is_missed(docs, options):
    """A missing provider alone is normal since the charts use EnvoyFilters."""
    assert told(probe_mesh_provider, docs, **options) == []


@rows(
    ("docs", "options"),
    {
        "accepted": ([SET, scaled(READY)], {}),
        "no conditions yet": ([SET, scaled()], {}),
        "not judged yet": ([SET, scaled(condition("Ready", "Unknown"))], {}),
        "inactive": ([SET, scaled(READY, condition("Active", "False", "ScalerNotActive"))], {}),
        "in fallback": ([SET, scaled(READY, condition("Fallback", "True"))], {}),
        "paused": ([SET, scaled(REJECTED, condition("Paused", "True", "ScaledObjectPaused"))], {}),
        "being deleted": ([SET, merged(scaled(REJECTED), DELETING)], {}),
        "of an InferenceSet that is being deleted": ([merged(SET, DELETING), scaled(REJECTED)], {}),
        "somebody else's": ([SET, scaled(REJECTED, name="web")], {}),
        "in a namespace that is not managed": ([merged(each, ELSEWHERE) for each in (SET, scaled(REJECTED))], {}),
        "InferenceSets cannot be read": ([SET, scaled(REJECTED)], {"unknown": {INFERENCESETS: FORBIDDEN}}),
        "ScaledObjects cannot be read": ([SET, scaled(REJECTED)], {"unknown": {SCALEDOBJECTS: FORBIDDEN}}),
        "switched off": ([SET, scaled(REJECTED)], {"settings": {"keda_scaler_deployment": ""}}),
    },
)  # fmt: skip
def test_not_rejected(docs, options):
    """Normal, being deleted, not the scaler's, or without a known owner."""
    assert told(probe_scaled_objects, docs, **options) == []

"""Labels and selectors of the objects of a ModelService."""

import pytest

from reporter.stacks.otterscale.manifests import names as labels
from tests.unit.stacks.otterscale.manifests.building import documents, service

K8S = "app.kubernetes.io/"
BOTH = {f"{K8S}part-of": "otterscale-system", f"{K8S}managed-by": "model-operator"}
VERSION = {f"{K8S}version": "v1"}
N, E = {f"{K8S}name": "a.b"}, {f"{K8S}name": "a-b-epp"}
LLM_D = {"llm-d.ai/inferenceServing": "true", "llm-d.ai/model": "a.b"}
POOL = {"inferencepool": "a-b-epp"}


def component(name):
    return {f"{K8S}component": name}


def role(name):
    return {"llm-d.ai/role": name}


DECODE, PREFILL, EPP = component("model-decode"), component("model-prefill"), component("epp")

SETS = [
    (labels.role_metadata("a.b", "decode", "v1"), N | DECODE | BOTH | VERSION),
    (labels.role_metadata("a.b", "prefill", "v1"), N | PREFILL | BOTH | VERSION),
    (labels.role_metadata("a.b", "decode", ""), N | DECODE | BOTH),
    (labels.role_selector("a.b", "decode"), N | DECODE | BOTH | LLM_D | role("decode")),
    (labels.role_selector("a.b", "prefill"), N | PREFILL | BOTH | LLM_D | role("prefill")),
    (labels.role_pods("a.b", "decode", "v1"), N | DECODE | BOTH | VERSION | LLM_D | role("decode")),
    (labels.role_pods("a.b", "prefill", ""), N | PREFILL | BOTH | LLM_D | role("prefill")),
    (labels.epp_metadata("a.b", "v1"), E | EPP | BOTH | VERSION),
    (labels.epp_selector("a.b"), E | EPP | BOTH),
    (labels.epp_deployment_selector("a.b"), E | EPP | BOTH | POOL),
    (labels.epp_pods("a.b", "v1"), E | EPP | BOTH | VERSION | POOL),
    (labels.routing_metadata("a.b", "v1"), N | EPP | BOTH | VERSION),
    (labels.pool_selector("a.b"), N | BOTH | LLM_D),
]


@pytest.mark.parametrize(("found", "expected"), SETS)
def test_label_set(found, expected):
    assert found == expected


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("Deployment", "a.b-decode", labels.role_metadata("a.b", "decode", "devel")),
        ("Deployment", "a.b-prefill", labels.role_metadata("a.b", "prefill", "devel")),
        ("PodMonitor", "a.b-prefill", labels.role_metadata("a.b", "prefill", "devel")),
        ("Deployment", "a-b-epp", labels.epp_metadata("a.b", "devel")),
        ("ConfigMap", "a-b-epp-config", labels.epp_metadata("a.b", "devel")),
        ("Secret", "a-b-epp-sa-metrics-reader-secret", labels.epp_metadata("a.b", "devel")),
        ("ClusterRole", "models-a-b-epp", labels.epp_metadata("a.b", "devel")),
        ("DestinationRule", "a-b-epp", labels.epp_metadata("a.b", "devel")),
        ("ServiceMonitor", "a-b-epp", labels.epp_metadata("a.b", "devel")),
        ("InferencePool", "a.b", labels.routing_metadata("a.b", "devel")),
        ("HTTPRoute", "a.b", labels.routing_metadata("a.b", "devel")),
    ],
)
def test_which_object_has_which(kind, name, expected):
    made = documents(FULL)
    assert made[kind, name]["metadata"]["labels"] == expected


def test_no_object_carries_the_other_spelling():
    assert "inference-serving" not in str(documents(FULL))


FULL = service(
    "a.b",
    prefill={},
    inferencePool={"endpointPicker": {}},
    monitoring={"podMonitor": {"enabled": True}},
)

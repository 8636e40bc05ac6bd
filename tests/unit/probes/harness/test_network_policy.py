"""Namespaces that the network policy of the inference pods names."""

import dataclasses

import pytest

from reporter.catalogue.resources import CILIUMNETWORKPOLICIES, DEPLOYMENTS, NAMESPACES
from reporter.probes.harness.policies import probe_network_policy
from reporter.stacks.settings import FullEvaluationSettings
from reporter.workload.components import managed_namespaces
from tests.unit.probes.asking import evaluate_harness, namespace_scope
from tests.unit.probes.building import (
    ALL_CRDS,
    CREATED_AT,
    DELETING,
    FORBIDDEN,
    deployment,
    document,
    namespace,
    snapshot_of,
)

REASON = "modelharnessNetworkPolicyMisconfigured"
KEY = "k8s:io.kubernetes.pod.namespace"
BY_LABEL = "io.cilium.k8s.namespace.labels.kubernetes.io/metadata.name"
CHART = ("keda", "kaito-system", "kube-system", "monitoring")
SCALER = deployment("keda", "keda-kaito-scaler")
BASE = [
    namespace("my-models", managed=True),
    namespace("keda"),
    namespace("other"),
    SCALER,
]


def policy(*names, patch=None, name="inference-pods-ingress", sources=()):
    endpoints = [{}, *({"matchLabels": {KEY: each}} for each in names), *sources]
    spec = {"spec": {"ingress": [{"fromEndpoints": endpoints}]}}
    return document("CiliumNetworkPolicy", name, "my-models", spec, patch or {})


def probe(*docs, settings=None, **options):
    snapshot = snapshot_of(*docs, **options)
    evaluation = evaluate_harness(snapshot, settings or FullEvaluationSettings())
    return [each for each in evaluation.findings if each.reason == REASON]


def test_a_namespace_that_does_not_exist():
    """The message names the policy and the offending names, in order."""
    (finding,) = probe(*BASE, policy("keda", "promehteus", "grafna", "other"))
    assert str(finding.related) == "CiliumNetworkPolicy my-models/inference-pods-ingress"
    assert finding.message == (
        "CiliumNetworkPolicy my-models/inference-pods-ingress names namespaces that do not "
        "exist: grafna, promehteus"
    )
    assert (finding.transition, finding.created) == (None, CREATED_AT)


def test_the_scaler_is_shut_out():
    """Scaling needs the scaler's namespace, wherever the scaler was found."""
    (finding,) = probe(*BASE, policy("other"))
    assert finding.message.endswith("does not admit namespace keda, where keda-kaito-scaler runs")
    settings = FullEvaluationSettings(keda_scaler_namespace=("other",))
    moved = deployment("other", "keda-kaito-scaler")
    assert probe(*BASE, moved, policy("other"), settings=settings) == []


def test_expressions_name_namespaces_too():
    operators = {
        "In": ({"key": KEY, "operator": "In", "values": ["keda", "nowhere"]}, 1),
        "Exists": ({"key": KEY, "operator": "Exists"}, 0),
        "NotIn": ({"key": KEY, "operator": "NotIn", "values": ["keda"]}, 1),
    }
    for expression, count in operators.values():
        doc = policy(sources=[{"matchExpressions": [expression]}])
        assert len(probe(*BASE, doc)) == count


SILENT = {
    "the chart's defaults, which often do not exist": [*BASE, policy(*CHART)],
    "no policy": BASE,
    "another policy": [*BASE, policy("nowhere", name="mine")],
    "being deleted": [*BASE, policy("nowhere", patch=DELETING)],
    "a namespace on its way out exists": [
        *BASE, namespace("leaving", DELETING), policy("keda", "leaving"),
    ],
    "no scaler to admit": [*BASE[:3], policy("other")],
    "the key without its source prefix": [
        *BASE, policy(sources=[{"matchLabels": {"io.kubernetes.pod.namespace": "keda"}}]),
    ],
    "the scaler's namespace with further labels": [
        *BASE, policy(sources=[{"matchLabels": {KEY: "keda", "app": "keda-kaito-scaler"}}]),
    ],
    "namespaces selected by their labels": [
        *BASE, policy(sources=[{"matchLabels": {f"k8s:{BY_LABEL}": "keda"}}]),
    ],
    "namespaces selected by expressions on their labels": [
        *BASE, policy(sources=[{"matchExpressions": [{"key": BY_LABEL, "operator": "Exists"}]}]),
    ],
    "a rule that admits by other means": [
        *BASE, policy(patch={"spec": {"ingress": [{"fromEntities": ["cluster"]}]}}),
    ],
    "no rules": [*BASE, policy(patch={"spec": {"ingress": None}})],
}  # fmt: skip


@pytest.mark.parametrize("name", SILENT)
def test_silent(name):
    """What does no harm, is not ours to judge, or cannot be told."""
    assert probe(*SILENT[name]) == []


def test_the_ignored_names_are_a_setting():
    """Without exemptions the chart's defaults are told as well."""
    settings = FullEvaluationSettings(network_policy_ignored_namespaces=())
    (finding,) = probe(*BASE, policy(*CHART), settings=settings)
    assert finding.message.endswith("exist: kaito-system, kube-system, monitoring")


def test_without_cilium():
    served = ALL_CRDS - {"ciliumnetworkpolicies.cilium.io"}
    assert probe(*BASE, served=served) == []


def test_unknown():
    """Neither a Namespace nor the scaler is expected where it cannot be looked for."""
    doc = policy("keda", "nowhere")
    assert probe(*BASE, doc, unknown={CILIUMNETWORKPOLICIES: FORBIDDEN}) == []
    snapshot = snapshot_of(*BASE, doc)
    (workload,) = managed_namespaces(snapshot)
    blind = dataclasses.replace(snapshot, states={**snapshot.states, NAMESPACES: FORBIDDEN})
    assert (
        list(probe_network_policy(namespace_scope(snapshot, FullEvaluationSettings(), workload)))
        != []
    )
    assert (
        list(probe_network_policy(namespace_scope(blind, FullEvaluationSettings(), workload))) == []
    )
    assert probe(*BASE, policy("other"), unknown={DEPLOYMENTS: FORBIDDEN}) == []


def test_scaler_switched_off():
    settings = FullEvaluationSettings(keda_scaler_deployment="")
    assert probe(*BASE, policy("other"), settings=settings) == []

"""Which objects are created and which are deleted."""

from dataclasses import replace

import pytest

from reporter.model.objects import Deployment, HttpRoute, InferencePool, Service
from reporter.stacks.otterscale.manifests.names import OperatorSettings
from reporter.stacks.otterscale.manifests.wanted import Manifest, unwanted, wanted
from reporter.stacks.otterscale.objects import Monitor
from tests.unit.stacks.otterscale.manifests.building import OPERATOR, names, service

POOL = {"inferencePool": {"endpointPicker": {}}}
MONITORED = {"monitoring": {"podMonitor": {"enabled": True}}}
ROUTED = {"httpRoute": {"gatewayRef": {"name": "g"}}}

ORDER = [
    ("Deployment", "a.b-decode"),
    ("Deployment", "a.b-prefill"),
    ("ServiceAccount", "a-b-epp"),
    ("ConfigMap", "a-b-epp-config"),
    ("Deployment", "a-b-epp"),
    ("Service", "a-b-epp"),
    ("Secret", "a-b-epp-sa-metrics-reader-secret"),
    ("Role", "a-b-epp"),
    ("RoleBinding", "a-b-epp"),
    ("ClusterRole", "models-a-b-epp"),
    ("ClusterRoleBinding", "models-a-b-epp"),
    ("InferencePool", "a.b"),
    ("HTTPRoute", "a.b"),
    ("DestinationRule", "a-b-epp"),
    ("PodMonitor", "a.b-decode"),
    ("PodMonitor", "a.b-prefill"),
    ("ServiceMonitor", "a-b-epp"),
]
ALWAYS = {
    *("Deployment", "ServiceAccount", "ConfigMap", "Service", "Role", "RoleBinding"),
    "InferencePool",
}


def test_order_in_which_all_are_made():
    made = wanted(service("a.b", prefill={}, **POOL, **MONITORED), OPERATOR)
    assert [(each.ref.kind, each.ref.name) for each in made] == ORDER
    assert all(
        each.ref.namespace == ("" if each.ref.kind.startswith("Cluster") else "models")
        for each in made
    )
    (deleted,) = unwanted(service("a.b", prefill={}, **POOL, **MONITORED), OPERATOR)
    assert str(deleted.ref) == "InferencePool models/a-b-epp"


def test_order_in_which_all_are_deleted():
    operator = OperatorSettings(provider="none", default_gateway_name="")
    made = unwanted(service("a.b", monitoring={"podMonitor": {}}), operator)
    assert [(each.ref.kind, each.ref.name) for each in made] == [
        ("Deployment", "a.b-prefill"),
        ("Secret", "a-b-epp-sa-metrics-reader-secret"),
        ("ClusterRole", "models-a-b-epp"),
        ("ClusterRoleBinding", "models-a-b-epp"),
        ("InferencePool", "a-b-epp"),
        ("HTTPRoute", "a.b"),
        ("DestinationRule", "a-b-epp"),
        ("PodMonitor", "a.b-decode"),
        ("PodMonitor", "a.b-prefill"),
        ("ServiceMonitor", "a-b-epp"),
    ]
    assert all(each.why for each in made)


# Secret, cluster RBAC, DestinationRule, HTTPRoute, PodMonitor, ServiceMonitor
COLUMNS = {
    "Secret": {"Secret"},
    "Cluster RBAC": {"ClusterRole", "ClusterRoleBinding"},
    "DestinationRule": {"DestinationRule"},
    "HTTPRoute": {"HTTPRoute"},
    "PodMonitor": {"PodMonitor"},
    "ServiceMonitor": {"ServiceMonitor"},
}
AUTH_OFF = {"metrics_endpoint_auth": False}
NO_GATEWAY = {"default_gateway_name": ""}
MATRIX = [
    ({}, {}, "- - x x x -"),
    ({}, AUTH_OFF, "- - x x x -"),
    ({}, {"provider": "gke"}, "- - - x x -"),
    ({}, {"provider": "none"}, "- - - x x -"),
    ({}, {"provider": "none"} | NO_GATEWAY, "- - - - x -"),
    (POOL, {}, "x x x x x -"),
    (POOL, NO_GATEWAY, "x x x - x -"),
    (POOL | ROUTED, NO_GATEWAY, "x x x x x -"),
    (ROUTED, NO_GATEWAY, "- - x x x -"),
    (POOL, {"provider": "none"}, "x x - x x -"),
    (POOL, {"provider": "other"}, "x x - x x -"),
    (POOL, {"provider": "Istio"}, "x x - x x -"),
    (POOL, {"provider": "gke"}, "- x - x x -"),
    (POOL, AUTH_OFF, "- - x x x -"),
    (POOL, AUTH_OFF | {"provider": "gke"}, "- - - x x -"),
    (POOL | MONITORED, {}, "x x x x x x"),
    (POOL | MONITORED, {"provider": "gke"}, "- x - x x x"),
    (MONITORED, {}, "- - x x x -"),
    (POOL | {"monitoring": {"podMonitor": {}}}, {}, "x x x x - -"),
]


@pytest.mark.parametrize(("spec", "settings", "row"), MATRIX)
def test_matrix(spec, settings, row):
    """What is not in a column is deleted instead."""
    made, deleted = names(service(**spec), replace(OPERATOR, **settings))
    columns = zip(COLUMNS.values(), row.split(), strict=True)
    expected = set().union(*(kinds for kinds, mark in columns if mark == "x"))
    assert {*made} == ALWAYS | expected
    gone = set().union(*COLUMNS.values()) - expected
    # A prefill Deployment and PodMonitor, and the pool's former name.
    assert {*deleted} == gone | {"Deployment", "InferencePool", "PodMonitor"}


@pytest.mark.parametrize("prefill", [None, {}])
def test_prefill(prefill):
    made, deleted = (
        [each.ref.name for each in found if each.ref.name == "qwen3-prefill"]
        for found in (
            wanted(service(prefill=prefill), OPERATOR),
            unwanted(service(prefill=prefill), OPERATOR),
        )
    )
    both = ["qwen3-prefill"] * 2
    assert (made, deleted) == ((both, []) if prefill is not None else ([], both))


def test_nothing_is_both_made_and_deleted():
    for spec, settings, _ in MATRIX:
        operator = replace(OPERATOR, **settings)
        made = {each.ref for each in wanted(service(**spec), operator)}
        assert made.isdisjoint(each.ref for each in unwanted(service(**spec), operator))


@pytest.mark.parametrize(
    ("kind", "name", "type_"),
    [
        ("Deployment", "qwen3-decode", Deployment),
        ("Service", "qwen3-epp", Service),
        ("InferencePool", "qwen3", InferencePool),
        ("HTTPRoute", "qwen3", HttpRoute),
        ("PodMonitor", "qwen3-decode", Monitor),
    ],
)
def test_typed_form_is_that_of_what_is_read(kind, name, type_):
    (found,) = (
        each
        for each in wanted(service(), OPERATOR)
        if (each.ref.kind, each.ref.name) == (kind, name)
    )
    assert isinstance(found, Manifest)
    typed = found.typed(type_)
    assert isinstance(typed, type_)
    assert (typed.name, typed.namespace) == (name, "models")
    if type_ is Deployment:
        template = typed.spec.template
        assert typed.spec.selector is not None
        assert typed.spec.selector.matches(template.metadata.labels)
        assert template.spec.containers[0].ports[0].container_port == 8000


def test_settings_are_the_operators_own_by_default():
    assert OperatorSettings() == OperatorSettings(
        provider="istio",
        metrics_endpoint_auth=True,
        default_gateway_name="otterscale-llm-d-infra-inference-gateway",
        default_engine_image="ghcr.io/llm-d/llm-d-cuda:v0.5.1",
        default_epp_image="ghcr.io/llm-d/llm-d-inference-scheduler:v0.6.0",
        default_routing_proxy_image="ghcr.io/llm-d/llm-d-routing-sidecar:v0.6.0",
        kit_image="ghcr.io/kitops-ml/kitops:v1.11.0",
        tracing_enabled=False,
        tracing_otel_endpoint="",
        tracing_sampler="parentbased_traceidratio",
        tracing_sampler_arg="0.01",
        epp_flags=(),
        version="devel",
    )

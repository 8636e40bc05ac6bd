"""Which objects are created and which are deleted."""

from dataclasses import replace

import pytest

from reporter.stacks.otterscale.manifests.names import OperatorSettings
from reporter.stacks.otterscale.manifests.wanted import unwanted, wanted
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

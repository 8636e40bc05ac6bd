"""The Gateways of a route's requests, and explanations of refused routes."""

import msgspec
import pytest

from reporter.catalogue.resources import HTTPROUTES, INFERENCEPOOLS
from reporter.model.objects import HttpRoute
from reporter.workload.routing import astray, entrances_of, route_faults
from tests.unit.probes.building import condition, document, merged, snapshot_of

FOREIGN = {"name": "gw", "namespace": "infra"}


@pytest.mark.parametrize(
    ("named", "said", "expected"),
    [
        (FOREIGN, None, set()),
        (FOREIGN, "False", set()),
        (FOREIGN, "True", {("infra", "gw")}),
        ({"name": "gw"}, None, {("tenant", "gw")}),
        ({"name": "mesh", "kind": "Service"}, None, set()),
    ],
    ids=["never accepted", "refused", "accepted", "of its own namespace", "a mesh"],
)
def test_a_foreign_gateway_has_to_accept_a_route(named, said, expected):
    """Forty routes that name it and were never accepted do not count for its models."""
    says = {"parentRef": named, "conditions": [condition("Accepted", said or "")]}
    status = {"parents": [says] if said else []}
    route = document(
        "HTTPRoute", "r", "tenant", {"spec": {"parentRefs": [named]}, "status": status}
    )
    assert entrances_of([msgspec.convert(route, HttpRoute)]) == expected


V1, ALPHA = "inference.networking.k8s.io", "inference.networking.x-k8s.io"


def refused(reason, *, controller="istio.io/gateway-controller", backends=(("InferencePool", V1),)):
    """A route to backends called `qwen`, which a Gateway does not take."""
    said = condition("ResolvedRefs", "False", reason, "no")
    parent = {"parentRef": {"name": "gw"}, "controllerName": controller, "conditions": [said]}
    refs = [{"kind": kind, "group": group, "name": "qwen"} for kind, group in backends]
    spec = {"parentRefs": [{"name": "gw"}], "rules": [{"backendRefs": refs}]}
    return document("HTTPRoute", "r", "ns", {"spec": spec, "status": {"parents": [parent]}})


POOL = document(
    "InferencePool", "qwen", "ns", {"spec": {"selector": {"matchLabels": {"app": "qwen"}}}}
)
GATEWAY = document("Gateway", "gw", "ns")


def faults_of(route, *docs):
    snapshot = snapshot_of(route, GATEWAY, *docs)
    return [
        (each.text.rpartition("; ")[2], each.diagnosis.action if each.diagnosis else "")
        for each in route_faults(snapshot[HTTPROUTES].get("ns", "r"), snapshot)
    ]


@pytest.mark.parametrize(
    ("controller", "group", "does"),
    [
        ("istio.io/gateway-controller", V1, "Set ENABLE_GATEWAY_API_INFERENCE_EXTENSION=true"),
        ("gateway.envoyproxy.io/gatewayclass-controller", V1, "Install the extension of Envoy AI Gateway"),
        ("example.com/gateways", V1, "Use a Gateway that implements"),
        ("istio.io/gateway-controller", ALPHA, f"Name the pool in group {V1}"),
    ],
)  # fmt: skip
def test_a_gateway_that_takes_no_pools(controller, group, does):
    route = refused("InvalidKind", controller=controller, backends=[("InferencePool", group)])
    ((text, action),) = faults_of(route)
    assert text == f"this Gateway takes no InferencePool of {group}"
    assert action.startswith(does)


@pytest.mark.parametrize(
    ("reason", "backends", "docs", "told"),
    [
        ("BackendNotFound", [("InferencePool", V1)], [POOL], True),
        ("BackendNotFound", [("InferencePool", V1)], [], False),
        ("BackendNotFound", [("InferencePool", V1), ("Service", "")], [POOL], False),
        ("RefNotPermitted", [("InferencePool", V1)], [POOL], False),
    ],
    ids=["it is there", "it is not", "another backend may be meant", "another reason"],
)
def test_a_controller_that_does_not_look_again(reason, backends, docs, told):
    later = {"metadata": {"creationTimestamp": "2026-11-20T11:30:00Z"}}
    route = refused(reason, backends=backends)
    route["status"]["parents"][0]["conditions"][0]["lastTransitionTime"] = "2026-11-20T11:00:00Z"
    ((text, action),) = faults_of(route, *(merged(each, later) for each in docs))
    assert text.startswith("InferencePool qwen exists by now") is told
    assert action.startswith("Change the route") is told


def test_a_pool_that_was_there_when_its_controller_did_not_find_it():
    """Some releases want a port in the reference (kgateway-dev/kgateway#10987)."""
    pool = merged(POOL, {"metadata": {"creationTimestamp": "2026-11-20T11:00:00Z"}})
    route = refused("BackendNotFound")
    (parent,) = route["status"]["parents"]
    parent["conditions"][-1]["lastTransitionTime"] = "2026-11-20T11:30:00Z"
    ((text, action),) = faults_of(route, pool)
    assert (
        text == "InferencePool qwen exists, and its controller does not find it by this reference"
    )
    assert action.startswith("Give the backendRef the pool's port")


@pytest.mark.parametrize("there", [False, True], ids=["none there", "one of that name there"])
def test_a_route_of_another_namespace_that_misses_the_pool(there):
    route = refused("BackendNotFound")
    route["metadata"]["namespace"] = "gateways"
    docs = [document("InferencePool", "qwen", "gateways")] if there else []
    snapshot = snapshot_of(route, POOL, *docs)
    found = [*astray(snapshot[INFERENCEPOOLS].get("ns", "qwen"), snapshot)]
    words = "names InferencePool qwen of its own namespace, which has none; it is in ns"
    assert [each.text for _, each in found] == [] if there else [words]

"""Of which objects changes are told: what is at fault, its subject, what made it and what it names."""

from dataclasses import replace

import pytest

from reporter.catalogue.resources import (
    DEPLOYMENTS,
    FORMER_POOLS,
    GATEWAYCLASSES,
    GATEWAYS,
    HTTPROUTES,
    INFERENCEPOOLS,
    PODS,
)
from reporter.model.objects import Gateway, HttpRoute, Pod
from reporter.model.objects.gateway import (
    GatewaySpec,
    HttpRouteSpec,
    RouteReference,
    RouteRule,
)
from reporter.model.subject import CLUSTER
from reporter.stacks.kaito.reasons import INFERENCESETS, WORKSPACES
from reporter.stacks.kthena.reasons import MODELSERVING_KIND, MODELSERVINGS, MODELSERVINGS_FORMER
from reporter.stacks.otterscale.reasons import MADE_DEPLOYMENTS
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import rows
from tests.unit.resolution.building import HARNESS, MODEL
from tests.unit.resolution.changing import WEB, candidate, deployment, metadata, seen, told

POD = PODS.ref_named("demo", "web-0")
GATEWAY = GATEWAYS.ref_named("demo", "gw")
ROUTE = HTTPROUTES.ref_named("demo", "route")


def pod(*owners):
    return PODS, Pod(metadata=metadata("web-0", owners=owners))


def route(**spec):
    return HTTPROUTES, HttpRoute(metadata=metadata("route"), spec=HttpRouteSpec(**spec))


def to(*backends):
    return {"rules": (RouteRule(), RouteRule(backend_refs=backends))}


def written(resource, name, namespace="demo"):
    """An object that was written just before the fault."""
    return resource, resource.type(metadata=metadata(name, namespace=namespace, written=[-5]))


def names(one, *parts, **options):
    """The objects that changes are told of."""
    return [str(each.object) for each in told(one, *parts, **options)]


@pytest.mark.parametrize("made", [[], [pod()]], ids=["gone", "there"])
def test_the_subject_is_looked_at(made):
    found = names(candidate(related=POD), *made, written(INFERENCESETS, "qwen"))
    assert found == ["InferenceSet demo/qwen"]


@pytest.mark.parametrize("subject", [CLUSTER, HARNESS])
def test_no_object_is_the_subject_in_the_upper_layers(subject):
    one = candidate(subject=subject)
    assert names(one, written(INFERENCESETS, "qwen"), written(DEPLOYMENTS, "web")) == [
        "Deployment demo/web"
    ]


@pytest.mark.parametrize("name", ["qwen", "qwen-2"])
@pytest.mark.parametrize("namespace", ["demo", "other"])
def test_the_subject_is_found_by_its_place(namespace, name):
    found = names(candidate(related=POD), written(INFERENCESETS, name, namespace))
    assert bool(found) is ((namespace, name) == ("demo", "qwen"))


def test_an_object_is_told_of_once():
    ref = INFERENCESETS.ref_named("demo", "qwen")
    assert names(candidate(related=ref), written(INFERENCESETS, "qwen")) == [
        "InferenceSet demo/qwen"
    ]


def test_what_is_at_fault_comes_first_and_the_subject_last():
    found = names(
        candidate(related=POD),
        written(INFERENCESETS, "qwen"),
        written(WORKSPACES, "w"),
        pod(("Workspace", "w")),
        seen(-9, POD),
    )
    assert found == ["Pod demo/web-0", "Workspace demo/w", "InferenceSet demo/qwen"]


def test_owners_are_followed_four_generations_up():
    chain = [
        deployment(
            f"d{number}",
            written=[-5] if number else [],
            owners=[("Deployment", f"d{number + 1}")],
        )
        for number in range(7)
    ]
    found = names(candidate(related=replace(WEB, name="d0")), *chain)
    assert found == [f"Deployment demo/d{number}" for number in range(1, 5)]


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        (("ReplicaSet", "qwen-epp-5d4f"), ["qwen-epp"]),
        (("ReplicaSet", "qwen-5d4f"), []),
        (("Deployment", "qwen-epp"), ["qwen-epp"]),
        (("Deployment", "qwen-epp-5d4f"), []),
        (("StatefulSet", "qwen-epp"), []),
    ],
)
def test_a_replica_set_stands_for_its_deployment(owner, expected):
    """It is not read, and named after it with a hash behind; others go by their own names."""
    found = names(candidate(related=POD), pod(owner), written(DEPLOYMENTS, "qwen-epp"))
    assert found == [f"Deployment demo/{each}" for each in expected]


def test_an_owner_is_of_the_same_namespace():
    one = candidate(related=POD)
    assert not names(one, pod(("Workspace", "w")), written(WORKSPACES, "w", "other"))


def test_what_nothing_owns_has_no_makers():
    """Another object of its namespace did not make it."""
    assert not names(candidate(related=POD), pod(), written(DEPLOYMENTS, "web"))


@pytest.mark.parametrize(
    ("name", "namespace", "is_told"),
    [("istio", "", True), ("nginx", "", False), ("istio", "demo", False)],
)
def test_a_gateway_names_its_class(name, namespace, is_told):
    gateway = Gateway(metadata=metadata("gw"), spec=GatewaySpec(gateway_class_name="istio"))
    found = names(
        candidate(related=GATEWAY),
        (GATEWAYS, gateway),
        written(GATEWAYCLASSES, name, namespace),
    )
    assert found == (["GatewayClass istio"] if is_told else [])


@rows(
    ("spec", "expected"),
    {
        "nothing": ({}, []),
        "a parent of its namespace": (
            {"parent_refs": (RouteReference(name="x"),)},
            ["Gateway demo/x"],
        ),
        "a parent of another namespace": (
            {"parent_refs": (RouteReference(name="x", namespace="other"),)},
            ["Gateway other/x"],
        ),
        "another parent": ({"parent_refs": (RouteReference(name="y"),)}, []),
        "a backend of its namespace": (to(RouteReference(name="x")), ["InferencePool demo/x"]),
        "a backend of another namespace": (
            to(RouteReference(name="x", namespace="other")),
            ["InferencePool other/x"],
        ),
        "another backend": (to(RouteReference(name="y")), []),
        "both": (
            {"parent_refs": (RouteReference(name="x"),), **to(RouteReference(name="x"))},
            ["Gateway demo/x", "InferencePool demo/x"],
        ),
    },
)
def test_a_route_names_its_parents_and_its_backends(spec, expected):
    found = names(
        candidate(related=ROUTE),
        route(**spec),
        *(
            written(resource, "x", namespace)
            for resource in (GATEWAYS, INFERENCEPOOLS)
            for namespace in ("demo", "other")
        ),
    )
    assert found == expected


@pytest.mark.parametrize("at_fault", [INFERENCEPOOLS, FORMER_POOLS], ids=str)
@pytest.mark.parametrize("there", [INFERENCEPOOLS, FORMER_POOLS], ids=str)
def test_an_object_is_of_its_group(at_fault, there):
    """Two groups have pools; one of the same name in the other group is another object."""
    one = candidate(related=at_fault.ref_named("demo", "x"))
    assert bool(names(one, written(there, "x"))) is (at_fault is there)


@pytest.mark.parametrize("resource", [DEPLOYMENTS, MADE_DEPLOYMENTS], ids=["shared", "own"])
def test_an_object_is_found_in_what_any_stack_reads(resource):
    assert names(candidate(), written(resource, "web")) == ["Deployment demo/web"]


@pytest.mark.parametrize("group", [GATEWAYS.group, "example.com"])
def test_an_object_of_a_declared_kind_is_found(group):
    """A user may declare a kind that is read in another group too; both are told of."""
    condition = {
        "group": "example.com", "version": "v1", "plural": "gateways", "kind": "Gateway",
        "type": "Ready",
    }  # fmt: skip
    declared = {"reason": "clusterOtherGatewayNotReady", "layer": "cluster", "condition": condition}
    settings = FullEvaluationSettings(custom_components=[declared])
    (resource,) = (
        each
        for each in settings.catalogue.resources
        if (each.group, each.kind) == (group, "Gateway")
    )
    one = candidate(related=resource.ref_named("demo", "gw"))
    assert names(one, written(resource, "gw"), settings=settings) == ["Gateway demo/gw"]


@pytest.mark.parametrize("resource", [MODELSERVINGS, MODELSERVINGS_FORMER], ids=str)
def test_a_subject_and_an_owner_may_be_of_either_group(resource):
    """Neither the name of a subject nor the reference of an owner says which."""
    subject = MODEL._replace(kind=MODELSERVING_KIND)
    one = candidate(related=POD, subject=subject)
    assert names(one, written(resource, "qwen")) == ["ModelServing demo/qwen"]
    assert names(
        candidate(related=POD), pod(("ModelServing", "qwen")), written(resource, "qwen")
    ) == ["ModelServing demo/qwen"]


def test_a_pod_is_found_in_the_core_group():
    assert names(candidate(related=POD), written(PODS, "web-0")) == ["Pod demo/web-0"]

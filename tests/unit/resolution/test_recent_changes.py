"""Which changes are reported for a fault, and of which objects."""

from dataclasses import replace

import pytest

from reporter.catalogue.resources import (
    DEPLOYMENTS,
    FORMER_POOLS,
    GATEWAYCLASSES,
    GATEWAYS,
    HTTPROUTES,
    INFERENCEPOOLS,
    NODES,
    PODS,
)
from reporter.model.objects import Gateway, HttpRoute, Node, Pod
from reporter.model.objects.gateway import GatewaySpec, HttpRouteSpec, RouteReference, RouteRule
from reporter.model.reason import EventType
from reporter.model.report import BLIND, Disposition
from reporter.model.subject import CLUSTER
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.reasons import INFERENCESETS, WORKSPACES
from reporter.stacks.kthena.reasons import MODELSERVING_KIND, MODELSERVINGS, MODELSERVINGS_FORMER
from reporter.stacks.otterscale.reasons import MADE_DEPLOYMENTS
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import rows
from tests.unit.resolution.building import HARNESS, MODEL
from tests.unit.resolution.changing import (
    EPP,
    WEB,
    candidate,
    change,
    deployment,
    metadata,
    seen,
    told,
)

OTHER = replace(WEB, name="other")
BY = {"by": "kubectl"}
IMAGE = {"field": "spec.image"}


@pytest.mark.parametrize(
    ("reason", "is_told"),
    [
        (BUILT_IN[EPP], True),
        (replace(BUILT_IN[EPP], type=EventType.NORMAL), False),
        (BUILT_IN[BLIND], False),
    ],
    ids=["a fault", "no fault", "the reporter sees nothing"],
)
def test_changes_are_told_of_faults_of_the_stack(reason, is_told):
    found = told(candidate(reason=reason), seen(0))
    assert found == ((change(0),) if is_told else ())


@pytest.mark.parametrize("disposition", Disposition)
def test_changes_are_looked_for_where_a_fault_fires_or_may_fire(disposition):
    one = candidate(change(-5), fired=False, disposition=disposition)
    asked = disposition in {"firing", "pending", "held"}
    assert told(one, seen(-9, OTHER), seen(-7, **IMAGE)) == (
        (change(-5), change(-7, **IMAGE)) if asked else (change(-5),)
    )


@pytest.mark.parametrize("known", [0, 3])
def test_at_most_five_changes_are_told(known):
    names = [f"spec.field{number}" for number in range(6)]
    one = candidate(*(change(-9, field=each) for each in names[:known]), fired=False)
    found = told(one, *(seen(-5, field=each) for each in names[known:]))
    assert [each.field for each in found] == names[:5]


@rows(
    ("other", "is_told"),
    {
        "another field at the same time": (seen(-5, **IMAGE), False),
        "that of another version": (seen(-5, replace(WEB, api_version="apps/v2"), **IMAGE), False),
        "the same at another time": (seen(-3), False),
        "the same by another manager": (seen(-3, by="another"), False),
        "another field": (seen(-3, **IMAGE), True),
        "another value before": (seen(-3, before="2"), True),
        "another value after": (seen(-3, after="3"), True),
    },
)
def test_what_is_known_is_told_once(other, is_told):
    """A change of the same write, or with the same values of the same field, is not news."""
    found = told(candidate(change(-5), fired=False), other)
    assert set(found) == ({change(-5), other.change} if is_told else {change(-5)})


@pytest.mark.parametrize(
    ("second", "field", "comes_first"),
    [(-3, "spec.replicas", True), (-7, "spec.replicas", False), (-3, "spec.image", False)],
    ids=["later", "earlier", "another field"],
)
def test_a_field_that_was_changed_again_comes_first(second, field, comes_first):
    """A slow image is followed by one that does not exist: the later one is at fault."""
    known = change(-5, field="spec.replicas")
    other = seen(second, field=field, before="2", after="3")
    found = told(candidate(known, fired=False), other)
    assert found == ((other.change, known) if comes_first else (known, other.change))


@pytest.mark.parametrize("second", [-5, -3])
def test_of_another_object_the_same_change_is_another(second):
    """The object at fault is gone, and its subject had the same change."""
    (subject,) = BUILT_IN.of_subject("inferenceset")
    ref = subject.ref_named("demo", "qwen")
    found = told(candidate(change(-5), fired=False), seen(second, ref))
    assert found == (change(-5), change(second, ref))


@rows(
    ("known", "fired", "now", "is_told"),
    {
        "never listed": ([], None, 10_000, True),
        "in its grace": ([change(-5)], False, 10_000, True),
        "fires with a change": ([change(-5)], True, 60, False),
        "fires": ([], True, 60, True),
        "fires for ten minutes": ([], True, 600, True),
        "fires for longer": ([], True, 601, False),
    },
)
def test_nobody_looks_for_ever(known, fired, now, is_told):
    """A fault that fires with a change keeps it, and later no changes are searched."""
    fresh = [change(-3, **IMAGE)] if is_told else []
    assert told(candidate(*known, fired=fired), seen(-3, **IMAGE), now=now) == (*known, *fresh)


@pytest.mark.parametrize(
    ("second", "fired", "stays"),
    [
        (-1801, True, True),
        (2, True, True),
        (-1801, False, False),
        (2, False, False),
        (1, False, True),
    ],
)
def test_what_was_told_stays(second, fired, stays):
    """During its grace, the start of a fault may move; changes that no longer fit are dropped."""
    known = change(second)
    assert told(candidate(known, fired=fired)) == ((known,) if stays else ())


@pytest.mark.parametrize(
    ("second", "is_told"), [(-1801, False), (-1800, True), (0, True), (1, True), (2, False)]
)
@pytest.mark.parametrize("signed", [True, False], ids=["signed", "not signed"])
def test_only_what_came_shortly_before_is_told_of_what_was_seen(second, is_told, signed):
    """Times of the API are whole seconds, so a change may be a second before its time."""
    found = told(candidate(), seen(second, **(BY if signed else {})))
    assert bool(found) is is_told


@pytest.mark.parametrize(
    ("last_without", "fields", "is_told"),
    [(1, {}, True), (2, {}, False), (-30, {}, True), (-30, BY, False)],
    ids=["just before", "after", "long before", "signed after"],
)
def test_what_nobody_signed_counts_from_when_it_may_have_been_made(last_without, fields, is_told):
    """It was seen half a minute after the fault began."""
    assert bool(told(candidate(), seen(30, since=last_without, **fields))) is is_told


def test_what_nobody_signed_is_too_old_by_when_it_was_seen():
    """It may have been made only then."""
    assert told(candidate(), seen(-1799, since=-1900))


@pytest.mark.parametrize(
    ("second", "is_told"), [(-1801, False), (-1800, True), (1, True), (2, False)]
)
def test_only_what_came_shortly_before_is_told_of_who_wrote(second, is_told):
    """As what was seen."""
    assert bool(told(candidate(), deployment(written=[second]))) is is_told


@pytest.mark.parametrize(
    ("age_known", "second", "is_told"),
    [(True, -60, True), (True, 2000, False), (False, -60, False), (False, 2000, True)],
)
def test_a_fault_of_unknown_age_may_have_begun_just_now(age_known, second, is_told):
    found = told(candidate(age_known=age_known), deployment(written=[second]), now=3600)
    assert bool(found) is is_told


@pytest.mark.parametrize("seconds", [(-9, -7, -5), (-5, -7, -9), (-7, -9, -5)])
def test_the_newest_that_was_seen_is_told_first(seconds):
    found = told(candidate(), *(seen(each, field=f"f{each}") for each in seconds))
    assert [each.field for each in found] == ["f-5", "f-7", "f-9"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [([-5], [-5]), ([-9, -7, -5], [-5]), ([-9, -5, 30, 40], [-5]), ([-2000, 30], [])],
    ids=["one write", "three writes", "and writes after the fault", "none shortly before it"],
)
def test_who_wrote_last_before_the_fault_is_told(written, expected):
    found = told(candidate(), deployment(written=written))
    assert found == tuple(
        change(each, by=f"writer{written.index(each)}", field="", before="", after="")
        for each in expected
    )


@pytest.mark.parametrize(("second", "is_told"), [(-5, False), (-3, True)])
def test_a_write_is_not_told_next_to_what_was_seen_of_it(second, is_told):
    found = told(candidate(), seen(-5, by="writer0"), deployment(written=[second]))
    assert [each.what for each in found] == [
        "spec.replicas 1 to 0",
        *(["last written"] if is_told else []),
    ]


def test_of_a_node_only_what_was_seen_is_told():
    """Controllers write its taints because of the fault."""
    node = NODES.ref_named("", "gpu-1")
    found = told(
        candidate(related=node),
        (NODES, Node(metadata=metadata("gpu-1", namespace="", written=[-5]))),
        seen(-9, node, **BY),
    )
    assert found == (change(-9, node, **BY),)


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
    """The objects whose changes are reported."""
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
            f"d{number}", written=[-5] if number else [], owners=[("Deployment", f"d{number + 1}")]
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
    """It is not read, and its name is the Deployment's with a hash; others have their own names."""
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
        candidate(related=GATEWAY), (GATEWAYS, gateway), written(GATEWAYCLASSES, name, namespace)
    )
    assert found == (["GatewayClass istio"] if is_told else [])


@rows(
    ("spec", "expected"),
    {
        "nothing": ({}, []),
        "a parent of its namespace": ({"parent_refs": (RouteReference(name="x"),)}, ["Gateway demo/x"]),
        "a parent of another namespace": ({"parent_refs": (RouteReference(name="x", namespace="other"),)}, ["Gateway other/x"]),
        "another parent": ({"parent_refs": (RouteReference(name="y"),)}, []),
        "a backend of its namespace": (to(RouteReference(name="x")), ["InferencePool demo/x"]),
        "a backend of another namespace": (to(RouteReference(name="x", namespace="other")), ["InferencePool other/x"]),
        "another backend": (to(RouteReference(name="y")), []),
        "both": ({"parent_refs": (RouteReference(name="x"),), **to(RouteReference(name="x"))}, ["Gateway demo/x", "InferencePool demo/x"]),
    },
)  # fmt: skip
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
    """Two groups have pools; one with the same name in the other group is another object."""
    one = candidate(related=at_fault.ref_named("demo", "x"))
    assert bool(names(one, written(there, "x"))) is (at_fault is there)


@pytest.mark.parametrize("resource", [DEPLOYMENTS, MADE_DEPLOYMENTS], ids=["shared", "own"])
def test_an_object_is_found_in_what_any_stack_reads(resource):
    assert names(candidate(), written(resource, "web")) == ["Deployment demo/web"]


@pytest.mark.parametrize("group", [GATEWAYS.group, "example.com"])
def test_an_object_of_a_declared_kind_is_found(group):
    """A user may declare a kind that is also read in another group; both are reported."""
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

"""Which objects are created and deleted, their names and labels, and the settings that they tell."""

from dataclasses import replace

import pytest

from reporter.model.objects import Deployment, DestinationRule, HttpRoute
from reporter.stacks.otterscale.manifests.names import OperatorSettings, sanitised
from reporter.stacks.otterscale.manifests.wanted import Children, recover, unwanted, wanted
from tests.tables import rows
from tests.unit.stacks.otterscale.manifests.building import OPERATOR, documents, names, service

POOL = {"inferencePool": {"endpointPicker": {}}}
MONITORED = {"monitoring": {"podMonitor": {"enabled": True}}}
ROUTED = {"httpRoute": {"gatewayRef": {"name": "g"}}}

FULL = service("a.b", prefill={}, **POOL, **MONITORED)

ORDER = [
    ("Deployment", "a.b-decode"), ("Deployment", "a.b-prefill"), ("ServiceAccount", "a-b-epp"),
    ("ConfigMap", "a-b-epp-config"), ("Deployment", "a-b-epp"), ("Service", "a-b-epp"),
    ("Secret", "a-b-epp-sa-metrics-reader-secret"), ("Role", "a-b-epp"), ("RoleBinding", "a-b-epp"),
    ("ClusterRole", "models-a-b-epp"), ("ClusterRoleBinding", "models-a-b-epp"),
    ("InferencePool", "a.b"), ("HTTPRoute", "a.b"), ("DestinationRule", "a-b-epp"),
    ("PodMonitor", "a.b-decode"), ("PodMonitor", "a.b-prefill"), ("ServiceMonitor", "a-b-epp"),
]  # fmt: skip
ALWAYS = {
    *("Deployment", "ServiceAccount", "ConfigMap", "Service", "Role", "RoleBinding"),
    "InferencePool",
}


def test_order_in_which_all_are_made():
    made = wanted(FULL, OPERATOR)
    assert [(each.ref.kind, each.ref.name) for each in made] == ORDER
    assert all(
        each.ref.namespace == ("" if each.ref.kind.startswith("Cluster") else "models")
        for each in made
    )
    (deleted,) = unwanted(FULL, OPERATOR)
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


def test_nothing_is_both_made_and_deleted():
    for spec, settings, _ in MATRIX:
        operator = replace(OPERATOR, **settings)
        made = {each.ref for each in wanted(service(**spec), operator)}
        assert made.isdisjoint(each.ref for each in unwanted(service(**spec), operator))


SANITISED = [
    ("qwen3", "qwen3"),
    ("qwen3-0.6b-fp8-dynamic", "qwen3-0-6b-fp8-dynamic"),
    ("MyModel_1.0", "mymodel-1-0"),
    ("0.6b", "m-0-6b"),
    ("1", "m-1"),
    ("", "modelservice"),
    ("---", "modelservice"),
    ("模型", "modelservice"),
    ("a..b", "a-b"),
    ("a--b", "a-b"),
    ("a.-_b", "a-b"),
    ("-9-", "m-9"),
    ("Llama 3.1", "llama3-1"),
    ("meta/llama:8b", "metallama8b"),
    ("modèle", "modle"),
    ("qwen3.", "qwen3"),
    ("m-7b", "m-7b"),
    ("7b", "m-7b"),
    ("x" * 70, "x" * 70),
    # A dropped character does not keep separators apart; a digit of another script is dropped.
    ("a-é-b", "a-b"),
    ("٣b", "b"),
]


@pytest.mark.parametrize(("text", "label"), SANITISED)
def test_sanitised(text, label):
    assert sanitised(text) == label


def labelled(name, component):
    k8s = "app.kubernetes.io"
    told = {"name": name, "component": component, "part-of": "otterscale-system", "managed-by": "model-operator", "version": "devel"}  # fmt: skip
    return {f"{k8s}/{key}": value for key, value in told.items()}


def test_labels():
    made = {key: each["metadata"].get("labels") for key, each in documents(FULL).items()}
    roles = {
        (kind, f"a.b-{role}"): labelled("a.b", f"model-{role}")
        for kind in ("Deployment", "PodMonitor")
        for role in ("decode", "prefill")
    }
    of_picker = dict.fromkeys(made, labelled("a-b-epp", "epp"))
    routing = [("InferencePool", "a.b"), ("HTTPRoute", "a.b")]
    assert made == of_picker | roles | dict.fromkeys(routing, labelled("a.b", "epp"))


OTHER = OperatorSettings(
    provider="none",
    metrics_endpoint_auth=False,
    default_gateway_name="g",
    default_engine_image="engine",
    default_epp_image="epp",
    default_routing_proxy_image="proxy",
    kit_image="kit",
    tracing_enabled=True,
    version="v1.2",
)
FIELDS = (
    "provider", "metrics_endpoint_auth", "default_gateway_name", "default_engine_image", "default_epp_image",
    "default_routing_proxy_image", "kit_image", "tracing_enabled", "version",
)  # fmt: skip


def children(operator, name="qwen3", **spec):
    """What an operator made for a ModelService."""
    owner = service(name, **spec)
    made = {(each.ref.kind, each.ref.name): each for each in wanted(owner, operator)}

    def typed(type_, kind, suffix=""):
        found = made.get((kind, f"{name}{suffix}"))
        return found.typed(type_) if found else None

    return Children(
        service=owner,
        decode=typed(Deployment, "Deployment", "-decode"),
        prefill=typed(Deployment, "Deployment", "-prefill"),
        epp=typed(Deployment, "Deployment", "-epp"),
        route=typed(HttpRoute, "HTTPRoute"),
        destination_rule=typed(DestinationRule, "DestinationRule", "-epp"),
    )


@pytest.mark.parametrize(
    "operator",
    [
        OPERATOR,
        OTHER,
        replace(OTHER, kit_image="", default_gateway_name="", version=""),
        *(replace(OPERATOR, **{field: getattr(OTHER, field)}) for field in FIELDS),
    ],
)
def test_what_the_operator_made_tells_how_it_was_started(operator):
    found = recover([children(operator, prefill={}, routingProxy={})])
    assert {field: found[field] for field in FIELDS} == {
        field: getattr(operator, field) for field in FIELDS
    }
    assert OPERATOR.over(found) == operator
    assert wanted(service(), OPERATOR.over(found)) == wanted(service(), operator)


def test_nothing_is_known_before_anything_is_made():
    found = recover([Children(service=service())])
    assert found == {} == recover([])
    assert OTHER.over(found) == OTHER


OWN_SCRIPT = replace(OPERATOR, unpack_script="the script of the operator")
OWN = {
    "engine": {"image": "own"}, "routingProxy": {"image": "own"}, "httpRoute": {"gatewayRef": {"name": "own"}},
    "inferencePool": {"endpointPicker": {"image": "own"}},
}  # fmt: skip
NOT_THERE = dict.fromkeys(("destination_rule", "route", "epp"))
OF_OPERATOR = {"provider": "istio", "default_gateway_name": OPERATOR.default_gateway_name, "metrics_endpoint_auth": True}  # fmt: skip
OLD, NEW = replace(OPERATOR, version="v1", kit_image="k1"), replace(OPERATOR, version="v2")


@rows(
    ("made", "told", "not_told"),
    {
        "the script that unpacks": (lambda: [children(OWN_SCRIPT)], {"unpack_script": OWN_SCRIPT.unpack_script}, ()),
        "none where the step has no image: ours is as good": (lambda: [children(replace(OWN_SCRIPT, kit_image=""))], {}, ["unpack_script"]),
        "GKE is like none": (lambda: [children(replace(OPERATOR, provider="gke"))], {"provider": "none"}, ()),
        "what the resource says itself tells nothing": (
            lambda: [children(OPERATOR, **OWN)], {"provider": "istio"},
            ["default_engine_image", "default_routing_proxy_image", "default_epp_image", "default_gateway_name"],
        ),
        "others tell what is missing here, so that it is seen to be missing": (
            lambda: [replace(children(OPERATOR), **NOT_THERE), children(OPERATOR, "other")], OF_OPERATOR, (),
        ),
        "what stands in most counts": (
            lambda: [children(OLD, "a"), children(NEW, "b"), children(NEW, "c")], {"version": "v2", "kit_image": OPERATOR.kit_image}, (),
        ),
        "a tie is settled the same in every pass": (lambda: [children(OLD, "a"), children(NEW, "b")], {}, ()),
    },
)  # fmt: skip
def test_what_was_made_tells_of_the_operator(made, told, not_told):
    """In whatever order they come."""
    found = recover(made())
    assert told.items() <= found.items()
    assert found.keys().isdisjoint(not_told)
    assert recover(made()[::-1]) == found

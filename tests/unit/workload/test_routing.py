"""The Gateways of a route, refused routes, pools and pickers that do not meet, and Gateways that are not programmed."""

from dataclasses import replace

import msgspec
import pytest

from reporter.catalogue.resources import DEPLOYMENTS, GATEWAYS, HTTPROUTES, INFERENCEPOOLS
from reporter.model.objects import HttpRoute
from reporter.workload.endpoint_pickers import flaws
from reporter.workload.gateway_controllers import unprogrammed, why_untaken
from reporter.workload.routing import astray, entrances_of, route_faults
from tests.tables import rows
from tests.unit.probes.building import condition, deployment, document, merged, snapshot_of

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


SERVICE = document(
    "Service", "epp", "ns", {"spec": {"selector": {"app": "epp"}, "ports": [{"port": 9002}]}}
)
OLD = document(
    "InferencePool", "qwen", "ns", {"apiVersion": "inference.networking.x-k8s.io/v1alpha2"}
)


def told(*args, port=9002, docs=(SERVICE,)):
    """What is told of pool qwen, whose picker runs with these flags."""
    pool = document(
        "InferencePool", "qwen", "ns",
        {"apiVersion": "inference.networking.k8s.io/v1", "spec": {"targetPorts": [{"number": 8000}], "endpointPickerRef": {"name": "epp", "port": {"number": port}}}},
    )  # fmt: skip
    template = {"metadata": {"labels": {"app": "epp"}}, "spec": {"containers": [{"name": "main", "args": [*args]}]}}  # fmt: skip
    picker = deployment("ns", "epp", {"spec": {"template": template}})
    snapshot = snapshot_of(pool, picker, *docs)
    return [each.text for each in flaws(snapshot[INFERENCEPOOLS].get("ns", "qwen"), snapshot)]


MISTRAL = ["--pool-name=mistral"]
RUNS_WITH = "is of inference.networking.k8s.io, and its endpoint picker epp runs with "
NO_PORTS, OTHER_PORT = (
    merged(SERVICE, {"spec": {"ports": each}}) for each in (None, [{"port": 8000}])
)


@rows(
    ("args", "port", "docs", "told_of"),
    {
        "the port of the Service": ([], 9002, [SERVICE], ""),
        "no port": ([], 0, [SERVICE], ""),
        "no Service, which is told elsewhere": ([], 8000, [], ""),
        "a Service without ports": ([], 8000, [NO_PORTS], ""),
        "the engines' port alone": ([], 9002, [OTHER_PORT], ""),
        "a port that the Service does not have: each request fails": (
            [], 8000, [SERVICE], "names port 8000 of Service epp for its endpoint picker, which has 9002",
        ),
        "a pool in another namespace, which may be there": ([*MISTRAL, "--pool-namespace=other"], 9002, [SERVICE], ""),
        "one that does not exist in its own": ([*MISTRAL, "--pool-namespace=ns"], 9002, [SERVICE], "--pool-name mistral"),
        "the former group: it sees no endpoints": (
            ["--pool-group=inference.networking.x-k8s.io"], 9002, [SERVICE], "--pool-group inference.networking.x-k8s.io",
        ),
        "another name": (["--pool-name", "mistral"], 9002, [SERVICE], "--pool-name mistral"),
        "both": (
            ["--poolName=mistral", "--pool-group", "inference.networking.k8s.io"], 9002, [SERVICE],
            "--poolName mistral --pool-group inference.networking.k8s.io",
        ),
        "its pool": (["--pool-name", "qwen"], 9002, [SERVICE], ""),
        "a variable": (["--pool-name", "$(POOL)"], 9002, [SERVICE], ""),
        "an unknown group": (["--pool-group=example.com"], 9002, [SERVICE], ""),
        "the same pool in the other group": (["--pool-group=inference.networking.x-k8s.io"], 9002, [SERVICE, OLD], ""),
    },
)  # fmt: skip
def test_a_pool_and_its_endpoint_picker(args, port, docs, told_of):
    """Nothing is told where both lead to each other, or cannot be followed."""
    if told_of.startswith("--"):
        told_of = f"{RUNS_WITH}{told_of}: there is no such pool, so that it sees no endpoints"
    assert told(*args, port=port, docs=docs) == ([told_of] if told_of else [])


HOME = "envoy-gateway-system"
ENVOY = "gateway.envoyproxy.io/gatewayclass-controller"
WAITS = condition("Programmed", "Unknown", "Pending", "Waiting for controller")
NO_ADDRESS = condition("Programmed", "False", "AddressNotAssigned", "none")
ROUTE = document("HTTPRoute", "r", "ns", {"spec": {"parentRefs": [{"name": "gw"}]}})


def of_class(accepted, controller=ENVOY):
    """The GatewayClass of the Gateway."""
    said = [condition("Accepted", accepted)] if accepted else []
    return document("GatewayClass", "eg", "", {"spec": {"controllerName": controller}, "status": {"conditions": said}})  # fmt: skip


def why(programmed, *docs):
    """What is told of the route's Gateway, and the object to mend."""
    status = {"conditions": [programmed]} if programmed else {}
    gateway = document("Gateway", "gw", "ns", {"spec": {"gatewayClassName": "eg"}, "status": status})  # fmt: skip
    snapshot = snapshot_of(ROUTE, gateway, *docs)
    dark = unprogrammed(snapshot[HTTPROUTES].get("ns", "r"), snapshot)
    return (dark.why, str(dark.related)) if dark else None


OLD = {"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}}
EG = deployment("eg", "envoy-gateway", OLD)
EG_DOWN, HOME_DOWN = (deployment(each, "envoy-gateway", OLD, ready=0) for each in ("eg", HOME))
EG_LATER = deployment("eg", "envoy-gateway", ready=0)
HOME_OFF = deployment(HOME, "envoy-gateway", ready=0, wanted=0)
NOBODYS = "example.com/unknown"
NOT_ACCEPTED = "no controller has accepted its GatewayClass eg"
DOWN = "the Gateway's controller, Deployment {}, is not available: no pods, 0/1 ready"
UNADDRESSED = ("AddressNotAssigned: none", "Gateway ns/gw")


@rows(
    ("programmed", "docs", "expected"),
    {
        "programmed": (condition("Programmed", "True"), [of_class("True"), EG_DOWN], None),
        "a controller without that condition": (None, [of_class("Unknown")], None),
        "a controller at work, which is about to look": (WAITS, [of_class("True"), EG], None),
        "a controller that nobody knows": (WAITS, [of_class("True", NOBODYS)], None),
        "no class": (WAITS, [], ("GatewayClass eg does not exist", "Gateway ns/gw")),
        "no controller": (WAITS, [of_class("Unknown")], (f"{NOT_ACCEPTED} ({ENVOY}), and no Deployment envoy-gateway is there", "Gateway ns/gw")),
        "a controller that is down": (WAITS, [of_class("True"), HOME_DOWN], (DOWN.format(f"{HOME}/envoy-gateway"), f"Deployment {HOME}/envoy-gateway")),
        "one that is installed elsewhere": (
            WAITS, [of_class("Unknown"), EG_DOWN], (DOWN.format("eg/envoy-gateway"), "Deployment eg/envoy-gateway"),
        ),
        "one that is younger than the class may be a tenant's": (
            WAITS, [of_class("Unknown"), EG_LATER], (f"{NOT_ACCEPTED} ({ENVOY})", "Gateway ns/gw"),
        ),
        "one beside models is not said to be missing, nor to be away: it may be a tenant's": (
            WAITS, [of_class("Unknown"), EG_DOWN, document("InferencePool", "p", "eg")], (f"{NOT_ACCEPTED} ({ENVOY})", "Gateway ns/gw"),
        ),
        "one that has moved": (WAITS, [of_class("True"), HOME_OFF, EG], None),
        "one elsewhere beside the one in its place": (WAITS, [of_class("True"), deployment(HOME, "envoy-gateway"), EG_DOWN], None),
        "an unknown controller is not said to be missing": (WAITS, [of_class("Unknown", NOBODYS)], (f"{NOT_ACCEPTED} ({NOBODYS})", "Gateway ns/gw")),
        "of several Deployments of the name one is the controller": (
            NO_ADDRESS, [of_class("True"), EG, deployment("tenant", "envoy-gateway", ready=0)], UNADDRESSED,
        ),
    },
)  # fmt: skip
def test_why_a_gateway_is_not_programmed(programmed, docs, expected):
    """The class or its controller is named, and the object to mend."""
    if expected and programmed is WAITS:
        expected = (f"Pending: Waiting for controller; {expected[0]}", expected[1])
    assert why(programmed, *docs) == expected


@pytest.mark.parametrize("of_pool", [False, True])
def test_an_extension_accepts_pools_alone(of_pool):
    """It is no controller of Gateways."""
    gateway = document("Gateway", "gw", "ns", {"spec": {"gatewayClassName": "eg"}})
    down = deployment("envoy-ai-gateway-system", "ai-gateway-controller", ready=0)
    snapshot = snapshot_of(gateway, of_class("True"), down)
    untaken = why_untaken(snapshot[GATEWAYS].get("ns", "gw"), snapshot, of_pool=of_pool)
    assert ("ai-gateway-controller, is not available" in untaken.text) is of_pool


@pytest.mark.parametrize("place", ["ns", "eg"])
def test_a_cluster_without_load_balancers(place):
    """No Gateway gets an address there, and requests through its Service work.

    The Service is beside the Gateway or its controller.
    """
    owner = "gateway.envoyproxy.io/owning-gateway"
    labels = {f"{owner}-name": "gw", f"{owner}-namespace": "ns"}
    service = document(
        "Service", "envoy-gw", place,
        {"metadata": {"labels": labels}, "spec": {"type": "LoadBalancer", "selector": {"app": "proxy"}}},
    )  # fmt: skip
    docs = [of_class("True"), EG, service]
    assert why(NO_ADDRESS, *docs) == UNADDRESSED
    ready = {"metadata": {"labels": {"app": "proxy"}}, "status": {"conditions": [condition("Ready", "True")]}}  # fmt: skip
    assert why(NO_ADDRESS, *docs, document("Pod", "proxy-1", place, ready)) is None


def test_deployments_that_are_not_all_readable():
    """Nothing follows from a controller that is not in the snapshot."""
    status = {"conditions": [WAITS]}
    gateway = document("Gateway", "gw", "ns", {"spec": {"gatewayClassName": "eg"}, "status": status})  # fmt: skip
    snapshot = snapshot_of(ROUTE, gateway, of_class("Unknown"))
    partial = replace(snapshot, incomplete={str(DEPLOYMENTS): "forbidden"})
    dark = unprogrammed(partial[HTTPROUTES].get("ns", "r"), partial)
    assert "no Deployment" not in dark.why

"""Why a Gateway is not programmed."""

from dataclasses import replace

import pytest

from reporter.catalogue.resources import DEPLOYMENTS, GATEWAYS, HTTPROUTES
from reporter.workload.gateway_controllers import unprogrammed, why_untaken
from tests.unit.probes.building import condition, deployment, document, snapshot_of

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


@pytest.mark.parametrize(
    ("programmed", "docs"),
    [
        (condition("Programmed", "True"), [of_class("True"), deployment("eg", "envoy-gateway", ready=0)]),
        (None, [of_class("Unknown")]),
        (WAITS, [of_class("True"), deployment("eg", "envoy-gateway")]),
        (WAITS, [of_class("True", "example.com/unknown")]),
    ],
    ids=["programmed", "a controller without that condition", "a controller at work", "a controller that nobody knows"],
)  # fmt: skip
def test_nothing_is_told(programmed, docs):
    """A Gateway that works, or whose controller works and is about to look."""
    assert why(programmed, *docs) is None


@pytest.mark.parametrize(
    ("docs", "text", "related"),
    [
        ([], "GatewayClass eg does not exist", "Gateway ns/gw"),
        ([of_class("Unknown")], "no Deployment envoy-gateway is there", "Gateway ns/gw"),
        ([of_class("True"), deployment(HOME, "envoy-gateway", ready=0)], f"Deployment {HOME}/envoy-gateway, is not available", f"Deployment {HOME}/envoy-gateway"),
    ],
    ids=["no class", "no controller", "a controller that is down"],
)  # fmt: skip
def test_nobody_has_looked_at_it(docs, text, related):
    """The class or its controller is named."""
    told = why(WAITS, *docs)
    assert told
    assert text in told[0]
    assert told[1].endswith(related)


@pytest.mark.parametrize(("of_pool", "told"), [(False, False), (True, True)])
def test_an_extension_accepts_pools_alone(of_pool, told):
    """It is no controller of Gateways."""
    gateway = document("Gateway", "gw", "ns", {"spec": {"gatewayClassName": "eg"}})
    down = deployment("envoy-ai-gateway-system", "ai-gateway-controller", ready=0)
    snapshot = snapshot_of(gateway, of_class("True"), down)
    untaken = why_untaken(snapshot[GATEWAYS].get("ns", "gw"), snapshot, of_pool=of_pool)
    assert ("ai-gateway-controller, is not available" in untaken.text) is told


def test_a_controller_elsewhere_is_not_said_to_be_missing():
    """Nor to be away: it may be a tenant's."""
    told = why(WAITS, of_class("Unknown"), deployment("eg", "envoy-gateway", ready=0))
    assert told
    assert told[0].endswith("no controller has accepted its GatewayClass eg (gateway.envoyproxy.io/gatewayclass-controller)")  # fmt: skip


def test_an_unknown_controller_is_not_said_to_be_missing():
    """Which Deployments run it is known of a few only."""
    told = why(WAITS, of_class("Unknown", "example.com/unknown"))
    assert told
    assert told[0].endswith("no controller has accepted its GatewayClass eg (example.com/unknown)")


def test_a_replica_elsewhere_is_enough():
    """Of several Deployments of the name one is the controller."""
    others = deployment("tenant", "envoy-gateway", ready=0)
    docs = [of_class("True"), deployment("eg", "envoy-gateway"), others]
    assert why(NO_ADDRESS, *docs) == ("AddressNotAssigned: none", "Gateway ns/gw")


def test_a_cluster_without_load_balancers():
    """No Gateway gets an address there, and requests through its Service work."""
    labels = {"gateway.envoyproxy.io/owning-gateway-name": "gw"}
    service = document(
        "Service", "envoy-gw", "ns",
        {"metadata": {"labels": labels}, "spec": {"type": "LoadBalancer", "selector": {"app": "proxy"}}},
    )  # fmt: skip
    docs = [of_class("True"), deployment("eg", "envoy-gateway"), service]
    assert why(NO_ADDRESS, *docs) == ("AddressNotAssigned: none", "Gateway ns/gw")
    ready = {"metadata": {"labels": {"app": "proxy"}}, "status": {"conditions": [condition("Ready", "True")]}}  # fmt: skip
    assert why(NO_ADDRESS, *docs, document("Pod", "proxy-1", "ns", ready)) is None


def test_deployments_that_are_not_all_readable():
    """Nothing follows from a controller that is not in the snapshot."""
    status = {"conditions": [WAITS]}
    gateway = document("Gateway", "gw", "ns", {"spec": {"gatewayClassName": "eg"}, "status": status})  # fmt: skip
    snapshot = snapshot_of(ROUTE, gateway, of_class("Unknown"))
    partial = replace(snapshot, incomplete={str(DEPLOYMENTS): "forbidden"})
    dark = unprogrammed(partial[HTTPROUTES].get("ns", "r"), partial)
    assert "no Deployment" not in dark.why

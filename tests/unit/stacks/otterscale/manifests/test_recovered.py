"""Settings recovered from what the operator made."""

from dataclasses import replace

import pytest

from reporter.model.objects import Deployment, DestinationRule, HttpRoute
from reporter.stacks.otterscale.manifests.names import OperatorSettings
from reporter.stacks.otterscale.manifests.wanted import Children, recover, wanted
from tests.unit.stacks.otterscale.manifests.building import OPERATOR, service

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
    "provider",
    "metrics_endpoint_auth",
    "default_gateway_name",
    "default_engine_image",
    "default_epp_image",
    "default_routing_proxy_image",
    "kit_image",
    "tracing_enabled",
    "version",
)


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


def test_the_script_that_unpacks_is_the_one_that_the_operator_made():
    """Without an image for the step there is none, and ours is as good."""
    own = replace(OPERATOR, unpack_script="the script of the operator")
    assert recover([children(own)])["unpack_script"] == own.unpack_script
    assert "unpack_script" not in recover([children(replace(own, kit_image=""))])


def test_gke_cannot_be_told_from_none():
    assert recover([children(replace(OPERATOR, provider="gke"))])["provider"] == "none"


def test_nothing_is_known_before_anything_is_made():
    found = recover([Children(service=service())])
    assert found == {} == recover([])
    assert OTHER.over(found) == OTHER


def test_what_the_resource_says_itself_tells_nothing():
    found = recover(
        [
            children(
                OPERATOR,
                engine={"image": "own"},
                routingProxy={"image": "own"},
                inferencePool={"endpointPicker": {"image": "own"}},
                httpRoute={"gatewayRef": {"name": "own"}},
            )
        ]
    )
    assert "default_engine_image" not in found
    assert "default_routing_proxy_image" not in found
    assert "default_epp_image" not in found
    assert "default_gateway_name" not in found
    assert found["provider"] == "istio"


def test_others_tell_what_is_missing_here():
    """So a DestinationRule or a route that is gone is seen to be missing."""
    whole = children(OPERATOR, "other")
    broken = replace(children(OPERATOR), destination_rule=None, route=None, epp=None)
    found = recover([broken, whole])
    assert found["provider"] == "istio"
    assert found["default_gateway_name"] == OPERATOR.default_gateway_name
    assert found["metrics_endpoint_auth"] is True


def test_what_stands_in_most_counts():
    old, new = replace(OPERATOR, version="v1", kit_image="k1"), replace(OPERATOR, version="v2")
    services = [children(old, "a"), children(new, "b"), children(new, "c")]
    for order in (services, services[::-1]):
        assert recover(order)["version"] == "v2"
        assert recover(order)["kit_image"] == OPERATOR.kit_image


def test_a_tie_is_settled_the_same_in_every_pass():
    services = [children(replace(OPERATOR, version=each), each) for each in ("v1", "v2")]
    assert recover(services) == recover(services[::-1])

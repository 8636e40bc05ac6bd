"""InferencePool, HTTPRoute and DestinationRule."""

from dataclasses import replace

import msgspec
import pytest

from reporter.stacks.otterscale.manifests.names import OperatorSettings
from reporter.stacks.otterscale.objects import EndpointPicker, Pool
from tests.unit.stacks.otterscale.manifests import labels
from tests.unit.stacks.otterscale.manifests.building import document, service

NAME = "qwen3-0.6b"


def pool(**spec):
    made = document(service(NAME, **spec), "InferencePool", NAME)
    assert made["apiVersion"] == "inference.networking.k8s.io/v1"
    return made["spec"]


@pytest.mark.parametrize(
    ("spec", "target", "port", "mode"),
    [
        ({}, 8000, 9002, "FailClose"),
        ({"engine": {"port": 9000}}, 9000, 9002, "FailClose"),
        ({"inferencePool": {"endpointPicker": {}}}, 8000, 9002, "FailOpen"),
        ({"inferencePool": {"endpointPicker": {"port": 9100}}}, 8000, 9100, "FailOpen"),
        (
            {"inferencePool": {"endpointPicker": {"failureMode": "FailClose"}}},
            8000,
            9002,
            "FailClose",
        ),
        ({"routingProxy": {"targetPort": 8300}}, 8000, 9002, "FailClose"),
    ],
)
def test_pool(spec, target, port, *, mode):
    assert pool(**spec) == {
        "targetPorts": [{"number": target}],
        "selector": {"matchLabels": labels.pool_selector(NAME)},
        "endpointPickerRef": {
            "group": "",
            "kind": "Service",
            "name": "qwen3-0-6b-epp",
            "port": {"number": port},
            "failureMode": mode,
        },
    }


def test_pool_closes_where_the_schema_left_the_mode_empty():
    explicit = service(inferencePool={"endpointPicker": {}})
    told = Pool(EndpointPicker(failure_mode=""))
    spec = msgspec.structs.replace(explicit.spec, inference_pool=told)
    made = document(msgspec.structs.replace(explicit, spec=spec), "InferencePool", explicit.name)
    assert made["spec"]["endpointPickerRef"]["failureMode"] == "FailClose"


DEFAULT = OperatorSettings()
DEFAULT_PARENT = {
    "group": "gateway.networking.k8s.io",
    "kind": "Gateway",
    "name": "otterscale-llm-d-infra-inference-gateway",
    "namespace": "llm-d",
}
OTHER = replace(DEFAULT, default_gateway_name="inference-gateway")


def explicit(gateway, **more):
    return {"httpRoute": {"gatewayRef": gateway, **more}}


@pytest.mark.parametrize(
    ("spec", "operator", "parent", "hostnames"),
    [
        ({}, DEFAULT, DEFAULT_PARENT, None),
        ({}, OTHER, DEFAULT_PARENT | {"name": "inference-gateway"}, None),
        (explicit({"name": "g"}), DEFAULT, {"name": "g"}, None),
        (explicit({"name": "g", "namespace": "models"}), DEFAULT, {"name": "g"}, None),
        (
            explicit({"name": "g", "namespace": "gateways"}),
            DEFAULT,
            {"name": "g", "namespace": "gateways"},
            None,
        ),
        (explicit({"name": "g"}, hostnames=[]), DEFAULT, {"name": "g"}, None),
        (explicit({"name": "g"}, hostnames=["a.b"]), DEFAULT, {"name": "g"}, ["a.b"]),
    ],
)
def test_route(spec, operator, parent, *, hostnames):
    made = document(service(NAME, **spec), "HTTPRoute", NAME, operator)
    assert made["apiVersion"] == "gateway.networking.k8s.io/v1"
    assert made["spec"] == {
        "parentRefs": [parent],
        **({"hostnames": hostnames} if hostnames else {}),
        "rules": [
            {
                "matches": [
                    {
                        "headers": [
                            {"type": "Exact", "name": "OtterScale-Model-Name", "value": NAME}
                        ],
                        "path": {"type": "PathPrefix", "value": "/"},
                    }
                ],
                "backendRefs": [
                    {
                        "group": "inference.networking.k8s.io",
                        "kind": "InferencePool",
                        "name": NAME,
                    }
                ],
            }
        ],
    }

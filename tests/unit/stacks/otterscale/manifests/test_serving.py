"""The Deployments of decode and prefill."""

import pytest

from tests.unit.stacks.otterscale.manifests.building import (
    container,
    document,
    documents,
    pod,
    service,
)

SIDE = "VLLM_NIXL_SIDE_CHANNEL_PORT"


def test_vllm_with_everything_in_order():
    reference = {"fieldRef": {"fieldPath": "status.podIP"}}
    made = container(
        service(
            model={"name": "m", "image": "i", "mountPath": "/data"},
            engine={
                "image": "vllm:v1",
                "imagePullPolicy": "Always",
                "port": 9000,
                "args": ["--max-model-len", "8192"],
                "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": reference}],
            },
            decode={"parallelism": {"tensor": 4, "data": 3, "dataLocal": 2}},
        ),
        "decode",
        "vllm",
    )
    assert (made["image"], made["imagePullPolicy"]) == ("vllm:v1", "Always")
    assert made["args"] == [
        *("/data", "--port", "9000", "--served-model-name", "m"),
        *("--tensor-parallel-size", "4"),
        *("--data-parallel-size", "3"),
        *("--data-parallel-size-local", "2"),
        *("--max-model-len", "8192"),
    ]
    assert made["env"] == [
        {"name": "TP_SIZE", "value": "4"},
        {"name": "DP_SIZE", "value": "3"},
        {"name": "DP_SIZE_LOCAL", "value": "2"},
        {"name": "A", "value": "1"},
        {"name": "B", "valueFrom": reference},
    ]
    assert made["volumeMounts"][0]["mountPath"] == "/data"
    assert made["resources"]["limits"] == {"nvidia.com/gpu": "8"}


def env(*values):
    return [
        {"name": SIDE, "value": each}
        if isinstance(each, str)
        else {"name": SIDE, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
        for each in values
    ]


@pytest.mark.parametrize(
    ("variables", "port"),
    [
        ([], None),
        (env("5600"), 5600),
        (env("+5600"), 5600),
        (env("65535"), 65535),
        (env("65536"), None),
        (env("0" * 5000 + "5600"), 5600),
        (env("9" * 5000), None),
        (env("0"), None),
        (env("-1"), None),
        (env(""), None),
        (env("5600.0"), None),
        (env(" 5600"), None),
        (env("5_600"), None),
        (env("$(PORT)"), None),
        (env("8000"), None),
        (env(None), None),
        (env(None, "5600"), None),
        (env("none", "5600"), None),
        (env("5600", "5700"), 5600),
    ],
)
def test_port_of_the_side_channel(variables, port):
    """The first variable of the name counts, if it is a literal port that is not taken."""
    made = service(engine={"env": variables}, prefill={})
    roles = ("decode", "prefill")
    side = [{"name": "nixl-side", "containerPort": port, "protocol": "TCP"}] if port else []
    assert {role: container(made, role, "vllm")["ports"][1:] for role in roles} == dict.fromkeys(
        roles, side
    )


@pytest.mark.parametrize(
    ("spec", "decode", "proxy", "prefill"),
    [
        ({"engine": {"port": 9000}}, 9000, None, 9000),
        ({"engine": {"port": 9000}, "routingProxy": {}}, 8200, 9000, 9000),
        ({"engine": {}, "routingProxy": {"targetPort": 8300}}, 8300, 8000, 8000),
    ],
)
def test_ports_from_client_to_model(spec, decode, proxy, *, prefill):
    made = service(prefill={}, **spec)
    listening = {
        role: [
            (each["name"], each["ports"][0]["containerPort"])
            for each in [*pod(made, role)["initContainers"], *pod(made, role)["containers"]]
            if "ports" in each
        ]
        for role in ("decode", "prefill")
    }
    before = [("routing-proxy", proxy)] if proxy else []
    assert listening == {"decode": [*before, ("vllm", decode)], "prefill": [("vllm", prefill)]}
    target = document(made, "InferencePool", "qwen3")["spec"]["targetPorts"]
    assert target == [{"number": prefill}]


@pytest.mark.parametrize(
    ("secrets", "listed", "volumes"),
    [
        ([], None, ["model", "model-tmp"]),
        ([{"name": "a"}, {"name": "b"}], ["a", "b"], ["model", "model-tmp", "docker-config"]),
    ],
)
def test_volumes_and_pull_secrets(secrets, listed, volumes):
    """All secrets are for the kubelet, the first is for the unpacking too."""
    told = {"name": "m", "image": "i", "imagePullSecrets": secrets}
    made = pod(service(model=told), "decode")
    assert [each["name"] for each in made["volumes"]] == volumes
    assert all(each["emptyDir"] == {} for each in made["volumes"][:2])
    if listed is None:
        assert "imagePullSecrets" not in made
    else:
        assert [each["name"] for each in made["imagePullSecrets"]] == listed
        assert made["volumes"][2]["secret"] == {
            "secretName": "a",
            "items": [{"key": ".dockerconfigjson", "path": "config.json"}],
        }


@pytest.mark.parametrize("uid", ["", "0d5b"])
def test_owner(uid):
    """The ModelService owns what is beside it, once it has a uid; nothing owns cluster objects."""
    made = documents(service(uid=uid, inferencePool={"endpointPicker": {}}))
    owner = {
        "apiVersion": "model.otterscale.io/v1alpha1",
        "kind": "ModelService",
        "name": "qwen3",
        "uid": "0d5b",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    for (kind, _), each in made.items():
        owned = uid and not kind.startswith("Cluster")
        assert each["metadata"].get("ownerReferences") == ([owner] if owned else None)


RESTRICTED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def test_vllm_of_the_smallest_service():
    assert container(service(), "decode", "vllm") == {
        "name": "vllm",
        "image": "ghcr.io/llm-d/llm-d-cuda:v0.5.1",
        "command": ["vllm", "serve"],
        "args": ["/models", "--port", "8000", "--served-model-name", "Qwen/Qwen3-0.6B"],
        "env": [
            {"name": "TP_SIZE", "value": "1"},
            {"name": "DP_SIZE", "value": "1"},
            {"name": "DP_SIZE_LOCAL", "value": "1"},
        ],
        "ports": [{"name": "http", "containerPort": 8000, "protocol": "TCP"}],
        "volumeMounts": [{"name": "model", "mountPath": "/models", "readOnly": True}],
        "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}},
        "securityContext": RESTRICTED,
    }

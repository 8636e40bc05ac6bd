"""The Deployments of decode and prefill: containers, init containers and accelerators."""

import subprocess
from dataclasses import replace

import pytest

from reporter.stacks.otterscale.manifests import wanted as gpu
from reporter.stacks.otterscale.objects import Parallelism, Resources
from tests.unit.stacks.otterscale.manifests.building import (
    OPERATOR,
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


TRACED = replace(OPERATOR, tracing_enabled=True, tracing_otel_endpoint="http://otel:4317")
UNPACK, PROXY = "model-unpack", "routing-proxy"


@pytest.mark.parametrize(
    ("spec", "kit", "decode", "prefill"),
    [
        ({}, "kit", [UNPACK], [UNPACK]),
        ({}, "", [], []),
        ({"routingProxy": {}}, "kit", [UNPACK, PROXY], [UNPACK]),
        ({"routingProxy": {}}, "", [PROXY], []),
    ],
)
def test_which_there_are(spec, kit, decode, *, prefill):
    operator = replace(OPERATOR, kit_image=kit)
    for role, expected in (("decode", decode), ("prefill", prefill)):
        made = pod(service(prefill={}, **spec), role, operator)
        assert [each["name"] for each in made.get("initContainers", [])] == expected
        assert made.get("initContainers") != []


@pytest.mark.parametrize("secrets", [[], [{"name": "registry"}]])
def test_model_unpack(secrets):
    told = {"name": "m", "image": "reg/m:v1", "mountPath": "/data", "imagePullSecrets": secrets}
    made = container(service(model=told), "decode", UNPACK)
    assert {*made} == {"name", "image", "command", "args", "env", "volumeMounts", "securityContext"}
    assert made["image"] == "ghcr.io/kitops-ml/kitops:v1.11.0"
    assert made["command"] == ["/bin/sh", "-c"]
    assert made["env"] == [
        {"name": "OCI_MODEL_IMAGE", "value": "reg/m:v1"},
        {"name": "MODEL_MOUNT_PATH", "value": "/data"},
        {"name": "KITOPS_HOME", "value": "/tmp/model-oci"},
        *([{"name": "DOCKER_CONFIG", "value": "/.docker"}] if secrets else []),
    ]
    config = {"name": "docker-config", "mountPath": "/.docker", "readOnly": True}
    assert made["volumeMounts"] == [
        {"name": "model-tmp", "mountPath": "/tmp/model-oci"},
        {"name": "model", "mountPath": "/data"},
        *([config] if secrets else []),
    ]
    assert made["securityContext"] == RESTRICTED


@pytest.mark.parametrize(
    ("kit_status", "cache", "status", "said"),
    [
        (0, "new/kit", 0, "unpack --plain-http -o -d /a b reg/m:v1\n"),
        (3, "new/kit", 3, "unpack --plain-http -o -d /a b reg/m:v1\n"),
        (0, "kit/below-a-file", 1, ""),
    ],
)
def test_what_the_script_of_model_unpack_does(kit_status, cache, status, *, said, tmp_path):
    """It makes the cache directory, unpacks, and ends with the first step that fails."""
    (script,) = container(service(), "decode", UNPACK)["args"]
    kit = tmp_path / "kit"
    kit.write_text(f'#!/bin/sh\necho "$@"\nexit {kit_status}\n')
    kit.chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "OCI_MODEL_IMAGE": "reg/m:v1",
        "MODEL_MOUNT_PATH": "/a b",
        "KITOPS_HOME": str(tmp_path / cache),
    }
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == said
    assert done.returncode == status
    assert (tmp_path / cache).is_dir() is bool(said)


@pytest.mark.parametrize("proxy", [{}, {"connector": ""}], ids=["nothing said", "empty"])
def test_routing_proxy_of_the_smallest_form(proxy):
    """A connector that is empty becomes the default when the operator first writes the object."""
    assert container(service(routingProxy=proxy), "decode", PROXY) == {
        "name": PROXY,
        "image": "ghcr.io/llm-d/llm-d-routing-sidecar:v0.6.0",
        "args": [
            *("--port", "8000", "--vllm-port", "8200", "--connector", "nixlv2"),
            "--secure-proxy=false",
        ],
        "ports": [{"name": "proxy", "containerPort": 8000, "protocol": "TCP"}],
        "restartPolicy": "Always",
        "securityContext": RESTRICTED,
    }


ARGUMENTS = [
    ({"zapEncoder": "json"}, ["--zap-encoder", "json", "--secure-proxy=false"]),
    ({"zapLogLevel": "debug"}, ["--zap-log-level", "debug", "--secure-proxy=false"]),
    ({"secureProxy": True}, ["--secure-proxy=true"]),
    ({"secureProxy": None}, ["--secure-proxy=false"]),
    ({"prefillerUseTLS": True}, ["--secure-proxy=false", "--prefiller-use-tls=true"]),
    ({"prefillerUseTLS": False}, ["--secure-proxy=false", "--prefiller-use-tls=false"]),
    ({"certPath": "/c"}, ["--secure-proxy=false", "--cert-path", "/c"]),
    (
        {"certPath": "/c", "prefillerUseTLS": True, "zapLogLevel": "d", "zapEncoder": "json"},
        [
            *("--zap-encoder", "json", "--zap-log-level", "d", "--secure-proxy=false"),
            *("--prefiller-use-tls=true", "--cert-path", "/c"),
        ],
    ),
]


@pytest.mark.parametrize(("proxy", "arguments"), ARGUMENTS)
def test_arguments_of_the_routing_proxy(proxy, arguments):
    told = {"image": "proxy:v1", "connector": "lmcache", "targetPort": 8300, **proxy}
    made = container(service(engine={"port": 9000}, routingProxy=told), "decode", PROXY)
    assert made["image"] == "proxy:v1"
    ports = ["--port", "9000", "--vllm-port", "8300", "--connector", "lmcache"]
    assert made["args"] == [*ports, *arguments]


@pytest.mark.parametrize(
    ("sampler", "argument", "more"),
    [
        ("s", "0.5", ["OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"]),
        ("s", "", ["OTEL_TRACES_SAMPLER"]),
        ("", "0.5", ["OTEL_TRACES_SAMPLER_ARG"]),
        ("", "", []),
    ],
)
def test_tracing_of_the_routing_proxy(sampler, argument, more):
    operator = replace(TRACED, tracing_sampler=sampler, tracing_sampler_arg=argument)
    made = container(service(routingProxy={}), "decode", PROXY, operator)["env"]
    assert made[:3] == [
        {"name": "OTEL_SERVICE_NAME", "value": "llm-d-routing-sidecar"},
        {"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://otel:4317"},
        {"name": "OTEL_TRACES_EXPORTER", "value": "otlp"},
    ]
    assert [each["name"] for each in made[3:]] == more


@pytest.mark.parametrize(
    ("accelerator", "name"),
    [
        ("nvidia", "nvidia.com/gpu"),
        ("amd", "amd.com/gpu"),
        ("intel-gaudi", "habana.ai/gaudi"),
        ("google", "google.com/tpu"),
        ("cpu", None),
        ("of tomorrow", None),
    ],
)
def test_resource_name(accelerator, name):
    assert gpu.RESOURCE_NAMES.get(accelerator) == name
    made = gpu.with_accelerators(Resources(), accelerator, 2)
    assert made == ({"limits": {name: "2"}, "requests": {name: "2"}} if name else {})


@pytest.mark.parametrize(
    ("parallelism", "count"),
    [
        (Parallelism(), 1),
        (Parallelism(tensor=4), 4),
        (Parallelism(tensor=4, data_local=2), 8),
        (Parallelism(data=8), 1),
        (Parallelism(tensor=2, data=4, data_local=2), 4),
        (Parallelism(tensor=0, data_local=-1), 1),
    ],
)
def test_count(parallelism, count):
    assert gpu.count(parallelism) == count


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (
            Resources(limits={"memory": "16Gi"}, requests={"cpu": 4}),
            {
                "limits": {"memory": "16Gi", "nvidia.com/gpu": "1"},
                "requests": {"cpu": 4, "nvidia.com/gpu": "1"},
            },
        ),
        (Resources(limits={"nvidia.com/gpu": 7}), {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}),
        (
            Resources(claims=({"name": "gpu"},)),
            {
                "limits": {"nvidia.com/gpu": "1"},
                "requests": {"nvidia.com/gpu": "1"},
                "claims": [{"name": "gpu"}],
            },
        ),
    ],
)  # fmt: skip
def test_the_users_resources_stay_but_for_that_key(given, made):
    assert gpu.with_accelerators(given, "nvidia", 1) == made


def test_none_are_asked_for_where_the_count_is_0():
    assert gpu.with_accelerators(Resources(), "nvidia", 0) == {}

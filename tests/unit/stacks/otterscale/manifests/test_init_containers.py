"""Init containers of the serving pods."""

import subprocess
from dataclasses import replace

import pytest

from tests.unit.stacks.otterscale.manifests.building import OPERATOR, container, pod, service

RESTRICTED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
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

"""The endpoint picker and its configuration."""

from dataclasses import replace

import pytest

from reporter.stacks.otterscale.manifests.wanted import config_checksum
from tests.unit.stacks.otterscale.manifests import labels
from tests.unit.stacks.otterscale.manifests.building import OPERATOR, container, document, service

UNIFIED = "3aee930c4fc2cf8c749623ba30a077bd93d5cca0c6513c87a5fe3427b089f2f1"
DISAGGREGATED = "da2206ceec8c17d0eef3714ea7387e412c7b565661113eef5c0d0fd2b083eb23"


def picked(**picker):
    return service(inferencePool={"endpointPicker": picker})


def deployment(service_, operator=OPERATOR):
    return document(service_, "Deployment", "qwen3-epp", operator)


def epp(service_, operator=OPERATOR):
    return container(service_, "epp", "epp", operator)


@pytest.mark.parametrize(
    ("replicas", "readiness", "liveness", "leads"),
    [
        (0, "inference-extension", "inference-extension", False),
        (1, "inference-extension", "inference-extension", False),
        (2, "readiness", "liveness", True),
    ],
)
def test_replicas(replicas, readiness, liveness, *, leads):
    made = picked(replicas=replicas)
    assert deployment(made)["spec"]["replicas"] == replicas
    assert epp(made)["readinessProbe"]["grpc"]["service"] == readiness
    assert epp(made)["livenessProbe"]["grpc"]["service"] == liveness
    assert ("--ha-enable-leader-election" in epp(made)["args"]) is leads


def test_everything_of_the_resource():
    made = epp(picked(image="epp:v1", port=9100))
    assert made["image"] == "epp:v1"
    assert "--grpc-port=9100" in made["args"]
    assert made["ports"][0]["containerPort"] == 9100


DEFAULT = {"requests": {"cpu": "4", "memory": "8Gi"}, "limits": {"memory": "16Gi"}}


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({}, DEFAULT),
        ({"claims": [{"name": "c"}]}, DEFAULT),
        ({"limits": {"cpu": "1"}}, {"limits": {"cpu": "1"}}),
        ({"requests": {"cpu": 1}}, {"requests": {"cpu": 1}}),
        ({"requests": {}}, {"requests": {}}),
        (
            {"requests": {"cpu": 1}, "claims": [{"name": "c"}]},
            {"requests": {"cpu": 1}, "claims": [{"name": "c"}]},
        ),
    ],
)
def test_resources_replace_the_default_as_a_whole(given, made):
    assert epp(picked(resources=given))["resources"] == made


FLAGS = (("v", "4"), ("enable-pprof", "true"))
HA, AUTH_OFF = "--ha-enable-leader-election", "--metrics-endpoint-auth=false"


@pytest.mark.parametrize(
    ("replicas", "settings", "tail"),
    [
        (1, {}, ["--tracing=false"]),
        (1, {"tracing_enabled": True}, ["--tracing=true"]),
        (1, {"metrics_endpoint_auth": False}, ["--tracing=false", AUTH_OFF]),
        (2, {}, [HA, "--tracing=false"]),
        (1, {"epp_flags": FLAGS}, ["--tracing=false", "--enable-pprof=true", "--v=4"]),
        (
            2,
            {"tracing_enabled": True, "metrics_endpoint_auth": False, "epp_flags": FLAGS},
            [HA, "--tracing=true", AUTH_OFF, "--enable-pprof=true", "--v=4"],
        ),
    ],
)
def test_end_of_the_arguments(replicas, settings, tail):
    made = epp(picked(replicas=replicas), replace(OPERATOR, **settings))
    assert made["args"][6:] == tail


def test_tracing():
    operator = replace(OPERATOR, tracing_enabled=True, tracing_otel_endpoint="http://otel:4317")
    made = epp(service(), operator)["env"]

    def field(path):
        return {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}

    assert made[2:] == [
        {"name": "OTEL_SERVICE_NAME", "value": "gateway-api-inference-extension"},
        {"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://otel:4317"},
        {"name": "OTEL_TRACES_EXPORTER", "value": "otlp"},
        {"name": "OTEL_RESOURCE_ATTRIBUTES_NODE_NAME", "valueFrom": field("spec.nodeName")},
        {"name": "OTEL_RESOURCE_ATTRIBUTES_POD_NAME", "valueFrom": field("metadata.name")},
        {
            "name": "OTEL_RESOURCE_ATTRIBUTES",
            "value": "k8s.namespace.name=$(NAMESPACE),"
            "k8s.node.name=$(OTEL_RESOURCE_ATTRIBUTES_NODE_NAME),"
            "k8s.pod.name=$(OTEL_RESOURCE_ATTRIBUTES_POD_NAME)",
        },
        {"name": "OTEL_TRACES_SAMPLER", "value": "parentbased_traceidratio"},
        {"name": "OTEL_TRACES_SAMPLER_ARG", "value": "0.01"},
    ]
    silent = replace(operator, tracing_sampler="", tracing_sampler_arg="")
    assert epp(service(), silent)["env"] == made[:-2]


MODES = [
    ({}, "default-plugins.yaml", UNIFIED),
    ({"prefill": {}}, "pd-config.yaml", DISAGGREGATED),
]


@pytest.mark.parametrize(("spec", "key", "checksum"), MODES)
def test_configuration_is_the_operators_to_the_byte(spec, key, checksum):
    """The checksums are those of the operator's own texts."""
    made = service(**spec)
    data = document(made, "ConfigMap", "qwen3-epp-config")["data"]
    assert [*data] == [key]
    assert config_checksum(data) == checksum
    template = deployment(made)["spec"]["template"]
    assert template["metadata"]["annotations"] == {"checksum/config": checksum}
    assert f"--config-file=/config/{key}" in epp(made)["args"]


@pytest.mark.parametrize(("made", "port"), [(service(), 9002), (picked(port=9100), 9100)])
def test_service(made, port):
    assert document(made, "Service", "qwen3-epp")["spec"] == {
        "selector": labels.epp_selector("qwen3"),
        "ports": [
            {"name": "grpc-ext-proc", "port": port, "targetPort": port, "protocol": "TCP"},
            {"name": "http-metrics", "port": 9090, "targetPort": 9090, "protocol": "TCP"},
        ],
    }


def test_token_secret():
    made = document(picked(), "Secret", "qwen3-epp-sa-metrics-reader-secret")
    assert made["type"] == "kubernetes.io/service-account-token"
    assert made["metadata"]["annotations"] == {"kubernetes.io/service-account.name": "qwen3-epp"}
    assert "data" not in made

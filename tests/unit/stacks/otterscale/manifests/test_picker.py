"""The endpoint picker: configuration, rights, routes to it, and its monitors."""

from dataclasses import replace
from itertools import product

import msgspec
import pytest

from reporter.stacks.otterscale.manifests.names import OperatorSettings
from reporter.stacks.otterscale.manifests.wanted import config_checksum
from reporter.stacks.otterscale.objects import EndpointPicker, Pool
from tests.unit.stacks.otterscale.manifests import labels
from tests.unit.stacks.otterscale.manifests.building import (
    OPERATOR,
    container,
    document,
    documents,
    service,
)

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
        ({"requests": {"cpu": 1}, "claims": [{"name": "c"}]}, {"requests": {"cpu": 1}, "claims": [{"name": "c"}]}),
    ],
)  # fmt: skip
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


MODES = [({}, "default-plugins.yaml", UNIFIED), ({"prefill": {}}, "pd-config.yaml", DISAGGREGATED)]


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
        ({"inferencePool": {"endpointPicker": {"failureMode": "FailClose"}}}, 8000, 9002, "FailClose"),
        ({"routingProxy": {"targetPort": 8300}}, 8000, 9002, "FailClose"),
    ],
)  # fmt: skip
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


STARTED_PLAIN = OperatorSettings()
DEFAULT_PARENT = {
    "group": "gateway.networking.k8s.io",
    "kind": "Gateway",
    "name": "otterscale-llm-d-infra-inference-gateway",
    "namespace": "llm-d",
}
OTHER = replace(STARTED_PLAIN, default_gateway_name="inference-gateway")


def explicit(gateway, **more):
    return {"httpRoute": {"gatewayRef": gateway, **more}}


@pytest.mark.parametrize(
    ("spec", "operator", "parent", "hostnames"),
    [
        ({}, STARTED_PLAIN, DEFAULT_PARENT, None),
        ({}, OTHER, DEFAULT_PARENT | {"name": "inference-gateway"}, None),
        (explicit({"name": "g"}), STARTED_PLAIN, {"name": "g"}, None),
        (explicit({"name": "g", "namespace": "models"}), STARTED_PLAIN, {"name": "g"}, None),
        (explicit({"name": "g", "namespace": "gateways"}), STARTED_PLAIN, {"name": "g", "namespace": "gateways"}, None),
        (explicit({"name": "g"}, hostnames=[]), STARTED_PLAIN, {"name": "g"}, None),
        (explicit({"name": "g"}, hostnames=["a.b"]), STARTED_PLAIN, {"name": "g"}, ["a.b"]),
    ],
)  # fmt: skip
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
                    {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": NAME}
                ],
            }
        ],
    }


READ = ["get", "watch", "list"]
ALWAYS = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": READ},
    {"apiGroups": ["inference.networking.x-k8s.io"], "resources": ["inferenceobjectives", "inferencemodelrewrites"], "verbs": READ},
    {"apiGroups": ["inference.networking.k8s.io"], "resources": ["inferencepools"], "verbs": READ},
]  # fmt: skip
LEADING = [
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
    },
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
]
ACCOUNT = {"kind": "ServiceAccount", "name": "qwen3-epp", "namespace": "models"}


@pytest.mark.parametrize(
    ("spec", "rules"),
    [
        ({}, ALWAYS),
        ({"inferencePool": {"endpointPicker": {"replicas": 1}}}, ALWAYS),
        ({"inferencePool": {"endpointPicker": {"replicas": 2}}}, ALWAYS + LEADING),
    ],
)
def test_role(spec, rules):
    assert document(service(**spec), "Role", "qwen3-epp")["rules"] == rules


def test_role_binding():
    made = document(service(), "RoleBinding", "qwen3-epp")
    assert made["subjects"] == [ACCOUNT]
    assert made["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "Role",
        "name": "qwen3-epp",
    }


def test_cluster_role_and_its_binding():
    explicit = service(inferencePool={"endpointPicker": {}})
    role = document(explicit, "ClusterRole", "models-qwen3-epp")
    assert role["rules"] == [
        {
            "apiGroups": ["authentication.k8s.io"],
            "resources": ["tokenreviews"],
            "verbs": ["create"],
        },
        {
            "apiGroups": ["authorization.k8s.io"],
            "resources": ["subjectaccessreviews"],
            "verbs": ["create"],
        },
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ]
    binding = document(explicit, "ClusterRoleBinding", "models-qwen3-epp")
    assert binding["subjects"] == [ACCOUNT]
    assert binding["roleRef"]["kind"] == "ClusterRole"
    assert binding["roleRef"]["name"] == "models-qwen3-epp"
    assert "namespace" not in role["metadata"] | binding["metadata"]


POOL = {"inferencePool": {"endpointPicker": {}}}


@pytest.mark.parametrize(
    ("told", "endpoint"),
    [
        ({}, ("http", "/metrics", "30s")),
        ({"portName": "proxy", "path": "/m", "interval": "5s"}, ("proxy", "/m", "5s")),
        ({"portName": "", "path": "", "interval": ""}, ("http", "/metrics", "30s")),
    ],
)
@pytest.mark.parametrize("role", ["decode", "prefill"])
def test_pod_monitor(told, endpoint, role):
    monitoring = {"podMonitor": {"enabled": True, **told}}
    made = document(service(prefill={}, monitoring=monitoring), "PodMonitor", f"qwen3-{role}")
    port, path, interval = endpoint
    assert made["apiVersion"] == "monitoring.coreos.com/v1"
    assert made["spec"] == {
        "selector": {"matchLabels": labels.role_selector("qwen3", role)},
        "podMetricsEndpoints": [
            {
                "port": port,
                "path": path,
                "interval": interval,
                "relabelings": [
                    {
                        "action": "replace",
                        "sourceLabels": ["__meta_kubernetes_pod_label_app_kubernetes_io_name"],
                        "targetLabel": "model_service",
                    }
                ],
            }
        ],
    }


@pytest.mark.parametrize("auth", [True, False])
def test_service_monitor(auth):
    operator = replace(OPERATOR, metrics_endpoint_auth=auth)
    monitored = service(monitoring={"podMonitor": {"enabled": True}}, **POOL)
    made = document(monitored, "ServiceMonitor", "qwen3-epp", operator)
    credentials = {"name": "qwen3-epp-sa-metrics-reader-secret", "key": "token"}
    assert made["spec"] == {
        "selector": {"matchLabels": labels.epp_selector("qwen3")},
        "endpoints": [
            {
                "port": "http-metrics",
                "interval": "30s",
                **({"authorization": {"credentials": credentials}} if auth else {}),
            }
        ],
    }


@pytest.mark.parametrize(
    ("monitoring", "pod_monitors", "service_monitor"),
    [
        (None, True, False),
        ({}, True, False),
        ({"podMonitor": {}}, False, False),
        ({"podMonitor": {"interval": "15s"}}, False, False),
        ({"podMonitor": {"enabled": False}}, False, False),
        ({"podMonitor": {"enabled": True}}, True, True),
    ],
)
def test_which_there_are(monitoring, pod_monitors, service_monitor):
    """Of prefill only where there is prefill, of the endpoint picker only where a pool names one."""
    for prefill, pool in product([None, {}], [{}, POOL]):
        made = documents(service(monitoring=monitoring, prefill=prefill, **pool))
        wanted = {
            ("PodMonitor", "qwen3-decode"): pod_monitors,
            ("PodMonitor", "qwen3-prefill"): pod_monitors and prefill is not None,
            ("ServiceMonitor", "qwen3-epp"): service_monitor and bool(pool),
        }
        assert {key: key in made for key in wanted} == wanted, (prefill, pool)

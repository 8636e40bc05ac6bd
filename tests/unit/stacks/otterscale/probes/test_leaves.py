"""Drift of single fields: each one that the operator sets, and none that the API server fills in."""

import copy
from functools import reduce

import msgspec
import pytest

from reporter.stacks.otterscale.objects import Made
from tests.unit.stacks.otterscale.probes.otterscale import (
    EPP,
    IDLE,
    NAME,
    evaluation,
    found,
    healthy,
    one,
)

DECODE = "qwen3-decode"
RESOURCES = {"limits": {"cpu": "1000m", "memory": "1024Mi"}, "requests": {"cpu": "0.5"}}
SPEC = IDLE | {
    "decode": {
        "replicas": 0,
        "resources": RESOURCES,
        "annotations": {"team": "chat"},
        "nodeSelector": {"gpu": "h100"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
    },
    "engine": {
        "args": ["--api-key", "s3cret"],
        "env": [{"name": "HF_TOKEN", "value": "hf_x"}, {"name": "EMPTY", "value": ""}],
    },
    "httpRoute": {"gatewayRef": {"namespace": "gateways", "name": "inference"}, "hostnames": ["a"]},
}


def stored(**spec):
    """The cluster as a real API server keeps it, with its defaults and its forms of quantities."""
    docs = copy.deepcopy(healthy(**SPEC | spec))
    for doc in docs:
        match doc["kind"]:
            case "Deployment":
                _pods_filled_in(doc["spec"]["template"]["spec"])
                doc["spec"] |= {"revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}
            case "Service":
                doc["spec"] |= {"type": "ClusterIP", "clusterIP": "10.0.0.1"}
            case "HTTPRoute":
                doc["spec"]["rules"][0]["backendRefs"][0]["weight"] = 1
    return docs


def _pods_filled_in(pod):
    pod |= {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "x"}
    pod.setdefault("terminationGracePeriodSeconds", 30)
    for each in (*pod["containers"], *pod.get("initContainers", ())):
        each |= {
            "terminationMessagePath": "/dev/termination-log",
            "imagePullPolicy": "IfNotPresent",
        }
        for probe in ("readinessProbe", "livenessProbe"):
            if probe in each:
                each[probe] |= {"timeoutSeconds": 1, "failureThreshold": 3}
                each[probe] = {key: value for key, value in each[probe].items() if value != 0}
        limits = each.get("resources", {}).get("limits", {})
        if limits.get("cpu") == "1000m":
            limits |= {"cpu": "1", "memory": "1Gi"}
            each["resources"]["requests"] |= {"cpu": "500m", "memory": "1Gi"}


def test_defaults_and_forms_of_quantities_are_no_drift():
    assert found(stored()) == []


def at(doc, path):
    return reduce(lambda value, step: value[step], path, doc)


POD = ("spec", "template", "spec")
VLLM = (*POD, "containers", 0)
CHANGED = [
    ("Deployment", DECODE, (*VLLM, "resources", "limits"), "cpu", "2", "spec.template.spec.containers[vllm].resources.limits.cpu has 2 and should have 1000m"),
    ("Deployment", DECODE, (*VLLM, "resources", "requests"), "cpu", None, "spec.template.spec.containers[vllm].resources.requests.cpu has nothing and should have 0.5"),
    ("Deployment", DECODE, VLLM, "args", ["--api-key", "other"], "spec.template.spec.containers[vllm].args has (another one) and should have (as wanted)"),
    ("Deployment", DECODE, (*VLLM, "env", 3), "value", "hf_y", "spec.template.spec.containers[vllm].env[HF_TOKEN].value has (another one) and should have (as wanted)"),
    ("Deployment", DECODE, VLLM, "command", ["sleep"], "spec.template.spec.containers[vllm].command has (another one) and should have (as wanted)"),
    ("Deployment", DECODE, VLLM, "readinessProbe", {"httpGet": {"port": 1}}, "spec.template.spec.containers[vllm].readinessProbe has something and should have nothing"),
    ("Deployment", DECODE, (*VLLM, "volumeMounts", 0), "readOnly", False, "spec.template.spec.containers[vllm].volumeMounts[/models].readOnly has false and should have true"),
    ("Deployment", DECODE, (*POD, "nodeSelector"), "gpu", "a100", "spec.template.spec.nodeSelector.gpu has a100 and should have h100"),
    ("Deployment", DECODE, (*POD, "tolerations", 0), "key", "x", "spec.template.spec.tolerations[0].key has x and should have gpu"),
    ("Deployment", DECODE, POD, "affinity", {"nodeAffinity": {}}, "spec.template.spec.affinity has something and should have nothing"),
    ("Deployment", DECODE, (*POD, "securityContext"), "runAsNonRoot", None, "spec.template.spec.securityContext.runAsNonRoot has nothing and should have true"),
    ("Deployment", DECODE, ("spec", "template", "metadata", "annotations"), "team", "x", "spec.template.metadata.annotations.team has x and should have chat"),
    ("Deployment", DECODE, ("metadata", "labels"), "app.kubernetes.io/component", "x", "metadata.labels.app.kubernetes.io/component has x and should have model-decode"),
    ("Deployment", EPP, (*POD,), "terminationGracePeriodSeconds", 30, "spec.template.spec.terminationGracePeriodSeconds has 30 and should have 130"),
    ("Deployment", EPP, (*POD,), "serviceAccountName", "default", "spec.template.spec.serviceAccountName has default and should have qwen3-epp"),
    ("Deployment", EPP, ("spec", "strategy"), "type", "RollingUpdate", "spec.strategy.type has RollingUpdate and should have Recreate"),
    ("Deployment", EPP, (*POD, "containers", 0, "livenessProbe"), "periodSeconds", 1, "spec.template.spec.containers[epp].livenessProbe.periodSeconds has 1 and should have 10"),
    ("Deployment", EPP, (*POD, "volumes", 0, "configMap"), "name", "x", "spec.template.spec.volumes[epp-config].configMap.name has x and should have qwen3-epp-config"),
    ("Service", EPP, ("spec", "ports", 0), "targetPort", 1, "spec.ports[grpc-ext-proc].targetPort has 1 and should have 9002"),
    ("Service", EPP, ("metadata", "labels"), "app.kubernetes.io/name", None, "metadata.labels.app.kubernetes.io/name has nothing and should have qwen3-epp"),
    ("InferencePool", NAME, ("spec", "endpointPickerRef"), "failureMode", "FailClose", "spec.endpointPickerRef.failureMode has FailClose and should have FailOpen"),
    ("HTTPRoute", NAME, ("spec", "hostnames"), 0, "b", "spec.hostnames[0] has b and should have a"),
    ("HTTPRoute", NAME, ("spec", "rules", 0, "matches", 0, "headers", 0), "value", "x", "spec.rules[0].matches[0].headers[OtterScale-Model-Name].value has x and should have qwen3"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "path", "key", "value", "text"), CHANGED)
def test_a_field_that_differs_is_named(kind, name, path, key, value, text):
    """With what follows from it, and that the operator would have corrected it."""
    docs = stored()
    place = at(next(x for x in docs if (x["kind"], x["metadata"]["name"]) == (kind, name)), path)
    if value is None:
        del place[key]
    else:
        place[key] = value
    told = [each for each in evaluation(docs).findings if each.reason == "modelserviceDrift"]
    (drift,) = told
    assert drift.message.startswith(f"ModelService models/qwen3: {kind} {name} differs: {text} (")
    assert f"; the operator corrects {kind}s as soon as they change" in drift.message
    assert not {"s3cret", "hf_x", "hf_y"} & {*drift.message.replace("=", " ").split()}


@pytest.mark.parametrize("name", ["HF[0].x]TOKEN", "HOST"])
def test_a_value_is_hidden_whatever_its_variable_is_called(name):
    """Names of variables may have any printable character but `=`; one may be that of a harmless header."""
    docs = stored()
    for doc in docs:
        if doc["kind"] == "ModelService":
            doc["spec"]["engine"]["env"][0]["name"] = name
        elif doc["metadata"]["name"] == DECODE and doc["kind"] == "Deployment":
            at(doc, VLLM)["env"][3] |= {"name": name, "value": "hunter2hunter2"}
    text = one(docs, "Drift").message
    assert f"env[{name}].value has (another one) and should have (as wanted)" in text


@pytest.mark.parametrize("name", ["Authorization", "X-Tenant", "x-model", "]"])
def test_the_value_of_a_header_is_told_only_of_headers_known_to_be_harmless(name):
    """What a request has to bring may be what lets it in; the name of the header is enough."""
    docs = stored()
    route = next(each for each in docs if each["kind"] == "HTTPRoute")
    headers = route["spec"]["rules"][0]["matches"][0]["headers"]
    headers[:] = [{"name": name, "value": "hunter2hunter2"}]
    text = one(docs, "Drift").message
    path = "spec.rules[0].matches[0].headers"
    assert f"{path}[{name}] has an entry and should have nothing" in text
    assert f"{path}[OtterScale-Model-Name] has nothing and should have an entry" in text
    assert "hunter2" not in text


def test_the_values_of_headers_are_not_kept_either():
    """Whatever is compared later: what was never kept cannot be told."""
    spec = {
        "rules": [
            {
                "matches": [{"headers": [{"name": "X-Tenant", "value": "hunter2hunter2"}]}],
                "filters": [
                    {"requestHeaderModifier": {way: [{"name": "X-Key", "value": "hunter2hunter2"}]}}
                    for way in ("set", "add")
                ],
            }
        ],
        "containers": [
            {"httpGet": {"httpHeaders": [{"name": "X-Key", "value": "hunter2hunter2"}]}}
        ],
    }
    made = msgspec.convert({"metadata": {"name": "x"}, "spec": spec}, Made)
    assert "X-Tenant" in str(made.spec)
    assert "hunter2" not in str(made.spec)


def test_hostnames_that_nobody_asked_for():
    docs = stored(httpRoute={"gatewayRef": {"namespace": "gateways", "name": "inference"}})
    route = next(each for each in docs if each["kind"] == "HTTPRoute")
    route["spec"]["hostnames"] = ["b"]
    assert "spec.hostnames[0] has an entry and should have nothing" in one(docs, "Drift").message


def unpacked_by(script):
    docs = stored()
    for doc in docs:
        if doc["kind"] == "Deployment" and doc["metadata"]["name"] == DECODE:
            doc["spec"]["template"]["spec"]["initContainers"][0]["args"] = [script]
    return docs


@pytest.mark.parametrize(
    "script",
    [
        'kit unpack "$OCI_MODEL_IMAGE" -d "$MODEL_MOUNT_PATH"',
        "oras-like unpack registry/qwen3:v1 --to ${MODEL_MOUNT_PATH}",
        "masked-0123",
    ],
)
def test_the_script_that_unpacks_the_model_may_be_another_that_does_the_same(script):
    """Its text differs from release to release; the model and the place that it names do not."""
    assert found(unpacked_by(script)) == []


@pytest.mark.parametrize(
    ("script", "lacks"),
    [
        ("exit 0", "unpack, OCI_MODEL_IMAGE, MODEL_MOUNT_PATH"),
        ('kit unpack elsewhere/m:v2 -d "$MODEL_MOUNT_PATH"', "OCI_MODEL_IMAGE"),
        ('kit unpack "$OCI_MODEL_IMAGE" -d /tmp', "MODEL_MOUNT_PATH"),
    ],
)
def test_a_script_that_does_something_else_is_drift(script, lacks):
    """Not compared by its text, but by its parts."""
    message = one(unpacked_by(script), "Drift").message
    assert f"initContainers[model-unpack].args does not mention {lacks}, so" in message
    assert "elsewhere/m" not in message


def test_what_a_dump_has_masked_is_not_compared():
    docs = stored()
    vllm = at(next(x for x in docs if x["metadata"]["name"] == DECODE), VLLM)
    vllm["args"] = ["masked-0123"]
    vllm["env"][3] = {"name": "HF_TOKEN", "value": "masked-0123"}
    assert found(docs) == []

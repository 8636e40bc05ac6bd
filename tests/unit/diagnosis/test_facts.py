"""What objects add to the cause that a log names, and what they must not add."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from reporter.catalogue.resources import PODS
from reporter.diagnosis.case import Case
from reporter.diagnosis.facts import _SETTINGS, facts_of
from reporter.diagnosis.pod import diagnose
from reporter.diagnosis.signatures import built_in
from reporter.model.evidence import ForeignEvent, LogCause
from reporter.model.objects.pods import FLAGS, SETTINGS
from reporter.model.subject import ObjectRef
from tests.unit.diagnosis.building import cluster, node
from tests.unit.probes.building import condition, document, merged


def pod(name="m", *, labels=None, ready="False", spec=None, **container):
    main = {"name": "main", "image": "engine:v1", **container}
    return document(
        "Pod", name, "ns",
        {
            "metadata": {"labels": labels or {}},
            "spec": {"nodeName": "n1", "containers": [main], **(spec or {})},
            "status": {"phase": "Running", "conditions": [condition("Ready", ready)]},
        },
    )  # fmt: skip


def variables(**named):
    return {"env": [{"name": name, "value": value} for name, value in named.items()]}


def told(signature, *docs, **values):
    snapshot = cluster(*docs)
    of = snapshot[PODS].get("ns", "m")
    log = LogCause(signature=signature, values=values)
    return "".join(each.clause for each in facts_of(Case(of, snapshot), "main", log))


def test_each_row_is_of_a_signature_and_of_a_variable_that_is_read():
    known = {each.id for each in built_in()}
    assert set(_SETTINGS) <= known
    named = {name for rows in _SETTINGS.values() for each in rows for name in each.names}
    assert named <= SETTINGS | FLAGS


@pytest.mark.parametrize(
    ("signature", "given", "clause"),
    [
        ("memlock", {"NCCL_BUFFSIZE": "536870912"}, ", and NCCL_BUFFSIZE is set to 536870912"),
        ("hf-mirror", {"HF_ENDPOINT": "https://mirror.corp/hf"}, ", and HF_ENDPOINT is set to mirror.corp"),
        ("hf-mirror", {"HF_ENDPOINT": "https://user:word@mirror.corp"}, ", and HF_ENDPOINT is set"),
        ("memlock", {"NCCL_BUFFSIZE": "masked-1f2e3d4c"}, ", and NCCL_BUFFSIZE is set"),
        ("hf-repo", {"VLLM_USE_MODELSCOPE": "True"}, ": Hugging Face is asked although VLLM_USE_MODELSCOPE is set"),
        ("hf-repo", {"VLLM_USE_MODELSCOPE": "0"}, ""),
        ("hf-repo", {"VLLM_USE_MODELSCOPE": "masked-1f2e3d4c"}, ""),
        ("dynamo-routers", {"DYN_NAMESPACE": "a b"}, ""),
        ("memlock", {"VLLM_HOST_IP": "10.0.0.1"}, ""),
        ("memlock", {"NCCL_BUFFSIZE": ""}, ""),
        ("gpu-none", {"NVIDIA_VISIBLE_DEVICES": "all"}, ""),
        ("gpu-none", {"CUDA_VISIBLE_DEVICES": ""}, ", and CUDA_VISIBLE_DEVICES is set to nothing, which hides every GPU"),
    ],
)  # fmt: skip
def test_a_setting(signature, given, clause):
    """A value is told only if it is a plain word and certainly no credential."""
    assert told(signature, pod(**variables(**given))) == clause


def test_other_variables_are_not_kept():
    """There are many, and some are passwords."""
    of = cluster(pod(**variables(AWS_SECRET_ACCESS_KEY="word", NCCL_BUFFSIZE="1")))[PODS].get(
        "ns", "m"
    )
    assert [each.name for each in of.spec.containers[0].env] == ["NCCL_BUFFSIZE"]


@pytest.mark.parametrize(
    ("given", "clause"),
    [
        ({"args": ["--port", "9000"], **variables(VLLM_PORT="9000")}, ": --port and VLLM_PORT both give 9000"),
        ({"args": ["--port=9000", "--data_parallel_rpc_port", "9000"]}, ": --data-parallel-rpc-port and --port both give 9000"),
        ({"command": ["sh", "-c", "exec vllm serve m --port '9000' --master-port 9000"]}, ": --master-port and --port both give 9000"),
        ({"args": ["--port", "9000"], **variables(VLLM_PORT="8000")}, ""),
        ({"args": ["--port", "9000", "--max-model-len", "9000"]}, ""),
        ({"command": ["sh", "-c", "a --port 9000 --nccl-port 9000 & b --port 9001"]}, ""),
        ({"args": ["--port", "--master-port"]}, ""),
        ({"args": []}, ""),
    ],
)  # fmt: skip
def test_a_port_that_is_given_twice(given, clause):
    assert told("port", pod(**given), port="9000") == clause


def test_a_port_of_another_container():
    beside = {"name": "proxy", "image": "p:v1", "ports": [{"containerPort": 9000}]}
    two = pod(spec={"containers": [{"name": "main", "image": "engine:v1"}, beside]})
    assert told("port", two, port="9000") == "; container proxy has it too"
    assert told("port", two, port="9001") == ""


def test_of_the_command_only_known_flags_are_kept():
    """There are many words, and some are passwords."""
    of = cluster(pod(args=["--api-key", "word", "--model=a/b"]))[PODS].get("ns", "m")
    main = of.spec.containers[0]
    assert (main.args, main.command, main.flags) == (None, None, (("--model", "a/b"),))


@pytest.mark.parametrize(
    ("signature", "args", "clause"),
    [
        ("v-kv-none", ["--gpu-memory-utilization", "0.95"], "; --gpu-memory-utilization is 0.95"),
        ("ks-s3-keys", ["--model", "s3://models/tiny"], "; --model is models/tiny"),
        ("tr-client", ["--model-store=gs://b/r"], "; --model-store is b/r"),
        ("v-kv-none", ["--gpu-memory-utilization", "$(SHARE) x"], ""),
    ],
)
def test_a_flag(signature, args, clause):
    assert told(signature, pod(args=args)) == clause


def test_what_another_image_would_mend_names_the_image():
    assert told("v-args", pod()) == "; its image is engine:v1"
    assert told("v-len-config", pod()) == ""


def test_a_module_that_a_setting_asks_for():
    hub = pod(**variables(VLLM_USE_MODELSCOPE="True"))
    assert told("no-module", hub, mod="modelscope") == ", which VLLM_USE_MODELSCOPE asks for"
    assert told("no-module", hub, mod="ray") == told("no-module", pod(), mod="modelscope") == ""


@pytest.mark.parametrize(
    ("path", "mounts", "clause"),
    [
        ("/models/a", [{"name": "v", "mountPath": "/models"}], "; volume v is mounted at /models"),
        ("/models/a", [{"name": "v", "mountPath": "/models/b"}], "; the pod mounts /models/b, not that"),
        ("/models/a", [{"name": "v", "mountPath": "/data"}], "; no volume is mounted there"),
        ("a/b", [], ""),
    ],
)  # fmt: skip
def test_where_a_model_should_be(path, mounts, clause):
    assert told("hf-id", pod(volumeMounts=mounts), path=path) == clause


def test_a_file_of_the_image_has_no_volume():
    assert told("no-file", pod(), path="/app/x") == ""


def test_a_value_from_elsewhere_is_not_known():
    """A variable without a value may come from a ConfigMap, and then it hides nothing."""
    env = [
        {
            "name": "CUDA_VISIBLE_DEVICES",
            "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}},
        }
    ]
    assert told("gpu-none", pod(env=env)) == ""


@pytest.mark.parametrize(
    ("signature", "path", "clause"),
    [
        ("hf-space", "/cache/hub/models--a", "; volume models is mounted at /cache"),
        ("hf-space", "/cached/hub", ""),
        ("not-permitted", "/cache/a", "; volume models is mounted at /cache"),
    ],
)
def test_the_volume_of_a_path(signature, path, clause):
    mounts = [{"name": "models", "mountPath": "/cache"}, {"name": "root", "mountPath": "/x"}]
    assert told(signature, pod(volumeMounts=mounts), path=path) == clause


def test_a_library_that_only_root_may_read():
    """The loader says that it does not find what it may not enter."""
    assert told("no-library", pod(securityContext={"runAsUser": 1000})) == (
        ", or its user 1000 may not read it"
    )
    assert told("no-library", pod(securityContext={"runAsUser": 0})) == ""
    assert told("no-library", pod()) == ""


def test_a_memory_limit():
    limited = pod(resources={"limits": {"memory": "4Gi"}})
    assert told("ray-late", limited) == "; its memory limit is 4Gi"
    assert told("ray-late", pod()) == ""
    assert told("v-worker-killed", limited) == "; its memory limit is 4Gi"
    assert told("v-worker-killed", pod()) == "; it has no memory limit"


def test_a_gpu_that_is_given_and_not_seen():
    """GKE mounts the driver's libraries, and has no runtime class for them."""
    given = pod(resources={"limits": {"nvidia.com/gpu": "1"}})
    assert "no runtimeClassName" in told("gpu-none", given, node("n1"))
    at_google = node("n1", labels={"cloud.google.com/gke-accelerator": "nvidia-l4"})
    assert "library path of the image may lack" in told("gpu-none", given, at_google)
    assert told("gpu-none", pod(), at_google) == ""


@pytest.mark.parametrize(
    ("path", "mounts", "group", "clause"),
    [
        ("/models/a", [{"name": "v", "mountPath": "/models"}], 102, "although the pod has fsGroup 102: the volume at /models may not"),
        ("/models/a", [{"name": "v", "mountPath": "/models"}], None, ""),
        ("/modelsets/a", [{"name": "v", "mountPath": "/models"}], 102, ""),
        ("/root/.cache", [{"name": "v", "mountPath": "/models/"}], 102, ""),
    ],
)  # fmt: skip
def test_a_group_that_a_volume_ignores(path, mounts, group, clause):
    spec = {"securityContext": {"fsGroup": group}} if group else {}
    found = told("denied", pod(volumeMounts=mounts, spec=spec), path=path)
    assert clause in found
    assert bool(clause) == bool(found)


def test_a_volume_that_is_not_the_claim():
    """The claim and its driver are told of the mount that has them, not of a cache beside it."""
    volumes = [
        {"name": "cache", "emptyDir": {}},
        {"name": "weights", "persistentVolumeClaim": {"claimName": "llama"}},
    ]
    mounts = [
        {"name": "cache", "mountPath": "/cache"},
        {"name": "weights", "mountPath": "/models"},
    ]
    claim = document("PersistentVolumeClaim", "llama", "ns", {"spec": {"volumeName": "pv-1"}})
    bound = document("PersistentVolume", "pv-1", "", {"spec": {"csi": {"driver": "efs.example"}}})
    docs = (pod(volumeMounts=mounts, spec={"volumes": volumes}), claim, bound)
    assert told("hf-id", *docs, path="/models/a").startswith("; volume weights (claim llama)")
    assert told("hf-id", *docs, path="/cache/a") == "; volume cache is mounted at /cache"
    assert "weights (efs.example) is" in told("hf-space", *docs, path="/models/a")
    assert told("hf-space", *docs, path="/cache/a") == "; volume cache is mounted at /cache"


@pytest.mark.parametrize(("minutes", "said"), [(1, "the kernel ended odd"), (50, "is killed for")])
def test_a_node_that_ran_out_of_memory_at_another_time(minutes, said):
    """An Event lasts an hour: an earlier one is about another process."""
    end = datetime(2026, 11, 24, 9, tzinfo=UTC)
    terminated = {"exitCode": 137, "reason": "OOMKilled", "finishedAt": end.isoformat()}
    state = {"name": "main", "ready": False, "restartCount": 1, "state": {"terminated": terminated}}
    snapshot = cluster(merged(pod(), {"status": {"containerStatuses": [state]}}))
    event = ForeignEvent(
        about=ObjectRef("v1", "Node", "", "n1"), reason="SystemOOM",
        message="victim process: odd, pid: 4", last=end - timedelta(minutes=minutes),
    )  # fmt: skip
    evidence = replace(snapshot.evidence, events={("", "Node", "n1"): (event,)})
    snapshot = replace(snapshot, evidence=evidence)
    assert said in diagnose(snapshot[PODS].get("ns", "m"), snapshot).cause


def test_a_mount_that_is_read_only():
    mounts = [{"name": "v", "mountPath": "/models", "readOnly": True}]
    assert (
        told("read-only", pod(volumeMounts=mounts), path="/models/x")
        == ": the pod mounts /models with readOnly"
    )
    assert told("read-only", pod(volumeMounts=mounts), path="/tmp/x") == ""


def service(name, **selector):
    return document(
        "Service", name, "ns", {"spec": {"selector": selector, "ports": [{"port": 80}]}}
    )


def test_a_service_without_a_ready_pod():
    cache = service("cache", app="cache")
    asks = pod(**variables(LMCACHE_REMOTE_URL="lm://cache:81"))
    said = ": Service cache, which LMCACHE_REMOTE_URL names, has no ready pod"
    assert told("refused", asks, cache) == said
    assert told("refused", asks, cache, ip="10.0.0.9") == said
    assert told("refused", asks, cache, ip="127.0.0.1") == ""
    assert told("refused", asks, cache, pod("c", labels={"app": "cache"}, ready="True")) == ""
    assert told("refused", asks) == ""
    assert (
        told("address", pod(), cache, host="cache.ns.svc:81") == ": Service cache has no ready pod"
    )
    assert told("address", pod(), cache, host="cache.elsewhere:81") == ""


def test_the_service_of_the_pod_itself():
    """That it has no ready pod is no cause: the pod is the one that is not ready."""
    own = service("m", app="m")
    assert told("address", pod(labels={"app": "m"}), own, host="m:80") == ""


def test_a_host_elsewhere_or_a_service_that_leads_to_unready_pods():
    """A name of the Internet is of no namespace, and unready pods are asked on purpose."""
    cache = service("cache", app="cache")
    assert told("address", pod(), cache, host="cache.ns.example.com:81") == ""
    assert told("address", pod(), cache, host="cache.ns.svc.cluster.local") != ""
    early = merged(cache, {"spec": {"publishNotReadyAddresses": True}})
    assert told("address", pod(), early, host="cache:81") == ""

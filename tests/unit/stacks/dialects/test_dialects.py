"""Kinds that need no code: those that are shipped, and a user's own."""

import json
from pathlib import Path

import pytest
import yaml

from reporter.cli.configure import load_settings
from reporter.errors import UsageError
from reporter.evaluation import evaluate
from reporter.resolution import Memory, resolve
from reporter.stacks.dialects.reading import shipped
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import rows
from tests.unit.conftest import EXAMPLES
from tests.unit.docs.pages import ROOT
from tests.unit.probes.building import (
    at,
    condition,
    deployment,
    document,
    merged,
    namespace,
    pod,
    snapshot_of,
)

FOLDER = EXAMPLES / "dialects"
TOLD = yaml.safe_load(Path(__file__).with_name("told.yaml").read_text(encoding="utf-8"))
KINDS = {str(each.subject_kind): each for each in shipped()}
LATER = 4 * 3600
"""Past every grace and budget."""


@pytest.fixture(name="checked")
def _checked(run):
    """What `check` says of a dump: of each model the reasons that fire, and all the models that are ready."""

    def checked(kind, name):
        _, out, _ = run("check", "--from", str(FOLDER / kind / f"{name}.yaml"), "-o", "json")
        told = json.loads(out)
        fires = {}
        for each in told["findings"]:
            if each["disposition"] == "firing":
                model = each["subject"].rpartition("/")[2][:10]
                fires.setdefault(model, set()).add(each["reason"].removeprefix(kind))
        return fires, {each["subject"].rpartition("/")[2] for each in told["ready"]}

    return checked


def test_all_have_an_example():
    assert KINDS.keys() == {each.name for each in FOLDER.iterdir() if each.is_dir()}


@pytest.mark.parametrize("kind", KINDS)
def test_it_serves(checked, kind):
    """Without a word; of a RayService one worker does, and others may wait for ever."""
    assert checked(kind, "healthy") == ({}, {"llama"})


@pytest.mark.parametrize("kind", KINDS)
def test_what_users_reported(checked, kind):
    """Three faults of each; a Model of KubeAI that its controller lost track of serves."""
    fires, ready = checked(kind, "faults")
    wanted = TOLD["reported"][kind]
    assert fires == {model: {*reasons.split()} for model, reasons in wanted.items() if reasons}
    assert ready == {model for model, reasons in wanted.items() if not reasons}


def healthy(kind, change=lambda doc: doc):
    """The documents of a healthy dump, each as `change` returns it; None leaves it out."""
    text = (FOLDER / kind / "healthy.yaml").read_text(encoding="utf-8")
    return [new for each in yaml.safe_load_all(text) if (new := change(each))]


def report(docs):
    """What is reported once it has lasted."""
    settings, memory, snapshot = FullEvaluationSettings(), Memory(), snapshot_of(*docs)
    for seconds in (0, LATER):
        done = resolve(
            evaluate(snapshot, settings), snapshot, memory, now=at(seconds), settings=settings
        )
        memory = done.memory
    return done.report


def firing(told, kind):
    found = [each for each in told.findings if each.subject.kind == kind]
    return {each.reason.removeprefix(kind) for each in found if each.disposition == "firing"}


def crashing(container):
    return {"status": {"conditions": [condition("Ready", "False")], "containerStatuses": [{
        "name": container, "ready": False, "restartCount": 5,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}},
    }]}}  # fmt: skip


def unschedulable(_):
    text = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
    scheduled = condition("PodScheduled", "False", "Unschedulable", text)
    return {"status": {"phase": "Pending", "conditions": [scheduled], "containerStatuses": None}}


def unready(container):
    return {"status": {"conditions": [condition("Ready", "False")], "containerStatuses": [
        {"name": container, "ready": False, "restartCount": 0, "state": {"running": {"startedAt": "2026-11-20T11:50:00Z"}}}
    ]}}  # fmt: skip


FAULTS = {
    "a crash": (crashing, "ModelLoadFailed"),
    "no node": (unschedulable, "PodsNotReady"),
    "never ready": (unready, "PodsNotReady"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", KINDS)
def test_pods_are_believed(kind, fault):
    """Whatever its controller claims, and that it claims so is told, where the kind has a status that can."""
    patch, reason = FAULTS[fault]

    def broken(doc):
        is_pod = doc["kind"] == "Pod"
        return merged(doc, patch(doc["spec"]["containers"][0]["name"])) if is_pod else doc

    told = report(healthy(kind, broken))
    stale = {"StatusStale"} if kind != "kubeaimodel" else set()
    assert firing(told, kind) == {reason} | stale
    assert not [each for each in told.ready if each.subject.kind == kind]


@pytest.mark.parametrize("kind", KINDS)
def test_refused_pods(kind):
    """The quota is named where anybody says so, else that pods are missing."""
    teller = TOLD["tells-of-refused-pods"].get(kind)
    quota = condition("ReplicaFailure", "True", "FailedCreate", "exceeded quota: gpus")

    def refused(doc):
        tells = doc["kind"] == teller and "ownerReferences" in doc["metadata"]
        patched = merged(doc, {"status": {"replicas": 0, "conditions": [quota]}}) if tells else doc
        return None if doc["kind"] == "Pod" else patched

    told = report(healthy(kind, refused))
    found = [each for each in told.findings if each.reason == f"{kind}PodsNotCreated"]
    assert found
    assert {each.disposition for each in found} == {"firing"}
    assert any("exceeded quota" in each.message for each in found) is bool(teller)


@pytest.mark.parametrize("row", TOLD["claims"], ids=lambda row: f"{row['kind']}: {row['says']}")
def test_what_no_pod_shows(row):
    """The controller's own words; of those that are working, once the start-up budget is over."""

    def patched(doc):
        patch = row["patches"].get(doc["kind"], {})
        return None if patch is None else merged(doc, patch)

    told = report(healthy(row["kind"], patched))
    found = [each for each in told.findings if each.disposition == "firing"]
    assert [each.reason for each in found] == [f"{row['kind']}{row['reason']}"]
    assert row["says"] in found[0].message


HERE = Path(__file__).parent
EXAMPLE = str(ROOT / "examples" / "dialects" / "chatserver.yaml")
OWN = yaml.safe_load(Path(EXAMPLE).read_text(encoding="utf-8"))
WRONG = yaml.safe_load((HERE / "wrong.yaml").read_text(encoding="utf-8"))
SETTINGS = load_settings({"dialects": EXAMPLE})
DECLARED = [each for each in SETTINGS.catalogue.resources if each.stack == "dialects"]


def report_of(*docs, seconds=0, settings=SETTINGS, declared=DECLARED):
    """What is reported of some objects, `seconds` after they were first seen."""
    docs = (namespace("chat"), *docs)
    served = {*map(str, settings.catalogue.resources)}
    snapshot = snapshot_of(*docs, declared=declared, served=served)
    memory = Memory()
    for each in (0, seconds):
        done = resolve(
            evaluate(snapshot, settings), snapshot, memory, now=at(each), settings=settings
        )
        memory = done.memory
    return done.report


def server(*patches, status="True", reason="Deployed", message=""):
    base = {
        "apiVersion": "acme.example.org/v1",
        "metadata": {"generation": 1},
        "spec": {"replicas": 1},
        "status": {"observedGeneration": 1, "conditions": [condition("Ready", status, reason, message)]},
    }  # fmt: skip
    return document("ChatServer", "llama", "chat", base, *patches)


LABELS = {"metadata": {"labels": {"acme.example.org/server": "llama"}}}
PODS = (deployment("chat", "llama-server"), pod("chat", "llama-1", "llama", LABELS))


def told(done):
    return {each.reason: each.message for each in done.findings if each.disposition == "firing"}


@pytest.mark.parametrize("row", WRONG, ids=lambda row: row["says"])
def test_each_mistake_is_one_line(tmp_path, row):
    """Where, and what is wrong there; the file and how it was named come first."""
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(merged(OWN, row["patch"])))
    with pytest.raises(UsageError) as refused:
        load_settings({"dialects": str(path)})
    text = str(refused.value)
    assert text.startswith("--dialects: ")
    assert row["says"] in text
    assert "\n" not in text


DOWN = deployment("acme", "chat-operator", {"status": {"availableReplicas": 0}}, ready=0)
WAITS = server(status="False", reason="Deploying")
FAILED = {"status": "False", "reason": "Failed", "message": "no licence"}


@rows(
    ("docs", "seconds", "reasons"),
    {
        "it serves": ([server(), *PODS], 0, set()),
        "not ready yet, within the budget": ([WAITS, *PODS], 600, set()),
        "not ready after it, as no pod says why": ([WAITS, *PODS], 7200, {"chatserverNotReady"}),
        "its controller's words": ([server(**FAILED), *PODS, DOWN], 120, {"chatserverReconcileFailed"}),
        "without replicas no claim counts": ([server({"spec": {"replicas": 0}}, **FAILED)], 7200, set()),
        "nor for one that is stopped": ([server({"spec": {"stopped": True}}, **FAILED)], 7200, {"chatserverStopped"}),
        "a spec that nobody looked at": ([server({"metadata": {"generation": 2}}), *PODS], 600, {"chatserverStatusStale"}),
        "what is no model": ([server({"spec": {"dryRun": True}}, **FAILED)], 7200, set()),
    },
)  # fmt: skip
def test_an_own_kind(docs, seconds, reasons):
    """With its controller's words, and that the controller itself is down."""
    done = report_of(*docs, seconds=seconds)
    assert told(done).keys() == reasons
    if DOWN in docs:
        message = told(done)["chatserverReconcileFailed"]
        assert "Ready is False" in message
        assert "no licence" in message
        assert "its controller, Deployment acme/chat-operator, is not available: " in message
    if not seconds:
        ready = [each.reason for each in done.ready if each.subject.kind == "chatserver"]
        assert ready == ["chatserverReady"]


def test_pods_that_a_controller_that_is_down_does_not_make():
    """The finding is about the controller too, so that its log is read."""
    done = report_of(server(), DOWN, seconds=3600)
    (found,) = (each for each in done.findings if each.reason == "chatserverPodsNotCreated")
    assert str(found.related) == "Deployment acme/chat-operator"


@pytest.mark.parametrize("moved", [False, True])
def test_a_controller_that_has_moved(moved):
    """What is left of it where it was wants no pods."""
    status = {"metadata": {"generation": 2}, "status": {"observedGeneration": 1}}
    left = deployment("ray", "kuberay-operator", ready=0, wanted=0)
    now = [deployment("ray-system", "kuberay-operator")] if moved else []
    done = report_of(document("RayService", "ray", "chat", status), left, *now, seconds=3600)
    said = [each.message for each in done.findings]
    assert any("controller, Deployment ray/kuberay-operator" in each for each in said) is not moved


OWNED = {"metadata": {"ownerReferences": [{"apiVersion": "acme.example.org/v1", "kind": "ChatServer", "name": "llama", "uid": "uid-llama", "controller": True}]}}  # fmt: skip


def test_nothing_is_judged_twice():
    """What it made is its own, of another dialect, of a stack and plain; unless it is no model itself."""
    engine = {
        "spec": {
            "template": {"spec": {"containers": [{"name": "vllm", "image": "vllm/vllm-openai"}]}}
        }
    }
    made = (
        document("RayService", "llama", "chat", {"apiVersion": "ray.io/v1"}, OWNED),
        document(
            "InferenceService", "llama", "chat", {"apiVersion": "serving.kserve.io/v1beta1"}, OWNED
        ),
        merged(deployment("chat", "llama-server"), engine, OWNED),
    )

    def judged(*patches):
        done = report_of(server(*patches), *made, PODS[1])
        return {each.kind for each in done.subjects if each.name.startswith("llama")}

    assert judged() == {"chatserver"}
    assert judged({"spec": {"dryRun": True}}) == {"rayservice", "inferenceservice"}


def test_both_versions_of_a_dynamo_graph():
    """A list of components, or a map of services: the same roles."""
    old = {
        "apiVersion": "nvidia.com/v1alpha1",
        "spec": {"services": {
            "Frontend": {"componentType": "frontend"},
            "Decode": {"componentType": "worker", "subComponentType": "decode", "multinode": {"nodeCount": 2}},
        }},
    }  # fmt: skip
    pods = [
        pod("chat", f"p{number}", "p", {"metadata": {"labels": {"nvidia.com/dynamo-graph-deployment-name": "g", "nvidia.com/dynamo-component": role}}})
        for number, role in enumerate(("Frontend", "Decode", "Decode"))
    ]  # fmt: skip
    graph = document("DynamoGraphDeployment", "g", "chat", old)
    ready = [each.message for each in report_of(graph, *pods).ready if each.subject.name == "g"]
    assert ready == ["DynamoGraphDeployment chat/g is ready: Decode 1/1 ready, Frontend 1/1 ready"]
    assert [each for each in report_of(graph, *pods[:2]).ready if each.subject.name == "g"] == []


def test_explain_says_what_the_paths_find(run, tmp_path):
    """What was never found, and what the schema of the CRD does not have."""
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "chatservers.acme.example.org"},
        "spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"properties": {"spec": {"properties": {"replicas": {}}}}}}}]},
    }  # fmt: skip
    dump = tmp_path / "dump.json"
    dump.write_text(
        "\n".join(
            map(
                json.dumps,
                (server(), server({"metadata": {"name": "try"}, "spec": {"dryRun": True}}), crd),
            )
        )
    )
    _, out, _ = run("explain", "--dialects", EXAMPLE, "--from", str(dump))
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in out.splitlines()}
    assert lines[".spec.replicas"] == "in 2, such as 1"
    assert lines[".spec.stopped"] == "never found; not in the schema of its CRD"
    assert lines[".status.conditions[type=Ready]"].startswith("in 2, such as ")
    assert "chat/try is not a model: nothing is made" in out


def test_explain_knows_the_reasons_of_a_file(run):
    """By the word of its subject."""
    status, out, _ = run("explain", "chatserverNotReady", "--dialects", EXAMPLE)
    assert status == 0
    assert "The ChatServer is not ready" in out


def test_a_model_without_a_role_that_is_known_is_neither_idle_nor_ready():
    """What its controller says still counts."""
    group = document("RoleBasedGroup", "g", "chat", {
        "apiVersion": "workloads.x-k8s.io/v1alpha2",
        "spec": {"roles": [{"name": "a", "replicas": 1, "customComponentsPattern": {}}]},
        "status": {"conditions": [condition("Ready", "False", "RoleNotReady")]},
    })  # fmt: skip
    done = report_of(group, seconds=7200)
    assert told(done).keys() == {"rolebasedgroupNotReady"}
    assert [each.state for each in done.states if each.subject.name == "g"] == ["unknown"]

"""A dialect of the user's own: what is wrong with it, and what it makes of a cluster."""

import json
from pathlib import Path

import pytest
import yaml

from reporter.cli.configure import load_settings
from reporter.errors import UsageError
from reporter.evaluation import evaluate
from reporter.resolution import Memory, resolve
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

FOLDER = Path(__file__).parent
EXAMPLE = str(ROOT / "examples" / "dialects" / "chatserver.yaml")
OWN = yaml.safe_load(Path(EXAMPLE).read_text(encoding="utf-8"))
WRONG = yaml.safe_load((FOLDER / "wrong.yaml").read_text(encoding="utf-8"))
SETTINGS = load_settings({"dialects": EXAMPLE})
DECLARED = [each for each in SETTINGS.catalogue.resources if each.stack == "dialects"]


def report(*docs, seconds=0, settings=SETTINGS, declared=DECLARED):
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


def test_it_serves():
    done = report(server(), *PODS)
    assert told(done) == {}
    assert [each.reason for each in done.ready if each.subject.kind == "chatserver"] == [
        "chatserverReady"
    ]


def test_what_its_controller_tells():
    """A fault after its grace, with its words, and that the controller itself is down."""
    down = merged(
        deployment("acme", "chat-operator", ready=0), {"status": {"availableReplicas": 0}}
    )
    failed = server(status="False", reason="Failed", message="no licence")
    done = report(failed, *PODS, down, seconds=120)
    message = told(done)["chatserverReconcileFailed"]
    assert "Ready is False" in message
    assert "no licence" in message
    assert "its controller, Deployment acme/chat-operator, is not available" in message


def test_not_ready_yet_is_silent_within_the_budget():
    """Afterwards it is told, as no pod says why."""
    waits = server(status="False", reason="Deploying")
    assert told(report(waits, *PODS, seconds=600)) == {}
    assert told(report(waits, *PODS, seconds=7200)).keys() == {"chatserverNotReady"}


@pytest.mark.parametrize(
    ("patch", "reasons"),
    [({"spec": {"replicas": 0}}, set()), ({"spec": {"stopped": True}}, {"chatserverStopped"})],
)
def test_without_replicas_no_claim_counts(patch, reasons):
    done = report(server(patch, status="False", reason="Failed"), seconds=7200)
    assert told(done).keys() == reasons


def test_a_spec_that_nobody_looked_at():
    done = report(server({"metadata": {"generation": 2}}), *PODS, seconds=600)
    assert told(done).keys() == {"chatserverStatusStale"}


def test_what_is_no_model_is_not_judged():
    done = report(server({"spec": {"dryRun": True}}, status="False", reason="Failed"), seconds=7200)
    assert told(done) == {}


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
        done = report(server(*patches), *made, PODS[1])
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
    ready = [each.message for each in report(graph, *pods).ready if each.subject.name == "g"]
    assert ready == ["DynamoGraphDeployment chat/g is ready: Decode 1/1 ready, Frontend 1/1 ready"]
    assert [each for each in report(graph, *pods[:2]).ready if each.subject.name == "g"] == []


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
    assert "chat/try is no model: nothing is made" in out


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
    done = report(group, seconds=7200)
    assert told(done).keys() == {"rolebasedgroupNotReady"}
    assert [each.state for each in done.states if each.subject.name == "g"] == ["unknown"]

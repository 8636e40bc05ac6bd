"""Each shipped kind: it serves; and what fails of it is told though its controller says Ready."""

from pathlib import Path

import pytest
import yaml

from reporter.evaluation import evaluate
from reporter.resolution import Memory, resolve
from reporter.stacks.dialects.reading import shipped
from reporter.stacks.settings import FullEvaluationSettings
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

KINDS = yaml.safe_load(Path(__file__).with_name("kinds.yaml").read_text(encoding="utf-8"))
LATER = 4 * 3600
"""Past every grace and budget."""


def cluster(kind, *, pods=(), patches=None, without=False, row=None):
    """A namespace with the model of a kind; `pods` are patches of those that answer, `patches` of others."""
    claimed, row = row or {}, KINDS[kind]
    patches = patches or claimed.get("other", {})
    docs = [
        merged(
            document(row["object"]["kind"], "llm", "chat"), row["object"], claimed.get("object", {})
        )
    ]
    if "deployment" in claimed:
        docs.append(deployment(*claimed["deployment"].split("/"), ready=0))
    for other in row.get("others", ()):
        name = other["metadata"]["name"]
        if patches.get(other["kind"], {}) is None:
            continue
        docs.append(
            merged(document(other["kind"], name, "chat"), other, patches.get(other["kind"], {}))
        )
    for each in row.get("deployments", ()):
        labels = {"metadata": {"labels": each["labels"]}}
        docs.append(
            deployment("chat", each["name"], labels, patches.get(f"Deployment {each['name']}", {}))
        )
    for number, each in enumerate(row["pods"]):
        answers = not each.get("beside") and not each.get("beyond")
        if without and answers:
            continue
        shape = {
            "metadata": {"labels": each["labels"]},
            "spec": {"containers": [{"name": each["container"]}]},
            "status": {
                "containerStatuses": [
                    {
                        "name": each["container"],
                        "ready": True,
                        "restartCount": 0,
                        "state": {"running": {"startedAt": "2026-11-20T11:50:00Z"}},
                    }
                ]
            },
        }
        broken = pods if not each.get("beside") else ()
        docs.append(
            merged(
                pod("chat", f"llm-{number}", "llm"),
                shape,
                *[one(each["container"]) for one in broken],
            )
        )
    return snapshot_of(namespace("chat"), *docs)


def crashing(container):
    return {"status": {"conditions": [condition("Ready", "False")], "containerStatuses": [{
        "name": container, "ready": False, "restartCount": 5,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}},
    }]}}  # fmt: skip


def unschedulable(_):
    scheduled = condition(
        "PodScheduled",
        "False",
        "Unschedulable",
        "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
    )
    return {"status": {"phase": "Pending", "conditions": [scheduled], "containerStatuses": None}}


def unready(container):
    return {"status": {"conditions": [condition("Ready", "False")], "containerStatuses": [
        {"name": container, "ready": False, "restartCount": 0, "state": {"running": {"startedAt": "2026-11-20T11:50:00Z"}}}
    ]}}  # fmt: skip


def report(snapshot):
    """What is reported once it has lasted."""
    settings = FullEvaluationSettings()
    memory = Memory()
    for seconds in (0, LATER):
        done = resolve(
            evaluate(snapshot, settings), snapshot, memory, now=at(seconds), settings=settings
        )
        memory = done.memory
    return done.report


def firing(told, kind):
    return {
        each.reason.removeprefix(kind)
        for each in told.findings
        if each.subject.kind == kind and each.disposition in {"firing", "secondary"}
    }


def test_all_are_here():
    assert {str(each.subject_kind) for each in shipped()} == KINDS.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_it_serves(kind):
    """Without a word; of a RayService one worker does, and others may wait for ever."""
    told = report(cluster(kind))
    assert firing(told, kind) == set()
    assert f"{kind}Ready" in {each.reason for each in told.ready}


FAULTS = {
    "a crash": (crashing, "ModelLoadFailed"),
    "no node": (unschedulable, "PodsNotReady"),
    "never ready": (unready, "PodsNotReady"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", KINDS)
def test_pods_are_believed(kind, fault):
    """Whatever its controller claims, and that it claims so is told."""
    patch, reason = FAULTS[fault]
    told = report(cluster(kind, pods=[patch]))
    stale = {"StatusStale"} if KINDS[kind].get("claims", True) else set()
    assert firing(told, kind) == {reason} | stale
    assert not [each for each in told.ready if each.subject.kind == kind]


@pytest.mark.parametrize("kind", KINDS)
def test_refused_pods(kind):
    """The quota is named where anybody says so, else that pods are missing."""
    told = report(cluster(kind, without=True, patches=KINDS[kind]["refused"]))
    found = [each for each in told.findings if each.reason == f"{kind}PodsNotCreated"]
    assert found
    assert {each.disposition for each in found} == {"firing"}
    if KINDS[kind]["refused"]:
        assert any("exceeded quota" in each.message for each in found)


CLAIMS = yaml.safe_load(Path(__file__).with_name("claims.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", CLAIMS, ids=lambda row: f"{row['kind']}: {row['says']}")
def test_what_no_pod_shows(row):
    """The controller's own words; of those that are working, once the start-up budget is over."""
    told = report(cluster(row["kind"], row=row))
    found = [each for each in told.findings if each.disposition == "firing"]
    assert [each.reason for each in found] == [f"{row['kind']}{row['reason']}"]
    assert row["says"] in found[0].message

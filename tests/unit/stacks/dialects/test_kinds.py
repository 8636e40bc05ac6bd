"""Each shipped kind: it serves; what users reported of it; and what fails though its controller says Ready.

The dumps in examples/dialects are the clusters: what is told of other faults is told of a patch of the healthy one.
"""

import json
from pathlib import Path

import pytest
import yaml

from reporter.evaluation import evaluate
from reporter.resolution import Memory, resolve
from reporter.stacks.dialects.reading import shipped
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.conftest import EXAMPLES
from tests.unit.probes.building import at, condition, merged, snapshot_of

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

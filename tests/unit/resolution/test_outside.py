"""Which objects of a stack are counted as not judged."""

import json
from dataclasses import replace

import pytest

from reporter.model.finding import KnownSubject
from reporter.model.report import Outside
from reporter.model.subject import Subject
from reporter.resolution.unknown import outside_of, tables_of_stacks
from reporter.settings import EvaluationSettings
from reporter.snapshot.decode import decode_object
from reporter.snapshot.snapshot import Served
from reporter.snapshot.table import table_of
from reporter.stacks import STACKS
from reporter.stacks.kaito.reasons import INFERENCESETS, RAGENGINES, WORKSPACES
from reporter.stacks.kthena.reasons import MODELSERVING_KIND, MODELSERVINGS
from reporter.stacks.settings import FullEvaluationSettings, with_stacks
from tests.tables import rows
from tests.unit.probes.building import snapshot_of
from tests.unit.resolution.building import MODEL, snapshot

ONLY_SOME = "in namespaces that --model-namespaces selects"
LEFT_OUT = {"model_namespaces": "team=ml"}
OFF = {"kaito": "off"}


def holding(resource, *names, **metadata):
    """A snapshot with objects of one resource, each named `namespace/name`."""
    objects = []
    for each in names:
        namespace, name = each.split("/")
        told = {"metadata": {"namespace": namespace, "name": name, **metadata}, "spec": {}}
        objects.append(decode_object(resource, json.dumps(told).encode()))
    return replace(snapshot(), tables={resource: table_of(objects)})


def found(seen, *subjects, **settings):
    known = [KnownSubject(each) for each in subjects]
    return outside_of(known, seen, FullEvaluationSettings(**settings))


@rows(
    ("seen", "told"),
    {
        "judged": (holding(INFERENCESETS, "demo/qwen"), ()),
        "in any namespace": (holding(INFERENCESETS, "demo/qwen", "b/z", "a/y", "c/x"), ()),
        "of a kind that is never judged": (
            holding(RAGENGINES, "demo/qwen"),
            (Outside("RAGEngine", 1, "demo/qwen", ""),),
        ),
        "being deleted": (
            holding(INFERENCESETS, "a/y", deletionTimestamp="2026-11-20T12:00:00Z"),
            (),
        ),
        "of a kind without subjects": (holding(WORKSPACES, "a/y"), ()),
        "of a stack that is judged as a whole": (holding(MODELSERVINGS, "a/y"), ()),
    },
)
def test_what_is_not_judged(seen, told):
    """It is counted, the first one is named, and it is told which ones are judged."""
    assert found(seen, MODEL) == told


def test_namespaces_that_are_left_out():
    seen = holding(INFERENCESETS, "demo/qwen", "b/z", "a/y", "c/x")
    assert found(seen, MODEL, **LEFT_OUT) == (Outside("InferenceSet", 3, "a/y", ONLY_SOME),)


def test_a_subject_of_another_kind_stands_for_no_other_object():
    same_place = Subject(MODELSERVING_KIND, MODEL.namespace, MODEL.name)
    told = found(holding(INFERENCESETS, "demo/qwen"), same_place, **LEFT_OUT)
    assert [(each.kind, each.count) for each in told] == [("InferenceSet", 1)]


@pytest.mark.parametrize("resource", [INFERENCESETS, RAGENGINES], ids=str)
def test_a_stack_that_is_off_has_nothing_outside(resource):
    assert found(holding(resource, "a/y"), stacks=OFF, **LEFT_OUT) == ()


def test_a_stack_that_is_off_hides_none_after_it():
    settings = with_stacks(EvaluationSettings, STACKS[::-1])(stacks={"kthena": "off"}, **LEFT_OUT)
    (told,) = outside_of((), holding(INFERENCESETS, "a/y"), settings)
    assert told.count == 1


def test_the_answer_rests_on_the_tables_of_what_is_counted():
    """And on whether they are served; where no stack is counted, on pods alone."""
    seen = holding(INFERENCESETS, "a/y")
    rests_on = list(tables_of_stacks(seen, FullEvaluationSettings(**LEFT_OUT)))
    assert rests_on[3:6] == [None, seen.tables[INFERENCESETS], Served.SERVED]
    assert list(tables_of_stacks(seen, FullEvaluationSettings(stacks=OFF)))[3:] == []


def engine(owner=None, **more):
    metadata = {"name": "p", "namespace": "n", "labels": {"app": "p"}, **more}
    if owner:
        metadata["ownerReferences"] = [{"kind": owner, "name": "o", "controller": True}]
    container = {"name": "c", "image": "vllm/vllm-openai:v0.11.0"}
    spec = {"containers": [container]}
    return {"kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


SELECTS = {
    "kind": "Deployment",
    "metadata": {"name": "d", "namespace": "n"},
    "spec": {"selector": {"matchLabels": {"app": "p"}}},
}


@pytest.mark.parametrize(
    ("docs", "told"),
    [
        ((engine(),), True),
        ((engine("Job"),), True),
        ((engine("DaemonSet"),), True),
        ((engine("ReplicaSet"),), False),
        ((engine(), SELECTS), False),
        ((engine(annotations={"status-reporter.io/model": "false"}),), False),
        ((engine(labels={"serving.kserve.io/inferenceservice": "m"}),), False),
        (({**engine(), "status": {"phase": "Succeeded"}},), False),
    ],
    ids=["bare", "Job", "DaemonSet", "ReplicaSet", "stripped", "said", "KServe", "ended"],
)
def test_pods_with_an_engine_that_nobody_judges(docs, told):
    outside = found(snapshot_of(*docs))
    assert [each.first for each in outside if each.is_model] == ["n/p"] * told

"""Subjects of stacks: who is asked about, and when an answer is used again."""

from dataclasses import replace

import pytest

import reporter.evaluation
from reporter.catalogue.resources import PODS
from reporter.evaluation import evaluate, evaluate_again
from reporter.model.finding import Derived
from reporter.probes.reuse import Answered
from reporter.probes.scope import SubjectScope, evaluated
from reporter.probes.subjects import StackProbes, SubjectProbes
from reporter.setting_types import StackMode
from reporter.stacks.kserve.reasons import INFERENCESERVICE_KIND, INFERENCESERVICES
from reporter.stacks.kserve.stack import KSERVE
from reporter.stacks.kthena.reasons import MODELSERVING_KIND, MODELSERVINGS, MODELSERVINGS_FORMER
from reporter.stacks.kthena.stack import KTHENA
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import Stack
from tests.unit.probes.building import DELETING, document, namespace, pod, snapshot_of

SETTINGS = FullEvaluationSettings()


def inferenceservice(place, name, *patches):
    api = {"apiVersion": INFERENCESERVICES.api_version()}
    return document("InferenceService", name, place, api, *patches)


def modelserving(name, resource, *patches):
    return document("ModelServing", name, "one", {"apiVersion": resource.api_version()}, *patches)


def model_pod(place, name, of, **settings):
    return pod(
        place,
        name,
        of,
        {"metadata": {"labels": {"serving.kserve.io/inferenceservice": of}}},
        **settings,
    )


CLUSTER = [
    namespace("one"),
    namespace("two"),
    *(inferenceservice(place, name) for place in ("one", "two") for name in ("a", "b")),
    *(model_pod(place, f"{name}-0", name) for place in ("one", "two") for name in ("a", "b")),
]


@pytest.fixture(name="asked")
def _asked(monkeypatch):
    """A stack whose probes answer with the subject alone; the list of those that were asked."""
    asked = []

    def ask(scope):
        asked.append(str(scope.subject))
        label = "serving.kserve.io/inferenceservice"
        scope.snapshot[PODS].labelled(scope.place, label, scope.name)
        derived = Derived(scope.ref, {"uid": scope.object.metadata.uid})
        return evaluated(scope, (), derived=(derived,))

    def answering(stack):
        subjects = SubjectProbes(resources=stack.subjects, scope=SubjectScope, evaluate=ask)
        return replace(stack, probes=lambda: StackProbes(subjects=subjects))

    rows = (answering(KSERVE), answering(KTHENA))
    monkeypatch.setattr(reporter.evaluation, "stacks_of", lambda _: rows)
    return asked


def subjects(evaluation, kind=INFERENCESERVICE_KIND):
    return {str(each.subject) for each in evaluation.subjects if each.subject.kind == kind}


ALL = {f"inferenceservice/{place}/{name}" for place in ("one", "two") for name in ("a", "b")}


def test_every_subject_is_asked_about_wherever_it_is(asked):
    evaluation = evaluate(snapshot_of(*CLUSTER), SETTINGS)
    assert subjects(evaluation) == ALL
    assert len(evaluation.derived) == 4


@pytest.mark.parametrize("mode", StackMode)
def test_a_stack_that_is_off_is_not_asked_about(asked, mode):
    settings = FullEvaluationSettings(stacks={Stack.KSERVE: mode})
    found = subjects(evaluate(snapshot_of(*CLUSTER), settings))
    assert found == (ALL if mode is not StackMode.OFF else set())


@pytest.mark.parametrize(
    "gone",
    [
        [inferenceservice("one", "a", DELETING)],
        [namespace("one", DELETING), inferenceservice("one", "a")],
    ],
    ids=["itself", "its namespace"],
)
def test_what_is_being_deleted_is_no_subject(asked, gone):
    """It raises nothing, and is forgotten without a Ready."""
    assert subjects(evaluate(snapshot_of(*gone), SETTINGS)) == set()


def test_of_one_subject_in_two_groups_the_first_counts(asked):
    """An API server that serves both shows the same ModelServing twice."""
    both = [modelserving("m", MODELSERVINGS), modelserving("m", MODELSERVINGS_FORMER)]
    evaluation = evaluate(snapshot_of(*both), SETTINGS)
    assert subjects(evaluation, MODELSERVING_KIND) == {"modelserving/one/m"}
    assert [each.object.api_version for each in evaluation.derived] == [MODELSERVINGS.api_version()]
    assert asked == ["modelserving/one/m"]


def test_a_subject_that_comes_from_another_group_is_asked_about(asked):
    """The ModelServing has moved to the present API group, and is still served in the former one."""
    former = modelserving("m", MODELSERVINGS_FORMER)
    _, answered = evaluate_again(snapshot_of(former), SETTINGS, Answered())
    asked.clear()
    both = snapshot_of(former, modelserving("m", MODELSERVINGS))
    evaluation, _ = evaluate_again(both, SETTINGS, answered)
    assert [each.object.api_version for each in evaluation.derived] == [MODELSERVINGS.api_version()]


def test_a_subject_that_is_gone_is_forgotten(asked):
    _, answered = evaluate_again(snapshot_of(*CLUSTER), SETTINGS, Answered())
    evaluation, answered = evaluate_again(snapshot_of(namespace("one")), SETTINGS, answered)
    assert (subjects(evaluation), evaluation.derived) == (set(), ())
    asked.clear()
    evaluate_again(snapshot_of(*CLUSTER), SETTINGS, answered)
    assert set(asked) == ALL

"""Which objects have questions, what is evaluated again, and the effect of failing probes."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

import reporter.evaluation
import reporter.probes.harness
import reporter.stacks.kaito.probes
import reporter.stacks.kserve.probes.scope
from reporter.catalogue.resources import CILIUMNETWORKPOLICIES, DEPLOYMENTS, NAMESPACES, PODS
from reporter.evaluation import evaluate, evaluate_again
from reporter.model.finding import Derived, Evaluation
from reporter.model.subject import CLUSTER, Subject
from reporter.probes.reuse import Answered, Question, answer, changed_cells
from reporter.probes.scope import SubjectScope, evaluated
from reporter.probes.subjects import StackProbes, SubjectProbes
from reporter.setting_types import StackMode
from reporter.snapshot.dump import load_dump
from reporter.snapshot.table import table_of
from reporter.snapshot.trace import Cell, How, Trace, traced
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from reporter.stacks.kserve.reasons import INFERENCESERVICE_KIND, INFERENCESERVICES
from reporter.stacks.kserve.stack import KSERVE
from reporter.stacks.kthena.reasons import MODELSERVING_KIND, MODELSERVINGS, MODELSERVINGS_FORMER
from reporter.stacks.kthena.stack import KTHENA
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import Stack
from tests.unit.probes.asking import scope
from tests.unit.probes.building import (
    DELETING,
    FORBIDDEN,
    document,
    healthy_cluster,
    merged,
    namespace,
    pod,
    snapshot_of,
)
from tests.unit.probes.custom import declared

SETTINGS = FullEvaluationSettings()
EXAMPLES = Path(__file__).parents[3] / "examples"
HEALTHY = load_dump([EXAMPLES / "healthy-stack"], BUILT_IN).snapshot
BROKEN = load_dump([EXAMPLES / "broken-stack"], BUILT_IN).snapshot


def changed(snapshot, resource, change):
    """The snapshot with new tables, in which the objects of one resource are changed."""
    objects = [change(each) for each in snapshot[resource]]
    return replace(snapshot, tables={**snapshot.tables, resource: table_of(objects)})


def without_replicas(deployment):
    if deployment.namespace != "chat-models":
        return deployment
    return msgspec.structs.replace(
        deployment, spec=msgspec.structs.replace(deployment.spec, replicas=0)
    )


def made_again(each):
    return msgspec.structs.replace(
        each, metadata=msgspec.structs.replace(each.metadata, uid=f"another {each.name}")
    )


def test_a_finding_refers_to_the_object_that_is_there():
    """Even if the text is the same: an Event about the former Namespace does not count for it."""
    _, answered = evaluate_again(BROKEN, SETTINGS, Answered())
    told, _ = evaluate_again(changed(BROKEN, NAMESPACES, made_again), SETTINGS, answered)
    of_namespaces = [each.involved for each in told.findings if each.involved.kind == "Namespace"]
    assert {each.uid for each in of_namespaces} == {
        f"another {each.name}" for each in of_namespaces
    }


def test_only_the_namespace_that_changed_is_asked_again():
    _, before = evaluate_again(HEALTHY, SETTINGS, Answered())
    _, after = evaluate_again(changed(HEALTHY, DEPLOYMENTS, without_replicas), SETTINGS, before)
    kept = {name for name, each in after.answers.items() if each is before.answers[name]}
    assert {subject.namespace for subject in before.answers.keys() - kept} == {"chat-models"}


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


A_CLUSTER = [
    namespace("one"),
    namespace("two"),
    *(inferenceservice(place, name) for place in ("one", "two") for name in ("a", "b")),
    *(model_pod(place, f"{name}-0", name) for place in ("one", "two") for name in ("a", "b")),
]


@pytest.fixture(name="asked")
def _asked(monkeypatch):
    """A stack whose probes return only the subject; and the list of subjects they judged."""
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
    evaluation = evaluate(snapshot_of(*A_CLUSTER), SETTINGS)
    assert subjects(evaluation) == ALL
    assert len(evaluation.derived) == 4


@pytest.mark.parametrize("mode", StackMode)
def test_a_stack_that_is_off_is_not_asked_about(asked, mode):
    settings = FullEvaluationSettings(stacks={Stack.KSERVE: mode})
    found = subjects(evaluate(snapshot_of(*A_CLUSTER), settings))
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
    """An API server that serves both groups lists the same ModelServing twice."""
    both = [modelserving("m", MODELSERVINGS), modelserving("m", MODELSERVINGS_FORMER)]
    evaluation = evaluate(snapshot_of(*both), SETTINGS)
    assert subjects(evaluation, MODELSERVING_KIND) == {"modelserving/one/m"}
    assert [each.object.api_version for each in evaluation.derived] == [MODELSERVINGS.api_version()]
    assert asked == ["modelserving/one/m"]


def test_a_subject_that_comes_from_another_group_is_asked_about(asked):
    """The ModelServing has moved to the current API group and is still served in the former."""
    former = modelserving("m", MODELSERVINGS_FORMER)
    _, answered = evaluate_again(snapshot_of(former), SETTINGS, Answered())
    asked.clear()
    both = snapshot_of(former, modelserving("m", MODELSERVINGS))
    evaluation, _ = evaluate_again(both, SETTINGS, answered)
    assert [each.object.api_version for each in evaluation.derived] == [MODELSERVINGS.api_version()]


def test_a_subject_that_is_gone_is_forgotten(asked):
    _, answered = evaluate_again(snapshot_of(*A_CLUSTER), SETTINGS, Answered())
    evaluation, answered = evaluate_again(snapshot_of(namespace("one")), SETTINGS, answered)
    assert (subjects(evaluation), evaluation.derived) == (set(), ())
    asked.clear()
    evaluate_again(snapshot_of(*A_CLUSTER), SETTINGS, answered)
    assert set(asked) == ALL


UNKNOWN = "clusterStatusUnknown"
ODD = "search-models"
BLIND = replace(BROKEN, states={**BROKEN.states, CILIUMNETWORKPOLICIES: FORBIDDEN})


def test_others_are_judged_and_the_failure_is_told(monkeypatch):
    """A finding names the subject and the place in our code, and quotes nothing of the object."""
    before = evaluate(BROKEN, SETTINGS)
    judge = reporter.probes.harness.evaluate_namespace

    def failing(scope):
        if scope.namespace.name == ODD:
            int("secret-of-the-object")
        return judge(scope)

    monkeypatch.setattr(reporter.probes.harness, "evaluate_namespace", failing)
    after = evaluate(BROKEN, SETTINGS)

    subject = Subject.of_namespace(ODD)
    assert subject in {each.subject for each in before.subjects}
    others = [each for each in before.findings if each.subject != subject]
    told = [each for each in after.findings if each.reason == UNKNOWN]
    assert [each for each in after.findings if each not in told] == others
    assert {each.subject for each in before.subjects} - {
        each.subject for each in after.subjects
    } == {subject}
    (unjudged,) = after.unjudged
    assert unjudged.about == subject
    assert unjudged.cause.startswith("ValueError in reporter/")
    (finding,) = told
    assert finding.related.name == ODD
    assert finding.message.startswith(f"namespace/{ODD} cannot be judged (ValueError in reporter/")
    assert "secret" not in finding.message


def test_an_inferenceset_that_fails_costs_no_other(monkeypatch):
    """Nor its namespace: the entrance is still evaluated."""
    before = evaluate(BROKEN, SETTINGS)
    sets = reporter.stacks.kaito.probes._OF_SETS
    odd = next(each.subject for each in before.findings if each.subject.kind == INFERENCESET_KIND)

    def failing(scope):
        if scope.subject == odd:
            raise OverflowError
        return sets.evaluate(scope)

    monkeypatch.setattr(reporter.stacks.kaito.probes, "_OF_SETS", replace(sets, evaluate=failing))
    after = evaluate(BROKEN, SETTINGS)
    assert [each.about for each in after.unjudged] == [odd]
    others = [each for each in before.findings if each.subject != odd]
    assert [each for each in after.findings if each.reason != UNKNOWN] == others


def test_a_question_that_fails_is_asked_again_when_its_objects_change():
    """And not before: an answer depends on its inputs, even a failure."""
    asked = []
    subject = Subject.of_namespace("team")
    empty = Evaluation((), (), ())
    rests_on = (Cell(NAMESPACES, How.NAME, ("", "team")),)

    def failing(_scope):
        asked.append("failing")
        raise OverflowError

    def asking(ask, snapshot, before):
        now = Answered(tables=snapshot.tables)
        noting = traced(snapshot, Trace())
        return answer(
            lambda: [Question(subject, ask, rests_on=rests_on)],
            scope(noting, SETTINGS),
            noting,
            now=now,
            before=before,
            changed=changed_cells(now, before, noting),
        )

    here, other = snapshot_of(namespace("team")), snapshot_of(namespace("team"))
    first = asking(failing, here, Answered())
    (unjudged,) = first.answers[subject].evaluation.unjudged
    assert unjudged.about == subject
    assert unjudged.cause.startswith("OverflowError in reporter/")
    again = asking(failing, here, first)
    assert asked == ["failing"]
    mended = asking(lambda _scope: empty, other, again)
    assert mended.answers[subject].evaluation == empty


FAILING = {
    "probes.cluster.parts.required_crds": ("clusterCRDMissing", "CustomResourceDefinitions"),
    "probes.cluster.parts.lacks_api_key_provider": ("clusterGatewayAuthNotReady", "MeshConfig"),
    "stacks.kaito.probes.scaling.managed_namespaces": ("clusterKedaKaitoScalerNotReady", "ScaledObjects"),
    "probes.cluster.blindness.blind_message": (UNKNOWN, "resources"),
    "probes.runtime.network.nothing_reached": (UNKNOWN, "metrics of all pods"),
    "probes.cluster.parts.may_be_needed": ("clusterReady", "evidence"),
}  # fmt: skip
"""What fails, the reason that cannot be judged, and the named probe."""


@pytest.mark.parametrize("failing", FAILING)
def test_a_probe_of_the_cluster_costs_its_own_reason_only(monkeypatch, failing):
    """Everything else is still found, for the cluster too."""
    reason, probe = FAILING[failing]
    before = evaluate(BLIND, SETTINGS)

    def fail(*_):
        int("secret-of-the-object")

    monkeypatch.setattr(f"reporter.{failing}", fail)
    after = evaluate(BLIND, SETTINGS)

    (unjudged,) = after.unjudged
    assert (unjudged.about, unjudged.reason) == (CLUSTER, reason)
    (told,) = [each for each in after.findings if "cannot be judged" in each.message]
    assert (told.reason, told.subject) == (UNKNOWN, CLUSTER)
    assert told.message.startswith(f"{reason} (probe: {probe}) cannot be judged (ValueError in ")
    assert "secret" not in told.message
    others = [each for each in after.findings if each != told]
    assert [each for each in before.findings if each.reason != reason] == [
        each for each in others if each.reason != reason
    ]
    assert set(others) <= set(before.findings)
    assert (after.subjects, after.derived) == (before.subjects, before.derived)


ZERO = {"spec": {"replicas": 0}}


@pytest.fixture(name="keda_fails")
def _keda_fails(monkeypatch):
    judge = reporter.probes.cluster.parts.judge_deployment

    def failing(deployment, snapshot):
        if deployment.name == "keda-operator":
            raise OverflowError
        return judge(deployment, snapshot)

    monkeypatch.setattr("reporter.probes.cluster.parts.judge_deployment", failing)


@pytest.mark.usefixtures("keda_fails")
def test_one_deployment_costs_its_own_component_only():
    """The others are judged, including those with the same reason."""
    down = {"istiod", "keda-operator", "keda-operator-metrics-apiserver"}
    docs = [
        merged(each, ZERO) if each["metadata"]["name"] in down else each
        for each in healthy_cluster()
    ]
    found = evaluate(snapshot_of(*docs), SETTINGS)
    assert sorted((each.reason, each.related.name) for each in found.findings) == [
        ("clusterIstioControlPlaneNotReady", "istiod"),
        ("clusterKedaNotReady", "keda-operator-metrics-apiserver"),
        (UNKNOWN, "clusterKedaNotReady/Deployment keda-operator"),
    ]
    assert [each.reason for each in found.unjudged] == ["clusterKedaNotReady"]


STORE = {
    "reason": "clusterVectorStoreNotReady",
    "layer": "cluster",
    "workload": {"kind": "StatefulSet", "name": "qdrant", "namespaces": ["data"]},
}
GRID = {"reason": "clusterGridCRDMissing", "layer": "cluster", "crd": {"name": "no.example.com"}}


def test_a_custom_component_costs_its_own_reason_only(monkeypatch):

    def failing(*_):
        raise OverflowError

    monkeypatch.setattr("reporter.probes.custom.judge_workload", failing)
    settings = declared.settings_of(STORE, GRID)
    docs = [*healthy_cluster(), document("StatefulSet", "qdrant", "data", ZERO)]
    found = evaluate(declared.snapshot(settings, *docs), settings)
    assert sorted((each.reason, each.related.name) for each in found.findings) == [
        ("clusterGridCRDMissing", "no.example.com"),
        (UNKNOWN, "clusterVectorStoreNotReady/custom component"),
    ]
    assert [each.reason for each in found.unjudged] == ["clusterVectorStoreNotReady"]

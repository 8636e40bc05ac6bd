"""One object that a probe fails on costs its subject, or one reason, the judgement, and no other."""

from dataclasses import replace
from pathlib import Path

import pytest

import reporter.probes.harness
import reporter.stacks.kaito.probes
import reporter.stacks.kserve.probes.scope
from reporter.catalogue.resources import CILIUMNETWORKPOLICIES, NAMESPACES
from reporter.evaluation import evaluate
from reporter.model.finding import Evaluation
from reporter.model.subject import CLUSTER, Subject
from reporter.probes.reuse import Answered, Question, answer, changed_cells
from reporter.snapshot.dump import load_dump
from reporter.snapshot.trace import Cell, How, Trace, traced
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.asking import scope
from tests.unit.probes.building import (
    FORBIDDEN,
    document,
    healthy_cluster,
    merged,
    namespace,
    snapshot_of,
)
from tests.unit.probes.custom import declared

SETTINGS = FullEvaluationSettings()
EXAMPLES = Path(__file__).parents[3] / "examples"
BROKEN = load_dump([EXAMPLES / "broken-stack"], BUILT_IN).snapshot
UNKNOWN = "clusterStatusUnknown"
ODD = "search-models"
BLIND = replace(BROKEN, states={**BROKEN.states, CILIUMNETWORKPOLICIES: FORBIDDEN})


def test_others_are_judged_and_the_failure_is_told(monkeypatch):
    """By a finding that names the subject and the place in our code, and no word of the object."""
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
    """Nor its namespace: what is known of the entrance is told."""
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
    """And not before: an answer follows from what it rests on, a failure too."""
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
    (unjudged,) = first.answers[subject].said.unjudged
    assert unjudged.about == subject
    assert unjudged.cause.startswith("OverflowError in reporter/")
    again = asking(failing, here, first)
    assert asked == ["failing"]
    mended = asking(lambda _scope: empty, other, again)
    assert mended.answers[subject].said == empty


FAILING = {
    "probes.cluster.parts.required_crds": ("clusterCRDMissing", "CustomResourceDefinitions"),
    "probes.cluster.parts.lacks_api_key_provider": (
        "clusterGatewayAuthNotReady",
        "MeshConfig",
    ),
    "stacks.kaito.probes.scaling.managed_namespaces": (
        "clusterKedaKaitoScalerNotReady",
        "ScaledObjects",
    ),
    "probes.cluster.blindness.blind_message": (UNKNOWN, "resources"),
    "probes.runtime.network.nothing_reached": (UNKNOWN, "metrics of all pods"),
    "probes.cluster.parts.may_be_needed": ("clusterReady", "evidence"),
}
"""What fails, the reason that cannot be judged then, and the probe of it that is named."""


@pytest.mark.parametrize("failing", FAILING)
def test_a_probe_of_the_cluster_costs_its_own_reason_only(monkeypatch, failing):
    """Everything else that was found before is found again, of the cluster too."""
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
    """Others are judged, also those of the same reason."""
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

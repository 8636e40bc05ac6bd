"""Evidence for modelharnessReady, and the layer as a whole."""

import pytest

from reporter.catalogue.resources import DEPLOYMENTS, GATEWAYS, NAMESPACES, PODS
from reporter.model.finding import KnownSubject
from reporter.model.subject import Subject
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.asking import evaluate_harness
from tests.unit.probes.building import (
    CREATED_AT,
    DELETING,
    FORBIDDEN,
    condition,
    healthy_harness,
    namespace,
    replaced,
    snapshot_of,
)

HEALTHY = healthy_harness("my-models")


def evaluate(docs, **options):
    return evaluate_harness(snapshot_of(*docs, **options), FullEvaluationSettings())


def test_a_healthy_harness_is_ready():
    """The Gateway is programmed and served; the evidence refers to the Namespace."""
    evaluation = evaluate(HEALTHY)
    (ready,) = evaluation.ready
    assert evaluation.findings == ()
    assert evaluation.subjects == (KnownSubject(Subject.of_namespace("my-models"), CREATED_AT),)
    assert (ready.reason, str(ready.subject)) == ("modelharnessReady", "namespace/my-models")
    assert str(ready.involved) == "Namespace my-models"
    assert ready.involved.uid == "uid-my-models"
    assert ready.message == (
        "Namespace my-models is ready: Gateway my-models-gw programmed, data plane ready"
    )


def programmed(status):
    return replaced(
        HEALTHY, "Gateway", {"status": {"conditions": [condition("Programmed", status)]}}
    )


NOT_READY = {
    "no Gateway": [namespace("my-models", managed=True)],
    "not programmed": programmed("False"),
    "not judged yet": programmed("Unknown"),
    "no ready replica": replaced(HEALTHY, "Deployment", {"status": {"readyReplicas": 0}}),
    "no data plane": [each for each in HEALTHY if each["kind"] != "Deployment"],
    "the only Gateway is being deleted": replaced(HEALTHY, "Gateway", DELETING),
    "one Gateway of two": [
        *HEALTHY,
        *replaced(
            [each for each in HEALTHY if each["kind"] == "Gateway"],
            "Gateway",
            {"metadata": {"name": "second"}},
        ),
    ],
}


@pytest.mark.parametrize("name", NOT_READY)
def test_not_ready(name):
    evaluation = evaluate(NOT_READY[name])
    assert evaluation.ready == ()
    assert len(evaluation.subjects) == 1


@pytest.mark.parametrize("resource", [GATEWAYS, DEPLOYMENTS])
def test_not_ready_while_unknown(resource):
    evaluation = evaluate(HEALTHY, unknown={resource: FORBIDDEN})
    assert evaluation.ready == ()
    assert evaluation.findings == ()


def test_ready_without_pods():
    """Pods only explain faults; the Deployment's status is the evidence."""
    assert len(evaluate(HEALTHY, unknown={PODS: FORBIDDEN}).ready) == 1


@pytest.mark.parametrize(
    "patch", [DELETING, {"metadata": {"labels": None}}], ids=["terminating", "unlabelled"]
)
def test_no_subject(patch):
    evaluation = evaluate(replaced(HEALTHY, "Namespace", patch))
    assert (evaluation.findings, evaluation.ready, evaluation.subjects) == ((), (), ())


def test_unknown_namespaces():
    assert evaluate(HEALTHY, unknown={NAMESPACES: FORBIDDEN}).subjects == ()

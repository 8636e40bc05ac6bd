"""Programmed Gateways without a pod that serves them."""

import pytest

from reporter.catalogue.resources import DEPLOYMENTS, PODS
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.asking import evaluate_harness
from tests.unit.probes.building import (
    CREATED_AT,
    DELETING,
    FORBIDDEN,
    SINCE_AT,
    condition,
    healthy_harness,
    replaced,
    snapshot_of,
    waiting,
)

REASON = "modelharnessGatewayDataPlaneNotReady"
HEALTHY = healthy_harness("my-models")
NONE_READY = {
    "status": {
        "readyReplicas": 0,
        "availableReplicas": 0,
        "conditions": [condition("Available", "False")],
    }
}
NOT_READY_POD = {"status": {"conditions": [condition("Ready", "False")]}}


def probe(docs, **options):
    evaluation = evaluate_harness(snapshot_of(*docs, **options), FullEvaluationSettings())
    return [each for each in evaluation.findings if each.reason == REASON]


def plane(*patches, docs=HEALTHY):
    return replaced(docs, "Deployment", *patches)


def test_no_ready_pod():
    """Programmed and dead: the Deployment, its Gateway and the pod's trouble are named."""
    docs = replaced(plane(NONE_READY), "Pod", NOT_READY_POD, waiting("ImagePullBackOff"))
    (finding,) = probe(docs)
    assert str(finding.subject) == "namespace/my-models"
    assert str(finding.related) == "Deployment my-models/my-models-gw-istio"
    assert finding.message.startswith(
        "Deployment my-models/my-models-gw-istio of Gateway my-models-gw has no ready pod: "
        "ImagePullBackOff (pod my-models-gw-istio-1: "
    )
    assert finding.cause == "ImagePullBackOff"
    assert (finding.transition, finding.created) == (SINCE_AT, CREATED_AT)


def test_scaled_to_zero():
    (finding,) = probe(plane(NONE_READY, {"spec": {"replicas": 0}}))
    assert finding.cause == "scaled to zero"


def test_without_the_label_of_its_owner():
    label = {"metadata": {"labels": {"kaito.sh/owned-by": None}}}
    assert len(probe(plane(NONE_READY, label))) == 1


def not_programmed(status):
    conditions = {"status": {"conditions": [condition("Programmed", status)]}}
    return replaced(plane(NONE_READY), "Gateway", conditions)


SILENT = {
    "ready": HEALTHY,
    "one pod of two is ready": plane(
        {"spec": {"replicas": 2}, "status": {"replicas": 2, "updatedReplicas": 2}}
    ),
    "not programmed: another reason covers it": not_programmed("False"),
    "not judged yet": not_programmed("Unknown"),
    "no Deployment with the Gateway's label": plane(NONE_READY, {"metadata": {"labels": None}}),
    "a Gateway being deleted": replaced(plane(NONE_READY), "Gateway", DELETING),
    "a Deployment being deleted": plane(NONE_READY, DELETING),
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(name):
    """A Gateway that one pod serves, or whose state is another reason's business."""
    assert probe(SILENT[name]) == []


def test_unknown():
    """Without Deployments nothing is said; without pods the cause is missing only."""
    assert probe(plane(NONE_READY), unknown={DEPLOYMENTS: FORBIDDEN}) == []
    (finding,) = probe(plane(NONE_READY), unknown={PODS: FORBIDDEN})
    assert finding.cause == "not ready"

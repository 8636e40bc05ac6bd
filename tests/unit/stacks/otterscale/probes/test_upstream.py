"""What the operator's Ready reason lets conclude, and the derived status."""

import pytest

from reporter.catalogue.resources import DEPLOYMENTS
from tests.unit.probes.asking import evaluate_modelservices
from tests.unit.probes.building import DELETING, FORBIDDEN, condition, snapshot_of
from tests.unit.stacks.otterscale.probes.otterscale import (
    EPP,
    NAME,
    SETTINGS,
    changed,
    evaluation,
    healthy,
    modelservice,
    reasons,
    rolled_out,
    without,
)
from tests.unit.stacks.otterscale.probes.pods import waiting

POD = "qwen3-decode-0"


def down(**status):
    docs = changed(healthy(), "Pod", POD, waiting("ImagePullBackOff"))
    docs = changed(docs, "Deployment", "qwen3-decode", {"status": rolled_out(1, 0)})
    return changed(docs, "ModelService", NAME, {"status": status})


@pytest.mark.parametrize(
    ("docs", "told"),
    [
        pytest.param(changed(healthy(), "Deployment", EPP, {"spec": {"replicas": 0}, "status": rolled_out(0)}), ["EPPNotReady"], id="AllReplicasReady: still check the picker"),
        pytest.param(without(healthy(), ("Gateway", "inference")), ["RouteNotReady"], id="AllReplicasReady: still check the route"),
        pytest.param(
            down(phase="Running", decodeReady=None, conditions=[condition("Ready", "False", "PartiallyReady")]),
            ["PodsNotReady"], id="PartiallyReady: look for the pod's cause",
        ),
        pytest.param(
            changed(
                down(phase="Running", decodeReady=None, prefillReady=None, conditions=[condition("Ready", "False", "PodsStarting")]),
                "Deployment", "qwen3-prefill", {"status": rolled_out(1, 0)},
            ),
            ["PodsNotReady"], id="PodsStarting: look for the pod's cause",
        ),
        pytest.param(
            down(conditions=[condition("Ready", "False", "ReconcileError")]),
            ["PodsNotReady", "ReconcileFailed"], id="ReconcileError: use the Deployments",
        ),
        pytest.param([modelservice({"status": None})], ["NotObserved", "ObjectMissing"], id="no condition: the first pass is not finished"),
    ],
)  # fmt: skip
def test_conclusions(docs, told):
    assert reasons(docs) == told


def test_derived():
    """The status is what the operator would write, from the Deployments."""
    (derived,) = evaluation(down()).derived
    assert str(derived.object) == "ModelService models/qwen3"
    assert derived.status["phase"] == "Running"
    assert derived.status["prefillReady"] == 1
    assert "decodeReady" not in derived.status


def test_nothing_is_derived_from_what_is_not_known():
    assert evaluation(healthy(), unknown={DEPLOYMENTS: FORBIDDEN}).derived == ()


def test_one_that_is_being_deleted_is_no_subject():
    result = evaluate_modelservices(snapshot_of(modelservice(DELETING)), SETTINGS)
    assert (result.findings, result.ready, result.subjects, result.derived) == ((), (), (), ())

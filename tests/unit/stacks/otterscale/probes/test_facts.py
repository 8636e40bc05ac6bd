"""Ten things about ModelServices that are easy to get wrong, each by what is told."""

import pytest

from tests.unit.probes.building import condition
from tests.unit.stacks.otterscale.probes.otterscale import (
    EPP,
    changed,
    evaluation,
    found,
    healthy,
    one,
    reasons,
    rolled_out,
    without,
)
from tests.unit.stacks.otterscale.probes.pods import crashing, waiting


def ready_message(docs, **how):
    (evidence,) = evaluation(docs, **how).ready
    return evidence.message


def test_healthy():
    """Nothing is told, and Ready says what it rests on."""
    assert found(healthy()) == []
    assert ready_message(healthy()) == (
        "ModelService models/qwen3 is ready: 1/1 decode pods ready, 1/1 prefill pods ready, "
        "endpoint picker available, route accepted (the pods have no probes: ready only means that "
        "their containers run)"
    )


def test_a_surplus_pod_hides_a_missing_one():
    """The sum of both roles is reached, and the operator calls it Ready."""
    docs = changed(healthy(), "Deployment", "qwen3-decode", {"status": rolled_out(1, 2)})
    docs = changed(docs, "Deployment", "qwen3-prefill", {"status": rolled_out(1, 0)})
    docs = changed(docs, "Pod", "qwen3-prefill-0", crashing("vllm"))
    counters = {"decodeReady": 2, "prefillReady": 0}
    docs = changed(docs, "ModelService", "qwen3", {"status": counters})
    assert reasons(docs) == ["PodsNotReady"]
    message = one(docs, "PodsNotReady").message
    assert "(0/1 prefill pods ready)" in message
    assert message.endswith("phase is Ready all the same, because it counts both roles together")
    assert evaluation(docs).ready == ()


def test_a_missing_prefill_deployment_counts_as_none_wanted():
    docs = without(healthy(), ("Deployment", "qwen3-prefill"), ("Pod", "qwen3-prefill-0"))
    gone = {"prefillReady": None, "prefillReplicas": None}
    docs = changed(docs, "ModelService", "qwen3", {"status": gone})
    assert found(docs) == [("ObjectMissing", "Deployment models/qwen3-prefill")]
    assert "calls the ModelService Ready all the same" in one(docs, "ObjectMissing").message
    assert evaluation(docs).ready == ()
    assert evaluation(docs).derived[0].status["phase"] == "Ready"


def test_zero_replicas_are_ready():
    """That is so by our rules too, and the message says it."""
    docs = healthy(decode={"replicas": 0}, prefill=None, routingProxy=None)
    assert found(docs) == []
    assert "0 decode pods wanted" in ready_message(docs)


def test_an_error_leaves_the_phase_as_it_was():
    error = condition("Ready", "False", "ReconcileError", "creating Deployment qwen3-decode: quota")
    docs = changed(healthy(), "ModelService", "qwen3", {"status": {"conditions": [error]}})
    assert reasons(docs) == ["ReconcileFailed"]
    finding = one(docs, "ReconcileFailed")
    assert finding.message == (
        "ModelService models/qwen3: the operator cannot reconcile it: creating Deployment "
        "qwen3-decode: quota; phase Ready and the counters are out of date"
    )
    assert finding.transition is None, "the time of the condition moves with its status only"


def test_the_model_is_unpacked_by_an_init_container():
    """A wrong registry shows there, and not as an image that cannot be pulled."""
    docs = changed(healthy(), "Pod", "qwen3-decode-0", crashing("model-unpack"))
    docs = changed(docs, "Deployment", "qwen3-decode", {"status": rolled_out(1, 0)})
    finding = one(docs, "PodsNotReady")
    assert finding.cause == "decode: model-unpack: CrashLoopBackOff"
    assert "it fetches and unpacks the model package registry/qwen3:v1" in finding.message


@pytest.mark.parametrize(
    ("pool", "mode"),
    [
        (None, "failureMode is FailClose: requests fail"),
        ({"endpointPicker": {}}, "failureMode is FailOpen"),
        ({"endpointPicker": {"failureMode": "FailClose"}}, "failureMode is FailClose"),
        ({"endpointPicker": {"failureMode": ""}}, "failureMode is FailClose"),
    ],
)
def test_failure_mode(pool, mode):
    """Without the section the operator builds FailClose, with it the schema's default is FailOpen."""
    docs = healthy(inferencePool=pool)
    docs = changed(docs, "Deployment", EPP, {"status": rolled_out(1, 0)})
    docs = changed(docs, "Pod", f"{EPP}-0", waiting("ImagePullBackOff", "epp"))
    assert mode in one(docs, "EPPNotReady").message


@pytest.mark.parametrize(("ready", "told"), [(1, []), (2, []), (0, ["EPPNotReady"])])
def test_only_the_leader_is_ready(ready, told):
    """With several replicas the Deployment never becomes available, and that is no fault."""
    docs = healthy(inferencePool={"endpointPicker": {"replicas": 3}})
    stalled = rolled_out(3, ready)
    stalled["availableReplicas"] = ready
    stalled["conditions"] = [
        condition("Available", "False", "MinimumReplicasUnavailable"),
        condition("Progressing", "False", "ProgressDeadlineExceeded"),
    ]
    docs = changed(docs, "Deployment", EPP, {"status": stalled})
    assert reasons(docs) == told
    assert bool(evaluation(docs).ready) is not bool(told)

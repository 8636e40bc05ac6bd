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
)
from tests.unit.stacks.otterscale.probes.pods import crashing


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


def test_zero_replicas_are_ready():
    """That is so by our rules too, and the message says it."""
    docs = healthy(decode={"replicas": 0}, prefill=None, routingProxy=None)
    assert found(docs) == []
    assert "0 decode pods wanted" in ready_message(docs)


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

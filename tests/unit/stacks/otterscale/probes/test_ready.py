"""When a ModelService is ready, and what is easy to get wrong."""

import json
from pathlib import Path

import pytest

from reporter.catalogue import resources as r
from reporter.catalogue.resources import DEPLOYMENTS
from reporter.cli.main import main
from tests.tables import rows
from tests.unit.probes.building import DELETING, FORBIDDEN, condition
from tests.unit.stacks.otterscale.probes.otterscale import (
    EPP,
    NAME,
    PARENT,
    changed,
    evaluation,
    found,
    healthy,
    modelservice,
    one,
    reasons,
    rolled_out,
    status_of,
    without,
)
from tests.unit.stacks.otterscale.probes.pods import crashing, waiting

DECODE, POD = "qwen3-decode", "qwen3-decode-0"
REFUSED = {**PARENT, "conditions": [condition("Accepted", "False")]}
STALLED = {
    **rolled_out(1),
    "conditions": [condition("Progressing", "False", "ProgressDeadlineExceeded")],
}


def named(mode, name=EPP):
    """A patch of a pool: what it does without the endpoint picker, and the Service that it names."""
    return {"spec": {"endpointPickerRef": {"failureMode": mode, "name": name}}}


UNREACHED = {
    "gone": lambda docs: without(docs, ("Service", EPP)),
    "without the port": lambda docs: changed(docs, "Service", EPP, {"spec": {"ports": [{"port": 1}]}}),
    "of other pods": lambda docs: changed(docs, "Service", EPP, {"spec": {"selector": {"app": "x"}}}),
    "another": lambda docs: changed(docs, "InferencePool", NAME, {"spec": {"endpointPickerRef": {"name": "other"}}}),
}  # fmt: skip


def reached(docs, **reading):
    (evidence,) = evaluation(docs, **reading).serving
    return evidence.reached


@pytest.mark.parametrize("mode", ["FailOpen", "FailClose"])
@pytest.mark.parametrize("service", UNREACHED)
def test_requests_reach_the_picker_through_its_service(service, mode):
    """Only a pool that fails open serves without; what is told and the state agree."""
    docs = UNREACHED[service](changed(healthy(), "InferencePool", NAME, named(mode)))
    assert reached(docs) is (mode == "FailOpen")


def test_a_service_that_cannot_be_read_changes_no_evidence():
    """What cannot be read may be there."""
    docs = without(changed(healthy(), "InferencePool", NAME, named("FailClose")), ("Service", EPP))
    assert not reached(docs)
    assert reached(docs, unknown={r.SERVICES: FORBIDDEN})


def test_a_pool_that_names_another_service_is_told_if_that_one_is_missing():
    """That the operator's own is missing is told as such, and by nothing else."""
    docs = changed(healthy(), "InferencePool", NAME, named("FailClose", "other"))
    told = one(docs, "RouteNotReady")
    assert told.message.endswith(
        "InferencePool qwen3: its endpoint picker's Service other does not exist"
    )
    assert reasons(without(healthy(), ("Service", EPP))) == ["ObjectMissing"]


def test_a_picker_of_zero_is_not_explained_by_what_is_missing():
    """It would not start, but nobody asked it to."""
    docs = without(healthy(), ("ServiceAccount", EPP), ("Pod", f"{EPP}-0"))
    docs = changed(docs, "Deployment", EPP, {"spec": {"replicas": 0}, "status": rolled_out(0)})
    assert "ServiceAccount" not in one(docs, "EPPNotReady").message


def test_messages_stay_within_the_limit():
    """However long the texts of others are."""
    long = "x" * 3000
    docs = changed(healthy(), "Pod", POD, waiting("CreateContainerError", "vllm", long))
    assert len(one(docs, "PodsNotReady").message.encode()) <= 1024
    error = [
        condition(
            "Ready", "False", "ReconcileError", f"https://secret.example/{long} token=abcdef {long}"
        )
    ]
    docs = changed(healthy(), "ModelService", NAME, {"status": {"conditions": error}})
    message = one(docs, "ReconcileFailed").message
    assert "https://" not in message
    assert "abcdef" not in message
    assert message.endswith("; phase Ready and the counters are out of date")
    image = {"spec": {"model": {"image": f"registry/{long}"}}}
    docs = changed(healthy(), "ModelService", NAME, image)
    docs = changed(docs, "Pod", POD, crashing("model-unpack"))
    assert len(one(docs, "PodsNotReady").message.encode()) <= 1024


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


def down(**status):
    docs = changed(healthy(), "Pod", POD, waiting("ImagePullBackOff"))
    docs = changed(docs, "Deployment", "qwen3-decode", {"status": rolled_out(1, 0)})
    return changed(docs, "ModelService", NAME, {"status": status})


def decode(*patches):
    return changed(healthy(), "Deployment", DECODE, *patches)


def led_by(number):
    """A picker of three: only the leader is Ready, so its Deployment never becomes available."""
    conditions = [
        condition("Available", "False", "MinimumReplicasUnavailable"),
        condition("Progressing", "False", "ProgressDeadlineExceeded"),
    ]
    status = {**rolled_out(3, number), "availableReplicas": number, "conditions": conditions}
    docs = healthy(inferencePool={"endpointPicker": {"replicas": 3}})
    return changed(docs, "Deployment", EPP, {"status": status})


def not_ready(reason):
    return {"conditions": [condition("Ready", "False", reason)]}


OLD = status_of(healthy()[0]["spec"], observedGeneration=1, decodeReady=5)
ALL_DOWN = changed(
    down(phase="Running", decodeReady=None, prefillReady=None, **not_ready("PodsStarting")),
    "Deployment", "qwen3-prefill", {"status": rolled_out(1, 0)},
)  # fmt: skip


@rows(
    ("docs", "told", "is_ready"),
    {
        "healthy": (healthy(), [], True),
        "pods are not counted": (decode({"status": rolled_out(1, 0)}), ["StatusStale"], False),
        "more pods than wanted are enough": (decode({"status": rolled_out(2)}), ["StatusStale"], True),
        "a Deployment that asks for less": (decode({"spec": {"replicas": 0}}), ["StatusStale"], False),
        "a route that is refused": (changed(healthy(), "HTTPRoute", NAME, {"status": {"parents": [REFUSED]}}), ["RouteNotReady"], False),
        "a route without a status": (changed(healthy(), "HTTPRoute", NAME, {"status": None}), ["RouteNotReady"], False),
        "a stalled rollout of an older generation": (decode({"status": STALLED}, {"metadata": {"generation": 2}}), [], True),
        "a stalled rollout of a role that wants none": (decode({"status": STALLED}, {"spec": {"replicas": 0}}), ["StatusStale"], False),
        "a stalled rollout of a Deployment that goes": (decode({"status": STALLED}, DELETING), [], True),
        "an old status is told as such only: its counters are those of before": (changed(healthy(), "ModelService", NAME, {"status": OLD}), ["NotObserved"], True),
        "only the leader of the pickers is ready, which is no fault": (led_by(1), [], True),
        "the leader changes": (led_by(2), [], True),
        "no picker leads": (led_by(0), ["EPPNotReady"], False),
        "PodsStarting: look for the pod's cause": (ALL_DOWN, ["PodsNotReady"], False),
        "ReconcileError: use the Deployments": (down(**not_ready("ReconcileError")), ["PodsNotReady", "ReconcileFailed"], False),
        "no condition: the first pass is not finished": ([modelservice({"status": None})], ["NotObserved", "ObjectMissing"], False),
    },
)  # fmt: skip
def test_conclusions(docs, told, *, is_ready):
    assert (reasons(docs), bool(evaluation(docs).ready)) == (told, is_ready)


@pytest.mark.parametrize(
    "resource", [r.PODS, r.DEPLOYMENTS, r.INFERENCEPOOLS, r.HTTPROUTES], ids=str
)
def test_nothing_is_concluded_from_what_is_unknown(resource):
    found_ = evaluation(healthy(), unknown={resource: FORBIDDEN})
    assert found_.ready == ()
    assert bool(found_.derived) is (resource is not DEPLOYMENTS)


def test_derived():
    """The status is what the operator would write, from the Deployments."""
    (derived,) = evaluation(down()).derived
    assert str(derived.object) == "ModelService models/qwen3"
    assert derived.status["phase"] == "Running"
    assert derived.status["prefillReady"] == 1
    assert "decodeReady" not in derived.status


EXAMPLES = Path(__file__).parents[5] / "examples" / "modelservice"
FIRING = {
    ("modelserviceObjectMissing", "llama-3.3-70b"),
    ("modelservicePodsNotReady", "mistral-7b"),
    ("modelserviceEPPNotReady", "qwen3-0.6b"),
    ("modelserviceDrift", "qwen3-0.6b"),
    ("modelserviceDrift", "llama-3.3-70b"),
    ("modelserviceDeletionStuck", "phi-4"),
}


def checked(name, capsys):
    status = main(["check", "--from", str(EXAMPLES / name), "-o", "json"])
    return status, json.loads(capsys.readouterr().out)


def test_the_healthy_example(capsys):
    status, report = checked("healthy", capsys)
    assert (status, report["findings"], report["skipped"]) == (0, [], [])
    names = {"llama-3.3-70b", "qwen3-0.6b"}
    assert {each["subject"].rpartition("/")[2] for each in report["ready"]} == names
    assert {each["name"] for each in report["derived"]} == names
    assert {each["status"]["phase"] for each in report["derived"]} == {"Ready"}


def test_the_broken_example(capsys):
    status, report = checked("broken", capsys)
    told = {(each["reason"], each["subject"].rpartition("/")[2]) for each in report["findings"]}
    assert (status, told, report["ready"], report["skipped"]) == (1, FIRING, [], [])
    phases = {each["name"]: each["status"]["phase"] for each in report["derived"]}
    assert phases == {"llama-3.3-70b": "Ready", "mistral-7b": "Running", "qwen3-0.6b": "Ready"}

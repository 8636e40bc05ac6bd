"""When a ModelService is ready, and what is easy to get wrong."""

import json
from pathlib import Path

import pytest

from reporter.catalogue import resources as r
from reporter.catalogue.resources import DEPLOYMENTS
from reporter.cli.main import main
from tests.unit.probes.building import FORBIDDEN, condition
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


def ready(docs, **reading):
    return bool(evaluation(docs, **reading).ready)


@pytest.mark.parametrize(
    ("kind", "name", "patch"),
    [
        ("Deployment", DECODE, {"status": rolled_out(1, 0)}),
        ("Deployment", DECODE, {"spec": {"replicas": 0}}),
        ("HTTPRoute", NAME, {"status": {"parents": [REFUSED]}}),
        ("HTTPRoute", NAME, {"status": None}),
    ],
    ids=["pods are not counted", "it asks for less", "a route is refused", "a route has no status"],
)
def test_what_keeps_it_from_being_ready(kind, name, patch):
    """That faults of pods and of the picker do is said with each of them."""
    assert ready(healthy())
    assert not ready(changed(healthy(), kind, name, patch))


@pytest.mark.parametrize(
    "resource", [r.PODS, r.DEPLOYMENTS, r.INFERENCEPOOLS, r.HTTPROUTES], ids=str
)
def test_nothing_is_concluded_from_what_is_unknown(resource):
    assert not ready(healthy(), unknown={resource: FORBIDDEN})


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


def test_more_than_wanted_is_enough():
    docs = changed(healthy(), "Deployment", DECODE, {"status": rolled_out(2)})
    assert ready(docs)


@pytest.mark.parametrize(
    "patch",
    [
        {"metadata": {"generation": 2}},
        {"spec": {"replicas": 0}},
        {"metadata": {"deletionTimestamp": "2026-11-20T11:59:00Z"}},
    ],
    ids=["of an older generation", "of a role that wants none", "of a Deployment that goes"],
)
def test_a_stalled_rollout_that_says_nothing(patch):
    docs = changed(healthy(), "Deployment", DECODE, {"status": STALLED}, patch)
    assert "RolloutStalled" not in reasons(docs)


def test_a_picker_of_zero_is_not_explained_by_what_is_missing():
    """It would not start, but nobody asked it to."""
    docs = without(healthy(), ("ServiceAccount", EPP), ("Pod", f"{EPP}-0"))
    docs = changed(docs, "Deployment", EPP, {"spec": {"replicas": 0}, "status": rolled_out(0)})
    assert "ServiceAccount" not in one(docs, "EPPNotReady").message


def test_an_old_status_is_told_as_such_only():
    """Its counters are those of the generation before."""
    spec = healthy()[0]["spec"]
    status = status_of(spec, observedGeneration=1, decodeReady=5)
    docs = changed(healthy(), "ModelService", NAME, {"status": status})
    assert reasons(docs) == ["NotObserved"]


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


def down(**status):
    docs = changed(healthy(), "Pod", POD, waiting("ImagePullBackOff"))
    docs = changed(docs, "Deployment", "qwen3-decode", {"status": rolled_out(1, 0)})
    return changed(docs, "ModelService", NAME, {"status": status})


@pytest.mark.parametrize(
    ("docs", "told"),
    [
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

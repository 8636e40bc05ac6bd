"""Ready needs positive evidence: all that it names, and nothing of it unknown."""

import pytest

from reporter.catalogue import resources as r
from tests.unit.probes.building import FORBIDDEN, condition
from tests.unit.stacks.otterscale.probes.otterscale import (
    EPP,
    NAME,
    PARENT,
    changed,
    evaluation,
    healthy,
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


LACKING = {
    "no decode Deployment": lambda docs: without(docs, ("Deployment", DECODE)),
    "no prefill Deployment": lambda docs: without(docs, ("Deployment", "qwen3-prefill")),
    "a pod that is not Ready": lambda docs: changed(docs, "Pod", POD, waiting("ImagePullBackOff")),
    "a pod that the Deployment does not count": lambda docs: changed(
        docs, "Deployment", DECODE, {"status": rolled_out(1, 0)}
    ),
    "a Deployment that asks for less": lambda docs: changed(
        docs, "Deployment", DECODE, {"spec": {"replicas": 0}}
    ),
    "no picker": lambda docs: without(docs, ("Deployment", EPP)),
    "a picker of zero": lambda docs: changed(docs, "Deployment", EPP, {"spec": {"replicas": 0}}),
    "a picker that is down": lambda docs: changed(docs, "Deployment", EPP, {"status": rolled_out(1, 0)}),
    "no Service of the picker": lambda docs: without(docs, ("Service", EPP)),
    "a Service of another port": lambda docs: changed(docs, "Service", EPP, {"spec": {"ports": [{"port": 1}]}}),
    "a Service of other pods": lambda docs: changed(docs, "Service", EPP, {"spec": {"selector": {"app": "x"}}}),
    "no pool": lambda docs: without(docs, ("InferencePool", NAME)),
    "no route": lambda docs: without(docs, ("HTTPRoute", NAME)),
    "a route that is refused": lambda docs: changed(docs, "HTTPRoute", NAME, {"status": {"parents": [REFUSED]}}),
    "a route without status": lambda docs: changed(docs, "HTTPRoute", NAME, {"status": None}),
}  # fmt: skip


@pytest.mark.parametrize("lacking", LACKING)
def test_lacking(lacking):
    assert ready(healthy())
    assert not ready(LACKING[lacking](healthy()))


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

"""What keeps an InferenceService from having working pods: spec, runtime, storage, model, pods."""

from datetime import timedelta

import pytest

from reporter.catalogue import resources as r
from reporter.stacks.kserve import reasons as c
from tests.tables import rows
from tests.unit.probes.building import CREATED, condition, says
from tests.unit.stacks.kserve.derived.building import (
    RUNNING,
    UP,
    container,
    ended,
    has,
    predictor_pod,
    raw_deployment,
    waits,
)
from tests.unit.stacks.kserve.probes.serving import (
    AVAILABLE,
    STARTUP,
    as_propagated,
    on_deployments,
    on_knative,
    only,
    reasons,
    recorded,
    rerouted,
    seen,
)


def failing(reason, message="why", **states):
    info = {"reason": reason, "message": message} if reason else None
    model = {"transitionStatus": "InvalidSpec", "lastFailureInfo": info, "states": states or None}
    return {"status": {"modelStatus": model}}


CANARIES = {"spec": {"canary": [{"name": "a", "trafficPercent": 60}, {"trafficPercent": 41}]}}


def in_condition(reason, **more):
    return has(PredictorReady=f"False {reason}", Ready="False", **more)


@rows(
    ("objects", "patch", "reason", "text"),
    {
        **{
            f"no runtime: {each}": (on_knative(), failing(each), c.RUNTIME_MISSING, f"InferenceService models/llm: no runtime for the model, {each}: why")
            for each in ("RuntimeNotRecognized", "RuntimeDisabled", "NoSupportingRuntime")
        },
        "invalid": (on_knative(), failing("InvalidPredictorSpec"), c.INVALID_SPEC, "InferenceService models/llm: invalid spec, InvalidPredictorSpec: why"),
        "invalid for no reason": (on_knative(), failing(""), c.INVALID_SPEC, "InferenceService models/llm: invalid spec, no reason given"),
        "invalid, and the old one still serves": (
            on_knative(), failing("InvalidPredictorSpec", activeModelState="Loaded"), c.INVALID_SPEC, "; the previous model is still loaded",
        ),
        "canaries add up to more than all": (on_deployments(CANARIES), {}, c.INVALID_SPEC, "...add up to 101..."),
        **{
            f"in a condition: {each}": (on_deployments(), in_condition(f"{each}: too many", IngressReady="True"), c.INVALID_SPEC, f"predictor: {each}: too many")
            for each in ("InvalidGPUAllocation", "InvalidWorkerSpecNotSet")
        },
        "a reconcile failed, of its component": (
            on_knative(), in_condition("ReconcileFailed: no such secret"), c.RECONCILE_FAILED,
            "InferenceService models/llm: predictor: ReconcileFailed: no such secret",
        ),
    },
)  # fmt: skip
def test_a_spec_that_cannot_be_served(objects, patch, reason, *, text):
    """The reason decides which it is; it is told once, and not again as a component."""
    found = seen(objects, inferenceservice=patch)
    told = only(found, reason)
    assert says(told.message, text)
    assert "ComponentNotReady" not in reasons(found)
    if reason == c.RECONCILE_FAILED:
        assert (told.related.kind, told.related.name) == ("Service", "llm-predictor")


def one_pod(**states):
    return {"pod": predictor_pod(of="v2", **states)}


LOST = ended("Error", 3, "cannot read s3")
KILLED = ended("OOMKilled", 137)
LOADING = [
    # states of the containers, reason, at once, sustains, part of the message
    ({"storage": container("storage-initializer", LOST)}, c.STORAGE_FAILED, False, False, "the model cannot be fetched (exit code 3): cannot read s3"),
    ({"storage": container("storage-initializer", waits("CrashLoopBackOff"), LOST)}, c.STORAGE_FAILED, True, False, "cannot read s3"),
    ({"storage": container("storage-initializer", RUNNING, LOST)}, c.STORAGE_FAILED, False, True, "cannot read s3"),
    ({"storage": container("storage-initializer", KILLED)}, c.STORAGE_FAILED, False, False, "the model cannot be fetched: init container storage-initializer is killed for memory: OOMKilled (exit code 137: killed, out of memory)"),
    ({"storage": container("storage-initializer", waits("CrashLoopBackOff"), KILLED)}, c.STORAGE_FAILED, True, False, "the model cannot be fetched: init container storage-initializer is killed for memory: OOMKilled (exit code 137: killed, out of memory)"),
    ({"storage": container("storage-initializer", RUNNING, KILLED)}, c.STORAGE_FAILED, False, True, "the model cannot be fetched: init container storage-initializer is killed for memory: OOMKilled (exit code 137: killed, out of memory)"),
    ({"serving": container("kserve-container", LOST)}, c.MODEL_LOAD_FAILED, False, False, "the model does not load (exit code 3): cannot read s3"),
    ({"serving": container("kserve-container", waits("CrashLoopBackOff"), LOST)}, c.MODEL_LOAD_FAILED, True, False, "cannot read s3"),
    ({"serving": container("kserve-container", RUNNING, LOST)}, c.MODEL_LOAD_FAILED, False, True, "cannot read s3"),
]  # fmt: skip


@pytest.mark.parametrize(("states", "reason", "at_once", "sustains", "text"), LOADING)
def test_a_model_that_cannot_be_fetched_or_loaded(states, reason, at_once, sustains, text):
    """With the pod, the exit code and what the container said last."""
    found = only(seen(on_knative() | one_pod(**states)), reason)
    assert "InferenceService models/llm: pod pod-a: " in found.message
    assert text in found.message
    assert (found.exempt, found.sustains, found.lingers) == (at_once, sustains, True)
    assert found.related.name == "pod-a"


NOT_OF_THE_MODEL = [
    ("a download", {"storage": container("storage-initializer", RUNNING)}),
    ("a download that is done", {"storage": container("storage-initializer", ended("Completed", 0), KILLED)}),
    ("out of memory", {"serving": container("kserve-container", ended("OOMKilled", 137))}),
    ("out of memory again and again", {"serving": container("kserve-container", waits("CrashLoopBackOff"), ended("OOMKilled", 137))}),
    ("no image", {"serving": container("kserve-container", waits("ImagePullBackOff"))}),
    ("another container", {"serving": container("queue-proxy", ended("Error"))}),
]  # fmt: skip


@pytest.mark.parametrize(
    "states", [e[1] for e in NOT_OF_THE_MODEL], ids=[e[0] for e in NOT_OF_THE_MODEL]
)
def test_what_is_not_the_model(states):
    """Told of the pod, if at all."""
    found = reasons(seen(on_knative() | one_pod(**states)))
    assert "PodsNotReady" in found
    assert not {"StorageFailed", "ModelLoadFailed"} & set(found)


OF_TRANSFORMER = {"metadata": {"labels": {"component": "transformer"}}}
LOADS = container("kserve-container", waits("CrashLoopBackOff"), LOST)
SERVED = {
    "status": {
        "conditions": [condition("Initialized", "True", since=CREATED), condition("Ready", "False")]
    }
}
NEWEST_STARTS = as_propagated(on_knative(), service=rerouted("v3, v2", "v2:100 L"))
ROLLED_BACK = as_propagated(
    on_knative(), service=rerouted("v3, v2", "v2:0 L, v1:100 -"), inferenceservice=recorded("v1", "v1")
)  # fmt: skip
NOT_FETCHED = container("storage-initializer", waits("CrashLoopBackOff"), LOST)


def test_a_transformer_that_crashes_is_not_the_model():
    """Its serving container has the same name; KServe loads models in the predictor only."""
    pod = predictor_pod(OF_TRANSFORMER, of="v2", serving=LOADS)
    found = reasons(seen(on_knative() | {"pod": pod}))
    assert "PodsNotReady" in found
    assert "ModelLoadFailed" not in found


@rows(
    ("objects", "pod", "reason", "ends"),
    {
        "the newest does not load": (
            NEWEST_STARTS, predictor_pod(of="v3", serving=container("kserve-container", LOST)), c.MODEL_LOAD_FAILED, "; revision v2 still serves",
        ),
        "the newest cannot be fetched": (
            NEWEST_STARTS, predictor_pod(of="v3", storage=NOT_FETCHED), c.STORAGE_FAILED, ": cannot read s3; revision v2 still serves",
        ),
        "after a rollback, not the latest ready one, which gets none": (
            ROLLED_BACK, predictor_pod(of="v3", serving=container("kserve-container", LOST)), c.MODEL_LOAD_FAILED, "; revision v1 still serves",
        ),
        "not one that crashes too": (
            NEWEST_STARTS, predictor_pod(of="v2", serving=LOADS), c.MODEL_LOAD_FAILED, ": cannot read s3; Ready is True all the same",
        ),
    },
)  # fmt: skip
def test_a_revision_that_still_gets_requests_is_named(objects, pod, reason, ends):
    """Whoever is woken up wants to know first whether anything serves."""
    assert only(seen(objects | {"pod": pod}), reason).message.endswith(ends)


def test_a_model_server_that_had_served_is_not_said_to_load():
    """It was Ready, and crashes since: the same reason, for KServe calls both so."""
    pod = predictor_pod(SERVED, of="v2", serving=LOADS)
    found = only(seen(on_knative() | {"pod": pod}), c.MODEL_LOAD_FAILED)
    assert "pod pod-a: the model server was Ready and fails (exit code 3)" in found.message
    assert found.independent


@pytest.mark.parametrize("ready", ["True", "False"])
def test_pods_of_a_deployment_that_go_on_are_told(ready):
    """Ready is all that tells in Standard mode: a rollout that fails is no outage."""
    objects = on_deployments() | {"new": predictor_pod(name="pod-b", serving=LOADS)}
    evaluation = seen(objects, inferenceservice=has(**(UP | {"Ready": ready})))
    message = only(evaluation, c.MODEL_LOAD_FAILED).message
    assert message.endswith("; Ready is True all the same") is (ready == "True")


def test_without_pods_the_status_tells():
    """Only where pods cannot be read."""
    info = {"reason": "ModelLoadFailed", "message": "bad weights", "exitCode": 1}
    model = {"transitionStatus": "BlockedByFailedLoad", "lastFailureInfo": info}
    objects = on_knative({"status": {"modelStatus": model}})
    blocked = {"status": {"modelStatus": model}}
    found = seen(objects, inferenceservice=blocked, unknown=[r.PODS])
    assert (
        "the model does not load (exit code 1): bad weights"
        in only(found, c.MODEL_LOAD_FAILED).message
    )
    assert "ModelLoadFailed" not in reasons(seen(objects, inferenceservice=blocked))


PODS = [
    # states, cause, at once, budget
    ({"serving": container("kserve-container", waits("ImagePullBackOff"))}, "ImagePullBackOff", False, None),
    ({"serving": container("kserve-container", waits("CrashLoopBackOff"), LOST)}, "CrashLoopBackOff", True, None),
    ({"serving": container("kserve-container", ended("OOMKilled", 137))}, "OOMKilled", False, None),
    ({"serving": container("kserve-container", RUNNING)}, "not Ready yet", False, timedelta(seconds=STARTUP)),
]  # fmt: skip


@pytest.mark.parametrize(("states", "cause", "at_once", "budget"), PODS)
def test_pods_that_are_not_ready(states, cause, at_once, budget):
    """What they suffer from, while Ready is True."""
    found = only(seen(on_knative() | one_pod(**states)), c.PODS_NOT_READY)
    assert (found.cause, found.exempt, found.budget) == (cause, at_once, budget)
    assert found.message.endswith("; Ready is True all the same")


@pytest.mark.parametrize(("revision", "told"), [("v1", False), ("v2", True), ("v3", True)])
def test_pods_of_revisions_that_matter(revision, told):
    """The newest, and those with traffic; v1 is of the past."""
    pod = predictor_pod(of=revision, serving=container("kserve-container", waits("ErrImagePull")))
    objects = as_propagated(on_knative(), service=rerouted("v3, v2", "v2:100 L"))
    assert ("PodsNotReady" in reasons(seen(objects | {"pod": pod}))) is told


@pytest.mark.parametrize(("available", "severity"), [(0, 1), (1, 0)])
def test_pods_that_cannot_be_created(available, severity):
    """A quota that refuses them; worse if none is left."""
    broken = raw_deployment(
        {"status": {"availableReplicas": available}},
        **AVAILABLE,
        ReplicaFailure="True FailedCreate: exceeded quota",
    )
    found = only(seen(on_deployments() | {"deployment": broken}), c.PODS_NOT_CREATED)
    assert found.message == (
        "InferenceService models/llm: predictor: pods of Deployment llm-predictor cannot be "
        "created, FailedCreate: exceeded quota"
    )
    assert found.severity == severity


TO_FETCH = {"spec": {"predictor": {"model": {"storageUri": "s3://models/llm"}}}}
FETCHES = {"spec": {"initContainers": [{"name": "storage-initializer"}]}}
HOLDS = {"spec": {"containers": [{"name": "kserve-container"}, {"name": "modelcar"}]}}
CLAIMS = {"spec": {"volumes": [{"name": "x", "persistentVolumeClaim": {"claimName": "model"}}]}}
CRASHED = container("kserve-container", waits("CrashLoopBackOff"), ended("Error"))


LEFT_OUT = {"metadata": {"labels": {"control-plane": "kubeflow"}}}


def left_out(*patches, spec=TO_FETCH, **changes):
    """What is told of a pod in a namespace that KServe's webhook leaves out."""
    return seen(on_deployments(spec), pod=predictor_pod(*patches, **changes), namespace=LEFT_OUT)


@pytest.mark.parametrize("touched", [FETCHES, HOLDS, CLAIMS])
def test_a_pod_that_has_its_model_from_somewhere_does_not_lack_it(touched):
    assert "StorageFailed" not in reasons(left_out(touched, serving=CRASHED))
    assert "StorageFailed" not in reasons(left_out(spec={}, serving=CRASHED))
    assert "StorageFailed" not in reasons(left_out(ready=True))


def test_a_pod_that_the_webhook_leaves_out_never_gets_the_model():
    """A server that waits for its model never ends: it has the time of any start-up."""
    found = only(left_out(serving=CRASHED), c.STORAGE_FAILED)
    assert (
        "the label control-plane, which models has: the pod has no storage-initializer"
        in found.message
    )
    assert found.budget is None
    assert only(left_out(), c.STORAGE_FAILED).budget == timedelta(seconds=STARTUP)

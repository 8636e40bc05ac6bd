"""What keeps an InferenceService from having working pods: spec, runtime, storage, model, pods."""

from datetime import timedelta

import pytest

from reporter.catalogue import resources as r
from reporter.stacks.kserve import reasons as c
from tests.unit.probes.building import CREATED, condition
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
    rerouted,
    seen,
)


def failing(reason, message="why", **states):
    info = {"reason": reason, "message": message} if reason else None
    model = {"transitionStatus": "InvalidSpec", "lastFailureInfo": info, "states": states or None}
    return {"status": {"modelStatus": model}}


SPECS = [
    # failure reason, reason of the finding, what the message says
    ("RuntimeNotRecognized", c.RUNTIME_MISSING, "no runtime for the model, RuntimeNotRecognized: why"),
    ("RuntimeDisabled", c.RUNTIME_MISSING, "no runtime for the model, RuntimeDisabled: why"),
    ("NoSupportingRuntime", c.RUNTIME_MISSING, "no runtime for the model, NoSupportingRuntime: why"),
    ("InvalidPredictorSpec", c.INVALID_SPEC, "invalid spec, InvalidPredictorSpec: why"),
    ("", c.INVALID_SPEC, "invalid spec, no reason given"),
]  # fmt: skip


@pytest.mark.parametrize(("failure", "reason", "text"), SPECS)
def test_invalid_spec(failure, reason, text):
    """The failure reason decides which it is; the message names it."""
    found = seen(on_knative(), inferenceservice=failing(failure))
    assert only(found, reason).message == f"InferenceService models/llm: {text}"


def test_an_invalid_spec_with_a_model_that_is_loaded():
    """The old one still serves."""
    patch = failing("InvalidPredictorSpec", activeModelState="Loaded")
    found = only(seen(on_knative(), inferenceservice=patch), c.INVALID_SPEC)
    assert found.message.endswith("; the previous model is still loaded")


@pytest.mark.parametrize("reason", ["InvalidGPUAllocation", "InvalidWorkerSpecNotSet"])
def test_invalid_workers(reason):
    """A condition's reason, not a failure reason; not told again as a component."""
    patch = has(PredictorReady=f"False {reason}: too many", Ready="False", IngressReady="True")
    found = seen(on_deployments(), inferenceservice=patch)
    assert only(found, c.INVALID_SPEC).cause == f"predictor {reason}"
    assert "ComponentNotReady" not in reasons(found)


def test_canaries_that_sum_up_to_more_than_all():
    """The webhook normally refuses them."""
    canaries = {"spec": {"canary": [{"name": "a", "trafficPercent": 60}, {"trafficPercent": 41}]}}
    found = seen(on_deployments(canaries))
    assert "add up to 101" in only(found, c.INVALID_SPEC).message


def test_a_reconcile_that_failed():
    """The error is told, of the component that it is about."""
    patch = has(PredictorReady="False ReconcileFailed: no such secret", Ready="False")
    found = only(seen(on_knative(), inferenceservice=patch), c.RECONCILE_FAILED)
    assert found.message == (
        "InferenceService models/llm: predictor: ReconcileFailed: no such secret"
    )
    assert (found.related.kind, found.related.name) == ("Service", "llm-predictor")


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


def test_a_transformer_that_crashes_is_not_the_model():
    """Its serving container has the same name; KServe loads models in the predictor only."""
    labels = {"metadata": {"labels": {"component": "transformer"}}}
    pod = predictor_pod(labels, of="v2", serving=container("kserve-container", waits("CrashLoopBackOff"), LOST))  # fmt: skip
    found = reasons(seen(on_knative() | {"pod": pod}))
    assert "PodsNotReady" in found
    assert "ModelLoadFailed" not in found


def test_a_model_server_that_had_served_is_not_said_to_load():
    """It was Ready, and crashes since: the same reason, for KServe calls both so."""
    conditions = [condition("Initialized", "True", since=CREATED), condition("Ready", "False")]
    pod = predictor_pod(
        {"status": {"conditions": conditions}}, of="v2",
        serving=container("kserve-container", waits("CrashLoopBackOff"), LOST),
    )  # fmt: skip
    found = only(seen(on_knative() | {"pod": pod}), c.MODEL_LOAD_FAILED)
    assert "pod pod-a: the model server was Ready and fails (exit code 3)" in found.message  # fmt: skip
    assert found.independent


@pytest.mark.parametrize("ready", ["True", "False"])
def test_pods_of_a_deployment_that_go_on_are_told(ready):
    """Ready is all that tells in Standard mode: a rollout that fails is no outage."""
    serving = container("kserve-container", waits("CrashLoopBackOff"), LOST)
    objects = on_deployments() | {"new": predictor_pod(name="pod-b", serving=serving)}
    found = only(
        seen(objects, inferenceservice=has(**(UP | {"Ready": ready}))), c.MODEL_LOAD_FAILED
    )
    assert found.message.endswith("; Ready is True all the same") is (ready == "True")


def test_an_older_revision_that_still_serves_is_named():
    """The newest one does not load."""
    pod = predictor_pod(of="v3", serving=container("kserve-container", LOST))
    objects = as_propagated(on_knative(), service=rerouted("v3, v2", "v2:100 L"))
    found = only(seen(objects | {"pod": pod}), c.MODEL_LOAD_FAILED)
    assert found.message.endswith("; revision v2 still serves")


def test_after_a_rollback_the_revision_that_gets_requests_is_named():
    """Not the latest ready one, which gets none."""
    history = {"latestRolledoutRevision": "v1", "previousRolledoutRevision": "v1"}
    objects = as_propagated(
        on_knative(),
        service=rerouted("v3, v2", "v2:0 L, v1:100 -"),
        inferenceservice={"status": {"components": {"predictor": history}}},
    )
    pod = predictor_pod(of="v3", serving=container("kserve-container", LOST))
    found = only(seen(objects | {"pod": pod}), c.MODEL_LOAD_FAILED)
    assert found.message.endswith("; revision v1 still serves")


def test_a_pod_of_the_older_revision_that_crashes_is_not_said_to_serve():
    """The newest revision never was ready, and now the one before it fails too."""
    pod = predictor_pod(of="v2", serving=container("kserve-container", waits("CrashLoopBackOff"), LOST))  # fmt: skip
    objects = as_propagated(on_knative(), service=rerouted("v3, v2", "v2:100 L"))
    found = only(seen(objects | {"pod": pod}), c.MODEL_LOAD_FAILED)
    assert found.message.endswith(": cannot read s3; Ready is True all the same")


def test_an_older_revision_serves_while_the_newest_cannot_be_fetched():
    """Whoever is woken up wants to know first whether anything serves."""
    storage = container("storage-initializer", waits("CrashLoopBackOff"), LOST)
    objects = as_propagated(on_knative(), service=rerouted("v3, v2", "v2:100 L"))
    found = only(seen(objects | {"pod": predictor_pod(of="v3", storage=storage)}), c.STORAGE_FAILED)
    assert found.message.endswith(": cannot read s3; revision v2 still serves")


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

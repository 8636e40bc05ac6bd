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


LOST = ended("Error", 3, "cannot read s3")
KILLED = ended("OOMKilled", 137)
CRASHES, PULLS = waits("CrashLoopBackOff"), waits("ImagePullBackOff")


def fetches(state, last=None):
    return container("storage-initializer", state, last)


def serves(state, last=None, name="kserve-container"):
    return container(name, state, last)


def with_pod(*patches, objects=None, of="v2", **states):
    """A model whose pod is in this state."""
    return (objects or on_knative()) | {"pod": predictor_pod(*patches, of=of, **states)}


LOADS = serves(CRASHES, LOST)
OF_TRANSFORMER = {"metadata": {"labels": {"component": "transformer"}}}
INITIALIZED = condition("Initialized", "True", since=CREATED)
SERVED = {"status": {"conditions": [INITIALIZED, condition("Ready", "False")]}}
NEWEST_STARTS = as_propagated(on_knative(), service=rerouted("v3, v2", "v2:100 L"))
ROLLED_BACK = as_propagated(
    on_knative(), service=rerouted("v3, v2", "v2:0 L, v1:100 -"), inferenceservice=recorded("v1", "v1")
)  # fmt: skip
MEMORY = "...the model cannot be fetched: init container storage-initializer is killed for memory: OOMKilled (exit code 137: killed, out of memory)..."
READY_ALL_THE_SAME = "; Ready is True all the same"
FAILS_AGAIN = on_deployments() | {"new": predictor_pod(name="pod-b", serving=LOADS)}
WEIGHTS = {"reason": "ModelLoadFailed", "message": "bad weights", "exitCode": 1}
BLOCKED = {"status": {"modelStatus": {"transitionStatus": "BlockedByFailedLoad", "lastFailureInfo": WEIGHTS}}}  # fmt: skip
ERR_PULL = serves(waits("ErrImagePull"))
START = timedelta(seconds=STARTUP)
STORAGE, LOAD, PODS = c.STORAGE_FAILED, c.MODEL_LOAD_FAILED, c.PODS_NOT_READY


def refused_pods(available):
    """A quota that refuses pods."""
    status = {"status": {"availableReplicas": available}}
    failure = "True FailedCreate: exceeded quota"
    return on_deployments() | {"deployment": raw_deployment(status, **AVAILABLE, ReplicaFailure=failure)}  # fmt: skip


@rows(
    ("objects", "changes", "reason", "expected"),
    {
        "the model cannot be fetched": (with_pod(storage=fetches(LOST)), {}, STORAGE, {"says": "...the model cannot be fetched (exit code 3): cannot read s3...", "exempt": False, "sustains": False}),
        "again and again": (with_pod(storage=fetches(CRASHES, LOST)), {}, STORAGE, {"says": "...cannot read s3...", "exempt": True, "sustains": False}),
        "it is tried again": (with_pod(storage=fetches(RUNNING, LOST)), {}, STORAGE, {"says": "...cannot read s3...", "exempt": False, "sustains": True}),
        "fetching takes too much memory": (with_pod(storage=fetches(KILLED)), {}, STORAGE, {"says": MEMORY, "exempt": False, "sustains": False}),
        "memory, again and again": (with_pod(storage=fetches(CRASHES, KILLED)), {}, STORAGE, {"says": MEMORY, "exempt": True, "sustains": False}),
        "memory, and it is tried again": (with_pod(storage=fetches(RUNNING, KILLED)), {}, STORAGE, {"says": MEMORY, "exempt": False, "sustains": True}),
        "the model does not load": (with_pod(serving=serves(LOST)), {}, LOAD, {"says": "...the model does not load (exit code 3): cannot read s3...", "exempt": False, "sustains": False}),
        "loading fails again and again": (with_pod(serving=LOADS), {}, LOAD, {"says": "...cannot read s3...", "exempt": True, "sustains": False}),
        "loading is tried again": (with_pod(serving=serves(RUNNING, LOST)), {}, LOAD, {"says": "...cannot read s3...", "exempt": False, "sustains": True}),
        "a model server that had served is not said to load: KServe calls both so": (
            with_pod(SERVED, serving=LOADS), {}, LOAD, {"says": "...pod pod-a: the model server was Ready and fails (exit code 3)...", "independent": True},
        ),
        "a revision that still gets requests is named: the newest does not load": (
            with_pod(objects=NEWEST_STARTS, of="v3", serving=serves(LOST)), {}, LOAD, {"says": "; revision v2 still serves"},
        ),
        "the newest cannot be fetched": (
            with_pod(objects=NEWEST_STARTS, of="v3", storage=fetches(CRASHES, LOST)), {}, STORAGE, {"says": ": cannot read s3; revision v2 still serves"},
        ),
        "after a rollback, not the latest ready one, which gets none": (
            with_pod(objects=ROLLED_BACK, of="v3", serving=serves(LOST)), {}, LOAD, {"says": "; revision v1 still serves"},
        ),
        "not one that crashes too": (with_pod(objects=NEWEST_STARTS, serving=LOADS), {}, LOAD, {"says": f": cannot read s3{READY_ALL_THE_SAME}"}),
        "Ready is all that tells in Standard mode: a rollout that fails is no outage": (
            FAILS_AGAIN, {"inferenceservice": has(**UP)}, LOAD, {"says": READY_ALL_THE_SAME},
        ),
        "without it nothing is said of that": (FAILS_AGAIN, {"inferenceservice": has(**(UP | {"Ready": "False"}))}, LOAD, {"says": "cannot read s3"}),
        "the status tells where pods cannot be read": (
            on_knative(BLOCKED), {"inferenceservice": BLOCKED, "unknown": [r.PODS]}, LOAD, {"says": "...the model does not load (exit code 1): bad weights..."},
        ),
        "and only there": (on_knative(BLOCKED), {"inferenceservice": BLOCKED}, None, {"not": [LOAD]}),
        "pods that lack an image": (with_pod(serving=serves(PULLS)), {}, PODS, {"says": READY_ALL_THE_SAME, "cause": "ImagePullBackOff", "exempt": False, "budget": None, "not": [STORAGE, LOAD]}),
        "that crash": (with_pod(serving=LOADS), {}, PODS, {"says": READY_ALL_THE_SAME, "cause": "CrashLoopBackOff", "exempt": True, "budget": None}),
        "that run out of memory, which is not the model": (
            with_pod(serving=serves(KILLED)), {}, PODS, {"says": READY_ALL_THE_SAME, "cause": "OOMKilled", "exempt": False, "budget": None, "not": [STORAGE, LOAD]},
        ),
        "out of memory again and again": (with_pod(serving=serves(CRASHES, KILLED)), {}, PODS, {"not": [STORAGE, LOAD]}),
        "that start": (with_pod(serving=serves(RUNNING)), {}, PODS, {"says": READY_ALL_THE_SAME, "cause": "not Ready yet", "exempt": False, "budget": START}),
        "that download": (with_pod(storage=fetches(RUNNING)), {}, PODS, {"not": [STORAGE, LOAD]}),
        "that have downloaded": (with_pod(storage=fetches(ended("Completed", 0), KILLED)), {}, PODS, {"not": [STORAGE, LOAD]}),
        "whose proxy crashes": (with_pod(serving=serves(ended("Error"), name="queue-proxy")), {}, PODS, {"not": [STORAGE, LOAD]}),
        "a transformer that crashes is not the model, though its container has the same name": (
            with_pod(OF_TRANSFORMER, serving=LOADS), {}, PODS, {"not": [LOAD]},
        ),
        "pods of the newest revision": (with_pod(objects=NEWEST_STARTS, of="v3", serving=ERR_PULL), {}, PODS, {}),
        "of one with traffic": (with_pod(objects=NEWEST_STARTS, serving=ERR_PULL), {}, PODS, {}),
        "not of one of the past": (with_pod(objects=NEWEST_STARTS, of="v1", serving=ERR_PULL), {}, None, {"not": [PODS]}),
        **{
            f"pods that cannot be created, with {available} left": (
                refused_pods(available), {}, c.PODS_NOT_CREATED,
                {
                    "severity": severity,
                    "says": "InferenceService models/llm: predictor: pods of Deployment llm-predictor cannot be created, FailedCreate: exceeded quota",
                },
            )
            for available, severity in ((0, 1), (1, 0))
        },
    },
)  # fmt: skip
def test_what_keeps_it_from_having_working_pods(objects, changes, reason, expected):
    """With the pod, the exit code and what the container said last."""
    found, wanted = seen(objects, **changes), dict(expected)
    assert not {each.reason for each in found.findings} & {*wanted.pop("not", [])}
    if reason:
        told = only(found, reason)
        assert says(told.message, wanted.pop("says", ""))
        assert {key: getattr(told, key) for key in wanted} == wanted
    if "sustains" in expected:
        assert told.message.startswith("InferenceService models/llm: pod pod-a: ")
        assert (told.lingers, told.related.name) == (True, "pod-a")


TO_FETCH = {"spec": {"predictor": {"model": {"storageUri": "s3://models/llm"}}}}
FETCHES = {"spec": {"initContainers": [{"name": "storage-initializer"}]}}
HOLDS = {"spec": {"containers": [{"name": "kserve-container"}, {"name": "modelcar"}]}}
CLAIMS = {"spec": {"volumes": [{"name": "x", "persistentVolumeClaim": {"claimName": "model"}}]}}
CRASHED = serves(CRASHES, ended("Error"))
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
    lacks = "the label control-plane, which models has: the pod has no storage-initializer"
    assert lacks in found.message
    assert found.budget is None
    assert only(left_out(), c.STORAGE_FAILED).budget == START

"""What is said of an InferenceService: findings, evidence, and ages."""

from datetime import UTC, datetime

import pytest

from reporter.catalogue import resources as r
from reporter.stacks.kserve import reasons as c
from reporter.stacks.kserve.reasons import KNATIVE_REVISIONS, KNATIVE_SERVICES
from tests.tables import ALL, rows
from tests.unit.probes.asking import evaluate_inferenceservices
from tests.unit.probes.building import (
    CREATED,
    Document,
    condition,
    merged,
    namespace,
    says,
    snapshot_of,
)
from tests.unit.stacks.kserve.derived.building import (
    RUNNING,
    TRANSFORMED,
    UP,
    annotated,
    cluster,
    container,
    has,
    inferenceservice,
    knative_service,
    predictor_pod,
    raw_deployment,
    revision,
    waits,
)
from tests.unit.stacks.kserve.probes.serving import (
    AVAILABLE,
    SETTINGS,
    STARTUP,
    as_propagated,
    on_deployments,
    on_knative,
    only,
    percent,
    reasons,
    recorded,
    rerouted,
    seen,
)


@pytest.mark.parametrize("objects", [on_knative(), on_deployments()], ids=["Knative", "Standard"])
def test_one_that_serves(objects):
    """Nothing is wrong, it is ready, and its status is as derived."""
    found = seen(objects)
    assert found.findings == ()
    assert [each.reason for each in found.ready] == [c.READY]
    assert [str(each.subject) for each in found.subjects] == ["inferenceservice/models/llm"]
    assert found.ready[0].involved.name == "models"
    assert found.ready[0].message.startswith(
        "InferenceService models/llm is ready: predictor ready"
    )
    assert found.derived[0].object.name == "llm"


FROZEN = annotated(**{"disable-auto-update": "true"})
STOPPED = annotated(stop="true")
BOTH = annotated(**{"disable-auto-update": "true", "stop": "true"})
UNREVISED = rerouted("v3, v3", "v3:90 L", Ready="False A", RoutesReady="False B")
BROKEN = rerouted("v2, v2", "v2:100 L", Ready="False RevisionFailed: why")
NEWEST_STARTS = as_propagated(on_knative(), service=rerouted("v3, v2", "v2:100 L"))
WAITS = has(Ready="Unknown Waiting", PredictorReady="Unknown Waiting")
HISTORY = (
    "components.predictor.latestRolledoutRevision, components.predictor.previousRolledoutRevision"
)


SAME = "Ready is True all the same"
GONE = {"service": None, "pod": None}
SEVERAL_NODES = {"spec": {"predictor": {"workerSpec": {}}}}
DOWN = {
    "status": {
        "availableReplicas": 0,
        "conditions": [condition("Available", "False", "MinimumReplicasUnavailable")],
    }
}


@rows(
    ("objects", "changes", "ready", "told"),
    {
        "one that serves, by its revision": (on_knative(), {}, "InferenceService models/llm is ready: predictor ready (revision v2)", {}),
        "a generation behind: the one observed is that of a Knative Service": (on_knative(), {"inferenceservice": {"metadata": {"generation": 99}}}, "...", {}),
        "a frozen one, whose objects are looked at: KServe leaves its status at Ready": (
            on_knative(FROZEN), {"service": BROKEN}, None, {"ComponentNotReady": f"predictor: PredictorReady is False, RevisionFailed: why; {SAME}"},
        ),
        "a stopped one: it is meant, and everything else follows": (
            on_knative(), {"inferenceservice": STOPPED, "service": None, "pod": None}, None, {"Stopped": "..."},
        ),
        "a frozen one is not stopped: KServe does not come to the switch": (on_knative(), {"inferenceservice": BOTH}, "...", {}),
        "the newest revision is not ready, and the older one serves": (NEWEST_STARTS, {}, None, {"RevisionNotReady": "..."}),
        "Knative Services cannot be read": (on_knative(), {"unknown": [KNATIVE_SERVICES]}, None, {}),
        "Knative Services cannot be read, so that none is missing": (on_knative(), GONE | {"unknown": [KNATIVE_SERVICES]}, None, {}),
        "a mode that is guessed proves no Knative Service missing: KServe before 0.15 writes none": (
            on_knative(), GONE | {"inferenceservice": {"status": {"deploymentMode": None}}}, None, {},
        ),
        "no Knative Service: KServe makes it again, and where it does not nothing else would tell": (
            on_knative(), GONE, None,
            {"ComponentNotReady": "predictor: its Knative Service llm-predictor does not exist; PredictorReady is True all the same"},
        ),
        "a component that was never made": (
            on_knative(), {"inferenceservice": TRANSFORMED}, None,
            {"ComponentNotReady": f"transformer: its Knative Service llm-transformer does not exist; {SAME}"},
        ),
        "one whose Knative Service cannot be read": (on_knative(), {"inferenceservice": TRANSFORMED, "unknown": [KNATIVE_SERVICES]}, None, {}),
        "a Deployment that does not exist": (
            on_deployments(), {"deployment": None}, None,
            {"ComponentNotReady": "predictor: PredictorReady is False, its Deployment llm-predictor does not exist", "StatusStale": "..."},
        ),
        "workers that do not exist": (
            on_deployments(), {"inferenceservice": SEVERAL_NODES}, None,
            {"ComponentNotReady": "predictor: PredictorReady is False, the Deployment of its workers does not exist", "StatusStale": "..."},
        ),
        "a component that is down before its status follows": (
            on_deployments(), {"deployment": DOWN}, None, {"ComponentNotReady": "...", "StatusStale": "..."},
        ),
        "a reason that nothing shows": (
            on_knative(), {"inferenceservice": has(**(UP | {"Ready": "False Odd: text"}))}, None,
            {"NotReady": "InferenceService models/llm: Ready is False, Odd: text", "StatusStale": "..."},
        ),
        "revisions without labels, so that none is known to be missing": (on_knative(), {"new": None, "old": None}, "...", {}),
        "pods cannot be read": (on_knative(), {"unknown": [r.PODS]}, None, {}),
        "a stale status, which no Knative Service says": (
            on_knative(), {"inferenceservice": recorded("v1", "")}, "...", {"StatusStale": f": its status does not match its objects, in {HISTORY}"},
        ),
        "many stale fields are counted": (
            on_knative(), {"service": UNREVISED}, None,
            {"StatusStale": " more", "ComponentNotReady": "...", "RolloutStuck": "...", "TrafficNotAsSpecified": "..."},
        ),
        "Ready is unknown": (on_knative(), {"inferenceservice": WAITS}, None, {"NotReady": "Ready is Unknown, Waiting", "StatusStale": "..."}),
    },
)  # fmt: skip
def test_what_is_said(objects, changes, ready, told):
    found = seen(objects, **changes)
    by_reason = {each.reason.removeprefix("inferenceservice"): each for each in found.findings}
    assert by_reason.keys() == told.keys()
    assert [name for name, text in told.items() if not says(by_reason[name].message, text)] == []
    assert [says(each.message, ready or "") for each in found.ready] == ([True] if ready else [])
    # A status that is half a guess is none, and a stale one is not as old as its conditions.
    assert not (found.derived and changes.get("unknown"))
    assert "StatusStale" not in told or by_reason["StatusStale"].transition is None
    if changes.get("inferenceservice") == WAITS:
        assert by_reason["NotReady"].budget.total_seconds() == STARTUP


def test_without_knative_in_the_cluster():
    """The mode in effect cannot work; without a mode on record it is taken for Standard."""
    docs = [namespace("models"), inferenceservice()]
    served = {str(each) for each in ALL if each.custom and each is not KNATIVE_SERVICES}
    snapshot = snapshot_of(*docs, served=served)
    found = evaluate_inferenceservices(snapshot, SETTINGS)
    assert "KnativeMissing" in reasons(found)
    unset = snapshot_of(
        docs[0], inferenceservice({"status": {"deploymentMode": None}}), served=served
    )
    found = evaluate_inferenceservices(unset, SETTINGS)
    assert "KnativeMissing" not in reasons(found)


def test_a_deployment_tells_the_mode_where_nothing_else_does():
    """KServe may be configured with Standard mode although the cluster has Knative."""
    objects = on_deployments()
    objects["inferenceservice"] = merged(
        objects["inferenceservice"], {"status": {"deploymentMode": None}}
    )
    assert seen(objects).ready
    assert "PodsNotReady" in reasons(seen(objects | {"pod": predictor_pod(ready=False)}))
    on_both = objects | {"service": knative_service("v2, v2", "v2:100 L")}
    assert "PodsNotReady" not in reasons(seen(on_both | {"pod": predictor_pod(ready=False)}))


def test_no_status_at_all():
    """KServe has not written anything yet."""
    snapshot = cluster(namespace("models"), inferenceservice({"status": None}))
    finding = only(evaluate_inferenceservices(snapshot, SETTINGS), c.NOT_READY)
    assert (finding.cause, finding.budget.total_seconds()) == ("no status", 120)


def serving(evaluation) -> tuple[int, int] | None:
    """How many serve of how many that are wanted; None if nothing is said."""
    if not evaluation.serving:
        return None
    (found,) = evaluation.serving
    return found.serving, found.wanted


LOST: Document = {
    "status": {
        "conditions": [
            condition("Initialized", "True", since=CREATED),
            condition("Ready", "False"),
        ],
        "containerStatuses": [container("kserve-container", RUNNING)],
    }
}
"""A patch of a pod that was Ready, and is not any more."""
STARTS = predictor_pod(of="v2", serving=container("kserve-container", RUNNING))
PULLS = predictor_pod(of="v2", serving=container("kserve-container", waits("ImagePullBackOff")))
WITH_TRANSFORMER = as_propagated(
    on_knative(TRANSFORMED)
    | {
        "transformer": knative_service("t1, t1", "t1:100 L", component="transformer"),
        "t1": revision("t1"),
    }
)


def zero(name: str = "llm-predictor") -> Document:
    """A Deployment at 0, which the Deployment controller calls available."""
    down = {"spec": {"replicas": 0}, "status": {"replicas": 0, "readyReplicas": 0, "availableReplicas": 0}}  # fmt: skip
    return raw_deployment(down, name=name, **AVAILABLE)


def ready_pod(of):
    return predictor_pod(name="pod-b", of=of, ready=True)


FAILED_POD = {"status": {"phase": "Failed"}}
NEXT_STARTS = predictor_pod(name="pod-b", of="v2", serving=container("kserve-container", RUNNING))
CANARY = as_propagated(on_knative(percent(20), recorded("v1", "")), service=rerouted("v2, v2", "v2:20 L, v1:80 -"))  # fmt: skip
ROLLED_BACK = as_propagated(on_knative(percent(0), recorded("v1", "v1")), service=rerouted("v2, v2", "v2:0 L, v1:100 -"))  # fmt: skip
NO_HEAD, NO_WORKERS = zero(), zero("llm-predictor-worker")
IDLE = as_propagated(on_deployments() | {"deployment": NO_HEAD})
ONLY_A_HEAD = as_propagated(on_deployments(SEVERAL_NODES) | {"workers": NO_WORKERS})
BOTH_AT_ZERO = as_propagated(on_deployments(SEVERAL_NODES) | {"deployment": NO_HEAD, "workers": NO_WORKERS})  # fmt: skip
NO_TRANSFORMER = as_propagated(on_deployments(TRANSFORMED) | {"transformer": zero("llm-transformer")})  # fmt: skip


@rows(
    ("objects", "more", "changes", "expected"),
    {
        "its pod is Ready": (on_knative(), [], {}, (1, 1)),
        "its pod is lost: a Knative revision stays Ready then, so the pods are believed": (on_knative(), [], {"pod": LOST}, (0, 1)),
        "another pod is Ready: one of two is enough": (on_knative(), [ready_pod("v2")], {"pod": LOST}, (1, 1)),
        "scaled to zero: Knative's activator holds a request until a pod is there": (on_knative(), [], {"pod": None}, (1, 1)),
        "a pod that failed is none": (on_knative(), [], {"pod": FAILED_POD}, (1, 1)),
        "a cold start": (on_knative() | {"pod": STARTS}, [], {}, (1, 1)),
        "a cold start that fails": (on_knative() | {"pod": PULLS}, [], {}, (0, 1)),
        "a start next to a lost pod is none from zero": (on_knative(), [NEXT_STARTS], {"pod": LOST}, (0, 1)),
        "a canary whose pods are lost takes its share alone; the other revision is scaled to zero": (CANARY, [], {"pod": LOST}, (1, 1)),
        "or has a pod": (CANARY, [ready_pod("v1")], {"pod": LOST}, (1, 1)),
        "after a rollback the newest revision's pod says nothing": (ROLLED_BACK, [predictor_pod(LOST, name="pod-b", of="v1")], {}, (0, 1)),
        "with a transformer": (WITH_TRANSFORMER, [], {"pod": None}, (1, 1)),
        "without its Knative Service": (WITH_TRANSFORMER, [], {"pod": None, "service": None}, (0, 1)),
        "without that of its transformer: requests pass both": (WITH_TRANSFORMER, [], {"pod": None, "transformer": None}, (0, 1)),
        "a revision that does not exist: nothing starts for its requests": (on_knative(), [], {"pod": None, "new": None}, (0, 1)),
        "revisions that cannot be read may exist": (on_knative(), [], {"pod": None, "new": None, "unknown": [KNATIVE_REVISIONS]}, (1, 1)),
        "pods cannot be read": (on_knative(), [], {"pod": None, "service": None, "unknown": [r.PODS]}, None),
        "Knative Services cannot be read": (on_knative(), [], {"pod": None, "service": None, "unknown": [KNATIVE_SERVICES]}, None),
        "a predictor at zero: nothing is wanted, so nothing is missed": (IDLE, [], {"pod": None}, (0, 0)),
        "a transformer at zero: all requests pass it, and Available stays True": (NO_TRANSFORMER, [], {}, (0, 1)),
        "workers at zero: the head alone does not answer": (ONLY_A_HEAD, [], {}, (0, 1)),
        "head and workers at zero": (BOTH_AT_ZERO, [], {"pod": None}, (0, 0)),
    },
)  # fmt: skip
def test_how_many_serve(objects, more, changes, expected):
    assert serving(seen(objects, *more, **changes)) == expected


def test_what_is_at_zero_is_told_unless_it_is_idle():
    idle = seen(IDLE, pod=None)
    assert idle.findings == ()
    (ready,) = idle.ready
    assert ready.message == "InferenceService models/llm is ready: 0 predictor replicas wanted"
    found = seen(NO_TRANSFORMER)
    assert not found.ready
    assert only(found, c.COMPONENT_NOT_READY).message == (
        "InferenceService models/llm: transformer: its Deployment llm-transformer wants 0 replicas; "
        "TransformerReady is True all the same"
    )


LATE = "2026-11-20T11:59:58Z"
LATE_AT = datetime(2026, 11, 20, 11, 59, 58, tzinfo=UTC)


def failing(*conditions: Document) -> Document:
    """A patch of an object's conditions."""
    return {"status": {"conditions": list(conditions)}}


UNAVAILABLE = failing(
    condition("Available", "False", "MinimumReplicasUnavailable", since=LATE),
    condition("Progressing", "True", "NewReplicaSetAvailable"),
)
REVISION_FAILED = failing(
    condition("Ready", "False", "RevisionFailed", since=LATE),
    condition("RoutesReady", "True"),
    condition("ConfigurationsReady", "True"),
)
ONE_AFTER_THE_OTHER = failing(
    condition("Available", "False", "MinimumReplicasUnavailable"),
    condition("Progressing", "False", "ProgressDeadlineExceeded", "why", since=LATE),
)
BEHIND: Document = {"status": {"observedGeneration": 5}}
BLOCKED: Document = {"status": {"modelStatus": {"transitionStatus": "BlockedByFailedLoad"}}}
LATELY_READY = failing(condition("Ready", "True", since=LATE))
LATELY_LOST = merged(STARTS, failing(condition("Ready", "False", since=LATE)))
FAILED_JUST_NOW = {(c.COMPONENT_NOT_READY, "transition"): True, (c.STATUS_STALE, "created"): True}
STALE_JUST_NOW, STALE_BEFORE = ({(c.STATUS_STALE, "created"): each} for each in (True, False))


def written(objects, handle: str, time: str, subresource: str = "") -> dict[str, Document]:
    """The objects, of which one was written last at that time."""
    entry = {"manager": "kubectl", "operation": "Update", "time": time, "subresource": subresource}
    fields = {"metadata": {"managedFields": [entry]}}
    return objects | {handle: merged(objects[handle], fields)}


@rows(
    ("objects", "changes", "late"),
    {
        "a Deployment that has just failed: kinds are read in turn, and one may be ahead": (on_deployments(), {"deployment": UNAVAILABLE}, FAILED_JUST_NOW),
        "a Knative Service that has": (on_knative(), {"service": REVISION_FAILED}, FAILED_JUST_NOW),
        "the part that failed first counts": (on_deployments(), {"deployment": ONE_AFTER_THE_OTHER}, {(c.COMPONENT_NOT_READY, "transition"): False}),
        **{
            f"a {handle} that was just written, {by or 'its spec'}: a generation moves, and no condition with it": (
                written(objects, handle, LATE, by), {handle: BEHIND}, STALE_BEFORE if by else STALE_JUST_NOW,
            )
            for objects, handle in ((on_deployments(), "deployment"), (on_knative(), "service"))
            for by in ("", "status")
        },
        "a time that cannot be read is none": (written(on_deployments(), "deployment", "9999-99-99"), {"deployment": BEHIND}, STALE_BEFORE),
        "pods count for the model alone: KServe does not follow whether they are Ready": (
            on_knative() | {"pod": LATELY_LOST}, {"service": rerouted("v2, v2", "v2:90 L")}, STALE_BEFORE,
        ),
        "for it they do": (on_knative() | {"pod": predictor_pod(LATELY_READY, of="v2", ready=True)}, {"inferenceservice": BLOCKED}, STALE_JUST_NOW),
    },
)  # fmt: skip
def test_since_when(objects, changes, late):
    """Whether a time that a finding tells is that of two seconds ago; it is never none."""
    found = seen(objects, **changes)
    told = {key: getattr(only(found, key[0]), key[1]) for key in late}
    assert None not in told.values()
    assert {key: each == LATE_AT for key, each in told.items()} == late

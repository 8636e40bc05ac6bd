"""One service through its life, and a pass with some of its inputs missing."""

from dataclasses import dataclass, field

import pytest

from reporter.catalogue import resources as r
from reporter.model.instant import rfc3339
from reporter.stacks.kserve.derived.derive import differs
from reporter.stacks.kserve.reasons import KNATIVE_SERVICES
from tests.unit.probes.building import NOW
from tests.unit.stacks.kserve.derived.building import (
    RUNNING,
    STANDARD,
    TRANSFORMED,
    UP,
    annotated,
    cluster,
    container,
    derived,
    ended,
    has,
    history,
    inferenceservice,
    knative_service,
    model,
    pair,
    predictor,
    predictor_pod,
    raw_deployment,
    statuses,
    stored,
    the_service,
    waits,
)


@dataclass(frozen=True)
class Moment:
    revisions: str
    entries: str
    history: str
    predictor: str
    model: tuple[str, str]
    pods: tuple = ()
    service: dict = field(default_factory=dict)


NOT_YET = {"Ready": "Unknown Deploying", "ConfigurationsReady": "Unknown Deploying"}
FAILED = {"Ready": "False RevisionFailed", "ConfigurationsReady": "False RevisionFailed"}
CRASHED = container("kserve-container", waits("CrashLoopBackOff"), ended("Error", 1, "bad"))

LIFE = {
    "t0 created": Moment("v1, 0", "", "0, 0", "Unknown Deploying", ("Pending", "InProgress"), service=NOT_YET),
    "t1 serves": Moment("v1, v1", "v1:100 L", "v1, 0", "True", ("Loaded", "UpToDate"), (predictor_pod(of="v1", ready=True),)),
    "t2 idle": Moment("v1, v1", "v1:100 L", "v1, 0", "True", ("Pending", "InProgress")),
    "t3 canary starts": Moment(
        "v2, v1", "v1:20 L, v1:80 -", "v1, 0", "Unknown Deploying", ("Loading", "InProgress"),
        (predictor_pod(of="v2", storage=container("storage-initializer", RUNNING)),), NOT_YET,
    ),
    "t4 canary serves": Moment(
        "v2, v2", "v2:20 L, v1:80 -", "v1, 0", "True", ("Loaded", "UpToDate"),
        (predictor_pod(of="v2", ready=True),),
    ),
    "t5 promoted": Moment("v2, v2", "v2:100 L", "v2, v1", "True", ("Loaded", "UpToDate"), (predictor_pod(of="v2", ready=True),)),
    "t6 rolled back, pass 1": Moment(
        "v2, v2", "v2:0 L, v2:100 -", "v1, v1", "True", ("Loaded", "UpToDate"),
        (predictor_pod(of="v2", ready=True),),
    ),
    "t6 rolled back, pass 2": Moment(
        "v2, v2", "v2:0 L, v1:100 -", "v1, v1", "True", ("Loaded", "UpToDate"),
        (predictor_pod(of="v2", ready=True),),
    ),
    "t7 v3 fails": Moment(
        "v3, v2", "v2:0 L, v1:100 -", "v1, v1", "False RevisionFailed",
        ("FailedToLoad", "BlockedByFailedLoad"),
        (predictor_pod(of="v3", serving=CRASHED),), FAILED,
    ),
}  # fmt: skip


def test_one_service_through_its_life():
    """From pass to pass, each with the status that the one before it left."""
    now = inferenceservice()
    for name, moment in LIFE.items():
        found = derived(
            now, knative_service(moment.revisions, moment.entries, **moment.service), *moment.pods
        )
        assert history(found) == pair(moment.history), name
        assert statuses(found)["PredictorReady"] == moment.predictor, name
        assert model(found)[1:] == moment.model, name
        ingress = has(**{**_as_text(found), "IngressReady": "True"})
        now = stored(found, inferenceservice(), {})
        now["status"]["conditions"] = ingress["status"]["conditions"]
    assert model(found) == ("Loaded", "FailedToLoad", "BlockedByFailedLoad")
    now["metadata"]["annotations"] = {"serving.kserve.io/stop": "true"}
    found = derived(now)
    assert set(found.status) == {"conditions", "deploymentMode", "modelStatus"}
    assert statuses(found)["PredictorReady"] == "False Stopped"


def _as_text(found):
    """The conditions of a derived status as conditions to store; Ready follows the ingress."""
    texts = statuses(found)
    return texts | ({"Ready": "True"} if texts["PredictorReady"] == "True" else {})


def test_a_service_that_works():
    """All conditions across components, sorted, each without a time if it is new."""
    found = derived(
        inferenceservice(has(**UP)),
        knative_service("v1, v1", "v1:100 L", {"status": {"url": "http://llm"}}),
        predictor_pod(ready=True),
    )
    assert statuses(found) == {
        "IngressReady": "True",
        "LatestDeploymentReady": "True",
        "PredictorConfigurationReady": "True",
        "PredictorReady": "True",
        "PredictorRouteReady": "True",
        "Ready": "True",
        "RoutesReady": "True",
        "Stopped": "False",
    }
    assert predictor(found) == {
        "latestCreatedRevision": "v1",
        "latestReadyRevision": "v1",
        "latestRolledoutRevision": "v1",
        "traffic": ({"revisionName": "v1", "latestRevision": True, "percent": 100},),
        "url": "http://llm",
    }
    assert found.status["modelStatus"] == {
        "transitionStatus": "UpToDate",
        "states": {"activeModelState": "Loaded", "targetModelState": "Loaded"},
        "copies": {"failedCopies": 0, "totalCopies": 1},
    }


def test_every_component_in_spec():
    """Transformer and explainer have parts, conditions and a history of their own."""
    found = derived(
        inferenceservice(has(**UP), {"spec": {"transformer": {}, "explainer": {}}}),
        knative_service("v1, v1", "v1:100 L"),
        knative_service("t1, t1", "t1:100 L", component="transformer", RoutesReady="False NotOwned"),
        knative_service("e1, 0", "", component="explainer", RoutesReady="Unknown"),
    )  # fmt: skip
    parts = found.status["components"]
    assert parts["transformer"]["latestRolledoutRevision"] == "t1"
    assert parts["explainer"]["latestCreatedRevision"] == "e1"
    assert statuses(found)["TransformerRouteReady"] == "False NotOwned"
    assert statuses(found)["RoutesReady"] == "Unknown ExplainerRoutesReady not ready"


def test_standard_mode():
    """Only the component's Ready; the generation is the Deployment's."""
    found = derived(
        inferenceservice(STANDARD, has(**UP)),
        raw_deployment(Available="True MinimumReplicasAvailable"),
        predictor_pod(ready=True),
    )
    assert statuses(found) == {
        "IngressReady": "True",
        "PredictorReady": "True MinimumReplicasAvailable",
        "Ready": "True",
        "Stopped": "False",
    }
    assert found.status["observedGeneration"] == 4
    assert model(found) == ("Loaded", "Loaded", "UpToDate")


def test_head_and_worker_in_standard_mode():
    """The worker is found by its name, and the generation is the head's."""
    found = derived(
        inferenceservice(STANDARD, has(**UP), {"spec": {"predictor": {"workerSpec": {}}}}),
        raw_deployment(Available="True Fine"),
        raw_deployment(
            {"status": {"observedGeneration": 9}},
            name="llm-predictor-worker",
            Available="False Poor: none",
        ),
    )
    assert statuses(found)["PredictorReady"].startswith("False predictor-container: Fine, worker-")
    assert found.status["observedGeneration"] == 4


def test_standard_mode_without_a_deployment():
    """False without a reason, and the generation stays."""
    found = derived(inferenceservice(STANDARD, has(**UP), {"status": {"observedGeneration": 8}}))
    assert statuses(found)["PredictorReady"] == "False"
    assert statuses(found)["Ready"] == "False"
    assert found.status["observedGeneration"] == 8


def test_standard_mode_has_no_revisions():
    """Revision fields and traffic stay empty, also where a Knative Service of old is left over."""
    docs = [raw_deployment(Available="True Fine"), knative_service("v1, v1", "v1:100 L")]
    found = derived(inferenceservice(STANDARD, has(**UP)), *docs)
    assert found.status.get("components", {}).get("predictor", {}) == {}


KEPT = [
    ("no Knative Service", has(**UP), {}),
    ("Knative Services are unknown", has(**UP), {"unknown": [KNATIVE_SERVICES]}),
    ("Deployments are unknown", {**has(**UP), **STANDARD}, {"unknown": [r.DEPLOYMENTS]}),
    ("a reconcile failed", has(PredictorReady="False ReconcileFailed: no"), {}),
    ("a GPU is invalid", has(PredictorReady="False InvalidGPUAllocation: no"), {}),
    ("the spec is invalid", {"status": {"modelStatus": {"transitionStatus": "InvalidSpec"}}}, {}),
]


@pytest.mark.parametrize(("patch", "more"), [e[1:] for e in KEPT], ids=[e[0] for e in KEPT])
def test_what_cannot_be_known_is_kept(patch, more):
    """The component and the model stay as they are stored."""
    before = {
        "components": {"predictor": {"latestRolledoutRevision": "v9"}},
        "modelStatus": {"states": {"activeModelState": "Loaded"}},
    }
    docs = [inferenceservice({"status": before}, patch)]
    if "GPU" in str(patch) or "ReconcileFailed" in str(patch) or "InvalidSpec" in str(patch):
        docs.append(knative_service("v1, v1", "v1:100 L"))
    found = derived(*docs, **more)
    assert history(found) == ("v9", "")
    assert model(found)[0] == "Loaded"


def test_pods_that_are_unknown_leave_the_model_status_alone():
    """The revisions are derived all the same."""
    before = {"modelStatus": {"transitionStatus": "UpToDate"}}
    found = derived(
        inferenceservice({"status": before}),
        knative_service("v1, v1", "v1:100 L"),
        unknown=[r.PODS],
    )
    assert found.status["modelStatus"] == before["modelStatus"]
    assert history(found) == ("v1", "")


def test_a_second_download_leaves_the_whole_status_alone():
    """KServe does not store the status of such a pass."""
    again = container("storage-initializer", RUNNING, ended("Error"))
    found = derived(
        inferenceservice(has(**UP)),
        knative_service("v1, v1", "v1:100 L"),
        predictor_pod(storage=again),
    )
    assert not found.decided
    assert "components" not in found.status


def test_two_pods_that_tell_different_things():
    """Which one KServe looked at cannot be known."""
    docs = [inferenceservice(has(**UP)), knative_service("v2, v1", "v1:100 L")]
    pods = [predictor_pod(of="v2"), predictor_pod(name="pod-b", of="v2", serving=CRASHED)]
    assert derived(*docs, *pods).model_unsure
    assert not derived(*docs, pods[0]).model_unsure


def test_the_newest_pod_is_looked_at():
    """KServe sorts pods so; one that no node has says nothing, and what was said before stays."""
    before = {
        "transitionStatus": "UpToDate",
        "states": {"activeModelState": "Loaded", "targetModelState": "Loaded"},
    }
    docs = [
        inferenceservice(STANDARD, {"status": {"modelStatus": before}}),
        raw_deployment(Available="False MinimumReplicasUnavailable"),
    ]
    younger = {"metadata": {"creationTimestamp": rfc3339(NOW)}, "status": {"containerStatuses": []}}
    pods = [predictor_pod(ready=True), predictor_pod(younger, name="pod-b")]
    assert model(derived(*docs, *pods)) == ("Loaded", "Loaded", "UpToDate")


@pytest.mark.parametrize("value", ["true", "True", "TRUE"])
def test_stopped(value):
    """All components and the ingress are False, and everything else is gone."""
    before = {
        "components": {"predictor": {"latestRolledoutRevision": "v1"}},
        "modelStatus": {"transitionStatus": "UpToDate"},
        "url": "http://llm",
        "observedGeneration": 3,
    }
    found = derived(
        inferenceservice(has(**UP, RoutesReady="True"), {"status": before}, TRANSFORMED, annotated(stop=value)),
        knative_service("v1, v1", "v1:100 L"),
    )  # fmt: skip
    assert set(found.status) == {"conditions", "deploymentMode", "modelStatus"}
    assert found.status["modelStatus"] == {"transitionStatus": ""}
    assert statuses(found) == {
        "IngressReady": "False Stopped",
        "PredictorReady": "False Stopped",
        "Ready": "False Stopped",
        "Stopped": "True",
        "TransformerReady": "False Stopped",
    }


@pytest.mark.parametrize("ingress", ["True", "False Stopped", None])
def test_the_ingress_of_one_that_was_stopped_in_standard_mode(ingress):
    """With ingress creation off KServe leaves it out, or writes True where it uses the Gateway API."""
    before = {"PredictorReady": "False Stopped", "Ready": "False Stopped", "Stopped": "True"}
    before |= {"IngressReady": ingress} if ingress else {}
    url = {"status": {"url": "http://llm"}}
    found = derived(inferenceservice(STANDARD, has(**before), url, annotated(stop="true")))
    assert statuses(found) == before
    assert found.status.get("url") == ("http://llm" if ingress == "True" else None)


@pytest.mark.parametrize("more", [{}, annotated(stop="true")], ids=["", "stopped"])
def test_knative_mode_without_knative(more):
    """KServe ends its pass before the stop switch, with the conditions that all begin with."""
    docs = inferenceservice({"status": {"deploymentMode": "Knative"}}, more)
    found = derived(docs, absent=[KNATIVE_SERVICES])
    assert statuses(found) == {
        "IngressReady": "Unknown",
        "PredictorReady": "Unknown",
        "Ready": "Unknown",
    }


def test_a_model_status_is_written_as_go_does():
    """Without `omitempty` an empty state is there, with it a count of 0 is not."""
    found = derived(inferenceservice(has(**UP)), knative_service("v1, 0", "", **NOT_YET))
    assert found.status["modelStatus"] == {
        "transitionStatus": "InProgress",
        "states": {"activeModelState": "", "targetModelState": "Pending"},
        "copies": {"failedCopies": 0},
    }


@pytest.mark.parametrize(("ready", "decided"), [("True", False), ("False", True)])
def test_frozen_only_while_ready(ready, decided):
    """KServe skips an InferenceService that is Ready and does not want updates."""
    docs = (
        inferenceservice(has(**(UP | {"Ready": ready})), annotated(**{"disable-auto-update": "true"})),
        knative_service("v1, v1", "v1:100 L"),
    )  # fmt: skip
    found = derived(*docs)
    assert found.decided is decided
    assert ("components" in found.status) is decided


def test_modelmesh_is_left_alone():
    """Its status is another controller's."""
    found = derived(inferenceservice({"status": {"deploymentMode": "ModelMesh"}}))
    assert not found.decided


def test_a_canary_condition_without_canaries_goes():
    """It is removed when spec.canary is; IngressReady, url and the runtime are taken over."""
    status = {"url": "http://llm", "servingRuntimeName": "vllm", "address": {"url": "http://in"}}
    docs = [raw_deployment(Available="True Fine")]
    patches = (STANDARD, has(**UP, CanaryPredictorReady="True AllCanariesReady"))
    found = derived(inferenceservice(*patches, {"status": status}), *docs)
    assert "CanaryPredictorReady" not in statuses(found)
    assert {key: found.status[key] for key in status} == status
    canary = {"spec": {"canary": [{"name": "next", "trafficPercent": 10}]}}
    found = derived(inferenceservice(*patches, canary), *docs)
    assert statuses(found)["CanaryPredictorReady"] == "True AllCanariesReady"


def test_the_generation_stays_where_a_component_is_kept():
    """KServe ended its pass at the component that failed."""
    failed = has(PredictorReady="False ReconcileFailed: no")
    found = derived(
        inferenceservice(failed, TRANSFORMED, {"status": {"observedGeneration": 8}}),
        knative_service("t1, t1", "t1:100 L", component="transformer"),
    )
    assert found.status["observedGeneration"] == 8


BEGUN = {"Ready": "Unknown", "PredictorReady": "Unknown", "IngressReady": "Unknown"}
REFUSED = {"PredictorReady": "False ReconcileFailed: no", "Ready": "False ReconcileFailed: no"}
ENDED = [
    # why, conditions, a patch of the status
    ("no runtime", BEGUN, {"modelStatus": {"transitionStatus": "InvalidSpec"}}),
    ("a reconcile failed", BEGUN | REFUSED, {}),
    ("no runtime after a stop", BEGUN | {"Stopped": "True"}, {"modelStatus": {"transitionStatus": "InvalidSpec"}}),
    ("no Knative Service, for the mode is guessed", UP, {"deploymentMode": None}),
]  # fmt: skip


@pytest.mark.parametrize(("said", "patch"), [e[1:] for e in ENDED], ids=[e[0] for e in ENDED])
def test_a_pass_that_ends_at_a_component_concludes_nothing(said, patch):
    """KServe writes what follows from all components after the last: the status is as it writes it."""
    doc = inferenceservice(has(**said), {"status": patch})
    assert differs(the_service(cluster(doc)).status, derived(doc)) == ()

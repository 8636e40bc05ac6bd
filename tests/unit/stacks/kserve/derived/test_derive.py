"""One service through its life, and a pass with some of its inputs missing."""

from dataclasses import dataclass, field

import pytest

from reporter.catalogue import resources as r
from reporter.model.instant import rfc3339
from reporter.stacks.kserve.derived.derive import differs
from reporter.stacks.kserve.reasons import KNATIVE_SERVICES
from tests.tables import rows
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


def test_two_pods_that_tell_different_things():
    """Which one KServe looked at cannot be known."""
    docs = [inferenceservice(has(**UP)), knative_service("v2, v1", "v1:100 L")]
    pods = [predictor_pod(of="v2"), predictor_pod(name="pod-b", of="v2", serving=CRASHED)]
    assert derived(*docs, *pods).model_unsure
    assert not derived(*docs, pods[0]).model_unsure


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


BEFORE = {
    "components": {"predictor": {"latestRolledoutRevision": "v9"}},
    "modelStatus": {"states": {"activeModelState": "Loaded"}},
    "observedGeneration": 8,
}
V1, LOADED = knative_service("v1, v1", "v1:100 L"), ("Loaded", "", "")
FAILS, INVALID = has(PredictorReady="False ReconcileFailed: no"), has(PredictorReady="False InvalidGPUAllocation: no")  # fmt: skip
NO_SPEC = {"status": {"modelStatus": {"transitionStatus": "InvalidSpec"}}}
FROZEN = annotated(**{"disable-auto-update": "true"})
LEFT_ALONE = {"decided": False, "history": ("v9", "")}
KEPT = {"history": ("v9", ""), "model": LOADED, "observedGeneration": 8}
DOWNLOADS_AGAIN = predictor_pod(storage=container("storage-initializer", RUNNING, ended("Error")))
YOUNGER = predictor_pod(
    {"metadata": {"creationTimestamp": rfc3339(NOW)}, "status": {"containerStatuses": []}},
    name="pod-b",
)
IS_LOADED = {"transitionStatus": "UpToDate", "states": {"activeModelState": "Loaded", "targetModelState": "Loaded"}}  # fmt: skip
DOWN = raw_deployment(Available="False MinimumReplicasUnavailable")
T1 = knative_service("t1, t1", "t1:100 L", component="transformer")
BEGINS = dict.fromkeys(("IngressReady", "PredictorReady", "Ready"), "Unknown")
NO_KNATIVE, STOP = {"absent": [KNATIVE_SERVICES]}, annotated(stop="true")


@rows(
    ("patches", "docs", "how", "expected"),
    {
        "no Knative Service": ([has(**UP)], [], {}, KEPT),
        "Knative Services are unknown": ([has(**UP)], [], {"unknown": [KNATIVE_SERVICES]}, KEPT),
        "Deployments are unknown": ([has(**UP), STANDARD], [], {"unknown": [r.DEPLOYMENTS]}, KEPT),
        "a reconcile failed": ([FAILS], [V1], {}, {"history": ("v9", ""), "model": LOADED}),
        "a GPU is invalid": ([INVALID], [V1], {}, {"history": ("v9", ""), "model": LOADED}),
        "the spec is invalid": ([NO_SPEC], [V1], {}, {"history": ("v9", ""), "model": ("Loaded", "", "InvalidSpec")}),
        "KServe ended its pass at a component that failed": ([FAILS, TRANSFORMED], [T1], {}, {"observedGeneration": 8}),
        "pods are unknown: the revisions are derived all the same": (
            [], [V1], {"unknown": [r.PODS]}, {"model": LOADED, "history": ("v1", "v9")},
        ),
        "a second download, of which KServe stores no pass": ([has(**UP)], [V1, DOWNLOADS_AGAIN], {}, LEFT_ALONE),
        "frozen while it is ready": ([has(**UP), FROZEN], [V1], {}, LEFT_ALONE),
        "frozen while it is not": ([has(**(UP | {"Ready": "False"})), FROZEN], [V1], {}, {"decided": True, "history": ("v1", "v9")}),
        "ModelMesh, whose status is another controller's": ([{"status": {"deploymentMode": "ModelMesh"}}], [], {}, LEFT_ALONE),
        "Standard mode without a Deployment": (
            [STANDARD, has(**UP)], [], {}, {"PredictorReady": "False", "Ready": "False", "observedGeneration": 8},
        ),
        "Standard mode, with a Knative Service of old": (
            [STANDARD, has(**UP), {"status": {"components": None}}], [raw_deployment(Available="True Fine"), V1], {}, {"history": ("", ""), "traffic": None},
        ),
        "the newest pod has no node yet: what was said before stays": (
            [STANDARD, {"status": {"modelStatus": IS_LOADED}}], [DOWN, predictor_pod(ready=True), YOUNGER], {}, {"model": ("Loaded", "Loaded", "UpToDate")},
        ),
        "Knative mode without Knative": ([has()], [], NO_KNATIVE, BEGINS),
        "it ends before the stop switch": ([has(), STOP], [], NO_KNATIVE, BEGINS),
        "an empty state is written, as Go does, and a count of 0 is not": (
            [has(**UP), {"status": {"modelStatus": None}}], [knative_service("v1, 0", "", **NOT_YET)], {},
            {
                "modelStatus": {
                    "transitionStatus": "InProgress", "states": {"activeModelState": "", "targetModelState": "Pending"}, "copies": {"failedCopies": 0},
                },
            },
        ),
    },
)  # fmt: skip
def test_what_a_pass_makes_of_a_status(patches, docs, how, expected):
    """What cannot be known, and what another pass ended at, is kept."""
    derived_ = derived(inferenceservice({"status": BEFORE}, *patches), *docs, **how)
    found = {"history": ("", ""), **derived_.status, **statuses(derived_)}
    parts = derived_.status.get("components", {})
    if "predictor" in parts:
        found |= {"history": history(derived_), "traffic": predictor(derived_).get("traffic")}
    found |= {"decided": derived_.decided, "model": model(derived_)}
    assert expected == {key: found.get(key) for key in expected}

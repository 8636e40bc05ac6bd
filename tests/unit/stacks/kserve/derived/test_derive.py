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
    "t4 canary serves": Moment("v2, v2", "v2:20 L, v1:80 -", "v1, 0", "True", ("Loaded", "UpToDate"), (predictor_pod(of="v2", ready=True),)),
    "t5 promoted": Moment("v2, v2", "v2:100 L", "v2, v1", "True", ("Loaded", "UpToDate"), (predictor_pod(of="v2", ready=True),)),
    "t6 rolled back, pass 1": Moment("v2, v2", "v2:0 L, v2:100 -", "v1, v1", "True", ("Loaded", "UpToDate"), (predictor_pod(of="v2", ready=True),)),
    "t6 rolled back, pass 2": Moment("v2, v2", "v2:0 L, v1:100 -", "v1, v1", "True", ("Loaded", "UpToDate"), (predictor_pod(of="v2", ready=True),)),
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


@pytest.mark.parametrize("ingress", ["True", "False Stopped", None])
def test_the_ingress_of_one_that_was_stopped_in_standard_mode(ingress):
    """With ingress creation off KServe leaves it out, or writes True where it uses the Gateway API."""
    before = {"PredictorReady": "False Stopped", "Ready": "False Stopped", "Stopped": "True"}
    before |= {"IngressReady": ingress} if ingress else {}
    url = {"status": {"url": "http://llm"}}
    found = derived(inferenceservice(STANDARD, has(**before), url, annotated(stop="true")))
    assert statuses(found) == before
    assert found.status.get("url") == ("http://llm" if ingress == "True" else None)


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
FRESH = {"status": dict.fromkeys(BEFORE)}
ON_URL = knative_service("v1, v1", "v1:100 L", {"status": {"url": "http://llm"}})
T1_NOT_OWNED = knative_service("t1, t1", "t1:100 L", component="transformer", RoutesReady="False NotOwned")  # fmt: skip
E1 = knative_service("e1, 0", "", component="explainer", RoutesReady="Unknown")
ALL_THREE = {"spec": {"transformer": {}, "explainer": {}}}
AVAILABLE, FINE = (raw_deployment(Available=f"True {each}") for each in ("MinimumReplicasAvailable", "Fine"))  # fmt: skip
POOR = raw_deployment({"status": {"observedGeneration": 9}}, name="llm-predictor-worker", Available="False Poor: none")  # fmt: skip
SEVERAL_NODES = {"spec": {"predictor": {"workerSpec": {}}}}
V2_CRASHED = predictor_pod(name="pod-b", of="v2", serving=CRASHED)
OF_V2 = [knative_service("v2, v1", "v1:100 L"), predictor_pod(of="v2")]
KEEPS = {"url": "http://llm", "servingRuntimeName": "vllm", "address": {"url": "http://in"}}
HAD_CANARIES = has(**UP, CanaryPredictorReady="True AllCanariesReady")
CANARY = {"spec": {"canary": [{"name": "next", "trafficPercent": 10}]}}
RAN = {
    "components": {"predictor": {"latestRolledoutRevision": "v1"}}, "modelStatus": {"transitionStatus": "UpToDate"},
    "url": "http://llm", "observedGeneration": 3,
}  # fmt: skip
NO_REASONS = dict.fromkeys(("IngressReady", "LatestDeploymentReady", "PredictorConfigurationReady", "PredictorReady", "PredictorRouteReady", "Ready", "RoutesReady"), "True")  # fmt: skip


@rows(
    ("patches", "docs", "how", "expected"),
    {
        "one that works: conditions across components, each without a time if it is new": (
            [FRESH, has(**UP)], [ON_URL, predictor_pod(ready=True)], {},
            {
                "statuses": NO_REASONS | {"Stopped": "False"},
                "predictor": {
                    "latestCreatedRevision": "v1", "latestReadyRevision": "v1", "latestRolledoutRevision": "v1", "url": "http://llm",
                    "traffic": ({"revisionName": "v1", "latestRevision": True, "percent": 100},),
                },
                "modelStatus": {
                    "transitionStatus": "UpToDate", "states": {"activeModelState": "Loaded", "targetModelState": "Loaded"},
                    "copies": {"failedCopies": 0, "totalCopies": 1},
                },
            },
        ),
        "transformer and explainer have parts, conditions and a history of their own": (
            [FRESH, has(**UP), ALL_THREE], [V1, T1_NOT_OWNED, E1], {},
            {
                "TransformerRouteReady": "False NotOwned", "RoutesReady": "Unknown ExplainerRoutesReady not ready",
                "rolled out": ["v1", "t1", ""], "created": ["v1", "t1", "e1"],
            },
        ),
        "Standard mode: only the component's Ready, and the generation is the Deployment's": (
            [FRESH, STANDARD, has(**UP)], [AVAILABLE, predictor_pod(ready=True)], {},
            {
                "statuses": {"IngressReady": "True", "PredictorReady": "True MinimumReplicasAvailable", "Ready": "True", "Stopped": "False"},
                "observedGeneration": 4, "model": ("Loaded", "Loaded", "UpToDate"),
            },
        ),
        "head and worker: the worker is found by its name, and the generation is the head's": (
            [FRESH, STANDARD, has(**UP), SEVERAL_NODES], [FINE, POOR], {},
            {"PredictorReady": "False predictor-container: Fine, worker-container: Poor", "observedGeneration": 4},
        ),
        "two pods that tell different things: which one KServe looked at cannot be known": (
            [FRESH, has(**UP)], [*OF_V2, V2_CRASHED], {}, {"unsure": True},
        ),
        "one pod": ([FRESH, has(**UP)], OF_V2, {}, {"unsure": False}),
        **{
            f"stopped by {value}: all components and the ingress are False, and everything else is gone": (
                [has(**UP, RoutesReady="True"), {"status": RAN}, TRANSFORMED, annotated(stop=value)], [V1], {},
                {
                    "fields": {"conditions", "deploymentMode", "modelStatus"}, "modelStatus": {"transitionStatus": ""},
                    "statuses": dict.fromkeys(("IngressReady", "PredictorReady", "Ready", "TransformerReady"), "False Stopped") | {"Stopped": "True"},
                },
            )
            for value in ("true", "True", "TRUE")
        },
        "a canary condition goes with spec.canary; ingress, url and the runtime are taken over": (
            [FRESH, STANDARD, HAD_CANARIES, {"status": KEEPS}], [FINE], {}, KEEPS | {"CanaryPredictorReady": None},
        ),
        "it stays with canaries": ([FRESH, STANDARD, HAD_CANARIES, CANARY], [FINE], {}, {"CanaryPredictorReady": "True AllCanariesReady"}),
        "no Knative Service": ([has(**UP)], [], {}, KEPT),
        "Knative Services are unknown": ([has(**UP)], [], {"unknown": [KNATIVE_SERVICES]}, KEPT),
        "Deployments are unknown": ([has(**UP), STANDARD], [], {"unknown": [r.DEPLOYMENTS]}, KEPT),
        "a reconcile failed": ([FAILS], [V1], {}, {"history": ("v9", ""), "model": LOADED}),
        "a GPU is invalid": ([INVALID], [V1], {}, {"history": ("v9", ""), "model": LOADED}),
        "the spec is invalid": ([NO_SPEC], [V1], {}, {"history": ("v9", ""), "model": ("Loaded", "", "InvalidSpec")}),
        "KServe ended its pass at a component that failed": ([FAILS, TRANSFORMED], [T1], {}, {"observedGeneration": 8}),
        "pods are unknown: the revisions are derived all the same": ([], [V1], {"unknown": [r.PODS]}, {"model": LOADED, "history": ("v1", "v9")}),
        "a second download, of which KServe stores no pass": ([has(**UP)], [V1, DOWNLOADS_AGAIN], {}, LEFT_ALONE),
        "frozen while it is ready": ([has(**UP), FROZEN], [V1], {}, LEFT_ALONE),
        "frozen while it is not": ([has(**(UP | {"Ready": "False"})), FROZEN], [V1], {}, {"decided": True, "history": ("v1", "v9")}),
        "ModelMesh, whose status is another controller's": ([{"status": {"deploymentMode": "ModelMesh"}}], [], {}, LEFT_ALONE),
        "Standard mode without a Deployment": ([STANDARD, has(**UP)], [], {}, {"PredictorReady": "False", "Ready": "False", "observedGeneration": 8}),
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
        found |= {"predictor": predictor(derived_)}
    for name, key in (
        ("rolled out", "latestRolledoutRevision"),
        ("created", "latestCreatedRevision"),
    ):
        found[name] = [each.get(key, "") for each in parts.values()]
    found |= {"decided": derived_.decided, "model": model(derived_)}
    found |= {"fields": set(derived_.status), "unsure": derived_.model_unsure}
    found |= {"statuses": statuses(derived_)}
    assert expected == {key: found.get(key) for key in expected}

"""What of a stored status is not as derived, and what is no difference."""

import pytest

from reporter.stacks.kserve.derived.derive import derive, differs
from reporter.stacks.kserve.derived.facts import facts_of
from tests.unit.probes.building import merged
from tests.unit.stacks.kserve.derived.building import (
    STANDARD,
    UP,
    annotated,
    cluster,
    conditions,
    container,
    derived,
    ended,
    has,
    inferenceservice,
    knative_service,
    predictor_pod,
    raw_deployment,
    stored,
    the_service,
)

SERVICE = knative_service("v2, v2", "v2:100 L", {"status": {"url": "http://v2"}})
POD = predictor_pod(of="v2", ready=True)


def settled(*docs):
    """The InferenceService after a pass over these objects."""
    return stored(derived(inferenceservice(has(**UP)), *docs))


def compared(doc, *docs):
    snapshot = cluster(doc, *docs)
    service = the_service(snapshot)
    return differs(service.status, derive(facts_of(service, snapshot)))


def predictor(**fields):
    return {"status": {"components": {"predictor": fields}}}


def with_condition(doc, **texts):
    """The document with some of its conditions replaced."""
    new = conditions(**texts)
    kept = [each for each in doc["status"]["conditions"] if each["type"] not in texts]
    return merged(doc, {"status": {"conditions": kept + new}})


def test_a_status_that_was_propagated_does_not_differ():
    """A second pass has nothing to say."""
    assert compared(settled(SERVICE, POD), SERVICE, POD) == ()


DIFFERENT = [
    (predictor(latestCreatedRevision="v1"), "components.predictor.latestCreatedRevision"),
    (predictor(latestReadyRevision="v1"), "components.predictor.latestReadyRevision"),
    (predictor(traffic=[]), "components.predictor.traffic"),
    (predictor(url="http://v1"), "components.predictor.url"),
    ({"status": {"observedGeneration": 1}}, "observedGeneration"),
    (
        {"status": {"modelStatus": {"transitionStatus": "BlockedByFailedLoad"}}},
        "modelStatus.transitionStatus",
    ),
]


@pytest.mark.parametrize(("patch", "field"), DIFFERENT)
def test_a_field_that_differs(patch, field):
    """Named by its path."""
    assert compared(merged(settled(SERVICE, POD), patch), SERVICE, POD) == (field,)


def test_a_promotion_that_was_not_recorded():
    """Both revisions of the history differ."""
    before = merged(settled(SERVICE), predictor(latestRolledoutRevision="v1"))
    assert compared(before, SERVICE) == (
        "components.predictor.latestRolledoutRevision",
        "components.predictor.previousRolledoutRevision",
    )


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("PredictorReady", "False RevisionFailed"),
        ("PredictorRouteReady", "Unknown TrafficNotMigrated"),
        ("LatestDeploymentReady", "False PredictorConfigurationReady not ready"),
    ],
)
def test_a_condition_that_differs(condition, text):
    """By type."""
    found = compared(with_condition(settled(SERVICE, POD), **{condition: text}), SERVICE, POD)
    assert found == (f"conditions.{condition}",)


def test_a_condition_that_was_never_written():
    """Versions before 0.11 do not write each type: what is nowhere in the status is no difference."""
    before = settled(SERVICE)
    left = [each for each in before["status"]["conditions"] if each["type"] != "RoutesReady"]
    assert compared(merged(before, {"status": {"conditions": left}}), SERVICE) == ()


FAILING = knative_service("v2, v2", "v2:100 L", Ready="False RevisionFailed: 50% of it")

TOLERATED = [
    ("reasons of True conditions", with_condition(settled(SERVICE), PredictorReady="True AsEver"), SERVICE),
    ("a garbled percent sign", with_condition(settled(FAILING), PredictorReady="False RevisionFailed: 50%!o(MISSING)f it"), FAILING),
    ("the words of Ready", with_condition(settled(FAILING), Ready="False OtherReason: other"), FAILING),
    ("no Stopped of older versions", merged(settled(SERVICE), {"status": {"conditions": [each for each in settled(SERVICE)["status"]["conditions"] if each["type"] != "Stopped"]}}), SERVICE),
    ("pods that have gone since", settled(SERVICE, POD), SERVICE),
    ("copies", merged(settled(SERVICE, POD), {"status": {"modelStatus": {"copies": {"totalCopies": 9}}}}), SERVICE),
    ("the defaults of the schema", merged(settled(SERVICE), {"status": {"modelStatus": {"transitionStatus": "UpToDate", "states": {"activeModelState": "Pending"}}}}), SERVICE),
]  # fmt: skip


@pytest.mark.parametrize(
    ("doc", "service"), [e[1:] for e in TOLERATED], ids=[e[0] for e in TOLERATED]
)
def test_what_is_no_difference(doc, service):
    """What cannot be known from outside."""
    assert compared(doc, service) == ()


def test_words_of_a_false_condition_count():
    """Another reason has not been propagated."""
    before = with_condition(settled(FAILING), PredictorReady="False RevisionMissing: 50% of it")
    assert compared(before, FAILING) == ("conditions.PredictorReady",)


def test_a_frozen_service_never_differs():
    """KServe leaves it alone while it is Ready."""
    frozen = merged(
        settled(SERVICE),
        predictor(latestReadyRevision="v1"),
        annotated(**{"disable-auto-update": "true"}),
    )
    assert compared(frozen, SERVICE) == ()


def test_pods_that_tell_different_things_do_not_make_a_difference():
    """KServe may have looked at either."""
    crashed = predictor_pod(
        of="v2", name="pod-b", serving=container("kserve-container", ended("Error"))
    )
    service = knative_service("v2, v1", "v1:100 L", Ready="True")
    failed = merged(settled(service, crashed), {})
    assert compared(failed, service, crashed, predictor_pod(of="v2", name="pod-a")) == ()


def test_standard_mode():
    """A Deployment that went down and was not told."""
    up = raw_deployment(Available="True Fine")
    down = raw_deployment(Available="False MinimumReplicasUnavailable: none")
    before = stored(derived(inferenceservice(STANDARD, has(**UP)), up))
    assert compared(before, up) == ()
    assert compared(before, down) == ("conditions.PredictorReady", "conditions.Ready")

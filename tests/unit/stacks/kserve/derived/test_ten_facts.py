"""Ten things about an InferenceService's status that are easy to get wrong."""

from reporter.stacks.kserve.derived.derive import differs
from tests.unit.stacks.kserve.derived.building import (
    STANDARD,
    TRANSFORMED,
    UP,
    cluster,
    container,
    derived,
    ended,
    has,
    history,
    inferenceservice,
    knative_service,
    model,
    predictor,
    predictor_pod,
    raw_deployment,
    statuses,
    stored,
    the_service,
)


def with_history(rolled_out, previous):
    part = {"latestRolledoutRevision": rolled_out, "previousRolledoutRevision": previous}
    return {"status": {"components": {"predictor": part}}}


def test_observed_generation_is_that_of_the_component_reconciled_last():
    """Never the InferenceService's own, so that being behind it is no sign of a stale status."""
    last = {"status": {"observedGeneration": 2}}
    found = derived(
        inferenceservice(has(**UP), TRANSFORMED, {"metadata": {"generation": 99}}),
        knative_service("v1, v1", "v1:100 L"),
        knative_service("t1, t1", "t1:100 L", last, component="transformer"),
    )
    assert found.status["observedGeneration"] == 2
    kept = the_service(cluster(stored(found, {"metadata": {"generation": 99}})))
    assert differs(kept.status, found) == ()


def test_ready_does_not_follow_the_transformer():
    """Ready is True while the transformer is False."""
    found = derived(
        inferenceservice(has(**UP), TRANSFORMED),
        knative_service("v1, v1", "v1:100 L"),
        knative_service(
            "t1, 0", "", component="transformer", Ready="False RevisionFailed: no image"
        ),
    )
    assert statuses(found)["TransformerReady"] == "False RevisionFailed"
    assert statuses(found)["Ready"] == "True"


def test_after_a_rollback_both_revisions_are_the_same():
    """lr = pr is the signature of a rollback."""
    found = derived(
        inferenceservice(has(**UP), with_history("v2", "v1")),
        knative_service("v2, v2", "v2:0 L, v2:100 -"),
    )
    assert history(found) == ("v1", "v1")


def test_a_newer_revision_that_fails_blocks_the_rollback():
    """The record does not move while the latest created revision is not the ready one."""
    found = derived(
        inferenceservice(has(**UP), with_history("v2", "v1")),
        knative_service("v3, v2", "v2:0 L, v2:100 -", Ready="False RevisionFailed"),
    )
    assert history(found) == ("v2", "v1")


def test_the_last_failure_survives_a_success():
    """It is history, not a present fault."""
    failure = {"reason": "ModelLoadFailed", "message": "of old", "exitCode": 1}
    found = derived(
        inferenceservice(has(**UP), {"status": {"modelStatus": {"lastFailureInfo": failure}}}),
        knative_service("v1, v1", "v1:100 L"),
        predictor_pod(ready=True),
    )
    assert model(found)[2] == "UpToDate"
    assert found.status["modelStatus"]["lastFailureInfo"] == failure


def test_scaled_to_zero_shows_pending_although_ready():
    """Zero pods and Ready True: the target is Pending, the transition InProgress."""
    states = {"activeModelState": "Loaded", "targetModelState": "Loaded"}
    found = derived(
        inferenceservice(has(**UP), {"status": {"modelStatus": {"states": states}}}),
        knative_service("v1, v1", "v1:100 L"),
    )
    assert statuses(found)["Ready"] == "True"
    assert model(found) == ("Loaded", "Pending", "InProgress")


def test_total_copies_counts_ready_pods():
    """A pod that fails is in neither number."""
    crashed = container("kserve-container", ended("Error"))
    found = derived(
        inferenceservice(has(**UP)),
        knative_service("v1, v1", "v1:100 L"),
        predictor_pod(name="pod-a", ready=True),
        predictor_pod(name="pod-b", serving=crashed),
    )
    assert found.status["modelStatus"]["copies"] == {"failedCopies": 0, "totalCopies": 1}


def test_reasons_are_free_text_and_conditions_have_a_severity():
    """Spaces in a reason are kept, and there is no observedGeneration in a condition."""
    found = derived(
        inferenceservice(has(IngressReady="False")),
        knative_service("v1, 0", "", RoutesReady="False", ConfigurationsReady="Unknown"),
    )
    by_type = {each["type"]: each for each in found.status["conditions"]}
    assert by_type["RoutesReady"]["reason"] == "PredictorRouteReady not ready"
    assert by_type["RoutesReady"]["severity"] == "Info"
    assert not any("observedGeneration" in each for each in by_type.values())


def test_a_component_that_is_not_ready_keeps_its_url():
    """URL and address are only ever overwritten."""
    part = {"url": "http://old", "address": {"url": "http://in"}}
    found = derived(
        inferenceservice(has(**UP), {"status": {"components": {"predictor": part}}}),
        knative_service("v2, v1", "v1:100 L", {"status": {"url": "http://new"}}, Ready="False"),
    )
    assert {key: predictor(found)[key] for key in part} == part


def test_standard_mode_has_no_revisions():
    """Revision fields and traffic stay empty, also where a Knative Service of old is left over."""
    found = derived(
        inferenceservice(STANDARD, has(**UP)),
        raw_deployment(Available="True Fine"),
        knative_service("v1, v1", "v1:100 L"),
    )
    assert predictor_part(found) == {}


def predictor_part(found):
    return found.status.get("components", {}).get("predictor", {})

"""Since when a fault lasts that shows only in objects which KServe has not followed yet."""

from datetime import UTC, datetime

from reporter.stacks.kserve import reasons as c
from tests.unit.probes.building import Document, condition
from tests.unit.stacks.kserve.derived.building import RUNNING, container, predictor_pod
from tests.unit.stacks.kserve.probes.serving import (
    on_deployments,
    on_knative,
    only,
    recorded,
    rerouted,
    seen,
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


def written(time: str, subresource: str = "") -> Document:
    """A patch of who wrote an object last."""
    entry = {"manager": "kubectl", "operation": "Update", "time": time, "subresource": subresource}
    return {"metadata": {"managedFields": [entry]}}


def test_a_deployment_that_has_just_failed():
    """Kinds are read one after the other, so that one may be ahead of another by a moment."""
    found = seen(on_deployments(), deployment=UNAVAILABLE)
    assert only(found, c.COMPONENT_NOT_READY).transition == LATE_AT
    assert only(found, c.STATUS_STALE).created == LATE_AT


def test_a_knative_service_that_has_just_failed():
    """Its own Ready has the time that the status does not have yet."""
    failed = [
        condition("Ready", "False", "RevisionFailed", since=LATE),
        condition("RoutesReady", "True"),
        condition("ConfigurationsReady", "True"),
    ]
    found = seen(on_knative(), service=failing(*failed))
    assert only(found, c.COMPONENT_NOT_READY).transition == LATE_AT
    assert only(found, c.STATUS_STALE).created == LATE_AT


def test_the_part_that_failed_first_counts():
    """A component is not ready since the first of them, whatever followed."""
    both = failing(
        condition("Available", "False", "MinimumReplicasUnavailable"),
        condition("Progressing", "False", "ProgressDeadlineExceeded", "why", since=LATE),
    )
    first = only(seen(on_deployments(), deployment=both), c.COMPONENT_NOT_READY).transition
    assert first is not None
    assert first < LATE_AT


def test_a_status_that_is_behind_its_objects_has_no_transition():
    """No condition is the fault, so an old time must not make it fire before its grace."""
    found = only(seen(on_knative(), inferenceservice=recorded("v1", "")), c.STATUS_STALE)
    assert found.transition is None


def test_what_was_just_written_counts():
    """A generation moves with what is wanted, and no condition with it."""
    behind: Document = {"status": {"observedGeneration": 5}}
    for objects, handle in ((on_deployments(), "deployment"), (on_knative(), "service")):
        objects[handle]["metadata"] |= written(LATE)["metadata"]
        assert only(seen(objects, **{handle: behind}), c.STATUS_STALE).created == LATE_AT
        objects[handle]["metadata"] |= written(LATE, "status")["metadata"]
        assert only(seen(objects, **{handle: behind}), c.STATUS_STALE).created != LATE_AT


def test_a_time_that_cannot_be_read_is_none():
    """Another writer may put anything there."""
    objects = on_deployments()
    objects["deployment"]["metadata"] |= written("9999-99-99")["metadata"]
    found = seen(objects, deployment={"status": {"observedGeneration": 5}})
    assert only(found, c.STATUS_STALE).created is not None


def test_pods_count_for_the_model_alone():
    """KServe does not follow whether they are Ready."""
    pod = predictor_pod(of="v2", serving=container("kserve-container", RUNNING))
    pod["status"]["conditions"] = [condition("Ready", "False", since=LATE)]
    objects = on_knative() | {"pod": pod}
    found = seen(objects, service=rerouted("v2, v2", "v2:90 L"))
    assert only(found, c.STATUS_STALE).created < LATE_AT
    blocked = {"status": {"modelStatus": {"transitionStatus": "BlockedByFailedLoad"}}}
    ready = [condition("Ready", "True", since=LATE)]
    pod = predictor_pod({"status": {"conditions": ready}}, of="v2", ready=True)
    found = seen(on_knative() | {"pod": pod}, inferenceservice=blocked)
    assert only(found, c.STATUS_STALE).created == LATE_AT

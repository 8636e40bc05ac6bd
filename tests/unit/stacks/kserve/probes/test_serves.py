"""How much of an InferenceService serves, and whether it is Ready, by its pods and their owners."""

import pytest

from reporter.catalogue import resources as r
from reporter.stacks.kserve import reasons as c
from reporter.stacks.kserve.reasons import KNATIVE_REVISIONS, KNATIVE_SERVICES
from tests.unit.probes.building import CREATED, Document, condition
from tests.unit.stacks.kserve.derived.building import (
    RUNNING,
    TRANSFORMED,
    container,
    knative_service,
    predictor_pod,
    raw_deployment,
    revision,
    waits,
)
from tests.unit.stacks.kserve.probes.serving import (
    AVAILABLE,
    as_propagated,
    on_deployments,
    on_knative,
    only,
    percent,
    recorded,
    rerouted,
    seen,
)


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


def test_a_lost_pod_does_not_serve_though_knative_says_ready():
    """A Knative revision stays Ready when its pods are lost, so the pods are believed."""
    assert serving(seen(on_knative())) == (1, 1)
    assert serving(seen(on_knative(), pod=LOST)) == (0, 1)


def test_another_pod_that_is_ready_serves():
    """One of two is enough."""
    other = predictor_pod(name="pod-b", of="v2", ready=True)
    assert serving(seen(on_knative(), other, pod=LOST)) == (1, 1)


def test_scaled_to_zero_serves():
    """Knative's activator holds a request until a pod is there."""
    assert serving(seen(on_knative(), pod=None)) == (1, 1)
    assert serving(seen(on_knative(), pod={"status": {"phase": "Failed"}})) == (1, 1)


@pytest.mark.parametrize(("pod", "serves"), [(STARTS, 1), (PULLS, 0)], ids=["starts", "pulls"])
def test_a_cold_start_serves_unless_it_fails(pod, serves):
    """The activator holds requests while the first pod starts."""
    assert serving(seen(on_knative() | {"pod": pod})) == (serves, 1)


def test_a_cold_start_next_to_a_lost_pod_does_not_serve():
    """What replaces a lost pod is no start from zero."""
    other = predictor_pod(name="pod-b", of="v2", serving=container("kserve-container", RUNNING))
    assert serving(seen(on_knative(), other, pod=LOST)) == (0, 1)


def test_a_share_of_the_requests_that_is_answered():
    """A canary whose pods are lost takes its share alone; the other revision is scaled to zero."""
    objects = as_propagated(
        on_knative(percent(20), recorded("v1", "")), service=rerouted("v2, v2", "v2:20 L, v1:80 -")
    )
    assert serving(seen(objects, pod=LOST)) == (1, 1)
    older = predictor_pod(name="pod-b", of="v1", ready=True)
    assert serving(seen(objects, older, pod=LOST)) == (1, 1)


def test_a_revision_that_gets_no_requests_does_not_serve():
    """After a rollback the newest revision's pod is Ready, and none of the other's is."""
    objects = as_propagated(
        on_knative(percent(0), recorded("v1", "v1")), service=rerouted("v2, v2", "v2:0 L, v1:100 -")
    )
    older = predictor_pod(LOST, name="pod-b", of="v1")
    assert serving(seen(objects, older)) == (0, 1)


@pytest.mark.parametrize("gone", ["service", "transformer"])
def test_without_its_knative_service_a_component_does_not_serve(gone):
    """Requests pass both the transformer and the predictor."""
    assert serving(seen(WITH_TRANSFORMER, pod=None)) == (1, 1)
    assert serving(seen(WITH_TRANSFORMER, pod=None, **{gone: None})) == (0, 1)


def test_a_revision_that_does_not_exist_does_not_serve():
    """Its requests fail, and nothing starts for them; revisions that are unknown may exist."""
    assert serving(seen(on_knative(), pod=None, new=None)) == (0, 1)
    unread = seen(on_knative(), pod=None, new=None, unknown=[KNATIVE_REVISIONS])
    assert serving(unread) == (1, 1)


@pytest.mark.parametrize("resource", [r.PODS, KNATIVE_SERVICES])
def test_nothing_is_said_of_what_cannot_be_read(resource):
    """Absence must be known."""
    assert serving(seen(on_knative(), pod=None, service=None, unknown=[resource])) is None


def zero(name: str = "llm-predictor") -> Document:
    """A Deployment at 0, which the Deployment controller calls available."""
    down = {"spec": {"replicas": 0}, "status": {"replicas": 0, "readyReplicas": 0, "availableReplicas": 0}}  # fmt: skip
    return raw_deployment(down, name=name, **AVAILABLE)


def test_a_predictor_at_zero_is_idle():
    """Nothing is wanted, so nothing is missed; Ready says so."""
    found = seen(as_propagated(on_deployments() | {"deployment": zero()}), pod=None)
    assert serving(found) == (0, 0)
    assert found.findings == ()
    assert found.ready[0].message == (
        "InferenceService models/llm is ready: 0 predictor replicas wanted"
    )


def test_a_transformer_at_zero_does_not_serve():
    """All requests pass it, and Available stays True; that is told."""
    objects = on_deployments(TRANSFORMED) | {"transformer": zero("llm-transformer")}
    found = seen(as_propagated(objects))
    assert serving(found) == (0, 1)
    assert not found.ready
    assert only(found, c.COMPONENT_NOT_READY).message == (
        "InferenceService models/llm: transformer: its Deployment llm-transformer wants 0 replicas; "
        "TransformerReady is True all the same"
    )


def test_workers_at_zero_do_not_serve():
    """The head alone does not answer; with both at 0 it is idle."""
    spec = {"spec": {"predictor": {"workerSpec": {}}}}
    workers = zero("llm-predictor-worker")
    found = seen(as_propagated(on_deployments(spec) | {"workers": workers}))
    assert serving(found) == (0, 1)
    both = on_deployments(spec) | {"deployment": zero(), "workers": workers}
    assert serving(seen(as_propagated(both), pod=None)) == (0, 0)

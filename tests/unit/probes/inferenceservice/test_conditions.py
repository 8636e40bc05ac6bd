"""Components, ingress and canaries by their conditions (KServe sheet 4.4 and 4.5)."""

from datetime import timedelta

import pytest

from reporter.catalogue import inferenceservice as c
from tests.unit.derived.inferenceservice.building import (
    RUNNING,
    UP,
    container,
    has,
    predictor_pod,
    raw_deployment,
)
from tests.unit.probes.building import SINCE_AT
from tests.unit.probes.inferenceservice.serving import (
    STARTUP,
    as_propagated,
    on_deployments,
    on_knative,
    only,
    reasons,
    rerouted,
    seen,
)

DOWN = raw_deployment(
    {"status": {"availableReplicas": 0}},
    Available="False MinimumReplicasUnavailable: none",
    Progressing="True NewReplicaSetAvailable",
)


@pytest.mark.parametrize(
    ("starting", "budget"), [(False, None), (True, timedelta(seconds=STARTUP))]
)
def test_a_component_that_is_not_ready(starting, budget):
    """While its pods start, it has their time."""
    pod = predictor_pod(serving=container("kserve-container", RUNNING)) if starting else None
    objects = on_deployments() | {"deployment": DOWN}
    objects = objects | {"pod": pod} if pod else {k: v for k, v in objects.items() if k != "pod"}
    found = only(seen(as_propagated(objects)), c.COMPONENT_NOT_READY)
    assert found.message == (
        "InferenceService models/llm: predictor: PredictorReady is False, "
        "MinimumReplicasUnavailable: none"
    )
    assert found.budget == budget
    assert (found.related.kind, found.related.name) == ("Deployment", "llm-predictor")


def test_a_component_by_its_objects_before_its_status_follows():
    """The status still says True: that is stale, and the component is told all the same."""
    found = seen(on_deployments() | {"deployment": DOWN})
    assert {"ComponentNotReady", "StatusStale"} <= set(reasons(found))


INGRESS = [
    ("False Predictor HTTPRoute not created: no Gateway", True, True),
    ("False ParentStatusNotAvailable: HttpRouteNotReady", True, True),
    ("False Predictor ingress not created", False, False),
    ("Unknown Predictor ingress not created", True, False),
    ("True", True, False),
]


@pytest.mark.parametrize(("text", "component_ready", "told"), INGRESS)
def test_ingress(text, component_ready, told):
    """A component that is not ready is why its ingress is not made."""
    objects = on_knative()
    if not component_ready:
        objects = as_propagated(objects, service=rerouted("v2, v2", "v2:100 L", Ready="False Bad"))
    kept = {k: v for k, v in UP.items() if k != "IngressReady"}
    if not component_ready:
        kept |= {"PredictorReady": "False Bad"}
    found = seen(objects, inferenceservice=has(**kept, IngressReady=text))
    assert ("IngressNotReady" in reasons(found)) is told
    if told:
        finding = only(found, c.INGRESS_NOT_READY)
        assert text.removeprefix("False ") in finding.message
        assert finding.transition == SINCE_AT


def test_ready_without_a_url():
    """It leads nowhere."""
    found = seen(on_knative(), inferenceservice={"status": {"url": None}})
    assert only(found, c.INGRESS_NOT_READY).cause == "no URL"


def test_not_ready_for_a_reason_that_nothing_shows():
    """The last reason of the chain."""
    found = seen(on_knative(), inferenceservice=has(**(UP | {"Ready": "False Odd: text"})))
    assert only(found, c.NOT_READY).message == (
        "InferenceService models/llm: Ready is False, Odd: text"
    )


@pytest.mark.parametrize(("percent", "more"), [(0, ""), (10, "; they get a part of the requests")])
def test_canaries_in_standard_mode(percent, more):
    """Named, and worse if they get requests."""
    patch = {
        "spec": {"canary": [{"name": "next", "trafficPercent": percent}]},
        "status": {
            "canaryStatuses": [
                {"name": "next", "ready": False, "trafficPercent": percent},
                {"name": "other", "ready": True, "trafficPercent": percent},
            ],
            **has(**UP, CanaryPredictorReady="False CanariesNotReady")["status"],
        },
    }
    finding = only(seen(on_deployments(patch)), c.CANARY_NOT_READY)
    assert finding.message == (
        f"InferenceService models/llm: canaries without an available replica: next{more}"
    )
    assert finding.severity == (1 if percent else 0)

"""Components, ingress and canaries by their conditions."""

from datetime import timedelta

import pytest

from reporter.stacks.kserve import reasons as c
from reporter.stacks.kserve.reasons import KNATIVE_SERVICES
from tests.unit.probes.building import SINCE_AT, Document
from tests.unit.stacks.kserve.derived.building import (
    RUNNING,
    TRANSFORMED,
    UP,
    container,
    has,
    knative_service,
    predictor_pod,
    raw_deployment,
    revision,
)
from tests.unit.stacks.kserve.probes.serving import (
    AVAILABLE,
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


SLOW: Document = {
    "spec": {
        "containers": [
            {
                "name": "kserve-container",
                "startupProbe": {"periodSeconds": 10, "failureThreshold": 360},
            }
        ]
    }
}


@pytest.mark.parametrize("reason", [c.COMPONENT_NOT_READY, c.NOT_READY, c.PODS_NOT_READY])
def test_a_longer_start_up_probe_gives_more_time(reason):
    """Nothing is said of a component before its pod is late by its own word."""
    pod = predictor_pod(SLOW, serving=container("kserve-container", RUNNING))
    found = seen(as_propagated(on_deployments() | {"deployment": DOWN, "pod": pod}))
    assert only(found, reason).budget >= timedelta(hours=1)


@pytest.mark.parametrize(("component", "waits"), [("predictor", False), ("transformer", True)])
def test_only_its_own_pods_give_a_component_time(component, waits):
    """A predictor that starts is no excuse for a transformer that is down."""
    objects = on_deployments(TRANSFORMED)
    down = raw_deployment(name="llm-transformer", Available="False MinimumReplicasUnavailable")
    labels = {"metadata": {"labels": {"component": component}}}
    pod = predictor_pod(labels, serving=container("kserve-container", RUNNING))
    found = seen(objects | {"pod": pod, "transformer": down})
    assert (only(found, c.COMPONENT_NOT_READY).budget is not None) is waits


def test_a_component_by_its_objects_before_its_status_follows():
    """The status still says True: that is stale, and the component is told all the same."""
    found = seen(on_deployments() | {"deployment": DOWN})
    assert {"ComponentNotReady", "StatusStale"} <= set(reasons(found))


def test_ready_without_its_knative_service():
    """KServe recreates it; where that does not happen nothing else would tell."""
    found = seen(on_knative(), service=None, pod=None)
    assert only(found, c.COMPONENT_NOT_READY).message == (
        "InferenceService models/llm: predictor: its Knative Service llm-predictor does not exist; "
        "PredictorReady is True all the same"
    )
    assert not found.ready


def test_a_component_that_was_never_made():
    """Neither its Knative Service nor a condition of it is there, and Ready is True."""
    found = seen(on_knative(), inferenceservice=TRANSFORMED)
    assert only(found, c.COMPONENT_NOT_READY).message == (
        "InferenceService models/llm: transformer: its Knative Service llm-transformer does not "
        "exist; Ready is True all the same"
    )
    unknown = seen(on_knative(), inferenceservice=TRANSFORMED, unknown=[KNATIVE_SERVICES])
    assert "ComponentNotReady" not in reasons(unknown)


NOTHING_YET: Document = {
    "status": {
        "latestCreatedRevisionName": None,
        "latestReadyRevisionName": None,
        "traffic": None,
    }
}
HIDDEN = [
    # what Knative shows of the transformer, and what is told of it
    (knative_service("0, 0", "", NOTHING_YET, Ready="Unknown", RoutesReady="Unknown", ConfigurationsReady="Unknown"), "ComponentNotReady"),
    (knative_service("t1, t1", "t1:100 L", Ready="Unknown OutOfDate", ConfigurationsReady="Unknown OutOfDate"), "ComponentNotReady"),
    (knative_service("t1, t1", "t1:100 L", Ready="Unknown IngressNotConfigured", RoutesReady="Unknown IngressNotConfigured"), "TrafficNotAsSpecified"),
    (knative_service("t2, t1", "t1:100 L", Ready="Unknown", ConfigurationsReady="Unknown"), "RevisionNotReady"),
]  # fmt: skip


@pytest.mark.parametrize(("service", "told"), HIDDEN)
def test_a_transformer_that_stays_unknown(service, told):
    """Ready does not follow it, so one finding tells it, after the start-up time at most."""
    service = service | {"metadata": service["metadata"] | {"name": "llm-transformer"}}
    objects = on_knative(TRANSFORMED) | {"transformer": service, "t1": revision("t1")}
    found = seen(as_propagated(objects))
    assert (reasons(found), found.ready) == ([told], ())
    (finding,) = found.findings
    assert timedelta(0) < finding.budget <= timedelta(seconds=STARTUP)
    if told == "ComponentNotReady":
        assert "transformer: TransformerReady is Unknown, " in finding.message
        assert finding.message.endswith("; Ready is True all the same")


def test_a_guessed_mode_proves_no_knative_service_missing():
    """KServe before 0.15 writes no mode; it may be Standard."""
    mode = {"status": {"deploymentMode": None}}
    assert seen(on_knative(), inferenceservice=mode, service=None, pod=None).findings == ()


def test_knative_services_that_cannot_be_read_are_not_missing():
    """Unknown is no fault."""
    objects = on_knative()
    found = seen(objects, service=None, pod=None, unknown=[KNATIVE_SERVICES])
    assert found.findings == ()


WORKERS: Document = {"spec": {"predictor": {"workerSpec": {}}}}
MISSING = [
    # patch, what the Deployment becomes, what the message says
    ({}, None, "its Deployment llm-predictor does not exist"),
    (WORKERS, {}, "the Deployment of its workers does not exist"),
]


@pytest.mark.parametrize(("patch", "deployment", "text"), MISSING)
def test_a_deployment_that_does_not_exist_is_named(patch, deployment, text):
    """Better than that no reason is given."""
    found = seen(on_deployments(), inferenceservice=patch, deployment=deployment)
    assert only(found, c.COMPONENT_NOT_READY).message == (
        f"InferenceService models/llm: predictor: PredictorReady is False, {text}"
    )
    assert not found.ready


def test_an_older_deployment_with_another_name_is_no_missing_one():
    """It is named as it is."""
    objects = {k: v for k, v in on_deployments().items() if k not in ("deployment", "pod")}
    name = "llm-predictor-default"
    pod = predictor_pod({"metadata": {"labels": {"app": f"isvc.{name}"}}}, ready=True)
    found = seen(objects | {"pod": pod}, raw_deployment(name=name, **AVAILABLE))
    assert (found.findings, bool(found.ready)) == ((), True)
    down = raw_deployment(name=name, Available="False MinimumReplicasUnavailable")
    found = only(seen(objects | {"pod": pod}, down), c.COMPONENT_NOT_READY)
    assert found.related.name == name


INGRESS = [
    ("False Predictor HTTPRoute not created: no Gateway", True, True),
    ("False ParentStatusNotAvailable: HttpRouteNotReady", True, True),
    ("False Predictor ingress not created", False, False),
    ("False InferenceService Deployment NotReady", False, False),
    ("False", False, False),
    ("False NotAllowedByListeners: no listener", False, True),
    ("False ParentStatusNotAvailable: HttpRouteNotReady", False, True),
    ("Unknown Predictor ingress not created", True, False),
    ("True", True, False),
]


@pytest.mark.parametrize(("text", "component_ready", "told"), INGRESS)
def test_ingress(text, component_ready, told):
    """A component that is not ready is why its ingress is not made, not why a Gateway refuses it."""
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


@pytest.mark.parametrize("address", [None, {"url": "http://llm.models.svc.cluster.local"}])
def test_ready_without_a_url(address):
    """It leads nowhere, whatever its address within the cluster."""
    found = seen(on_knative(), inferenceservice={"status": {"url": None, "address": address}})
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

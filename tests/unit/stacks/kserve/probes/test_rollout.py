"""Rollouts and conditions of InferenceServices."""

from datetime import timedelta

import pytest

from reporter.model.evidence import Evidence, ForeignEvent
from reporter.model.subject import ObjectRef
from reporter.stacks.kserve import reasons as c
from tests.tables import rows
from tests.unit.probes.building import SINCE_AT, Document, condition
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
    percent,
    reasons,
    recorded,
    rerouted,
    seen,
)

FAILED = {
    "Ready": "False RevisionFailed: no image",
    "ConfigurationsReady": "False RevisionFailed: no image",
}
STARTING = {"Ready": "Unknown Deploying", "ConfigurationsReady": "Unknown Deploying"}
WAITING = {"Ready": "Unknown IngressNotConfigured", "RoutesReady": "Unknown IngressNotConfigured"}
MOVING = {"Ready": "Unknown RolloutInProgress", "RoutesReady": "Unknown RolloutInProgress"}


def propagated(service, spec=None, history=("v2", "v1"), third=None):
    """What is said once KServe propagated this Knative Service over that history."""
    patches = {**recorded(*history), **(spec or {})}
    objects = as_propagated(on_knative(), service=service, inferenceservice=patches)
    return seen(objects | {"third": third or revision("v3")})


ROUTES = [
    # situation, C R, traffic, conditions, canary percent, history, reasons
    ("canary in progress", "v3, v3", "v3:20 L, v2:80 -", {}, 20, ("v2", "v1"), ["CanaryInProgress"]),
    ("the rest at a revision nobody asked for", "v3, v3", "v3:20 L, v1:80 -", {}, 20, ("v2", "v1"), ["TrafficNotAsSpecified"]),
    ("a part of the rest at such a one", "v3, v3", "v3:20 L, v2:50 -, v1:30 -", {}, 20, ("v2", "v1"), ["TrafficNotAsSpecified"]),
    ("rolled back", "v2, v2", "v2:0 L, v1:100 -", {}, 0, ("v1", "v1"), ["RolledBack"]),
    ("held at 0", "v3, v3", "v3:0 L, v2:100 -", {}, 0, ("v2", "v1"), []),
    ("newest starts", "v3, v2", "v2:100 L", STARTING, None, ("v2", "v1"), ["RevisionNotReady"]),
    ("newest failed", "v3, v2", "v2:100 L", FAILED, None, ("v2", "v1"), ["ComponentNotReady", "RevisionNotReady"]),
    ("the first failed", "v1, 0", "", FAILED, None, ("", ""), ["ComponentNotReady", "RevisionNotReady"]),
    ("promotion not finished", "v3, v3", "v2:100 L", {}, None, ("v2", "v1"), ["RolloutStuck"]),
    ("gradual rollout", "v3, v3", "v2:60 L, v3:40 L", {}, None, ("v2", "v1"), ["RolloutStuck", "TrafficNotAsSpecified"]),
    ("rollback, pass 1", "v2, v2", "v2:0 L, v2:100 -", {}, 0, ("v2", "v1"), ["TrafficNotAsSpecified"]),
    ("rollback blocked by v3", "v3, v2", "v2:0 L, v2:100 -", STARTING, 0, ("v2", "v1"), ["RevisionNotReady", "TrafficNotAsSpecified"]),
    ("rollback without a target", "v2, v2", "v2:0 L, v2:100 -", {}, 0, ("v2", ""), ["TrafficNotAsSpecified"]),
    ("canary percent not taken over", "v3, v3", "v3:0 L, v2:100 -", {}, 20, ("v2", "v1"), ["TrafficNotAsSpecified"]),
    ("percents that lack some", "v2, v2", "v2:90 L", {}, None, ("v2", "v1"), ["TrafficNotAsSpecified"]),
    ("no traffic", "v2, v2", "", {}, None, ("v2", "v1"), ["TrafficNotAsSpecified"]),
    ("a target that is missing", "v2, v2", "v2:20 L, v9:80 -", {}, 20, ("v9", "v9"), ["CanaryInProgress", "TrafficNotAsSpecified"]),
    ("newest failed, rolled back", "v3, v2", "v2:0 L, v1:100 -", FAILED, 0, ("v1", "v1"), ["ComponentNotReady", "RevisionNotReady", "RolledBack"]),
    ("newest starts, rolled back", "v3, v2", "v2:0 L, v1:100 -", STARTING, 0, ("v1", "v1"), ["RevisionNotReady", "RolledBack"]),
    ("newest starts beside a canary", "v3, v2", "v2:20 L, v1:80 -", STARTING, 20, ("v1", "v0"), ["CanaryInProgress", "RevisionNotReady"]),
    ("newest starts held at 0", "v3, v2", "v2:0 L, v1:100 -", STARTING, 0, ("v1", "v0"), ["RevisionNotReady"]),
    ("newest failed, no traffic", "v3, v2", "", FAILED, None, ("v2", "v1"), ["ComponentNotReady", "RevisionNotReady", "TrafficNotAsSpecified"]),
    ("a canary starts", "v3, v2", "v2:20 L, v2:80 -", STARTING, 20, ("v2", "v1"), ["RevisionNotReady", "TrafficNotAsSpecified"]),
    ("a canary failed", "v3, v2", "v2:20 L, v2:80 -", FAILED, 20, ("v2", "v1"), ["ComponentNotReady", "RevisionNotReady", "TrafficNotAsSpecified"]),
    ("canary on what was promoted, pass 1", "v2, v2", "v2:20 L, v2:80 -", {}, 20, ("v2", "v1"), ["TrafficNotAsSpecified"]),
    ("canary with a route of before", "v3, v3", "v2:100 L", {}, 20, ("v2", "v1"), ["TrafficNotAsSpecified"]),
    ("100 percent with a route of before", "v3, v3", "v2:100 L", {}, 100, ("v2", "v1"), ["TrafficNotAsSpecified"]),
    ("rolled out, and routed elsewhere", "v2, v2", "v1:100 -", {}, None, ("v2", "v1"), ["TrafficNotAsSpecified"]),
    ("rolled out, and routed by name", "v2, v2", "v2:100 -", {}, None, ("v2", "v1"), []),
    ("not rolled out, no traffic", "v3, v3", "", {}, None, ("v2", "v1"), ["TrafficNotAsSpecified"]),
    ("not rolled out, routed by name", "v3, v3", "v3:100 -", {}, None, ("v2", "v1"), ["RolloutStuck"]),
    ("not rolled out, no percents", "v3, v3", "v3:~ L", {}, None, ("v2", "v1"), ["RolloutStuck"]),
    ("promotion by 100 percent", "v3, v3", "v3:100 L", {}, 100, ("v2", "v1"), []),
    ("a route that waits", "v2, v2", "v2:100 L", WAITING, None, ("v2", "v1"), ["TrafficNotAsSpecified"]),
    ("a route that waits, not rolled out", "v3, v3", "v2:100 L", WAITING, None, ("v2", "v1"), ["RolloutStuck"]),
    ("a gradual rollout that is wanted", "v3, v3", "v2:60 L, v3:40 L", MOVING, None, ("v2", "v1"), []),
    ("a gradual rollout that ends", "v3, v3", "v3:100 L", MOVING, None, ("v2", "v1"), []),
    ("a percent before any rollout", "v1, v1", "v1:100 L", {}, 20, ("", ""), ["TrafficNotAsSpecified"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("revisions", "entries", "statuses", "canary", "history", "expected"),
    [each[1:] for each in ROUTES],
    ids=[each[0] for each in ROUTES],
)
def test_route(revisions, entries, statuses, canary, history, expected):
    """What is said of each situation, beside the whole not being Ready."""
    spec = None if canary is None else percent(canary)
    found = propagated(rerouted(revisions, entries, **statuses), spec, history)
    assert [each for each in reasons(found) if each != "NotReady"] == expected


MESSAGES = [
    ("newest failed", c.REVISION_NOT_READY, "predictor: newest revision v3 has failed, RevisionFailed: no image; revision v2 serves meanwhile", None),
    ("newest starts", c.REVISION_NOT_READY, "predictor: newest revision v3 is not ready yet; revision v2 serves meanwhile", STARTUP),
    ("the first failed", c.REVISION_NOT_READY, "predictor: newest revision v1 has failed, RevisionFailed: no image; no revision was ever ready", None),
    ("promotion not finished", c.ROLLOUT_STUCK, "predictor: revision v3 is ready, and requests still go to v2", 600),
    ("rolled back", c.ROLLED_BACK, "predictor is rolled back: requests go to v1, none to v2, which is ready", None),
    ("canary in progress", c.CANARY_IN_PROGRESS, "predictor: revision v3 gets 20 percent of the requests, v2 the rest", None),
    ("the rest at a revision nobody asked for", c.TRAFFIC, "predictor: revision v1 gets 80 percent of the requests, and the spec asks for v2", 600),
    ("rollback without a target", c.TRAFFIC, "predictor: canaryTrafficPercent is 0, and there is no earlier revision to go back to: all requests go to v2", None),
    ("rollback blocked by v3", c.TRAFFIC, "predictor: canaryTrafficPercent is 0, and all requests still go to v2", STARTUP),
    ("newest failed, rolled back", c.REVISION_NOT_READY, "predictor: newest revision v3 has failed, RevisionFailed: no image; revision v1 serves meanwhile", None),
    ("newest failed, rolled back", c.ROLLED_BACK, "predictor is rolled back: requests go to v1, none to v2, which is ready", None),
    ("newest starts beside a canary", c.REVISION_NOT_READY, "predictor: newest revision v3 is not ready yet; revisions v2 and v1 serve meanwhile", STARTUP),
    ("newest failed, no traffic", c.REVISION_NOT_READY, "predictor: newest revision v3 has failed, RevisionFailed: no image; no revision gets requests", None),
    ("a canary starts", c.TRAFFIC, "predictor: canaryTrafficPercent is 20, and all requests still go to v2", STARTUP),
    ("a canary failed", c.TRAFFIC, "predictor: canaryTrafficPercent is 20, and all requests still go to v2", 600),
    ("canary with a route of before", c.TRAFFIC, "predictor: revision v3 gets 0 percent of the requests, and the spec asks for 20", 600),
    ("100 percent with a route of before", c.TRAFFIC, "predictor: revision v3 gets 0 percent of the requests, and the spec asks for 100", 600),
    ("rolled out, and routed elsewhere", c.TRAFFIC, "predictor: revision v2 gets 0 percent of the requests, and the spec asks for 100", 600),
    ("not rolled out, routed by name", c.ROLLOUT_STUCK, "predictor: revision v3 is ready, and is not recorded as rolled out", 600),
    ("a route that waits", c.TRAFFIC, "predictor: its route does not become ready: no ingress controller of Knative, such as net-istio or net-kourier, has taken it up; PredictorRouteReady: IngressNotConfigured", 600),
    ("canary percent not taken over", c.TRAFFIC, "predictor: revision v3 gets 0 percent of the requests, and the spec asks for 20", 600),
    ("percents that lack some", c.TRAFFIC, "predictor: the percents of its route add up to 90, not 100", None),
    ("no traffic", c.TRAFFIC, "predictor: no revision gets requests", None),
    ("a target that is missing", c.TRAFFIC, "predictor: requests go to revision v9, which does not exist", None),
]  # fmt: skip


@pytest.mark.parametrize(("situation", "reason", "text", "budget"), MESSAGES)
def test_message(situation, reason, text, budget):
    """What it says, about which object, and how long it may take."""
    _, revisions, entries, statuses, canary, history, _ = next(
        each for each in ROUTES if each[0] == situation
    )
    spec = None if canary is None else percent(canary)
    found = only(propagated(rerouted(revisions, entries, **statuses), spec, history), reason)
    assert found.message == f"InferenceService models/llm: {text}"
    assert (found.budget.total_seconds() if found.budget else None) == budget
    assert (found.related.api_version, found.related.name) == ("serving.knative.dev/v1", "llm-predictor")  # fmt: skip


NEVER = "False RevisionFailed: Initial scale was never achieved"


@pytest.mark.parametrize(("minutes", "late"), [(5, True), (-5, False)])
def test_what_came_after_the_deadline(minutes, late):
    """Of an image that was pulled in time something else is the cause."""
    failed = rerouted("v3, v2", "v2:100 L", Ready=NEVER, ConfigurationsReady=NEVER)
    objects = as_propagated(on_knative(), service=failed, inferenceservice=recorded("v2", "v1"))
    pod = ObjectRef("v1", "Pod", "models", "v3-deployment-5f-x")
    pulled = ForeignEvent(
        about=pod,
        reason="Pulled",
        message='Successfully pulled image "a/b:1" in 11m40s (11m40s including waiting).',
        last=SINCE_AT + timedelta(minutes=minutes),
    )
    evidence = Evidence(events={("models", "Pod", pod.name): (pulled,)})
    found = only(seen(objects | {"third": revision("v3")}, evidence=evidence), c.REVISION_NOT_READY)
    assert ("; its image was pulled only after that, in 11m40s" in found.message) is late


MADE: Document = {"metadata": {"creationTimestamp": "2026-11-20T11:31:00Z"}}
BECAME_READY: Document = {
    "status": {"conditions": [condition("Ready", "True", since="2026-11-20T11:33:00Z")]}
}


@pytest.mark.parametrize(
    ("third", "revisions", "entries", "spec", "reason", "minute"),
    [
        (MADE, "v3, v2", "v2:100 L", {}, c.REVISION_NOT_READY, 31),
        (BECAME_READY, "v3, v3", "v2:100 L", {}, c.ROLLOUT_STUCK, 33),
        (MADE, "v3, v2", "v2:20 L, v2:80 -", percent(20), c.TRAFFIC, 31),
    ],
)
def test_since_when(third, revisions, entries, spec, reason, minute):
    """From when time is given: what a single pass cannot remember, objects tell."""
    found = propagated(rerouted(revisions, entries), spec, third=revision("v3", third))
    assert only(found, reason).created.minute == minute


def stalled(replicas, updated, available):
    """What is said of a Deployment whose rollout does not go on."""
    counts = {"replicas": replicas, "updatedReplicas": updated, "availableReplicas": available}
    failed = "False ProgressDeadlineExceeded: has timed out"
    rollout = raw_deployment({"status": counts}, Progressing=failed)
    return seen(as_propagated(on_deployments() | {"deployment": rollout}))


@pytest.mark.parametrize(
    ("counts", "end"),
    [((3, 1, 2), "; older pods serve"), ((2, 2, 1), "; some of its pods serve"), ((2, 2, 0), "")],
)
def test_which_pods_serve_while_a_rollout_does_not_go_on(counts, end):
    """KServe shows False although older pods serve; a first rollout has none."""
    assert only(stalled(*counts), c.ROLLOUT_STUCK).message == (
        "InferenceService models/llm: predictor: the rollout of Deployment llm-predictor does not "
        f"progress, ProgressDeadlineExceeded: has timed out{end}"
    )


DOWN = raw_deployment(
    {"status": {"availableReplicas": 0}},
    Available="False MinimumReplicasUnavailable: none",
    Progressing="True NewReplicaSetAvailable",
)


SLOW_PROBE = {"periodSeconds": 10, "failureThreshold": 360}
SLOW: Document = {
    "spec": {"containers": [{"name": "kserve-container", "startupProbe": SLOW_PROBE}]}
}
STARTS = container("kserve-container", RUNNING)
NO_POD = {"namespace": on_deployments()["namespace"], "inferenceservice": on_deployments()["inferenceservice"], "deployment": DOWN}  # fmt: skip
CANARY_STARTS = as_propagated(
    on_knative(), service=rerouted("v3, v2", "v2:20 L, v2:80 -"), inferenceservice=percent(20)
) | {"newest": predictor_pod(SLOW, name="pod-b", of="v3")}
HOUR = timedelta(hours=1)
NONE_AVAILABLE = "MinimumReplicasUnavailable"


def beside(component):
    """A transformer that is down, and a pod of a component that starts."""
    down = raw_deployment(name="llm-transformer", Available=f"False {NONE_AVAILABLE}")
    pod = predictor_pod({"metadata": {"labels": {"component": component}}}, serving=STARTS)
    return on_deployments(TRANSFORMED) | {"pod": pod, "transformer": down}


@rows(
    ("objects", "reason", "budget", "text"),
    {
        "a component that is not ready": (as_propagated(NO_POD), c.COMPONENT_NOT_READY, None, f"PredictorReady is False, {NONE_AVAILABLE}: none"),
        "while its pods start, it has their time": (
            as_propagated(NO_POD | {"pod": predictor_pod(serving=STARTS)}), c.COMPONENT_NOT_READY, timedelta(seconds=STARTUP),
            f"PredictorReady is False, {NONE_AVAILABLE}: none",
        ),
        **{
            f"a longer start-up probe gives more time: {reason}": (
                as_propagated(NO_POD | {"pod": predictor_pod(SLOW, serving=STARTS)}), reason, HOUR, "",
            )
            for reason in (c.COMPONENT_NOT_READY, c.NOT_READY, c.PODS_NOT_READY)
        },
        **{f"that of a revision's pods: {reason}": (CANARY_STARTS, reason, HOUR, "") for reason in (c.REVISION_NOT_READY, c.TRAFFIC)},
        "a predictor that starts is no excuse for a transformer that is down": (beside("predictor"), c.COMPONENT_NOT_READY, None, ""),
        "a pod of its own is": (beside("transformer"), c.COMPONENT_NOT_READY, timedelta(seconds=STARTUP), ""),
    },
)  # fmt: skip
def test_what_has_which_time(objects, reason, budget, text):
    found = only(seen(objects), reason)
    assert found.budget == budget
    if text:
        assert found.message == f"InferenceService models/llm: predictor: {text}"
        assert (found.related.kind, found.related.name) == ("Deployment", "llm-predictor")


NOTHING_YET: Document = {
    "status": {"latestCreatedRevisionName": None, "latestReadyRevisionName": None, "traffic": None}
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


GONE = "ParentStatusNotAvailable: HttpRouteNotReady"
REFUSED = "UnsupportedValue: Predictor "


@pytest.mark.parametrize(
    ("text", "component_ready", "told", "diagnosed"),
    [
        ("False Predictor HTTPRoute not created: no Gateway", True, True, False),
        (f"False {GONE}", True, True, False),
        ("False Predictor ingress not created", False, False, False),
        ("False InferenceService Deployment NotReady", False, False, False),
        ("False", False, False, False),
        ("False NotAllowedByListeners: no listener", False, True, False),
        (f"False {GONE}", False, True, False),
        ("Unknown Predictor ingress not created", True, False, False),
        ("True", True, False, False),
        # GKE's Gateway refuses the timeouts that KServe writes without a word (kserve/kserve#5311).
        (f"False {REFUSED}", True, True, True),
        (f"False {REFUSED}filter is not supported", True, True, False),
        ("False NotAllowedByListeners: Predictor ", True, True, False),
    ],
)
def test_ingress(text, component_ready, told, diagnosed):
    """A component that is not ready is why its ingress is not made, not why a Gateway refuses it."""
    objects, conditions = on_knative(), UP | {"IngressReady": text}
    if not component_ready:
        objects = as_propagated(objects, service=rerouted("v2, v2", "v2:100 L", Ready="False Bad"))
        conditions |= {"PredictorReady": "False Bad"}
    found = seen(objects, inferenceservice=has(**conditions))
    assert ("IngressNotReady" in reasons(found)) is told
    if told:
        finding = only(found, c.INGRESS_NOT_READY)
        assert text.removeprefix("False ").strip() in finding.message
        assert finding.transition == SINCE_AT
        assert (finding.diagnosis is not None) is diagnosed
        assert not diagnosed or "disableHTTPRouteTimeout" in finding.diagnosis.action


@pytest.mark.parametrize("address", [None, {"url": "http://llm.models.svc.cluster.local"}])
def test_ready_without_a_url(address):
    """It leads nowhere, whatever its address within the cluster."""
    found = seen(on_knative(), inferenceservice={"status": {"url": None, "address": address}})
    assert only(found, c.INGRESS_NOT_READY).cause == "no URL"


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

"""Subjects of the model layer and the evidence that they are ready."""

from dataclasses import replace

import pytest

from reporter.catalogue.resources import (
    DEPLOYMENTS,
    HTTPROUTES,
    INFERENCEPOOLS,
    PODS,
    SERVICES,
)
from reporter.stacks.kaito.reasons import INFERENCESETS, MODEL_READY, WORKSPACES
from tests.unit.probes.asking import evaluate_inferencesets
from tests.unit.probes.building import CREATED_AT, DELETING, FORBIDDEN, condition, document
from tests.unit.stacks.kaito.probes.kaito import (
    NS,
    SET,
    SETTINGS,
    conditions,
    epp,
    model_pod,
    not_ready,
    parent,
    stack,
    waits,
    workspace,
)

UNLABELLED = {"metadata": {"labels": {"kaito.sh/owned-by": None}}}


def evaluate(snapshot):
    return evaluate_inferencesets(snapshot, SETTINGS)


def ready(snapshot):
    return [each.message for each in evaluate(snapshot).ready]


def test_a_set_is_a_subject_with_its_creation_time():
    """It is known by kind, namespace and name."""
    (known,) = evaluate(stack()).subjects
    assert str(known.subject) == f"inferenceset/{NS}/{SET}"
    assert known.created == CREATED_AT


@pytest.mark.parametrize(
    "changes",
    [
        {"set": DELETING},
        {"namespace": DELETING},
    ],
    ids=["set deleting", "namespace deleting"],
)
def test_what_goes_is_no_subject(changes):
    """Nothing is said about it, however broken it is."""
    evaluation = evaluate(stack(pod=waits("CrashLoopBackOff"), **changes))
    assert (evaluation.findings, evaluation.ready, evaluation.subjects) == ((), (), ())


def test_nothing_is_concluded_where_sets_cannot_be_read():
    """Unknown is neither healthy nor a fault."""
    snapshot = stack()
    states = dict(snapshot.states) | {INFERENCESETS: FORBIDDEN}
    assert evaluate(replace(snapshot, states=states)).subjects == ()


def test_a_set_that_serves_is_ready():
    """Every wanted replica is ready, the picker available and the route accepted."""
    (evidence,) = evaluate(stack()).ready
    assert evidence.reason == MODEL_READY
    assert evidence.related == INFERENCESETS.ref_named(NS, SET)
    assert (evidence.involved.kind, evidence.involved.uid) == ("Namespace", f"uid-{NS}")
    assert evidence.message == (
        f"InferenceSet {NS}/{SET} is ready: 1/1 replicas ready, endpoint picker available, "
        "route accepted"
    )


def test_a_set_without_route_and_picker_is_ready_by_its_replicas():
    """What it did not ask for is not missed."""
    snapshot = stack(workspace=UNLABELLED, route=None, pool=None, epp=None)
    assert ready(snapshot) == [f"InferenceSet {NS}/{SET} is ready: 1/1 replicas ready"]


@pytest.mark.parametrize(
    "changes",
    [
        {"set": {"spec": {"replicas": 2}}},
        {"pod": not_ready()},
        {"pod": None},
        {"pod": DELETING},
        {"pod": {"status": {"phase": "Failed"}}},
        {"workspace": DELETING},
        {"workspace": None},
        {"epp": None},
        {"epp": epp(ready=0)},
        {"epp": epp(ready=0, wanted=0)},
        {"epp": epp(ready=1, wanted=2)},
        {"route": None},
        {"route": {"status": {"parents": []}}},
        {"route": {"status": {"parents": [parent("models-gw", condition("Accepted", "True"))]}}},
        {"route": {"status": {"parents": [parent("models-gw", condition("Accepted", "Unknown"))]}}},
        {"route": {"spec": {"parentRefs": []}}},
    ],
)
def test_ready_needs_positive_evidence(changes):
    """The absence of a fault is not enough: unknown conditions and missing objects prevent it."""
    assert ready(stack(**changes)) == []


@pytest.mark.parametrize("resource", [WORKSPACES, PODS, DEPLOYMENTS, INFERENCEPOOLS, HTTPROUTES])
def test_ready_rests_on_nothing_unknown(resource):
    """A set is not ready by what could not be read."""
    snapshot = stack()
    states = dict(snapshot.states) | {resource: FORBIDDEN}
    assert ready(replace(snapshot, states=states)) == []


def test_all_pods_of_a_replica_have_to_be_ready():
    """A replica on several nodes works only as a whole."""
    assert ready(stack(model_pod("qwen-a-1", not_ready()))) == []
    assert ready(stack(model_pod("qwen-a-1")))


def test_replicas_beyond_those_wanted_do_not_matter():
    """While a set is scaled down, the wanted number of replicas is enough."""
    starting = [workspace("qwen-b"), model_pod("qwen-b-0", not_ready(), workspace="qwen-b")]
    assert ready(stack(*starting))


def test_a_workspace_condition_does_not_make_a_replica_ready():
    """Conditions freeze when KAITO is down, at True as well; pods decide."""
    serving = conditions(condition("InferenceReady", "True", "WorkspaceInferenceStatusSuccess"))
    assert ready(stack(workspace=serving, pod=not_ready())) == []


NAMED = {"spec": {"endpointPickerRef": {"name": "qwen-inferencepool-epp"}}}
SPREADS = {"spec": {"endpointPickerRef": {"name": "qwen-epp", "failureMode": "FailOpen"}}}


def reached(snapshot):
    (evidence,) = evaluate(snapshot).serving
    return evidence.reached


def test_no_request_reaches_a_picker_without_its_service():
    """Its Deployment is available, and the gateway calls the Service that the pool names."""
    assert not reached(stack(pool=NAMED))
    assert ready(stack(pool=NAMED)) == []
    own = document("Service", "qwen-inferencepool-epp", NS)
    assert reached(stack(own, pool=NAMED))
    assert ready(stack(own, pool=NAMED))


def test_a_pool_that_fails_open_needs_no_service_to_serve():
    """The gateway spreads requests without the picker; ready is another matter."""
    assert reached(stack(pool=SPREADS))
    assert ready(stack(pool=SPREADS)) == []


def test_a_service_that_cannot_be_read_changes_no_evidence():
    """What cannot be read may be there."""
    snapshot = stack(pool=NAMED)
    unread = replace(snapshot, states=dict(snapshot.states) | {SERVICES: FORBIDDEN})
    assert reached(unread)
    assert ready(unread)

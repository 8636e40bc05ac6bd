"""What is said of an InferenceService as a whole."""

import pytest

from reporter.catalogue import resources as r
from reporter.model.finding import Evaluation
from reporter.stacks.kserve import reasons as c
from reporter.stacks.kserve.reasons import KNATIVE_SERVICES
from tests.tables import ALL
from tests.unit.probes.asking import evaluate_inferenceservices
from tests.unit.probes.building import DELETING, merged, namespace, snapshot_of
from tests.unit.stacks.kserve.derived.building import (
    annotated,
    cluster,
    has,
    inferenceservice,
    knative_service,
    predictor_pod,
)
from tests.unit.stacks.kserve.probes.serving import (
    SETTINGS,
    as_propagated,
    on_deployments,
    on_knative,
    only,
    reasons,
    recorded,
    rerouted,
    seen,
)


@pytest.mark.parametrize("objects", [on_knative(), on_deployments()], ids=["Knative", "Standard"])
def test_one_that_serves(objects):
    """Nothing is wrong, it is ready, and its status is as derived."""
    found = seen(objects)
    assert found.findings == ()
    assert [each.reason for each in found.ready] == [c.READY]
    assert [str(each.subject) for each in found.subjects] == ["inferenceservice/models/llm"]
    assert found.ready[0].involved.name == "models"
    assert found.derived[0].object.name == "llm"


def test_the_ready_message_names_the_revision():
    """One line, the service first."""
    assert seen(on_knative()).ready[0].message == (
        "InferenceService models/llm is ready: predictor ready (revision v2)"
    )


def test_a_generation_behind_is_nothing():
    """observedGeneration is that of a Knative Service, so it is never behind."""
    patch = {"metadata": {"generation": 99}}
    assert seen(on_knative(), inferenceservice=patch).findings == ()


def test_one_that_is_deleted_is_no_subject():
    """Nothing is said about it."""
    assert seen(on_knative(), inferenceservice=DELETING) == Evaluation((), (), ())


FROZEN = annotated(**{"disable-auto-update": "true"})


def test_objects_of_one_that_is_frozen_are_looked_at():
    """KServe leaves its status at Ready, whatever becomes of its Knative Service."""
    objects = on_knative(FROZEN)
    assert seen(objects).ready
    found = seen(objects, service=rerouted("v2, v2", "v2:100 L", Ready="False RevisionFailed: why"))
    assert (reasons(found), found.ready, found.derived) == (["ComponentNotReady"], (), ())
    assert only(found, c.COMPONENT_NOT_READY).message == (
        "InferenceService models/llm: predictor: PredictorReady is False, RevisionFailed: why; "
        "Ready is True all the same"
    )


def test_of_one_that_is_stopped_only_that_is_said():
    """It is meant, and everything else follows from it."""
    found = seen(on_knative(), inferenceservice=annotated(stop="true"), service=None, pod=None)
    assert reasons(found) == ["Stopped"]
    assert found.ready == ()


def test_one_that_is_frozen_is_not_stopped():
    """KServe does not come to the switch, so it goes on serving."""
    both = annotated(**{"disable-auto-update": "true", "stop": "true"})
    found = seen(on_knative(), inferenceservice=both)
    assert (found.findings, bool(found.ready)) == ((), True)


@pytest.mark.parametrize("resource", [KNATIVE_SERVICES, r.PODS])
def test_nothing_is_ready_while_it_rests_on_something_unknown(resource):
    """And no derived status is shown that is half a guess."""
    found = seen(on_knative(), unknown=[resource])
    assert found.findings == ()
    assert found.ready == ()
    assert found.derived == ()


def test_not_ready_while_the_newest_revision_is_not():
    """The older one serves."""
    objects = as_propagated(on_knative(), service=rerouted("v3, v2", "v2:100 L"))
    assert seen(objects).ready == ()


def test_a_stale_status():
    """What was propagated is not what the Knative Service says; outside of the chain."""
    found = seen(on_knative(), inferenceservice=recorded("v1", ""))
    finding = only(found, c.STATUS_STALE)
    assert finding.message == (
        "InferenceService models/llm: its status does not match its objects, in "
        "components.predictor.latestRolledoutRevision, "
        "components.predictor.previousRolledoutRevision"
    )
    assert reasons(found) == ["StatusStale"]


def test_many_stale_fields_are_counted():
    """The message stays short."""
    finding = only(
        seen(on_knative(), service=rerouted("v3, v3", "v3:90 L", Ready="False A", RoutesReady="False B")),
        c.STATUS_STALE,
    )  # fmt: skip
    assert finding.message.endswith(" more")


def test_without_knative_in_the_cluster():
    """The mode in effect cannot work; without a mode on record it is taken for Standard."""
    docs = [namespace("models"), inferenceservice()]
    served = {str(each) for each in ALL if each.custom and each is not KNATIVE_SERVICES}
    snapshot = snapshot_of(*docs, served=served)
    found = evaluate_inferenceservices(snapshot, SETTINGS)
    assert "KnativeMissing" in reasons(found)
    unset = snapshot_of(
        docs[0], inferenceservice({"status": {"deploymentMode": None}}), served=served
    )
    found = evaluate_inferenceservices(unset, SETTINGS)
    assert "KnativeMissing" not in reasons(found)


def test_a_deployment_tells_the_mode_where_nothing_else_does():
    """KServe may be configured with Standard mode although the cluster has Knative."""
    objects = on_deployments()
    objects["inferenceservice"] = merged(
        objects["inferenceservice"], {"status": {"deploymentMode": None}}
    )
    assert seen(objects).ready
    assert "PodsNotReady" in reasons(seen(objects | {"pod": predictor_pod(ready=False)}))
    on_both = objects | {"service": knative_service("v2, v2", "v2:100 L")}
    assert "PodsNotReady" not in reasons(seen(on_both | {"pod": predictor_pod(ready=False)}))


def test_no_status_at_all():
    """KServe has not written anything yet."""
    snapshot = cluster(namespace("models"), inferenceservice({"status": None}))
    finding = only(evaluate_inferenceservices(snapshot, SETTINGS), c.NOT_READY)
    assert finding.cause == "no status"
    assert finding.budget.total_seconds() == 120


def test_ready_is_unknown():
    """It has the time of a start-up."""
    finding = only(
        seen(on_knative(), inferenceservice=has(Ready="Unknown Waiting", PredictorReady="Unknown Waiting")),
        c.NOT_READY,
    )  # fmt: skip
    assert finding.budget.total_seconds() == SETTINGS.model_startup_budget_seconds
    assert "Ready is Unknown, Waiting" in finding.message

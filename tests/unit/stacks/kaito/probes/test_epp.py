"""inferencesetEPPNotReady: the endpoint picker of an InferenceSet that asked for one."""

from dataclasses import replace

import pytest

from reporter.catalogue.resources import DEPLOYMENTS
from reporter.stacks.kaito.reasons import MODEL_EPP
from tests.unit.probes.building import FORBIDDEN, SINCE_AT, condition, merged, waiting
from tests.unit.probes.building import pod as running_pod
from tests.unit.stacks.kaito.probes.kaito import (
    NS,
    SET,
    conditions,
    epp,
    findings,
    only,
    stack,
)

NAME = "qwen-inferencepool-epp"
UNLABELLED = {"metadata": {"labels": {"kaito.sh/owned-by": None}}}


def test_a_missing_endpoint_picker_is_told():
    """It has no times of its own; the grace counts from when it was first missed."""
    finding = only(stack(epp=None), MODEL_EPP)
    expected = f"InferenceSet {NS}/{SET}: endpoint picker is missing (Deployment {NAME})"
    assert finding.message == expected
    assert finding.related == DEPLOYMENTS.ref_named(NS, NAME)
    assert (finding.transition, finding.created, finding.cause) == (None, None, "missing")


def test_an_endpoint_picker_without_a_ready_replica_is_down_and_says_why():
    """The cause is that of its pod; the time is that of the Deployment's condition."""
    crashing = merged(running_pod(NS, "epp-1", NAME, ready=False), waiting("CrashLoopBackOff"))
    finding = only(stack(crashing, epp=epp(ready=0)), MODEL_EPP)
    assert "0/1 ready" in finding.message
    assert finding.cause == "CrashLoopBackOff"
    assert finding.transition == SINCE_AT
    assert (finding.exempt, finding.budget) == (False, None)


def test_fewer_ready_replicas_than_wanted_are_degraded():
    """Replicas are judged, not pods; degraded is less bad than down."""
    degraded = only(stack(epp=epp(ready=1, wanted=2)), MODEL_EPP)
    assert "is degraded: no pods, 1/2 ready" in degraded.message
    assert degraded.severity < only(stack(epp=epp(ready=0)), MODEL_EPP).severity


def test_terminating_pods_of_a_picker_that_works_are_nothing():
    """Only the Deployment's replicas count."""
    going = {"metadata": {"deletionTimestamp": "2026-11-20T11:59:00Z"}}
    assert findings(stack(merged(running_pod(NS, "epp-1", NAME, ready=False), going))) == []


def test_a_picker_that_cannot_be_read_is_not_missing():
    """Absence needs a look."""
    snapshot = stack(epp=None)
    states = dict(snapshot.states) | {DEPLOYMENTS: FORBIDDEN}
    assert findings(replace(snapshot, states=states), MODEL_EPP) == []


@pytest.mark.parametrize("left", ["route", "pool", "workspace"])
def test_a_picker_is_expected_by_its_pool_its_route_or_its_chart(left):
    """Each of them alone says that the set asked for one."""
    changes = {"epp": None, "route": None, "pool": None, "workspace": UNLABELLED}
    del changes[left]
    assert only(stack(**changes), MODEL_EPP).cause == "missing"


def test_a_set_not_made_by_the_chart_needs_no_picker():
    """Plain KAITO and children of a MultiRoleInference have no picker of their own."""
    snapshot = stack(epp=None, route=None, pool=None, workspace=UNLABELLED)
    assert findings(snapshot, MODEL_EPP) == []


def test_the_picker_is_not_the_pods_business():
    """Model pods at fault say nothing about the picker."""
    broken = conditions(condition("InferenceReady", "False", "ContainerStartError"))
    assert findings(stack(workspace=broken, pod=None), MODEL_EPP) == []

"""What becomes of a subject that a probe failed on: it stays as it was, and others go on."""

import pytest

from reporter.model.finding import Unjudged
from reporter.model.subject import CLUSTER, Subject
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from reporter.stacks.kthena.reasons import MODELSERVING_KIND
from tests.unit.resolution.building import (
    HARNESS,
    MODEL,
    Resolver,
    evidence,
    finding,
    snapshot,
)

PODS, GATEWAY = "inferencesetModelPodsNotReady", "modelharnessGatewayProgrammingFailed"
OTHER = Subject(INFERENCESET_KIND, "other", "qwen")
OF_STACK = Subject(MODELSERVING_KIND, "demo", "qwen")
FAILED = Unjudged(MODEL, "ValueError in reporter/workload/pod.py, line 7")
OF_NAMESPACE = Unjudged(HARNESS, "ValueError in reporter/workload/pod.py, line 7")


@pytest.mark.parametrize("about", [HARNESS, MODEL, OF_STACK, CLUSTER], ids=str)
def test_what_is_left_open(about):
    """A subject that cannot be judged, and no other: a namespace does not stand for its models."""
    failed = Unjudged(about, "")
    subjects = {HARNESS, MODEL, OTHER, OF_STACK, CLUSTER}
    assert {each for each in subjects if failed.covers(each)} == {about}


def test_a_fault_stays_and_is_stale():
    """Its end is not known; nor is its subject gone."""
    resolver = Resolver()
    resolver.look(0, finding(PODS, exempt=True))
    assert resolver.look(60, unjudged=[FAILED]) == {PODS: "firing"}
    assert resolver[PODS].stale
    assert resolver.look(120, finding(PODS, exempt=True)) == {PODS: "firing"}
    assert not resolver[PODS].stale


def test_a_restart_ends_nothing():
    """A new leader that fails on the same object takes the Events on record for true."""
    before, after = Resolver(), Resolver()
    before.look(0, finding(PODS, exempt=True))
    seen = snapshot(events=before.events())
    assert after.look(5, seen=seen, unjudged=[FAILED]) == {PODS: "firing"}


def test_others_go_on():
    """A fault of another namespace ends, and begins, as if nothing had happened."""
    resolver = Resolver()
    resolver.subjects += [type(resolver.subjects[0])(OTHER)]
    other = finding(PODS, subject=OTHER, exempt=True)
    resolver.look(0, finding(GATEWAY, exempt=True), other)
    found = resolver.look(1, unjudged=[OF_NAMESPACE])
    assert found == {GATEWAY: "firing", PODS: "clearing"}
    assert resolver[GATEWAY].stale


def test_nobody_is_called_ready_who_was_not_judged():
    resolver = Resolver()
    resolver.look(0, ready=[evidence(MODEL)])
    told = snapshot(events=resolver.events())
    resolver.look(1, ready=[evidence(MODEL)], seen=told)
    resolver.look(2, seen=told, unjudged=[FAILED])
    assert not resolver.report.ready
    resolver.look(3, ready=[evidence(MODEL)], seen=told)
    assert [each.due for each in resolver.report.ready] == [False]


ISTIO, BBR = "clusterIstioControlPlaneNotReady", "clusterBBRNotReady"
OF_PROBE = Unjudged(CLUSTER, "ValueError in reporter/workload/pod.py, line 7", ISTIO, "istiod")


def test_a_reason_that_was_not_judged_stays_and_is_stale():
    """Other reasons of the same subject end, and the subject is no less known."""
    resolver = Resolver()
    resolver.look(0, finding(ISTIO, exempt=True), finding(BBR, exempt=True))
    assert resolver.look(1, unjudged=[OF_PROBE]) == {ISTIO: "firing", BBR: "clearing"}
    assert (resolver[ISTIO].stale, resolver[BBR].stale) == (True, False)
    assert CLUSTER in resolver.report.subjects
    assert resolver.look(60, unjudged=[OF_PROBE]) == {ISTIO: "firing"}
    assert resolver.look(3601, unjudged=[OF_PROBE]) == {}


def test_a_reason_that_can_be_judged_again_goes_on_or_ends():
    resolver = Resolver()
    resolver.look(0, finding(ISTIO, exempt=True))
    resolver.look(60, unjudged=[OF_PROBE])
    assert resolver.look(120, finding(ISTIO, exempt=True)) == {ISTIO: "firing"}
    assert not resolver[ISTIO].stale
    resolver.look(180, unjudged=[OF_PROBE])
    assert resolver.look(240) == {}


def test_what_another_probe_of_the_reason_sees_is_told():
    resolver = Resolver()
    resolver.look(0, finding(ISTIO, exempt=True), unjudged=[OF_PROBE])
    assert (resolver[ISTIO].disposition, resolver[ISTIO].stale) == ("firing", False)


@pytest.mark.parametrize(
    ("reason", "ready"),
    [
        (ISTIO, {HARNESS, MODEL}),
        ("clusterReady", {HARNESS, MODEL}),
        (GATEWAY, {CLUSTER, MODEL}),
        (PODS, {CLUSTER, HARNESS}),
        ("inferencesetNodeUnderPressure", {CLUSTER, HARNESS, MODEL}),
    ],
    ids=["of the cluster", "the evidence", "of the harness", "of models", "does not block Ready"],
)
def test_nobody_is_ready_of_whom_a_reason_was_not_judged(reason, ready):
    resolver = Resolver()
    failed = Unjudged(CLUSTER, "", reason, "custom component")
    resolver.look(0, ready=map(evidence, (CLUSTER, HARNESS, MODEL)), unjudged=[failed])
    assert {each.subject for each in resolver.report.ready} == ready

"""The lines of a report: their order, what stands in them, and when they change by themselves."""

from dataclasses import replace
from itertools import permutations

import pytest

from reporter.catalogue.resources import DEPLOYMENTS
from reporter.model.objects import Deployment, Metadata
from reporter.model.objects.pods import DeploymentSpec
from reporter.model.subject import Subject
from reporter.snapshot.table import table_of
from tests.unit.resolution.building import MODEL, NOON, Resolver, crd, finding, seconds, snapshot
from tests.unit.resolution.test_mute import mutes

ISTIO, BBR = "clusterIstioControlPlaneNotReady", "clusterBBRNotReady"
KAITO, MISSING = "clusterKaitoControllerNotReady", "clusterCRDMissing"
PODS, EPP, SCALING = (
    "inferencesetModelPodsNotReady",
    "inferencesetEPPNotReady",
    "inferencesetScalingMisconfigured",
)
BLIND = "clusterStatusUnknown"
EARLIER = Subject(MODEL.kind, "demo", "a")


def at_once(reason, name="x", **fields):
    return finding(reason, name, exempt=True, **fields)


def of_crd(name, **fields):
    return finding(MISSING, involved=crd(name), related=crd(name), **fields)


def lines(resolver):
    return [(each.reason, each.subject) for each in resolver.report.findings]


@pytest.mark.parametrize(
    "ordered",
    [
        pytest.param([(ISTIO, None), (BBR, None)], id="by the chain, not by name"),
        pytest.param([(EPP, EARLIER), (PODS, MODEL)], id="by subject before the chain"),
        pytest.param([(PODS, MODEL), (BLIND, None)], id="what cannot be seen behind all others"),
        pytest.param([(PODS, EARLIER), (PODS, MODEL), (EPP, MODEL)], id="by both"),
    ],
)
def test_what_is_no_cause_is_listed_by_subject_and_chain(ordered):
    for found in permutations(ordered):
        resolver = Resolver()
        resolver.look(0, *(finding(reason, subject=subject) for reason, subject in found))
        assert [reason for reason, _ in lines(resolver)] == [reason for reason, _ in ordered]
        assert [each for _, each in lines(resolver) if each.name] == [
            each for _, each in ordered if each
        ]


@pytest.mark.parametrize(("gone", "seen"), [("a", "b"), ("b", "a")])
def test_what_is_gone_stands_with_what_is_seen(gone, seen):
    """Of two lines of one reason the first by name comes first."""
    resolver = Resolver()
    resolver.look(0, of_crd(gone, exempt=True))
    resolver.look(1, of_crd(seen))
    listed = [(each.involved.name, str(each.disposition)) for each in resolver.report.findings]
    assert listed == sorted([(gone, "clearing"), (seen, "pending")])


def test_the_first_of_the_chain_names_the_others_of_its_node():
    resolver = Resolver()
    resolver.look(0, *(at_once(each, lost_node="cpu-1") for each in (BBR, ISTIO)))
    assert resolver[ISTIO].message == f"{ISTIO} of x (node cpu-1 also explains: {BBR})"
    assert resolver[BBR].message == f"{BBR} of x"


def with_replicas(count):
    """A snapshot with a Deployment that should have so many replicas."""
    deployment = Deployment(
        metadata=Metadata(name="x", namespace="demo"), spec=DeploymentSpec(replicas=count)
    )
    return replace(snapshot(), tables={DEPLOYMENTS: table_of([deployment])})


def test_what_was_changed_before_a_fault_stands_in_its_line_and_in_its_message():
    """So an operator sees it, and so does whoever reads the Event."""
    resolver = Resolver()
    resolver.look(0, seen=with_replicas(1))
    related = DEPLOYMENTS.ref_named("demo", "x")
    resolver.look(60, at_once(KAITO, related=related), seen=with_replicas(2))
    (change,) = resolver[KAITO].changes
    assert (change.before, change.after) == ("1", "2")
    assert resolver[KAITO].message == f"{KAITO} of x ({change})"


def test_what_is_clearing_says_what_mutes_the_fault_that_is_left():
    resolver = Resolver()
    resolver.look(0, at_once(PODS, "a"), at_once(PODS, "b"))
    assert resolver.look(10, at_once(PODS, "b"), seen=mutes("b")) == {PODS: "clearing"}
    assert [each.object.name for each in resolver[PODS].mutes] == ["b"]


@pytest.mark.parametrize(
    ("independent", "fires"),
    [((False,), 120), ((True,), 65), ((True, False), 65), ((False, False), 120)],
)
def test_a_fault_that_no_upstream_explains_does_not_wait_for_the_hold(independent, fires):
    """The hold of one that recovered at 60 lasts until 120; the grace of the fault is 5 s."""
    resolver = Resolver(grace={PODS: 5})
    resolver.look(0, at_once(KAITO, governs=True))
    faults = [
        finding(PODS, f"p-{number}", independent=each) for number, each in enumerate(independent)
    ]
    assert resolver.look(60, *faults) == {PODS: "pending"}
    assert resolver[PODS].fires_at == NOON + seconds(fires)
    resolver.look(fires - 1, *faults)
    assert resolver.look(fires, *faults) == {PODS: "firing"}


def test_what_waits_for_an_upstream_that_fires_tells_no_time():
    """Nobody knows when that is over, and it is suppressed once its grace is."""
    resolver = Resolver()
    upstream = at_once(KAITO, governs=True)
    assert resolver.look(0, upstream, finding(PODS)) == {KAITO: "firing", PODS: "pending"}
    assert (resolver[PODS].by, resolver[PODS].fires_at) == ((KAITO,), None)
    assert resolver.look(60, upstream, finding(PODS))[PODS] == "suppressed"


def test_it_wakes_for_a_young_fault_under_one_that_is_clearing():
    """It fires at 60, before the other has recovered, and the key goes on."""
    resolver = Resolver()
    for at in (0, 5):
        resolver.look(at, at_once(PODS, "a"), finding(PODS, "b"))
    assert resolver.look(10, finding(PODS, "b")) == {PODS: "clearing"}
    assert resolver.wake_in == seconds(50)
    assert resolver.look(60, finding(PODS, "b")) == {PODS: "firing"}

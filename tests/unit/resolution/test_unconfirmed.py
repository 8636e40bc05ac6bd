"""What may begin, end and be ready on data that is not confirmed, or that may not be read."""

from dataclasses import replace

import pytest

from reporter.catalogue.resources import DEPLOYMENTS, EVENTS, NODES
from reporter.model.subject import CLUSTER
from reporter.snapshot.snapshot import NOT_LISTED, UNREACHABLE, Discovery
from tests.unit.resolution.building import Resolver, crd, evidence, finding, snapshot

POD_FAULT, CRD_MISSING = "inferencesetModelPodsNotReady", "clusterCRDMissing"
REFUSED = ("forbidden", "served in version v9, not in v1")
AWAITED = (NOT_LISTED, UNREACHABLE)


def unread(resource, cause):
    """A snapshot of a daemon that cannot read a resource."""
    return snapshot(unknown=(resource,), unconfirmed=(resource,), cause=cause)


@pytest.mark.parametrize("resource", [DEPLOYMENTS, NODES], ids=["of its upstreams", "of its own"])
@pytest.mark.parametrize(
    ("cause", "disposition"),
    [*((cause, "firing") for cause in REFUSED), *((cause, "pending") for cause in AWAITED)],
)
def test_a_fault_that_is_seen_waits_for_answers_but_not_for_refused_ones(
    resource, cause, disposition
):
    """A permission that is missing must not hide what rests on it in part."""
    resolver = Resolver()
    fault = finding(POD_FAULT, exempt=True)
    assert resolver.look(0, fault, seen=unread(resource, cause)) == {POD_FAULT: disposition}


def test_a_fault_recovers_though_what_its_upstreams_read_is_forbidden():
    """An upstream that nobody can know of keeps nothing firing for ever."""
    resolver = Resolver()
    blind = unread(DEPLOYMENTS, "forbidden")
    resolver.look(0, finding(POD_FAULT, exempt=True), seen=blind)
    assert resolver.look(1, seen=blind) == {POD_FAULT: "clearing"}
    assert resolver.look(60, seen=blind) == {}


def test_a_missing_definition_is_told_on_a_confirmed_answer_only():
    """The grace may end while discovery fails or the process was paused: it may be there by now."""
    resolver = Resolver()
    missing = finding(CRD_MISSING, involved=crd("x.example.com"), related=crd("x.example.com"))
    resolver.look(0, missing)
    assert resolver.look(60, missing, seen=snapshot(discovered=False)) == {CRD_MISSING: "pending"}
    assert resolver.look(61, missing) == {CRD_MISSING: "firing"}
    assert resolver.look(300, seen=snapshot(discovered=False)) == {CRD_MISSING: "firing"}
    assert resolver.look(301) == {}


@pytest.mark.parametrize(
    ("seen", "ready"),
    [
        (snapshot(), True),
        (snapshot(discovered=False), False),
        (unread(EVENTS, "forbidden"), True),
        (unread(EVENTS, NOT_LISTED), False),
    ],
    ids=["confirmed", "discovery is not", "Events are forbidden", "Events are not listed"],
)
def test_the_cluster_is_ready_on_confirmed_answers_only(seen, ready):
    """Whether it is written is another question: our Events decide that."""
    resolver = Resolver()
    resolver.look(0, seen=seen, ready=[evidence(CLUSTER)])
    assert bool(resolver.report.ready) is ready
    assert any(each.due for each in resolver.report.ready) is (ready and seen.known(EVENTS))


def test_a_missing_definition_stays_where_discovery_does_not_answer():
    """Not to be seen any more is no recovery then, though all objects can be read."""
    resolver = Resolver()
    missing = finding(
        CRD_MISSING, exempt=True, involved=crd("x.example.com"), related=crd("x.example.com")
    )
    resolver.look(0, missing)
    silent = replace(snapshot(), discovery=Discovery(None))
    assert resolver.look(60, seen=silent) == {CRD_MISSING: "firing"}
    assert resolver[CRD_MISSING].stale


def test_what_is_seen_in_its_grace_is_not_stale():
    """What else its reason reads cannot be read; it fires when its time has come all the same."""
    resolver = Resolver()
    for seen in (None, snapshot(unknown=[NODES])):
        assert resolver.look(0, finding(POD_FAULT), seen=seen) == {POD_FAULT: "pending"}
        assert not resolver[POD_FAULT].stale
        assert resolver[POD_FAULT].fires_at is not None

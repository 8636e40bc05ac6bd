"""One look: whether anything tells since when a fault lasts."""

import pytest

from reporter.model.finding import KnownSubject
from reporter.resolution import OneLook
from tests.tables import rows
from tests.unit.resolution.building import (
    HARNESS,
    MODEL,
    NOON,
    Resolver,
    finding,
    seconds,
    snapshot,
)

PODS = "inferencesetModelPodsNotReady"


def ago(number):
    return NOON - seconds(number)


@rows(
    ("faults", "since", "known"),
    {
        "nothing tells": ([{}], -60, False),
        "a condition": ([{"transition": ago(500)}], -500, True),
        "the oldest has a time": ([{"transition": ago(500)}, {}], -500, True),
        "one of the oldest has a time": ([{"transition": ago(60)}, {}], -60, True),
        "only a younger one has a time": ([{"transition": ago(30)}, {}], -60, False),
    },
)
def test_of_faults(faults, since, known):
    """The age is that of the oldest fault that fires, and known where one so old has a time."""
    resolver = Resolver()
    several = [finding(PODS, f"pod-{n}", **fields) for n, fields in enumerate(faults)]
    assert resolver.look(0, *several, one_look=OneLook()) == {PODS: "firing"}
    assert (resolver[PODS].since, resolver[PODS].age_known) == (NOON + seconds(since), known)


@pytest.mark.parametrize("dated", [{"severity": 1}, {"severity": 9}], ids=["less bad", "worse"])
def test_of_two_faults_of_an_object(dated):
    """One of them has a time, and the other counts for as old: that time is known."""
    resolver = Resolver()
    timeless = finding(PODS, severity=5, message="timeless")
    resolver.look(0, timeless, finding(PODS, transition=ago(60), **dated), one_look=OneLook())
    assert (resolver[PODS].since, resolver[PODS].age_known) == (ago(60), True)


def test_an_event_on_record_tells():
    """Since when it fires stands in our own Event."""
    daemon = Resolver()
    daemon.look(0, finding(PODS))
    daemon.look(90, finding(PODS))
    events = daemon.events()
    looked = Resolver()
    looked.look(600, finding(PODS), seen=snapshot(events=events), one_look=OneLook())
    assert (looked[PODS].since, looked[PODS].age_known) == (NOON, True)


def test_an_episode_on_record_tells_of_another_fault():
    """The pod of before is gone, the episode goes on: its start is known though the new fault's is not."""
    daemon = Resolver()
    daemon.look(0, finding(PODS, "pod-0"))
    daemon.look(90, finding(PODS, "pod-0"))
    looked = Resolver()
    found = snapshot(events=daemon.events())
    looked.look(600, finding(PODS, "pod-1"), seen=found, one_look=OneLook())
    assert (looked[PODS].since, looked[PODS].age_known) == (NOON, True)


def test_an_episode_that_was_not_told_tells_nothing():
    resolver = Resolver()
    resolver.look(0, finding(PODS, "pod-0"))
    resolver.look(1, finding(PODS, "pod-1"), one_look=OneLook())
    assert not resolver[PODS].age_known


def test_who_says_for_how_long_knows_it():
    """`--observed-for` gives what has no time of its own an age."""
    resolver = Resolver()
    resolver.look(0, finding(PODS), one_look=OneLook(seconds(90)))
    assert (resolver[PODS].since, resolver[PODS].age_known) == (ago(90), True)


@pytest.mark.parametrize("reason", [PODS, "modelharnessGatewayProgrammingFailed"])
@pytest.mark.parametrize("observed_for", [None, seconds(300)])
def test_nothing_is_missing_for_longer_than_its_subject_exists(reason, observed_for):
    """A model, or a namespace, of five seconds has lacked for five seconds what is not there."""
    looked = Resolver(created=ago(5))
    assert looked.look(0, finding(reason), one_look=OneLook(observed_for)) == {reason: "pending"}
    assert (looked[reason].since, looked[reason].age_known) == (ago(5), True)


@pytest.mark.parametrize(("age", "known"), [(59, True), (60, False), (61, False)])
def test_a_subject_says_no_more_once_it_is_as_old_as_a_fault_has_to_be(age, known):
    """Only what is younger than that limits how long the fault lasts."""
    looked = Resolver(created=ago(age))
    looked.look(0, finding(PODS), one_look=OneLook())
    assert (looked[PODS].since, looked[PODS].age_known) == (ago(min(age, 60)), known)


def test_a_subject_of_a_clock_that_is_ahead():
    looked = Resolver(created=NOON + seconds(30))
    assert looked.look(0, finding(PODS), one_look=OneLook()) == {PODS: "pending"}
    assert looked[PODS].since == NOON


def test_only_its_own_subject_makes_a_fault_young():
    """A new model next to one that exists for days changes nothing of that one's faults."""
    looked = Resolver()
    looked.subjects = [KnownSubject(HARNESS, ago(5)), KnownSubject(MODEL, ago(7200))]
    assert looked.look(0, finding(PODS), one_look=OneLook()) == {PODS: "firing"}
    assert not looked[PODS].age_known

"""One look: whether anything tells since when a fault lasts."""

import pytest

from reporter.resolution import OneLook
from tests.unit.resolution.building import NOON, Resolver, finding, seconds, snapshot

PODS = "inferencesetModelPodsNotReady"


def ago(number):
    return NOON - seconds(number)


@pytest.mark.parametrize(
    ("faults", "since", "known"),
    [
        ([{}], -60, False),
        ([{"transition": ago(500)}], -500, True),
        ([{"transition": ago(500)}, {}], -500, True),
        ([{"transition": ago(60)}, {}], -60, True),
        ([{"transition": ago(30)}, {}], -60, False),
    ],
    ids=[
        "nothing tells", "a condition", "the oldest has a time", "one of the oldest has a time",
        "only a younger one has a time",
    ],
)  # fmt: skip
def test_of_faults(faults, since, known):
    """The age is that of the oldest fault that fires, and known where one so old has a time."""
    resolver = Resolver()
    several = [finding(PODS, f"pod-{n}", **fields) for n, fields in enumerate(faults)]
    assert resolver.look(0, *several, one_look=OneLook()) == {PODS: "firing"}
    assert (resolver[PODS].since, resolver[PODS].age_known) == (NOON + seconds(since), known)


def test_an_event_on_record_tells():
    """Since when it fires stands in our own Event."""
    daemon = Resolver()
    daemon.look(0, finding(PODS))
    daemon.look(90, finding(PODS))
    events = daemon.events()
    looked = Resolver()
    looked.look(600, finding(PODS), seen=snapshot(events=events), one_look=OneLook())
    assert (looked[PODS].since, looked[PODS].age_known) == (NOON, True)


def test_who_says_for_how_long_knows_it():
    """`--observed-for` gives what has no time of its own an age."""
    resolver = Resolver()
    resolver.look(0, finding(PODS), one_look=OneLook(seconds(90)))
    assert (resolver[PODS].since, resolver[PODS].age_known) == (ago(90), True)

"""Rule 6, where several episodes are over, or one is over by halves."""

import pytest

from reporter.catalogue.resources import DEPLOYMENTS
from reporter.model.finding import KnownSubject
from reporter.model.subject import Subject
from tests.unit.resolution.building import (
    MODEL,
    NOON,
    Resolver,
    crd,
    finding,
    seconds,
    snapshot,
)
from tests.unit.resolution.test_mute import mutes
from tests.unit.resolution.test_records import events_of, over

KAITO, MISSING = "clusterKaitoControllerNotReady", "clusterCRDMissing"
PODS, EPP = "inferencesetModelPodsNotReady", "inferencesetEPPNotReady"
OTHER = Subject(MODEL.kind, "demo", "other")


def at_once(reason, name="x", **fields):
    return finding(reason, name, exempt=True, **fields)


def test_it_wakes_when_the_first_of_two_has_recovered():
    resolver = Resolver()
    resolver.look(0, at_once(KAITO), at_once(PODS))
    resolver.look(20, at_once(PODS))
    assert resolver.look(30) == {KAITO: "clearing", PODS: "clearing"}
    assert resolver.wake_in == seconds(30)


def test_what_is_gone_with_its_subject_keeps_no_other_from_clearing():
    resolver = Resolver()
    resolver.subjects.append(KnownSubject(OTHER, NOON))
    resolver.look(0, at_once(EPP, subject=OTHER), at_once(PODS))
    resolver.subjects.pop()
    assert resolver.look(1) == {PODS: "clearing"}


def test_what_waits_for_data_keeps_no_other_from_clearing():
    resolver = Resolver()
    name = crd("x.example.com")
    resolver.look(0, at_once(MISSING, involved=name, related=name), at_once(PODS))
    found = resolver.look(1, seen=snapshot(discovered=False))
    assert found == {MISSING: "firing", PODS: "clearing"}


def test_a_young_fault_goes_on_with_a_suppressed_episode_that_is_not_over():
    """It is told as part of it: the other fault was there until a moment ago."""
    upstream = at_once(KAITO, governs=True)
    resolver = Resolver()
    resolver.look(0, at_once(PODS, "a"))
    for at in (5, 10):
        resolver.look(at, upstream, at_once(PODS, "a"), finding(PODS, "b"))
    resolver.look(20, upstream, finding(PODS, "b"))
    found = resolver.look(65, upstream, finding(PODS, "b"))
    assert found == {KAITO: "firing", PODS: "suppressed"}
    assert resolver[PODS].since == NOON


@pytest.mark.parametrize("names", [(), ("x",)], ids=["told", "muted"])
def test_what_could_not_be_read_and_is_over_is_not_stale_while_it_clears(names):
    """And where it cannot be read again, that begins then: it is kept for another hour."""
    blind = mutes(*names, base=snapshot(unknown=[DEPLOYMENTS]))
    resolver = Resolver()
    resolver.look(0, at_once(EPP), seen=mutes(*names))
    resolver.look(10, seen=blind)
    assert resolver[EPP].stale
    found = resolver.look(30, seen=mutes(*names))
    assert found == {EPP: "muted" if names else "clearing"}
    assert not resolver[EPP].stale
    resolver.look(40, seen=blind)
    assert resolver[EPP].stale
    assert resolver.look(3639, seen=blind) == found
    assert resolver.look(3640, seen=blind) == {}


def test_a_held_fault_that_cannot_be_read_any_more_will_not_fire_at_a_time():
    """Nobody knows whether it is still there."""
    resolver = Resolver()
    resolver.look(0, finding(EPP))
    assert resolver[EPP].fires_at == NOON + seconds(60)
    assert resolver.look(10, seen=snapshot(unknown=[DEPLOYMENTS])) == {EPP: "pending"}
    assert resolver[EPP].fires_at is None


def test_what_is_clearing_is_not_the_one_to_look_at():
    resolver = Resolver()
    resolver.look(0, at_once(PODS))
    assert resolver[PODS].primary
    resolver.look(1)
    assert not resolver[PODS].primary
    (remembered,) = resolver.memory.episodes.values()
    assert not remembered.shown.primary


def test_a_key_with_a_fault_that_fires_at_once_takes_the_global_grace_to_recover():
    resolver = Resolver(grace={PODS: 5})
    both = at_once(PODS, "a"), finding(PODS, "b")
    for at in (0, 5):
        resolver.look(at, *both)
    assert resolver.look(64) == {PODS: "clearing"}
    assert resolver.look(65) == {}


def test_a_fault_that_fires_at_once_is_remembered_for_the_global_grace():
    """Beside another one of its key, whose grace is shorter: it goes on as the same."""
    resolver = Resolver(grace={PODS: 5})
    resolver.look(0, at_once(PODS, "a"), finding(PODS, "b"))
    resolver.look(30, finding(PODS, "b"))
    resolver.look(59, finding(PODS, "a"), finding(PODS, "b"))
    assert resolver[PODS].message == f"{PODS} of a (and 1 more)"


@pytest.mark.parametrize(
    ("last", "message"), [(59, f"{PODS} of a (and 1 more)"), (60, f"{PODS} of b")]
)
def test_a_fault_that_was_away_for_as_long_as_it_takes_to_recover_is_another(last, message):
    """Also where another one of its key was there all the time, and last seen alone then."""
    resolver = Resolver()
    resolver.look(0, finding(PODS, "a"), finding(PODS, "b"))
    resolver.look(last, finding(PODS, "b"))
    resolver.look(60, finding(PODS, "a"), finding(PODS, "b"))
    assert resolver[PODS].message == message


@pytest.mark.parametrize(("later", "found"), [(119, {}), (120, {EPP: "clearing"})])
@pytest.mark.parametrize("record", ["none", "over"])
def test_an_end_is_kept_in_mind_while_a_write_may_be_on_its_way(later, found, record):
    """What is on record as going on after that was written by another process."""
    fires = events_of(at_once(EPP))
    before = snapshot(events=[over(each) for each in fires] if record == "over" else ())
    resolver = Resolver()
    resolver.look(0, at_once(EPP))
    assert resolver.look(60) == {}
    resolver.look(60 + later, seen=before)
    assert resolver.look(60 + later, seen=snapshot(events=fires)) == found


def test_what_never_fired_here_and_is_over_is_taken_up_from_the_record():
    """Another process told it, which had seen it for longer."""
    resolver = Resolver()
    resolver.look(0, finding(EPP))
    assert resolver.look(60) == {}
    found = resolver.look(61, seen=snapshot(events=events_of(at_once(EPP))))
    assert found == {EPP: "clearing"}


def test_what_waited_here_for_another_object_is_taken_up_from_the_record():
    resolver = Resolver()
    resolver.look(0, finding(PODS, "a"))
    resolver.look(20, finding(PODS, "b"))
    seen = snapshot(events=events_of(at_once(PODS, "a")))
    resolver.look(21, finding(PODS, "b"), seen=seen)
    assert (resolver[PODS].disposition, resolver[PODS].since) == ("clearing", NOON)

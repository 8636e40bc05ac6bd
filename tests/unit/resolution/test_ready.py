"""Rule 7: which of the Events on record decides whether a Ready is due."""

import pytest

from reporter.model.finding import KnownSubject
from reporter.model.instant import rfc3339_micro
from reporter.model.subject import CLUSTER
from reporter.stacks.kaito.resources import WORKSPACES
from tests.unit.resolution.building import (
    HARNESS,
    MODEL,
    NOON,
    Resolver,
    evidence,
    finding,
    seconds,
    snapshot,
)
from tests.unit.resolution.test_records import due, events_of, of_another_vocabulary, over

EPP, ROUTE = "inferencesetEPPNotReady", "inferencesetRouteNotReady"
READY = [evidence(MODEL)]


def warning(at, reason=EPP):
    """The Event of an episode that is over."""
    return [over(each) for each in events_of(finding(reason, exempt=True), at=at)]


def ready(at, *events):
    """The Event of a Ready that answers these."""
    return events_of(at=at, ready=READY, seen=snapshot(events=events))


def test_a_warning_after_a_ready_calls_for_another():
    """The newest record decides, whatever the order of names."""
    first = warning(0)
    told = first + ready(100, *first)
    for reason in (EPP, ROUTE):
        resolver = Resolver()
        seen = snapshot(events=[*warning(200, reason), *told])
        resolver.look(300, ready=READY, seen=seen)
        assert due(resolver) == [str(MODEL)]


def test_a_warning_that_is_told_again_calls_for_another_ready():
    """The Event is the same, and was written since it was answered."""
    (event,) = warning(0)
    told = [event, *ready(100, event)]
    resolver = Resolver()
    resolver.look(101, ready=READY, seen=snapshot(events=told))
    assert due(resolver) == []
    again = event | {"lastTimestamp": "2026-11-20T12:03:00Z"}
    resolver.look(200, ready=READY, seen=snapshot(events=[again, *told[1:]]))
    assert due(resolver) == [str(MODEL)]


def test_two_warnings_of_one_instant_are_two():
    """The second one was not answered with the first."""
    first = warning(0)
    resolver = Resolver()
    resolver.look(101, ready=READY, seen=snapshot(events=[*first, *ready(100, *first)]))
    both = [*warning(0), *warning(0, ROUTE)]
    resolver.look(102, ready=READY, seen=snapshot(events=both))
    assert due(resolver) == [str(MODEL)]


def test_two_replicas_answer_the_same_of_two_warnings():
    """In whatever order they have the records: the name of the Ready depends on it."""
    both = [*warning(0), *warning(0, ROUTE)]
    episodes = set()
    for order in (both, both[::-1]):
        resolver = Resolver()
        resolver.look(100, ready=READY, seen=snapshot(events=order))
        episodes |= {each.episode for each in resolver.report.ready}
    assert episodes == {max(each["metadata"]["name"] for each in both)}


def test_an_event_of_another_vocabulary_calls_for_no_ready():
    """An older version of this program wrote it, or one with other declarations."""
    seen = snapshot(events=[of_another_vocabulary(each) for each in warning(0)])
    resolver = Resolver()
    resolver.look(100, ready=READY, seen=seen)
    assert due(resolver) == []


def test_a_ready_that_expired_is_not_told_again():
    """A young subject that was told once needs no other, whatever is left of the record."""
    resolver = Resolver(created=NOON)
    resolver.look(0, ready=READY)
    assert due(resolver) == [str(MODEL)]
    resolver.look(1, ready=READY, seen=snapshot(events=resolver.events()))
    resolver.look(2, ready=READY)
    assert due(resolver) == []


def test_a_subject_that_was_made_anew_is_told_again():
    """What was told of the one before is forgotten with it."""
    resolver = Resolver(created=NOON)
    resolver.look(0, ready=READY)
    resolver.look(1, ready=READY, seen=snapshot(events=resolver.events()))
    subjects, resolver.subjects = resolver.subjects, resolver.subjects[:1]
    resolver.look(2)
    resolver.subjects = [KnownSubject(each.subject, NOON + seconds(3)) for each in subjects]
    resolver.look(4, ready=READY)
    assert due(resolver) == [str(MODEL)]


def test_what_was_ready_stays_so_while_data_is_awaited():
    """And who was not is not, without keeping others from it."""
    waits = snapshot(unconfirmed=[WORKSPACES])
    resolver = Resolver()
    resolver.look(0, ready=READY)
    resolver.look(1, ready=READY, seen=waits)
    assert [each.subject for each in resolver.report.ready] == [MODEL]
    resolver = Resolver()
    resolver.look(0, ready=[evidence(MODEL), evidence(HARNESS)], seen=waits)
    assert [each.subject for each in resolver.report.ready] == [HARNESS]


@pytest.mark.parametrize(
    ("subject", "created", "episode"),
    [
        (MODEL, NOON, rfc3339_micro(NOON)),
        (MODEL, NOON - seconds(60), rfc3339_micro(NOON - seconds(60))),
        (CLUSTER, NOON, "first"),
    ],
    ids=["young", "older", "no time of creation"],
)
def test_a_first_ready_is_named_by_when_its_subject_began(subject, created, episode):
    """So two replicas write the same Event."""
    resolver = Resolver(created=created)
    resolver.look(0, ready=[evidence(subject)])
    assert [each.episode for each in resolver.report.ready] == [episode]

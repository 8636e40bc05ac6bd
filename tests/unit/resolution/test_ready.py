"""Rule 7: which of the Events on record decides whether a Ready is due."""

import pytest

from reporter.catalogue.resources import DEPLOYMENTS, EVENTS
from reporter.model.finding import Unjudged
from reporter.model.instant import rfc3339_micro
from reporter.model.subject import CLUSTER
from reporter.stacks.kaito.reasons import INFERENCESETS, WORKSPACES
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
KAITO, PRESSURE = "clusterKaitoControllerNotReady", "inferencesetNodeUnderPressure"
READY = [evidence(MODEL)]


def warning(at, reason=EPP):
    """The Event of an episode that is over."""
    return [over(each) for each in events_of(finding(reason, exempt=True), at=at)]


def ready(at, *events):
    """The Event of a Ready that answers these."""
    return events_of(at=at, ready=READY, seen=snapshot(events=events))


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


def test_what_was_ready_stays_so_while_data_is_awaited():
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


@pytest.mark.parametrize(
    ("options", "ready"),
    [
        pytest.param({}, [MODEL], id="all is known"),
        pytest.param({"unknown": [DEPLOYMENTS]}, [], id="one thing is unknown"),
        pytest.param({"unknown": [INFERENCESETS]}, [], id="the subjects are unknown"),
        pytest.param({"unconfirmed": [DEPLOYMENTS]}, [], id="one thing is awaited"),
        pytest.param({"unconfirmed": [EVENTS]}, [], id="our Events are awaited"),
        pytest.param({"unknown": [EVENTS]}, [MODEL], id="our Events may not be read"),
    ],
)
def test_nothing_unknown_decides_about_who_is_ready(options, ready):
    resolver = Resolver()
    resolver.look(0, ready=READY, seen=snapshot(**options))
    assert [each.subject for each in resolver.report.ready] == ready


@pytest.mark.parametrize(("reason", "ready"), [(EPP, []), (PRESSURE, [MODEL])])
def test_a_reason_that_was_not_judged_keeps_from_ready_what_it_blocks(reason, ready):
    failed = Unjudged(MODEL, "IndexError", reason=reason)
    resolver = Resolver()
    resolver.look(0, ready=READY, unjudged=[failed])
    assert [each.subject for each in resolver.report.ready] == ready


@pytest.mark.parametrize(
    ("fault", "ready"),
    [
        pytest.param(finding(EPP), [CLUSTER, HARNESS], id="in grace"),
        pytest.param(finding(EPP, exempt=True), [CLUSTER, HARNESS], id="firing"),
        pytest.param(finding(PRESSURE, exempt=True), [CLUSTER, MODEL, HARNESS], id="blocks none"),
        pytest.param(finding(KAITO, exempt=True), [MODEL, HARNESS], id="of the first one"),
    ],
)
def test_what_is_listed_of_a_subject_keeps_no_other_from_being_ready(fault, ready):
    works = [evidence(each) for each in (MODEL, CLUSTER, HARNESS)]
    for order in (works, works[::-1]):
        resolver = Resolver()
        resolver.look(0, fault, ready=order)
        assert [each.subject for each in resolver.report.ready] == ready


@pytest.mark.parametrize(
    "events", [pytest.param([], id="no record"), pytest.param(warning(0), id="a Warning")]
)
def test_a_ready_is_due_until_it_is_on_record(events):
    resolver = Resolver(created=NOON - seconds(60))
    for at in (100, 101, 102):
        resolver.look(at, ready=READY, seen=snapshot(events=events))
        assert due(resolver) == [str(MODEL)]
        assert MODEL not in resolver.memory.told


@pytest.mark.parametrize(("created", "expected"), [(0, [str(MODEL)]), (1, [])])
def test_a_warning_about_an_earlier_subject_calls_for_no_ready(created, expected):
    """It was written before this one was created, which is too old for a first Ready."""
    resolver = Resolver(created=NOON + seconds(created))
    resolver.look(2 * 3600, ready=READY, seen=snapshot(events=warning(0)))
    assert due(resolver) == expected


def test_a_warning_about_the_cluster_calls_for_a_ready():
    """It has no time of creation, so that none of its Events is about an earlier one."""
    events = [over(each) for each in events_of(finding(KAITO, exempt=True))]
    resolver = Resolver()
    resolver.look(100, ready=[evidence(CLUSTER)], seen=snapshot(events=events))
    assert [(each.due, each.episode) for each in resolver.report.ready] == [
        (True, events[0]["metadata"]["name"])
    ]


def test_a_warning_that_outlives_its_ready_calls_for_no_other():
    first = warning(0)
    resolver = Resolver()
    resolver.look(101, ready=READY, seen=snapshot(events=[*first, *ready(100, *first)]))
    for at in (102, 103):
        resolver.look(at, ready=READY, seen=snapshot(events=first))
        assert due(resolver) == []


@pytest.mark.parametrize("reason", [EPP, ROUTE])
def test_of_one_instant_a_ready_is_the_newer(reason):
    """It ends what the Warning told, whatever the order of their names."""
    first = warning(0, reason)
    told = first + ready(0, *first)
    resolver = Resolver(created=NOON)
    for order in (told, told[::-1]):
        resolver.look(1, ready=READY, seen=snapshot(events=order))
        assert due(resolver) == []


@pytest.mark.parametrize(
    ("age", "expected"), [(3599, [str(MODEL)]), (3600, []), (2 * 3600 - 1, [])]
)
def test_a_first_ready_is_due_within_the_lifetime_of_an_event(age, expected):
    """An older one may have been told and expired."""
    resolver = Resolver(created=NOON - seconds(age))
    resolver.look(0, ready=READY)
    assert due(resolver) == expected


def test_a_warning_after_a_ready_calls_for_another():
    """The newest record decides, whatever the order of names."""
    first = warning(0)
    told = first + ready(100, *first)
    for reason in (EPP, ROUTE):
        resolver = Resolver()
        seen = snapshot(events=[*warning(200, reason), *told])
        resolver.look(300, ready=READY, seen=seen)
        assert due(resolver) == [str(MODEL)]

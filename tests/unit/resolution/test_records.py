"""What a process that starts, or one that stands by, makes of the Events on record."""

from dataclasses import replace

import msgspec
import pytest

from reporter.catalogue.resources import EVENTS, NAMESPACES
from reporter.model.finding import KnownSubject
from reporter.resolution import OneLook
from reporter.resolution.records import records_of
from reporter.snapshot.table import table_of
from reporter.stacks.kaito.resources import INFERENCESETS
from tests.unit.resolution.building import (
    MODEL,
    NOON,
    Resolver,
    evidence,
    finding,
    seconds,
    snapshot,
)

EPP, PODS = "inferencesetEPPNotReady", "inferencesetModelPodsNotReady"
KAITO = "clusterKaitoControllerNotReady"


def events_of(*findings, at=0, **options):
    """The Events that a process writes which sees these findings."""
    resolver = Resolver()
    resolver.look(at, *findings, **options)
    return resolver.events()


def over(event):
    """The same Event once its episode is over."""
    labels = event["metadata"]["labels"] | {"status-reporter.io/state": "over"}
    return event | {"metadata": event["metadata"] | {"labels": labels}}


def test_an_event_is_read_back_as_it_was_written():
    """Key, start and object at fault survive the way through the API."""
    fault = finding(PODS, exempt=True)
    (record,) = records_of(snapshot(events=events_of(fault)))
    assert record.key == fault.key
    assert record.since == NOON
    assert record.related == fault.related
    assert record.live


@pytest.mark.parametrize(
    "change",
    [
        {"source": {"component": "somebody"}},
        {"reason": "Unheard"},
        {"metadata": {"name": "x", "namespace": "kube-system"}},
    ],
)
def test_events_of_others_are_not_ours(change):
    """Only Events with our component, labels and vocabulary count."""
    (event,) = events_of(finding(PODS, exempt=True))
    assert len(records_of(snapshot(events=[event | change]))) == 0


def test_a_restart_goes_on_with_the_episode():
    """No second grace, the same start, and the clearing as if nothing had been."""
    events = events_of(finding(EPP, exempt=True))
    resolver = Resolver()
    seen = snapshot(events=events)
    assert resolver.look(30, finding(EPP), seen=seen) == {EPP: "firing"}
    assert resolver[EPP].since == NOON
    assert resolver.look(40, seen=seen) == {EPP: "clearing"}
    assert resolver.look(89, seen=seen) == {EPP: "clearing"}
    assert resolver.look(90, seen=seen) == {}


@pytest.mark.parametrize("at", range(1, 7))
def test_the_earliest_start_on_record_counts(at):
    """Of the Events of two replicas, in whatever order their names put them."""
    fault = finding(EPP, exempt=True)
    seen = snapshot(events=events_of(fault, at=at) + events_of(fault, at=at + 1))
    resolver = Resolver()
    resolver.look(9, fault)
    resolver.look(10, fault, seen=seen)
    assert resolver[EPP].since == NOON + seconds(at)


def test_what_recovered_is_not_taken_up_again():
    """The record may say for a while that an episode goes on which is over."""
    seen = snapshot(events=events_of(finding(EPP, exempt=True)))
    resolver = Resolver()
    resolver.look(0, finding(EPP), seen=seen)
    for at in (30, 60, 61, 600):
        resolver.look(at, seen=seen)
    assert resolver.look(3000, seen=seen) == {}


def test_what_is_over_is_not_taken_up():
    """A fault after its recovery has its grace."""
    seen = snapshot(events=[over(each) for each in events_of(finding(EPP, exempt=True))])
    assert Resolver().look(100, finding(EPP), seen=seen) == {EPP: "pending"}


def test_the_record_of_an_earlier_subject_of_that_name():
    """A set that was recreated does not inherit the episode."""
    seen = snapshot(events=events_of(finding(EPP, exempt=True)))
    resolver = Resolver(created=NOON + seconds(10))
    assert resolver.look(20, finding(EPP), seen=seen) == {EPP: "pending"}


def test_a_subject_that_cannot_be_read_is_not_over():
    """After a restart without permission the finding is stale, for an hour at most."""
    seen = snapshot(events=events_of(finding(EPP, exempt=True)), unknown=(INFERENCESETS,))
    resolver = Resolver()
    resolver.subjects = [each for each in resolver.subjects if each.subject != MODEL]
    assert resolver.look(0, seen=seen) == {EPP: "firing"}
    assert resolver[EPP].stale
    assert resolver.look(3599, seen=seen) == {EPP: "firing"}
    assert resolver.look(3600, seen=seen) == {}


def test_an_upstream_on_record_that_recovered_meanwhile_holds():
    """Its symptoms are stale for a while after it is back."""
    seen = snapshot(events=events_of(finding(KAITO, exempt=True, governs=True)))
    resolver = Resolver()
    pods = finding(PODS, exempt=True)
    assert resolver.look(10, pods, seen=seen) == {KAITO: "clearing", PODS: "held"}
    assert resolver.look(70, pods, seen=seen) == {PODS: "held"}
    assert resolver.look(130, pods, seen=seen) == {PODS: "firing"}


def test_a_degraded_upstream_on_record_takes_nothing_back():
    """An Event does not say whether its fault governs; what fires goes on."""
    upstream, pods = finding(KAITO, exempt=True), finding(PODS, exempt=True)
    seen = snapshot(events=events_of(upstream, pods))
    assert Resolver().look(10, pods, seen=seen) == {KAITO: "clearing", PODS: "firing"}


def test_one_look_holds_nothing_for_what_is_gone():
    """A look without earlier passes sees nothing recover."""
    seen = snapshot(events=events_of(finding(KAITO, exempt=True, governs=True)))
    found = Resolver().look(10, finding(PODS, exempt=True), seen=seen, one_look=OneLook())
    assert found == {PODS: "firing"}


def due(resolver):
    return [str(each.subject) for each in resolver.report.ready if each.due]


def test_ready_answers_a_warning_once():
    """It is due while the newest record is a Warning, and not after."""
    events = events_of(finding(EPP, exempt=True))
    resolver = Resolver()
    ready = [evidence(MODEL)]
    closed = [over(each) for each in events]
    resolver.look(100, ready=ready, seen=snapshot(events=closed))
    assert due(resolver) == [str(MODEL)]
    answered = closed + resolver.events()
    resolver.look(101, ready=ready, seen=snapshot(events=answered))
    assert due(resolver) == []
    resolver.look(102, ready=ready, seen=snapshot(events=closed))
    assert due(resolver) == [], "the Ready expired before the Warning that it answered"


@pytest.mark.parametrize("reason", [EPP, "inferencesetRouteNotReady"])
def test_a_ready_of_the_same_instant_answers_a_warning(reason):
    """Whatever the order of their names."""
    before = Resolver(created=NOON)
    before.look(0, ready=[evidence(MODEL)])
    told = [over(each) for each in events_of(finding(reason, exempt=True))] + before.events()
    resolver = Resolver(created=NOON)
    resolver.look(1, ready=[evidence(MODEL)], seen=snapshot(events=told))
    assert due(resolver) == []


def test_a_warning_outside_ready_calls_for_none():
    """What does not block Ready does not call for another."""
    pressure = finding("inferencesetNodeUnderPressure", exempt=True)
    resolver = Resolver()
    resolver.look(50, ready=[evidence(MODEL)], seen=snapshot(events=events_of(pressure)))
    assert due(resolver) == []


@pytest.mark.parametrize(("age", "expected"), [(3599, True), (3600, False)])
def test_ready_without_any_record(age, expected):
    """Due for a subject younger than an Event's lifetime."""
    resolver = Resolver(created=NOON - seconds(age))
    resolver.look(0, ready=[evidence(MODEL)])
    assert bool(due(resolver)) is expected


def test_ready_is_not_due_while_the_record_cannot_be_read():
    """Else it would be written twice."""
    resolver = Resolver(created=NOON)
    resolver.look(0, ready=[evidence(MODEL)], seen=snapshot(unknown=(EVENTS,)))
    assert [str(each.subject) for each in resolver.report.ready] == [str(MODEL)]
    assert due(resolver) == []
    resolver.look(1, ready=[evidence(MODEL)])
    assert due(resolver) == [str(MODEL)]


def test_two_replicas_derive_the_same_ready():
    """The episode of a Ready depends on the record alone."""
    seen = snapshot(events=events_of(finding(EPP, exempt=True)))
    episodes = set()
    for at in (100, 130):
        resolver = Resolver()
        resolver.look(at, ready=[evidence(MODEL)], seen=seen)
        resolver.look(at + 60, ready=[evidence(MODEL)], seen=seen)
        episodes |= {each.episode for each in resolver.report.ready}
    assert len(episodes) == 1


def test_a_forgotten_subject_has_no_ready():
    """Evidence about a subject that is being deleted counts nothing."""
    resolver = Resolver()
    resolver.subjects = [KnownSubject(each.subject, NOON) for each in resolver.subjects[:1]]
    resolver.look(0, ready=[evidence(MODEL)])
    assert resolver.report.ready == ()


def test_a_subject_whose_namespace_cannot_be_read_is_not_recovered():
    """Its absence says nothing, also where all that its reason reads is known."""
    resolver = Resolver()
    resolver.look(0, finding(EPP, exempt=True))
    resolver.subjects = [each for each in resolver.subjects if each.subject != MODEL]
    seen = snapshot(unknown=(NAMESPACES,))
    assert resolver.look(300, seen=seen) == {EPP: "firing"}
    assert resolver[EPP].stale


def test_a_ready_of_an_earlier_subject_of_that_name():
    """A set that was recreated is told, whatever was said of the one before."""
    before = Resolver(created=NOON)
    before.look(0, ready=[evidence(MODEL)])
    resolver = Resolver(created=NOON + seconds(10))
    resolver.look(20, ready=[evidence(MODEL)], seen=snapshot(events=before.events()))
    assert due(resolver) == [str(MODEL)]


def test_an_event_that_did_not_change_is_not_read_again():
    """Thousands may be on record; a pass looks at those that changed."""
    (first,) = events_of(finding(PODS, exempt=True))
    second = first | {"metadata": first["metadata"] | {"name": "second"}}
    seen = snapshot(events=[first, second])
    before = records_of(seen)
    assert records_of(replace(seen), before) is before
    (kept, changed) = seen[EVENTS]
    newer = msgspec.structs.replace(changed, message="another")
    later = replace(seen, tables={**seen.tables, EVENTS: table_of([kept, newer])})
    after = records_of(later, before)
    assert after.by_name[kept.name] is before.by_name[kept.name]
    assert after.by_name[newer.name].event.message == "another"

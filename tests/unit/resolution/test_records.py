"""What a process that starts, or one that stands by, makes of the Events on record."""

from dataclasses import replace

import msgspec
import pytest

from reporter.catalogue.resources import DEPLOYMENTS, EVENTS
from reporter.model.finding import KnownSubject
from reporter.model.subject import Subject
from reporter.resolution import OneLook
from reporter.resolution.records import records_of
from reporter.snapshot.table import table_of
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


def in_state(event, state):
    """The same Event in another state."""
    labels = event["metadata"]["labels"] | {"status-reporter.io/state": state}
    return event | {"metadata": event["metadata"] | {"labels": labels}}


def over(event):
    """The same Event once its episode is over."""
    return in_state(event, "over")


def muted(event):
    """The same Event while its fault is muted."""
    closed = over(event)
    annotations = closed["metadata"]["annotations"] | {"status-reporter.io/muted": "true"}
    return closed | {"metadata": closed["metadata"] | {"annotations": annotations}}


def of_another_vocabulary(event):
    """The same Event with a reason that is in the catalogue no more."""
    labels = event["metadata"]["labels"] | {"status-reporter.io/reason": "formerReason"}
    metadata = event["metadata"] | {"labels": labels}
    return event | {"reason": "formerReason", "metadata": metadata}


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
    (event,) = events_of(finding(PODS, exempt=True))
    assert len(records_of(snapshot(events=[event | change]))) == 0


@pytest.mark.parametrize("at", range(1, 7))
def test_the_earliest_start_on_record_counts(at):
    """Of the Events of two replicas, in whatever order their names put them."""
    fault = finding(EPP, exempt=True)
    seen = snapshot(events=events_of(fault, at=at) + events_of(fault, at=at + 1))
    resolver = Resolver()
    resolver.look(9, fault)
    resolver.look(10, fault, seen=seen)
    assert resolver[EPP].since == NOON + seconds(at)


def test_a_start_on_record_is_that_of_what_clears_too():
    """Else its Event would not be found."""
    fault = finding(EPP, exempt=True)
    resolver = Resolver()
    resolver.look(9, fault)
    assert resolver.look(10, seen=snapshot(events=events_of(fault, at=5))) == {EPP: "clearing"}
    assert resolver[EPP].since == NOON + seconds(5)


def test_a_muted_episode_on_record_does_not_move_the_start_of_what_is_told():
    fault = finding(EPP, exempt=True)
    resolver = Resolver()
    resolver.look(9, fault)
    resolver.look(10, fault, seen=snapshot(events=map(muted, events_of(fault))))
    assert resolver[EPP].since == NOON + seconds(9)


def test_an_episode_that_began_again_at_the_same_time_keeps_its_start():
    """Its own Event is on record, though it had ended, beside that of another replica."""
    since = NOON - seconds(100)
    fault = finding(EPP, transition=since)
    resolver = Resolver()
    resolver.look(0, fault)
    for at in (10, 60):
        resolver.look(at)
    resolver.look(70, fault)
    other = events_of(finding(EPP, exempt=True, transition=since + seconds(5)))
    resolver.look(71, fault, seen=snapshot(events=events_of(fault) + other))
    assert resolver[EPP].since == since


def test_a_standby_takes_over_what_it_had_not_told():
    """And what it saw of other objects meanwhile keeps its time."""
    resolver = Resolver()
    first, second = finding(PODS, "a"), finding(PODS, "b")
    resolver.look(10, first)
    resolver.look(20, first, second)
    seen = snapshot(events=events_of(finding(PODS, "a", exempt=True)))
    assert resolver.look(30, first, seen=seen) == {PODS: "firing"}
    assert resolver[PODS].since == NOON
    resolver.look(80, first, second, seen=seen)
    assert resolver[PODS].message == f"{PODS} of a (and 1 more)"


def test_of_two_doubts_about_an_object_the_same_one_speaks():
    """What the fault was is not on record, and the order of a list decides nothing."""
    seen = snapshot(events=events_of(finding(PODS, exempt=True)))
    pair = [finding(PODS, sustains=True, message=text) for text in "ab"]
    for order in (pair, pair[::-1]):
        resolver = Resolver()
        assert resolver.look(10, *order, seen=seen) == {PODS: "firing"}
        assert resolver[PODS].message == "a"


def test_a_budget_on_record_is_used_up():
    slow = finding(PODS, budget=seconds(900), transition=NOON - seconds(900))
    seen = snapshot(events=events_of(slow))
    found = Resolver().look(10, finding(PODS, budget=seconds(900)), seen=seen)
    assert found == {PODS: "firing"}


ABANDONED = ["over", "of another vocabulary", "of a set that is gone", "of an earlier set", "known"]


@pytest.mark.parametrize("before", ABANDONED)
def test_a_record_that_is_not_taken_up_keeps_no_other_from_it(before):
    resolver = Resolver(created=NOON - seconds(300))
    early = NOON - seconds(400 if before == "of an earlier set" else 200)
    gone = Subject(MODEL.kind, "demo", "gone") if before == "of a set that is gone" else MODEL
    at = (early - NOON).total_seconds()
    (event,) = events_of(finding(EPP, exempt=True, subject=gone), at=at)
    if before == "over":
        event = over(event)
    elif before == "of another vocabulary":
        event = of_another_vocabulary(event)
    elif before == "known":
        resolver.look(at, finding(EPP, exempt=True))
    later = events_of(finding(PODS, exempt=True))
    found = resolver.look(1, finding(PODS), seen=snapshot(events=[event, *later]))
    assert found[PODS] == "firing"


@pytest.mark.parametrize(("created", "found"), [(0, {EPP: "firing"}), (1, {EPP: "pending"})])
def test_a_record_of_the_instant_in_which_its_subject_was_created(created, found):
    """Nothing of an earlier one of that name can be as young."""
    resolver = Resolver(created=NOON + seconds(created))
    seen = snapshot(events=events_of(finding(EPP, exempt=True)))
    assert resolver.look(10, finding(EPP), seen=seen) == found


@pytest.mark.parametrize("stale", [False, True])
@pytest.mark.parametrize("is_muted", [False, True])
def test_after_a_restart_what_is_awaited_is_what_the_record_says(stale, is_muted):
    (event,) = events_of(finding(EPP, exempt=True))
    if stale:
        event = in_state(event, "stale")
    if is_muted:
        event = muted(event)
    resolver = Resolver()
    found = resolver.look(10, seen=snapshot(events=[event], unconfirmed=[DEPLOYMENTS]))
    assert found == {EPP: "muted" if is_muted else "firing"}
    assert resolver[EPP].stale is (stale and not is_muted)
    assert resolver[EPP].cause == ""
    assert resolver[EPP].message == f"{EPP} of x"


@pytest.mark.parametrize("restarted", [False, True])
def test_a_fault_whose_subject_was_away_has_its_grace(restarted):
    """The record may say for a while that the episode goes on which ended with the subject."""
    seen = snapshot(events=events_of(finding(EPP, exempt=True)))
    resolver = Resolver()
    subjects = resolver.subjects
    if not restarted:
        resolver.look(0, finding(EPP, exempt=True))
    resolver.subjects = subjects[:1]
    assert resolver.look(1, seen=seen) == {}
    resolver.subjects = subjects
    assert resolver.look(2, finding(EPP), seen=seen) == {EPP: "pending"}


def test_what_recovered_is_not_taken_up_again():
    """The record may say for a while that an episode goes on which is over."""
    seen = snapshot(events=events_of(finding(EPP, exempt=True)))
    resolver = Resolver()
    resolver.look(0, finding(EPP), seen=seen)
    for at in (30, 60, 61, 600):
        resolver.look(at, seen=seen)
    assert resolver.look(3000, seen=seen) == {}


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


def test_an_upstream_on_record_that_was_seen_since_suppresses_while_it_is_clearing():
    down, pods = finding(KAITO, exempt=True, governs=True), finding(PODS, exempt=True)
    seen = snapshot(events=events_of(down))
    resolver = Resolver()
    assert resolver.look(10, down, pods, seen=seen) == {KAITO: "firing", PODS: "suppressed"}
    assert resolver.look(20, pods, seen=seen) == {KAITO: "clearing", PODS: "suppressed"}


def test_nothing_ends_by_itself_while_an_upstream_on_record_waits_for_data():
    """It is neither seen nor recovered, so that no hold runs."""
    events = events_of(finding(KAITO, exempt=True, governs=True))
    resolver = Resolver()
    found = resolver.look(10, seen=snapshot(events=events, unconfirmed=[DEPLOYMENTS]))
    assert found == {KAITO: "firing"}
    assert resolver.wake_in is None


def test_one_look_holds_nothing_for_what_is_gone():
    """A look without earlier passes sees nothing recover."""
    seen = snapshot(events=events_of(finding(KAITO, exempt=True, governs=True)))
    found = Resolver().look(10, finding(PODS, exempt=True), seen=seen, one_look=OneLook())
    assert found == {PODS: "firing"}


def due(resolver):
    return [str(each.subject) for each in resolver.report.ready if each.due]


def test_a_warning_outside_ready_calls_for_none():
    pressure = finding("inferencesetNodeUnderPressure", exempt=True)
    resolver = Resolver()
    resolver.look(50, ready=[evidence(MODEL)], seen=snapshot(events=events_of(pressure)))
    assert due(resolver) == []


def test_ready_is_not_due_while_the_record_cannot_be_read():
    """Else it would be written twice."""
    resolver = Resolver(created=NOON)
    resolver.look(0, ready=[evidence(MODEL)], seen=snapshot(unknown=(EVENTS,)))
    assert [str(each.subject) for each in resolver.report.ready] == [str(MODEL)]
    assert due(resolver) == []
    resolver.look(1, ready=[evidence(MODEL)])
    assert due(resolver) == [str(MODEL)]


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
    assert records_of(replace(later), after) is after


def test_a_forgotten_subject_has_no_ready():
    """Evidence about a subject that is being deleted counts nothing."""
    resolver = Resolver()
    resolver.subjects = [KnownSubject(each.subject, NOON) for each in resolver.subjects[:1]]
    resolver.look(0, ready=[evidence(MODEL)])
    assert resolver.report.ready == ()

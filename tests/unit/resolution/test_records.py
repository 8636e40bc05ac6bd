"""What a process that starts, or one that stands by, makes of the Events on record."""

from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from reporter.catalogue.resources import DEPLOYMENTS, EVENTS
from reporter.catalogue.runtime import ENGINE_STALLED, of_kind
from reporter.model.finding import KnownSubject
from reporter.model.subject import CLUSTER, Subject
from reporter.resolution import OneLook
from reporter.resolution.records import Records, RecordState, records_of
from reporter.snapshot.table import table_of
from tests.unit.resolution.building import (
    HARNESS,
    MODEL,
    NOON,
    Resolver,
    evidence,
    finding,
    namespace,
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


STALLED = of_kind(ENGINE_STALLED, MODEL.kind)
MINUTES = 60


@pytest.mark.parametrize(
    ("reason", "at", "metrics", "subjects", "found"),
    [
        pytest.param(STALLED, 1, False, 3, {STALLED: "firing"}, id="a moment ago"),
        pytest.param(STALLED, 15 * MINUTES, False, 3, {STALLED: "firing"}, id="lately"),
        pytest.param(STALLED, 15 * MINUTES + 1, False, 3, {}, id="by a daemon that is gone"),
        pytest.param(STALLED, 1, True, 3, {}, id="to a look that reads them itself"),
        pytest.param(STALLED, 1, False, 2, {}, id="about a model that is gone"),
        pytest.param(EPP, 1, False, 3, {}, id="about what the look sees itself"),
    ],
)
def test_what_was_told(reason, at, metrics, subjects, found):
    """It goes on as it stands on record, and nobody can judge it now."""
    resolver = Resolver()
    resolver.subjects = resolver.subjects[:subjects]
    seen = snapshot(events=events_of(finding(reason, exempt=True)))
    assert resolver.look(at, seen=seen, one_look=OneLook(metrics=metrics)) == found
    assert all(each.stale for each in resolver.report.findings)


PREFIX = "status-reporter.io/"


def written(*, labels=(), annotations=(), **fields):
    """An Event of a fault with other fields, labels and annotations; None takes one away."""
    (event,) = events_of(finding(PODS, exempt=True))
    meta = event["metadata"]
    metadata = {
        **meta,
        "labels": _with(meta["labels"], {PREFIX + key: each for key, each in labels}),
        "annotations": _with(
            meta["annotations"], {PREFIX + key: each for key, each in annotations}
        ),
    }
    return _with(event, {"metadata": metadata, **fields})


def _with(values, others):
    return {key: each for key, each in {**values, **others}.items() if each is not None}


def read(*events):
    """The records of these Events."""
    return tuple(records_of(snapshot(events=events)))


@pytest.mark.parametrize(
    "event",
    [
        pytest.param({"annotations": [("subject", None)]}, id="no subject"),
        pytest.param({"annotations": [("subject", "")]}, id="an empty subject"),
        pytest.param({"annotations": [("subject", "Model/demo/qwen")]}, id="no kind of subject"),
        pytest.param({"annotations": [("since", None)]}, id="no start"),
        pytest.param({"annotations": [("since", "yesterday")]}, id="no time"),
        pytest.param({"labels": [("state", None)]}, id="no state"),
        pytest.param({"labels": [("state", "waiting")]}, id="no such state"),
        pytest.param({"labels": [("reason", None)]}, id="no reason"),
        pytest.param({"labels": [("reason", "another")]}, id="another reason"),
        pytest.param({"source": {"component": "kubelet"}}, id="of another component"),
    ],
)
def test_what_cannot_be_read_back_is_left_out(event):
    other = written()
    other["metadata"]["name"] = "other"
    (found,) = read(written(**event), other)
    assert found.event.name == "other"


@pytest.mark.parametrize(
    "subject", [CLUSTER, HARNESS, MODEL, Subject(MODEL.kind, "a", "b.c")], ids=str
)
def test_a_subject_is_read_back_as_it_was_written(subject):
    (record,) = read(written(annotations=[("subject", str(subject))]))
    assert record.key.subject == subject


@pytest.mark.parametrize(
    ("label", "primary"), [("true", True), ("false", False), ("True", False), (None, False)]
)
def test_who_is_primary_stands_in_a_label(label, primary):
    (record,) = read(written(labels=[("primary", label)]))
    assert record.primary is primary


@pytest.mark.parametrize(
    ("state", "muted", "expected"),
    [
        ("over", "true", (False, True, True)),
        ("over", None, (False, False, False)),
        ("over", "false", (False, False, False)),
        ("firing", "true", (True, False, True)),
        ("stale", "true", (True, False, True)),
        ("stale", None, (True, False, True)),
    ],
)
def test_only_what_is_over_is_muted(state, muted, expected):
    """A process that died between two writes may have left the note at what is told."""
    (record,) = read(written(labels=[("state", state)], annotations=[("muted", muted)]))
    assert record.state is RecordState(state)
    assert (record.live, record.muted, record.goes_on) == expected


def test_without_an_object_at_fault_it_is_the_involved_one():
    """An Event about one object need not name it twice."""
    (record,) = read(written(related=None))
    assert record.related == record.key.involved == namespace("demo")


def _at(minute):
    return f"2026-11-20T12:{minute:02}:00Z"


@pytest.mark.parametrize(
    ("event_time", "last_timestamp", "created", "minute"),
    [
        pytest.param(3, 1, 2, 3, id="written once"),
        pytest.param(1, 3, 2, 3, id="repeated"),
        pytest.param(1, 2, 3, 3, id="created last"),
        pytest.param(None, None, 3, 3, id="nothing else"),
        pytest.param(4, None, None, 4, id="written"),
        pytest.param(None, None, None, 5, id="as it began"),
    ],
)
def test_the_latest_time_says_when_an_event_was_written(
    event_time, last_timestamp, created, minute
):
    event = written(
        annotations=[("since", _at(5))],
        eventTime=event_time and _at(event_time),
        lastTimestamp=last_timestamp and _at(last_timestamp),
    )
    if created:
        event["metadata"]["creationTimestamp"] = _at(created)
    (record,) = read(event)
    assert record.written == NOON + timedelta(minutes=minute)


def test_what_goes_on_comes_by_its_start():
    faults = [(finding(PODS, exempt=True), at) for at in (7, 3, 5)]
    events = [each for fault, at in faults for each in events_of(fault, at=at)]
    found = records_of(snapshot(events=events)).going_on
    assert [each.since for each in found] == [NOON + seconds(at) for at in (3, 5, 7)]


def test_records_are_equal_by_what_was_read():
    events = [*events_of(finding(PODS, exempt=True)), *events_of(ready=[evidence(CLUSTER)])]
    records = records_of(snapshot(events=events))
    again = records_of(snapshot(events=events))
    assert records == again
    assert records != records_of(snapshot(events=events[:1]))
    assert records != tuple(records)
    first, second = records
    assert first in records
    assert second not in Records([first])
    assert len(records) == len(events)

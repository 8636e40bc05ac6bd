"""What a starting process, or a standby, makes of recorded Events."""

from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from reporter.catalogue.resources import DEPLOYMENTS, EVENTS
from reporter.catalogue.runtime import ENGINE_STALLED, of_kind
from reporter.model.finding import KnownSubject
from reporter.model.subject import CLUSTER, Subject
from reporter.resolution import SinglePass
from reporter.resolution.records import Records, RecordState, records_of
from reporter.snapshot.table import table_of
from tests.tables import rows
from tests.unit.resolution.building import (
    HARNESS,
    MODEL,
    NOON,
    Resolver,
    at,
    evidence,
    finding,
    namespace,
    noon,
    seconds,
    snapshot,
    tell,
)

EPP, PODS = "inferencesetEPPNotReady", "inferencesetModelPodsNotReady"
KAITO = "clusterKaitoControllerNotReady"


def events_of(*findings, at=0, **options):
    """The Events that a process writes when it sees these findings."""
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
    """The same Event with a reason that is no longer in the catalogue."""
    labels = event["metadata"]["labels"] | {"status-reporter.io/reason": "formerReason"}
    metadata = event["metadata"] | {"labels": labels}
    return event | {"reason": "formerReason", "metadata": metadata}


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


def recorded(*findings, at=0, **options):
    """A snapshot with the Events of a process that saw these."""
    return snapshot(events=events_of(*findings, at=at, **options))


EPP_DOWN, BEGUN = finding(EPP, exempt=True), finding(EPP, transition=NOON - seconds(100))
EPP_WAITS = finding(EPP)
LATER_REPLICA = events_of(finding(EPP, exempt=True, transition=NOON - seconds(95)))
A, B = finding(PODS, "a"), finding(PODS, "b")
OF_A = recorded(finding(PODS, "a", exempt=True))
PAIR = [finding(PODS, sustains=True, message=text) for text in "ab"]
PODS_DOWN, SLOW = finding(PODS, exempt=True), finding(PODS, budget=seconds(900))
KAITO_DOWN, DEGRADED = finding(KAITO, exempt=True, governs=True), finding(KAITO, exempt=True)
OF_EPP, OF_PODS, OF_KAITO = recorded(EPP_DOWN), recorded(PODS_DOWN), recorded(KAITO_DOWN)
USED_UP = recorded(finding(PODS, budget=seconds(900), transition=NOON - seconds(900)))
FIRES, IS_A = {PODS: "firing"}, {PODS: {"message": "a"}}


@rows(
    "passes",
    {
        **{
            f"the earliest start counts, of the Events of two replicas, in whatever order: {first}": [
                at(9, EPP_DOWN),
                at(10, EPP_DOWN, seen=snapshot(events=events_of(EPP_DOWN, at=first) + events_of(EPP_DOWN, at=first + 1)), lines={EPP: {"since": noon(first)}}),
            ]
            for first in range(1, 7)
        },
        "it is that of what clears too: else its Event would not be found": [
            at(9, EPP_DOWN), at(10, seen=recorded(EPP_DOWN, at=5), found={EPP: "clearing"}, lines={EPP: {"since": noon(5)}}),
        ],
        "a muted episode does not move the start of what is told": [
            at(9, EPP_DOWN), at(10, EPP_DOWN, seen=snapshot(events=map(muted, events_of(EPP_DOWN))), lines={EPP: {"since": noon(9)}}),
        ],
        "one that began again at the same time keeps its start, beside that of another replica": [
            at(0, BEGUN), at(10), at(60), at(70, BEGUN),
            at(71, BEGUN, seen=snapshot(events=events_of(BEGUN) + LATER_REPLICA), lines={EPP: {"since": noon(-100)}}),
        ],
        "a standby takes over what it had not told, and what it saw of other objects keeps its time": [
            at(10, A), at(20, A, B), at(30, A, seen=OF_A, found=FIRES, lines={PODS: {"since": NOON}}),
            at(80, A, B, seen=OF_A, lines={PODS: {"message": f"{PODS} of a (and 1 more)"}}),
        ],
        "of two doubts about an object the same one speaks": [at(10, *PAIR, seen=OF_PODS, found=FIRES, lines=IS_A)],
        "whatever the order of a list": [at(10, *PAIR[::-1], seen=OF_PODS, found=FIRES, lines=IS_A)],
        "a budget on record is used up": [at(10, SLOW, seen=USED_UP, found=FIRES)],
        "what recovered is not taken up again: the record may say for a while that it goes on": [
            at(0, EPP_WAITS, seen=OF_EPP), *(at(second, seen=OF_EPP) for second in (30, 60, 61, 600)), at(3000, seen=OF_EPP, found={}),
        ],
        "an upstream that recovered meanwhile holds: its symptoms are stale for a while": [
            at(10, PODS_DOWN, seen=OF_KAITO, found={KAITO: "clearing", PODS: "held"}),
            at(70, PODS_DOWN, seen=OF_KAITO, found={PODS: "held"}), at(130, PODS_DOWN, seen=OF_KAITO, found=FIRES),
        ],
        "a degraded one takes nothing back: an Event does not say whether its fault governs": [
            at(10, PODS_DOWN, seen=recorded(DEGRADED, PODS_DOWN), found={KAITO: "clearing", PODS: "firing"}),
        ],
        "one that was seen since suppresses while it is clearing": [
            at(10, KAITO_DOWN, PODS_DOWN, seen=OF_KAITO, found={KAITO: "firing", PODS: "suppressed"}),
            at(20, PODS_DOWN, seen=OF_KAITO, found={KAITO: "clearing", PODS: "suppressed"}),
        ],
        "nothing ends by itself while one waits for data: it is neither seen nor recovered": [
            at(10, seen=snapshot(events=events_of(KAITO_DOWN), unconfirmed=[DEPLOYMENTS]), found={KAITO: "firing"}, wakes=None),
        ],
        "a single pass holds nothing for what is gone: it sees nothing recover": [at(10, PODS_DOWN, seen=OF_KAITO, single_pass=SinglePass(), found=FIRES)],
    },
)  # fmt: skip
def test_what_goes_on_from_the_record(passes):
    tell(*passes)


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
    """No record of a former subject of that name can be as young."""
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
    """For a while, the record may say that an episode continues that ended with the subject."""
    seen = snapshot(events=events_of(finding(EPP, exempt=True)))
    resolver = Resolver()
    subjects = resolver.subjects
    if not restarted:
        resolver.look(0, finding(EPP, exempt=True))
    resolver.subjects = subjects[:1]
    assert resolver.look(1, seen=seen) == {}
    resolver.subjects = subjects
    assert resolver.look(2, finding(EPP), seen=seen) == {EPP: "pending"}


def due(resolver):
    return [str(each.subject) for each in resolver.report.ready if each.due]


def test_a_warning_outside_ready_calls_for_none():
    pressure = finding("inferencesetNodeUnderPressure", exempt=True)
    resolver = Resolver()
    resolver.look(50, ready=[evidence(MODEL)], seen=snapshot(events=events_of(pressure)))
    assert due(resolver) == []


def test_ready_is_not_due_while_the_record_cannot_be_read():
    """Otherwise it would be written twice."""
    resolver = Resolver(created=NOON)
    resolver.look(0, ready=[evidence(MODEL)], seen=snapshot(unknown=(EVENTS,)))
    assert [str(each.subject) for each in resolver.report.ready] == [str(MODEL)]
    assert due(resolver) == []
    resolver.look(1, ready=[evidence(MODEL)])
    assert due(resolver) == [str(MODEL)]


def test_a_ready_of_an_earlier_subject_of_that_name():
    """A recreated set is reported, whatever was reported about the former one."""
    before = Resolver(created=NOON)
    before.look(0, ready=[evidence(MODEL)])
    resolver = Resolver(created=NOON + seconds(10))
    resolver.look(20, ready=[evidence(MODEL)], seen=snapshot(events=before.events()))
    assert due(resolver) == [str(MODEL)]


def test_an_event_that_did_not_change_is_not_read_again():
    """There may be thousands; a pass looks at the changed ones."""
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
    """Evidence about a subject that is being deleted does not count."""
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
    """It continues as recorded, and cannot be judged now."""
    resolver = Resolver()
    resolver.subjects = resolver.subjects[:subjects]
    seen = snapshot(events=events_of(finding(reason, exempt=True)))
    assert resolver.look(at, seen=seen, single_pass=SinglePass(metrics=metrics)) == found
    assert all(each.stale for each in resolver.report.findings)


PREFIX = "status-reporter.io/"


def written(*, labels=(), annotations=(), **fields):
    """An Event of a fault with other fields, labels and annotations; None removes one."""
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
    """A process that died between two writes may have left the note on a live Event."""
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

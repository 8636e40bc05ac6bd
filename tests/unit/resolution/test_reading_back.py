"""How an Event is read back, and what records are equal by."""

from datetime import timedelta

import pytest

from reporter.model.subject import CLUSTER, Subject
from reporter.resolution.records import Records, RecordState, records_of
from tests.unit.resolution.building import (
    HARNESS,
    MODEL,
    NOON,
    evidence,
    finding,
    namespace,
    seconds,
    snapshot,
)
from tests.unit.resolution.test_records import events_of

PODS = "inferencesetModelPodsNotReady"
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

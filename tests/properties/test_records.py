"""Records that follow others are those that would be read from nothing."""

from dataclasses import replace
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from reporter.catalogue.resources import COMPONENT, EVENTS
from reporter.model.objects import Event, Reference
from reporter.model.objects.core import EventAnnotations, EventMetadata, EventSource
from reporter.model.subject import CLUSTER, Subject
from reporter.resolution.records import NO_RECORDS, Records, records_of
from reporter.sinks.events.plan import Written, overlay
from reporter.snapshot.table import Table
from tests.unit.resolution.building import MODEL, snapshot

REASON = "inferencesetModelPodsNotReady"
NAMES = st.sampled_from("pqrst")
STATES = st.sampled_from(("firing", "stale", "over", "no state of ours"))
SUBJECTS = st.sampled_from((CLUSTER, MODEL, Subject("inferenceset", "a", "b")))
SAID = st.tuples(STATES, SUBJECTS, st.integers(0, 2), st.booleans())
EVENTS_OF = st.dictionaries(NAMES, SAID, max_size=5)


@cache
def event(name, said):
    """An Event; equal ones are the same object, as in a snapshot."""
    state, subject, minute, muted = said
    return Event(
        metadata=EventMetadata(
            name=name,
            namespace="kube-system",
            resource_version=f"{minute}",
            labels={"status-reporter.io/reason": REASON, "status-reporter.io/state": state},
            annotations=EventAnnotations(
                subject=str(subject),
                since=f"2026-01-01T12:0{minute}:00.000000Z",
                muted="true" if muted else None,
            ),
        ),
        reason=REASON,
        source=EventSource(component=COMPONENT),
        involved_object=Reference(kind="Namespace", name="demo"),
    )


def tables(contents):
    """Tables that follow each other, as a watch brings them."""
    table = Table()
    for said_of in contents:
        objects = {("kube-system", name): event(name, said) for name, said in said_of.items()}
        touched = {
            place
            for place in objects.keys() | table.objects.keys()
            if objects.get(place) is not table.objects.get(place)
        }
        table = Table(objects, table, touched)
        yield table


def read(table, before=NO_RECORDS):
    """The records of a snapshot with these Events."""
    there = snapshot()
    return records_of(replace(there, tables={**there.tables, EVENTS: table}), before)


def seen(records):
    """All that can be looked up."""
    return (
        {each.event.name: each for each in records},
        len(records),
        dict(records.by_name),
        records.going_on,
        [tuple(records.of(each)) for each in (CLUSTER, MODEL, Subject("inferenceset", "a", "b"))],
    )


@given(st.lists(EVENTS_OF, min_size=1, max_size=6))
def test_records_after_changes_are_those_that_are_read_from_nothing(contents):
    """Event by Event that comes, goes and changes, of ours or not; those before stay as they are."""
    records, story = NO_RECORDS, []
    for table in tables(contents):
        records = read(table, records)
        story.append((table, records))
    for table, known in story:
        assert known == read(table)
        assert seen(known) == seen(read(table))
    assert seen(NO_RECORDS) == seen(Records())


@given(EVENTS_OF, EVENTS_OF)
def test_what_we_wrote_stands_over_what_was_read(before, after):
    """As if the watch had brought it."""
    (table,) = tables([before])
    known = read(table)
    answers = {name: event(name, said) for name, said in after.items()}
    written = {
        name: Written(each, table.objects["kube-system", name].metadata.resource_version)
        if name in known.by_name
        else Written(each, "")
        for name, each in answers.items()
        if each.metadata.labels["status-reporter.io/state"] != "no state of ours"
    }
    events = table.objects | {("kube-system", name): each.event for name, each in written.items()}
    assert seen(overlay(known, written)) == seen(read(Table(events)))

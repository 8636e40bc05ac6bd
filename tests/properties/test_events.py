"""Properties of what is written, with a store of Events that the next pass sees."""

import json
from dataclasses import replace
from datetime import timedelta

from hypothesis import given

from reporter.catalogue.resources import EVENTS
from reporter.model.report import Disposition
from reporter.resolution import Memory, resolve
from reporter.resolution.records import records_of
from reporter.sinks.events.plan import event_name, plan_events
from reporter.snapshot.decode import decode_object
from reporter.snapshot.table import table_of
from tests.properties.passes import START, calm, sequences, settings_
from tests.scenarios.world import World
from tests.tables import BY_NAME

STATE = "status-reporter.io/state"


class Writer:
    """A leader with a store of Events that live for ever."""

    def __init__(self, settings) -> None:
        self.settings = settings
        self.store = World(None, START)
        self.memory = Memory()

    def seen(self, given_):
        """The snapshot of a pass with the Events on record."""
        docs = [doc for doc, _ in self.store.events.values()]
        events = [decode_object(EVENTS, json.dumps(doc).encode()) for doc in docs]
        tables = {**given_.snapshot.tables, EVENTS: table_of(events)}
        return replace(given_.snapshot, tables=tables)

    def look(self, given_):
        """Resolve, write, and return the report."""
        self.store.catch_up(given_.now)
        snapshot = self.seen(given_)
        resolution = resolve(
            given_.evaluation, snapshot, self.memory, now=given_.now, settings=self.settings
        )
        self.memory = resolution.memory
        self.write(resolution.report, snapshot, given_.now)
        return resolution.report

    def write(self, report, snapshot, now) -> None:
        """Do what is planned."""
        plan = plan_events(report, records_of(snapshot), self.settings, instance="test")
        self.store.write(plan, now)

    def firing(self) -> set[str]:
        """The names of the Events that say that they fire."""
        return {
            name
            for name, (doc, _) in self.store.events.items()
            if doc["metadata"]["labels"][STATE] == "firing"
        }


@given(sequences(), settings_())
def test_events_say_what_the_report_says(passes, settings):
    """After each pass exactly what fires, or clears, has an Event that says so."""
    writer = Writer(settings)
    for given_ in passes:
        report = writer.look(given_)
        fires = {
            event_name(each.key, each.since)
            for each in report.findings
            if each.disposition is Disposition.FIRING and not each.stale
        }
        clears = {
            event_name(each.key, each.since)
            for each in report.findings
            if each.disposition is Disposition.CLEARING
        }
        assert fires <= writer.firing() <= fires | clears


@given(sequences(), settings_())
def test_nothing_is_written_twice(passes, settings):
    """A second pass at the same moment, with the Events of the first on record, writes nothing."""
    writer = Writer(settings)
    for given_ in passes:
        writer.look(given_)
        before = dict(writer.store.events)
        writer.look(given_)
        assert writer.store.events == before


@given(sequences(jumps=False), settings_())
def test_a_restart_loses_nothing_and_doubles_nothing(passes, settings):
    """What is seen and fires goes on in the same episode when the memory is lost.

    But for a budget that began in the future when it was first seen, by a clock ahead of ours: how
    long ago that was is known to nobody after a restart.
    """
    writer = Writer(settings)
    for given_ in passes:
        findings = given_.evaluation.findings
        unsure = {each.key for each in findings if each.budget and _begins_later(each)}
        seen = {each.key for each in findings if not each.sustains} - unsure
        before = {
            each.key: each.since
            for each in writer.look(given_).findings
            if each.disposition is Disposition.FIRING and each.key in seen
        }
        created = len(writer.store.creations)
        writer.memory = Memory()
        after = {
            each.key: each.since
            for each in writer.look(given_).findings
            if each.disposition is Disposition.FIRING
        }
        assert before.items() <= after.items()
        news = writer.store.creations[created:]
        assert not {name for name in news if BY_NAME[name].type == "Normal"}


def _begins_later(finding) -> bool:
    return any(each and each > START.wall for each in (finding.transition, finding.created))


@given(sequences(troubled=False), settings_())
def test_ready_is_told_once(passes, settings):
    """Two days of calm bring at most one Ready for each subject, and restarts no more."""
    writer = Writer(settings)
    for given_ in passes:
        writer.look(given_)
    now = passes[-1].now
    writer.store.creations.clear()
    for hours in range(0, 48, 6):
        wait = timedelta(hours=hours)
        writer.look(calm(replace(now, wall=now.wall + wait, boot=now.boot + wait)))
        if hours % 12:
            writer.memory = Memory()
    told = [name for name in writer.store.creations if BY_NAME[name].type == "Normal"]
    assert told.count("clusterReady") <= 1
    assert told.count("modelharnessReady") <= 2
    assert told.count("inferencesetReady") <= 2
    assert not writer.firing()

"""Events of others in a dump, as evidence."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from reporter.evaluation import evaluate, evaluate_again
from reporter.model.evidence import Evidence, ForeignEvent, LogCause
from reporter.model.subject import ObjectRef
from reporter.probes.reuse import Answered
from reporter.snapshot.foreign_events import MOST_ABOUT_ONE
from reporter.snapshot.snapshot import Snapshot
from reporter.snapshot.trace import Cell, How, Trace, evidence_cells, traced
from reporter.stacks.settings import FullEvaluationSettings

POD = {"apiVersion": "v1", "kind": "Pod", "namespace": "n", "name": "p", "uid": "u1"}
KUBELET = {
    "apiVersion": "v1", "kind": "Event", "metadata": {"name": "p.1", "namespace": "n"},
    "involvedObject": {**POD, "fieldPath": "spec.containers{main}"},
    "type": "Normal", "reason": "Killing", "message": "Container main failed liveness probe",
    "source": {"component": "kubelet", "host": "gpu-1"}, "count": 3,
    "firstTimestamp": "2026-11-24T10:00:00Z", "lastTimestamp": "2026-11-24T10:05:00Z",
}  # fmt: skip
SCHEDULER = {
    "apiVersion": "events.k8s.io/v1", "kind": "Event",
    "metadata": {"name": "p.2", "namespace": "n"},
    "regarding": POD, "type": "Warning", "reason": "FailedScheduling", "note": "0/1 nodes",
    "reportingController": "default-scheduler", "eventTime": "2026-11-24T10:06:00.000000Z",
    "series": {"count": 7, "lastObservedTime": "2026-11-24T10:09:00.000000Z"},
}  # fmt: skip
OURS = {**KUBELET, "source": {"component": "productionstack-status-reporter"}}


def test_both_recorders_are_read(load):
    """All types count, the newest comes first, and repeats count by what the recorder writes."""
    evidence = load(KUBELET, SCHEDULER, OURS).snapshot.evidence
    first, second = evidence.events_about("n", "Pod", "p")
    assert (first.reason, first.component, first.count) == (
        "FailedScheduling",
        "default-scheduler",
        7,
    )
    assert first.last == datetime(2026, 11, 24, 10, 9, tzinfo=UTC)
    assert second == ForeignEvent(
        about=ObjectRef("v1", "Pod", "n", "p", "u1"),
        field_path="spec.containers{main}",
        type="Normal",
        reason="Killing",
        message="Container main failed liveness probe",
        component="kubelet",
        first=datetime(2026, 11, 24, 10, tzinfo=UTC),
        last=datetime(2026, 11, 24, 10, 5, tzinfo=UTC),
        count=3,
    )
    assert evidence.reads_events("n")


def test_one_object_has_a_few(load):
    many = [
        {**KUBELET, "message": f"no {each}", "lastTimestamp": f"2026-11-24T10:{each:02}:00Z"}
        for each in range(50)
    ]
    told = load(*many).snapshot.evidence.events_about("n", "Pod", "p")
    assert [each.message for each in told] == [
        f"no {each}" for each in range(49, 49 - MOST_ABOUT_ONE, -1)
    ]


def test_those_of_an_object_of_that_name_before(load):
    evidence = load(KUBELET).snapshot.evidence
    assert evidence.events_about("n", "Pod", "p", uid="u1")
    assert not evidence.events_about("n", "Pod", "p", uid="u2")


def test_a_malformed_one_hides_no_other(load):
    snapshot = load(KUBELET, {**KUBELET, "message": 5}).snapshot
    assert len(snapshot.evidence.events_about("n", "Pod", "p")) == 1
    assert "an Event: Expected `str" in snapshot.skipped[0].cause


def test_without_any_nothing_can_be_said_of_them(load):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}}
    assert not load(pod).snapshot.evidence.reads_events("n")


LOG = LogCause(signature="enospc")
EVENT = ForeignEvent(about=ObjectRef("v1", "Pod", "n", "p"), reason="Killing")
NEWS = {
    "an Event": (Evidence(events={("n", "Pod", "p"): (EVENT,)}), ((How.EVENTS, ("n", "Pod", "p")), (How.EVENTS, ("n", "Pod")))),
    "a log": (Evidence(logs={("n", "p", "c"): LOG}), ((How.LOG, ("n", "p", "c")),)),
    "a right": (Evidence(events_read=frozenset({"n"})), ((How.EVENTS_READ, "n"),)),
}  # fmt: skip


@pytest.mark.parametrize(("evidence", "cells"), NEWS.values(), ids=NEWS)
def test_what_is_asked_is_noted_and_what_changes_is_told(evidence, cells):
    """An answer is asked for again when the evidence that it rests on changes, and only then."""
    changed = set(evidence_cells(Evidence(), evidence))
    assert (
        changed
        == set(evidence_cells(evidence, Evidence()))
        == {Cell(None, *each) for each in cells}
    )
    assert not list(evidence_cells(evidence, replace(evidence)))
    trace = Trace()
    seen = traced(Snapshot(evidence=evidence), trace).evidence

    def ask():
        seen.events_about("n", "Pod", "p")
        seen.names_of("n", "Pod")
        seen.log_of("n", "p", "c")
        return seen.reads_events("n")

    assert changed <= trace.of(ask)[1]


def test_evidence_is_part_of_an_evaluation(load):
    """With evidence that comes and goes, reused answers are those of asking from nothing."""
    settings = FullEvaluationSettings()
    plain = load(KUBELET).snapshot
    _, answered = evaluate_again(plain, settings, Answered())
    for evidence, _ in NEWS.values():
        snapshot = replace(plain, evidence=evidence)
        said, answered = evaluate_again(snapshot, settings, answered)
        assert said == evaluate(snapshot, settings)
        assert answered.evidence is evidence

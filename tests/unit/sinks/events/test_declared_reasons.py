"""Events of reasons that users declare, also of those that are declared no more."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from reporter.catalogue.resources import EVENTS
from reporter.model.finding import Evaluation
from reporter.model.instant import Instant
from reporter.model.objects import Event
from reporter.model.report import Disposition, Report, ResolvedFinding
from reporter.model.subject import CLUSTER, ObjectRef
from reporter.resolution import Memory
from reporter.resolution.records import NO_RECORDS, records_of
from reporter.resolution.recovery import take_up
from reporter.sinks.events.plan import Purpose, finding_event, plan_events
from reporter.snapshot.snapshot import ResourceState, Served, Snapshot
from reporter.snapshot.table import table_of
from reporter.stacks import BUILT_IN
from reporter.stacks.settings import FullEvaluationSettings

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
STORE = {
    "reason": "clusterVectorStoreNotReady",
    "layer": "cluster",
    "workload": {"kind": "StatefulSet", "name": "qdrant", "namespaces": ["vectors"]},
}
DECLARING = FullEvaluationSettings(custom_components=[STORE])
PLAIN = FullEvaluationSettings()
NOTHING = Evaluation((), (), ())


def finding(**changes) -> ResolvedFinding:
    reason = DECLARING.catalogue[STORE["reason"]]
    base = ResolvedFinding(
        reason=reason.name,
        layer=reason.layer,
        type=reason.type,
        subject=CLUSTER,
        involved=ObjectRef("v1", "Namespace", "", "vectors", "uid-1"),
        related=ObjectRef("apps/v1", "StatefulSet", "vectors", "qdrant"),
        disposition=Disposition.FIRING,
        message="StatefulSet vectors/qdrant is down: missing",
        cause="missing",
        since=NOW - timedelta(minutes=2),
        primary=True,
    )
    return replace(base, **changes)


def report(catalogue, *findings) -> Report:
    return Report(catalogue=catalogue, now=NOW, findings=findings, ready=(), unknown=(), skipped=())


def on_record(state: str) -> Snapshot:
    """A cluster that holds the Event of the declaration in some state."""
    body = finding_event(finding(), NOW, "replica-a")
    labels = {**body["metadata"]["labels"], "status-reporter.io/state": state}
    metadata = {**body["metadata"], "labels": labels, "resourceVersion": "7"}
    raw = msgspec.json.encode({**body, "metadata": metadata})
    return Snapshot(
        tables={EVENTS: table_of([msgspec.json.decode(raw, type=Event)])},
        states={EVENTS: ResourceState(Served.SERVED)},
    )


def test_a_declared_reason_is_told_like_a_built_in_one():
    """The layer, the subject and the object are on its Event."""
    (write,) = plan_events(
        report(DECLARING.catalogue, finding()), NO_RECORDS, DECLARING, instance="a"
    ).writes
    assert (write.purpose, write.body["reason"]) == (Purpose.FIRE, STORE["reason"])
    labels = write.body["metadata"]["labels"]
    assert labels["status-reporter.io/layer"] == "cluster"
    assert write.body["related"]["kind"] == "StatefulSet"


@pytest.mark.parametrize("state", ["firing", "stale"])
def test_the_event_of_a_reason_that_is_in_no_catalogue_is_closed(state):
    """It is still ours; whoever reads it is told that nobody looks any more."""
    records = records_of(on_record(state))
    assert [each.key.reason for each in records] == [STORE["reason"]]
    (write,) = plan_events(report(BUILT_IN), records, PLAIN, instance="a").writes
    assert (write.purpose, write.resource_version) == (Purpose.CLOSE, "7")
    assert write.body["metadata"]["labels"]["status-reporter.io/state"] == "over"


def test_an_event_that_is_over_stays_as_it_is():
    """Once closed, it is left to expire."""
    records = records_of(on_record("over"))
    assert plan_events(report(BUILT_IN), records, PLAIN, instance="a").writes == ()


@pytest.mark.parametrize(("settings", "goes_on"), [(DECLARING, True), (PLAIN, False)])
def test_only_a_reason_of_the_catalogue_goes_on(settings, goes_on):
    """A daemon takes up the episodes that its file knows of, and no others."""
    snapshot = on_record("firing")
    now = Instant(NOW, timedelta(days=1))
    memory = take_up(records_of(snapshot), Memory(), {}, now=now, catalogue=settings.catalogue)
    assert [key.reason for key in memory.episodes] == [STORE["reason"]] * goes_on

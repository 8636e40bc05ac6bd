"""What is written for a report, given what is on record."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from lab.sandbox.patching import merge_patch
from reporter.catalogue.reasons import CLUSTER_ISTIO
from reporter.model.instant import rfc3339
from reporter.model.objects import Event
from reporter.model.report import Disposition, ReadySubject, Report, ResolvedFinding
from reporter.model.subject import CLUSTER, ObjectRef, Subject
from reporter.resolution.records import MUTED_ANNOTATION, SUBJECT_ANNOTATION, Records, record_of
from reporter.sinks.events.plan import (
    MOST_OVER,
    REST,
    STATE_LABEL,
    Purpose,
    Written,
    finding_event,
    overlay,
    plan_events,
    ready_event,
    refresh_interval,
)
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.reasons import INFERENCESET_KIND, MODEL_EPP, MODEL_READY
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import BY_NAME, rows

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SPACE = ObjectRef("v1", "Namespace", "", "chat", "uid-1")
SUBJECT = Subject(INFERENCESET_KIND, "chat", "llama")
SETTINGS = FullEvaluationSettings()


def planned(report, *records, settings=SETTINGS):
    """What is written beside these records."""
    return plan_events(report, Records(records), settings, instance="pod")


def finding(disposition=Disposition.FIRING, **changes):
    row = BY_NAME[changes.get("reason", MODEL_EPP)]
    fields = {
        "reason": MODEL_EPP, "layer": row.layer, "type": row.type, "subject": SUBJECT,
        "involved": SPACE, "disposition": disposition, "primary": True,
        "related": ObjectRef("apps/v1", "Deployment", "chat", "llama-inferencepool-epp"),
        "message": "the endpoint picker is down", "cause": "scaled to zero",
        "since": NOW - timedelta(minutes=2),
    }  # fmt: skip
    return ResolvedFinding(**fields | changes)


def report(*findings, ready=(), at=NOW):
    return Report(
        catalogue=BUILT_IN, now=at, findings=findings, ready=ready, unknown=(), skipped=()
    )


def stored(body, *, version="7", state="firing", count=1):
    """The record of an Event as the server would return it."""
    labels = {**body["metadata"]["labels"], "status-reporter.io/state": state}
    metadata = {**body["metadata"], "labels": labels, "resourceVersion": version}
    raw = msgspec.json.encode({**body, "metadata": metadata, "count": count})
    record = record_of(msgspec.json.decode(raw, type=Event))
    assert record is not None
    return record


def written(ago, **changes):
    """The record of the finding, written so long ago."""
    return stored(finding_event(finding(), NOW - timedelta(seconds=ago), "pod"), **changes)


def ready(*, due=True, **changes):
    row = BY_NAME[changes.get("reason", MODEL_READY)]
    fields = {
        "reason": MODEL_READY, "layer": row.layer, "subject": SUBJECT, "involved": SPACE,
        "related": SPACE, "message": "ready", "due": due, "episode": "first",
    }  # fmt: skip
    return ReadySubject(**fields | changes)


STALE = finding(stale=True)
CLEARING = finding(Disposition.CLEARING)


@rows(
    ("now", "records", "purposes"),
    {
        "new": ([finding()], [], [Purpose.FIRE]),
        "just written": ([finding()], [written(5)], [Purpose.REFRESH]),
        "refresh after a resync": ([finding()], [written(61)], [Purpose.REFRESH]),
        "changed within ten seconds": ([finding(message="x")], [written(5)], []),
        "changed": ([finding(message="x")], [written(11)], [Purpose.CHANGE]),
        "not primary": ([finding(primary=False)], [written(11)], [Purpose.CHANGE]),
        "just written by a clock that is ahead": ([finding()], [written(-3)], []),
        "a clock was set back": ([finding()], [written(-3600)], [Purpose.REFRESH]),
        "set back, and changed": ([finding(message="x")], [written(-3600)], [Purpose.CHANGE]),
        "fires again": ([finding()], [written(5, state="over")], [Purpose.FIRE]),
        "known again": ([finding()], [written(5, state="stale")], [Purpose.FIRE]),
        "stale is marked, not refreshed": ([STALE], [written(600)], [Purpose.STALE]),
        "stale once": ([STALE], [written(600, state="stale")], []),
        "stale is not written again": ([STALE], [], []),
        "clearing is left alone": ([CLEARING], [written(600)], []),
        "recovered or gone": ([], [written(5)], [Purpose.CLOSE]),
        "over once": ([], [written(5, state="over")], []),
        "suppressed": ([finding(Disposition.SUPPRESSED)], [written(5)], [Purpose.CLOSE]),
        "outranked": ([finding(Disposition.SECONDARY)], [written(5)], [Purpose.CLOSE]),
        "pending": ([finding(Disposition.PENDING)], [], []),
        "held": ([finding(Disposition.HELD)], [], []),
        "muted": ([finding(Disposition.MUTED)], [], []),
    },
)
def test_writes_follow_the_report(now, records, purposes):
    plan = planned(report(*now), *records)
    assert [write.purpose for write in plan.writes] == purposes


def test_a_refresh_raises_the_count_and_names_the_version_it_changes():
    (write,) = planned(report(finding()), written(61, count=4)).writes
    assert write.resource_version == "7"
    assert write.body["count"] == 5
    assert write.body["lastTimestamp"] == "2026-11-20T12:00:00Z"


@pytest.mark.parametrize(("ago", "due"), [(61, 0), (60, 0), (59, 1), (5, 55)])
def test_a_refresh_is_planned_ahead(ago, due):
    """So that no pass is needed for it; it says when it was made, not when it was planned."""
    plan = planned(report(finding()), written(ago))
    (write,) = plan.writes
    assert (write.purpose, write.due_in) == (Purpose.REFRESH, timedelta(seconds=due))
    assert write.body["lastTimestamp"] == rfc3339(NOW + timedelta(seconds=due))
    assert plan.next_in is None


def test_causes_of_the_cluster_go_before_faults_of_a_model_and_of_each_the_oldest():
    model = [
        finding(subject=Subject(INFERENCESET_KIND, "chat", f"m{age}"), since=NOW - timedelta(age))
        for age in (1, 3, 2)
    ]
    cluster = finding(reason=CLUSTER_ISTIO, subject=CLUSTER)
    plan = planned(report(*model, cluster))
    told = [write.body["metadata"]["annotations"][SUBJECT_ANNOTATION] for write in plan.writes]
    assert told == ["cluster", *(f"inferenceset/chat/m{age}" for age in (3, 2, 1))]


def test_a_fault_that_comes_back_again_and_again_has_a_bounded_number_of_events():
    """Whoever breaks and mends models by the hundred fills neither etcd nor our memory."""
    began = [NOW - timedelta(minutes=2 * each) for each in range(2, MOST_OVER + 2)]
    told = [stored(finding_event(finding(since=each), each, "pod"), state="over") for each in began]
    waiting = planned(report(finding()), *told)
    assert (waiting.writes, waiting.next_in) == ((), REST - timedelta(minutes=4))
    lasting = report(finding(), at=NOW + waiting.next_in)
    assert len(planned(lasting, *told).writes) == 1
    assert len(planned(report(finding()), *told[1:]).writes) == 1
    other = finding(subject=Subject(INFERENCESET_KIND, "chat", "other"))
    assert len(planned(report(other), *told).writes) == 1


def test_namespaces_take_turns_with_new_faults():
    """A tenant whose models fail by the thousand delays no fault of another one."""
    many = [
        finding(subject=Subject(INFERENCESET_KIND, "loud", f"m{age}"), since=NOW - timedelta(age))
        for age in (4, 3, 2)
    ]
    other = finding(subject=Subject(INFERENCESET_KIND, "quiet", "m"))
    places = [ObjectRef("v1", "Namespace", "", name) for name in "ab"]
    nodes = [finding(reason=CLUSTER_ISTIO, subject=CLUSTER, involved=each) for each in places]
    plan = planned(report(*many, other, *nodes))
    told = [write.body["metadata"]["annotations"][SUBJECT_ANNOTATION] for write in plan.writes]
    models = ["inferenceset/loud/m4", "inferenceset/quiet/m", "inferenceset/loud/m3", "inferenceset/loud/m2"]  # fmt: skip
    assert told == ["cluster", "cluster", *models]


def test_the_object_at_fault_is_replaced_as_a_whole():
    """A merge patch keeps what it does not name: a Node has no namespace, one missing no uid."""
    pod = ObjectRef("v1", "Pod", "chat", "llama-0", "uid-of-the-pod")
    node = ObjectRef("v1", "Node", "", "gpu-1")
    before = finding_event(finding(related=pod), NOW - timedelta(seconds=20), "pod")
    now = finding(related=node, message="the node is gone")
    (write,) = planned(report(now), stored(before)).writes
    assert merge_patch(before, write.body)["related"] == {
        "apiVersion": "v1", "kind": "Node", "name": "gpu-1"
    }  # fmt: skip


def test_after_a_clock_was_set_back_one_write_is_enough():
    """The time of the last write counts then, not that of the creation, which never changes."""
    body = finding_event(finding(), NOW + timedelta(hours=1), "pod")
    again = stored({**body, "lastTimestamp": rfc3339(NOW - timedelta(seconds=20))})
    (write,) = planned(report(finding()), again).writes
    assert write.due_in == timedelta(seconds=40)


def test_closing_changes_labels_only():
    """Consumers of last seen do not take the end for a repetition; what is over is not primary."""
    (write,) = planned(report(), written(5)).writes
    labels = {"status-reporter.io/state": "over", "status-reporter.io/primary": "false"}
    assert write.body == {"metadata": {"labels": labels}}


def test_faults_go_before_what_is_over_and_that_before_what_is_ready():
    """A thousand models that recover must not keep a new fault from being told."""
    other = finding(subject=Subject(INFERENCESET_KIND, "chat", "other"))
    plan = planned(report(other, ready=(ready(due=True),)), written(5))
    assert [write.purpose for write in plan.writes] == [Purpose.FIRE, Purpose.CLOSE, Purpose.READY]


def test_ready_is_written_once():
    """Neither again when it is on record, nor when it is not due."""
    on_record = stored(ready_event(ready(due=True), NOW, "pod"), state="over")
    assert planned(report(ready=(ready(due=True),)), on_record).writes == ()
    assert planned(report(ready=(ready(due=False),))).writes == ()


def test_disabled_reasons_write_nothing_and_end_what_they_wrote():
    settings = FullEvaluationSettings(disable_reasons=(MODEL_EPP, MODEL_READY))
    now = report(finding(), ready=(ready(due=True),))
    plan = planned(now, written(5), settings=settings)
    assert [write.purpose for write in plan.writes] == [Purpose.CLOSE]


def test_a_deferred_change_is_due_when_its_interval_ends():
    plan = planned(report(finding(message="x")), written(4))
    assert plan.next_in == timedelta(seconds=6)


@pytest.mark.parametrize(
    ("count", "seconds"), [(0, 60), (1, 60), (300, 60), (600, 120), (3_000, 600), (9_000, 600)]
)
def test_refreshes_slow_down_when_very_many_fire(count, seconds):
    """Once per resync below five writes a second, at most ten minutes apart."""
    assert refresh_interval(count, SETTINGS) == timedelta(seconds=seconds)


def test_the_event_that_waits_longest_is_refreshed_first():
    """With thousands, none is passed over until it expires."""
    many = [finding(subject=Subject(INFERENCESET_KIND, "chat", f"m{n}")) for n in range(5)]
    ages = [70, 3000, 90, 100, 80]
    records = [
        stored(finding_event(each, NOW - timedelta(seconds=age), "pod"))
        for each, age in zip(many, ages, strict=True)
    ]
    plan = planned(report(*many), *records)
    names = [record.event.name for record in records]
    assert [names.index(write.name) for write in plan.writes] == [1, 3, 2, 4, 0]


@pytest.mark.parametrize(
    ("seen", "before", "expected"),
    [
        ([], "", "answer"),
        ([written(5, version="7")], "7", "answer"),
        ([written(5, version="9")], "7", "seen"),
    ],
)
def test_our_own_writes_count_before_the_watch_brings_them(seen, before, expected):
    """Until the watch shows another version, the server's answer stands."""
    answer = written(0, version="8")
    records = overlay(Records(seen), {answer.event.name: Written(answer.event, before)})
    versions = [record.event.metadata.resource_version for record in records]
    assert versions == (["8"] if expected == "answer" else ["9"])


def test_only_a_new_event_tells_the_start_of_its_episode():
    """What fires again in the same episode had been told when it began."""
    (new,) = planned(report(finding())).writes
    (again,) = planned(report(finding()), written(5, state="over")).writes
    assert (new.since, again.since) == (finding().since, None)


def on_record(state, *, marked):
    """The record of the finding, with or without the note that it is muted."""
    body = finding_event(finding(), NOW, "pod")
    if marked:
        body["metadata"]["annotations"][MUTED_ANNOTATION] = "true"
    return stored(body, state=state)


def patched(record, *findings):
    """State and note that are written; nothing where nothing is."""
    writes = planned(report(*findings), record).writes
    metadata = [each.body["metadata"] for each in writes]
    return [
        (each["labels"][STATE_LABEL], each.get("annotations", {}).get(MUTED_ANNOTATION, "as it is"))
        for each in metadata
    ]


@pytest.mark.parametrize(
    ("state", "marked", "disposition", "writes"),
    [
        ("firing", False, Disposition.MUTED, [("over", "true")]),
        ("stale", False, Disposition.MUTED, [("over", "true")]),
        ("over", True, Disposition.MUTED, []),
        ("over", False, Disposition.MUTED, []),
        ("over", True, Disposition.FIRING, [("firing", None)]),
        ("over", False, Disposition.FIRING, [("firing", "as it is")]),
        ("over", True, Disposition.CLEARING, []),
        ("over", True, Disposition.SUPPRESSED, [("over", None)]),
        ("over", True, None, [("over", None)]),
        ("over", False, None, []),
        ("firing", False, None, [("over", "as it is")]),
    ],
)
def test_event_on_record(state, marked, disposition, *, writes):
    """It is over, with a note for those who start later; the note goes when the episode does."""
    findings = [finding(disposition)] if disposition else []
    assert patched(on_record(state, marked=marked), *findings) == writes


def test_the_note_is_believed_of_an_event_that_is_over_only():
    """Somebody may copy it to one that fires."""
    assert on_record("over", marked=True).muted
    assert not on_record("firing", marked=True).muted
    assert not on_record("over", marked=False).muted

"""One pass, from the snapshot to the planned writes: pure, so that it can run in a thread.

A second installation with another Lease writes our Events too; with other settings, each closes the
Events that the other creates. The only sign in the cluster is an Event of ours that now says
something else, in a resource version that is not one of our writes.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from itertools import chain
from types import MappingProxyType
from typing import Final, TypeAlias

from reporter.catalogue.reasons import CLUSTER_STATUS_UNKNOWN
from reporter.catalogue.resources import EVENTS
from reporter.diagnosis.wanted_evidence import NOTHING_WANTED, WantedEvidence, wanted_evidence
from reporter.evaluation import evaluate_again
from reporter.metrics.samples.window import NONE, PodSamples
from reporter.model.catalogue import Catalogue
from reporter.model.evidence import ContainerLog
from reporter.model.finding import EpisodeKey, Finding
from reporter.model.instant import Instant
from reporter.model.objects import Event
from reporter.model.report import Report
from reporter.model.subject import API_RESOURCE, CLUSTER, ObjectRef
from reporter.probes.reuse import Answered
from reporter.resolution import Memory, resolve
from reporter.resolution.grace import NOTHING, Handed, hand_on
from reporter.resolution.ready import ready_confirmed
from reporter.resolution.records import NO_RECORDS, Records, records_of
from reporter.resolution.unknown import confirmed
from reporter.settings import DaemonSettings, EvaluationSettings
from reporter.sinks.alerts import Alerts, plan_alerts
from reporter.sinks.events.plan import STATE_LABEL, Plan, Written, overlay, plan_events
from reporter.sinks.mirror.plan import Applied, MirrorPlan, plan_mirrors
from reporter.sinks.pod_view import crashes_of, with_last_lines
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.output import OutputScope
from reporter.stacks.stack import outputs_of
from reporter.workload.components import namespace_ref, with_verdicts

_CHANGES: Final = 3
_WITHIN: Final = timedelta(minutes=10)
"""This many changes within that time mean another writer; a former leader's last write is one."""

_MESSAGE: Final = (
    "Events: something else changes the Events that this reporter writes, so they may not say what "
    "it found; look for another installation of it: two need one Lease (--leader-election-id and "
    "namespace) and the same settings"
)


Change: TypeAlias = tuple[str, str]
"""The name of an Event, and a resource version of it that may not be ours."""


@dataclass(frozen=True, slots=True)
class ForeignWriters:
    """Changes by others, remembered from pass to pass. A change is `doubtful` if it may be ours:
    the watch may deliver a write of ours before its answer arrives.
    """

    doubtful: frozenset[Change] = frozenset()
    changes: Mapping[Change, timedelta] = field(default_factory=dict)

    @property
    def are_there(self) -> bool:
        return len(self.changes) >= _CHANGES


def look_for_foreign_writers(
    before: ForeignWriters, records: Records, own: "RecentWrites", *, now: Instant, leading: bool
) -> ForeignWriters:
    """Return the foreign changes after a pass. A change counts once, however many passes see it,
    and not at all once an answer shows that it was ours. On a standby none are added, as its leader
    changes the Events.
    """
    recent = {
        change: counted
        for change, counted in before.changes.items()
        if now.boot - counted < _WITHIN and change[1] not in own.versions
    }
    if not leading:
        return ForeignWriters(changes=recent)
    foreign = sorted(each for each in before.doubtful if each[1] not in own.versions)
    return ForeignWriters(
        frozenset(_changed_since(records, own)), dict.fromkeys(foreign, now.boot) | recent
    )


def _changed_since(records: Records, own: "RecentWrites") -> Iterator[Change]:
    for name, written in own.events.items():
        record = records.by_name.get(name)
        if record is None:
            continue
        version = record.event.metadata.resource_version
        if version in own.versions or version == written.before:
            continue
        if _says(record.event) != _says(written.event):
            yield name, version


def _says(event: Event) -> tuple[str, str]:
    return event.message, (event.metadata.labels or {}).get(STATE_LABEL, "")


def findings_about(
    foreign_writers: ForeignWriters, snapshot: Snapshot, settings: EvaluationSettings
) -> tuple[Finding, ...]:
    if not foreign_writers.are_there:
        return ()
    return (
        Finding(
            reason=CLUSTER_STATUS_UNKNOWN,
            subject=CLUSTER,
            involved=namespace_ref(snapshot, settings.release_namespace),
            related=ObjectRef("v1", API_RESOURCE, "", "events/writers"),
            message=_MESSAGE,
            cause="another writer of its Events",
        ),
    )


@dataclass(frozen=True, slots=True)
class Before:
    memory: Memory = field(default_factory=Memory)
    answered: Answered = field(default_factory=Answered)
    outputs: Mapping[str, object] = field(default_factory=dict)
    records: Records = field(default_factory=lambda: NO_RECORDS)
    foreign_writers: ForeignWriters = ForeignWriters()
    alerts: Alerts | None = None


@dataclass(frozen=True, slots=True)
class RecentWrites:
    """Recent writes, which the watches may not have delivered yet; `versions` are the resource
    versions in the answers, of which the oldest are forgotten.
    """

    events: Mapping[str, Written] = field(default_factory=dict)
    mirrors: Mapping[str, Applied] = field(default_factory=dict)
    outputs: Mapping[str, object] = field(default_factory=dict)
    versions: Collection[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Pass:
    """The result of a pass. `records` is None if Events are unknown, `mirrors` if none may be
    planned, `next_in` if only the resync is due.
    """

    report: Report
    records: Records | None
    after: Before
    plan: Plan
    outputs: Mapping[str, object]
    mirrors: MirrorPlan | None
    next_in: timedelta | None
    seconds: float
    processor_seconds: float
    to_hand_on: str = ""
    wanted: WantedEvidence = NOTHING_WANTED
    crashes: Mapping[EpisodeKey, ContainerLog] = field(default_factory=dict)


def run_pass(
    snapshot: Snapshot,
    before: Before,
    recent_writes: RecentWrites,
    *,
    now: Instant,
    settings: DaemonSettings,
    instance: str,
    samples: PodSamples = NONE,
    leading: bool = True,
    handed: Handed = NOTHING,
    last_lines: Mapping[EpisodeKey, tuple[str, ...]] = MappingProxyType({}),
) -> Pass:
    """Evaluate a snapshot and samples, without requests or state other than what is passed."""
    began, spent = time.perf_counter(), time.thread_time()
    evaluation, answered = evaluate_again(snapshot, settings, before.answered, samples=samples)
    scope = OutputScope(
        derived=evaluation.derived,
        snapshot=snapshot,
        now=now,
        settings=settings,
        instance=instance,
        leading=leading,
    )
    outputs = {
        name: output.decide(scope, before.outputs.get(name), recent_writes.outputs.get(name))
        for name, output in outputs_of(settings).items()
    }
    kept_from = chain.from_iterable(each.findings for each in outputs.values())
    on_record = records_of(snapshot, before.records)
    foreign_writers = look_for_foreign_writers(
        before.foreign_writers, on_record, recent_writes, now=now, leading=leading
    )
    foreign = findings_about(foreign_writers, snapshot, settings)
    evaluation = replace(evaluation, findings=(*evaluation.findings, *kept_from, *foreign))
    resolution = resolve(
        evaluation,
        snapshot,
        before.memory,
        now=now,
        settings=settings,
        records=on_record,
        handed=handed,
    )
    records = overlay(on_record, recent_writes.events)
    plan = Plan((), None)
    may_begin = _confirmed_in(snapshot, settings.catalogue)
    if snapshot.state(EVENTS).confirmed or not snapshot.known(EVENTS):
        plan = plan_events(
            resolution.report, records, settings, instance=instance, confirmed=may_begin
        )
    mirrors = None
    # Otherwise an Event that is not on record may exist.
    are_known = snapshot.known(EVENTS) and snapshot.state(EVENTS).confirmed
    if settings.mirror_to_workload and leading and are_known:
        mirrors = plan_mirrors(
            records,
            recent_writes.mirrors,
            snapshot,
            catalogue=settings.catalogue,
            now=now,
            resync=timedelta(seconds=settings.resync_seconds),
        )
    alerts = None
    if settings.alertmanager_url:
        alerts = plan_alerts(
            resolution.report, records, before.alerts, settings=settings, confirmed=may_begin
        )
    waits = (
        resolution.wake_in,
        plan.next_in,
        *(each.next_in for each in outputs.values()),
        mirrors.next_in if mirrors is not None else None,
    )
    return Pass(
        report=with_last_lines(resolution.report, last_lines),
        records=records if snapshot.known(EVENTS) else None,
        after=Before(
            resolution.memory,
            answered,
            {name: each.memory for name, each in outputs.items()},
            on_record,
            foreign_writers,
            alerts,
        ),
        plan=plan,
        outputs={name: each.plan for name, each in outputs.items()},
        mirrors=mirrors,
        next_in=min((wait for wait in waits if wait is not None), default=None),
        seconds=time.perf_counter() - began,
        processor_seconds=time.thread_time() - spent,
        to_hand_on=hand_on(resolution.memory),
        wanted=with_verdicts(
            wanted_evidence(resolution.report, snapshot),
            resolution.report,
            snapshot,
            settings=settings,
        ),
        crashes=crashes_of(resolution.report, snapshot) if settings.pod_logs else {},
    )


def _confirmed_in(snapshot: Snapshot, catalogue: Catalogue) -> Callable[[str], bool]:
    """Return a function that tells whether verdicts on a reason depend on confirmed data only.

    Resolution begins no verdict without that. This is for verdicts from before the connection was
    lost whose Event has not been written: they are outdated.
    """

    @cache  # a pass asks for thousands of verdicts on a few reasons
    def is_confirmed(reason: str) -> bool:
        row = catalogue[reason]
        if row.says_ready:
            return ready_confirmed(row.subject_kind, snapshot, catalogue)
        return confirmed(reason, snapshot, catalogue)

    return is_confirmed

"""One pass, from the snapshot to the planned writes: pure, so that it can run in a thread."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import chain
from types import MappingProxyType
from typing import Final

from reporter.catalogue.resources import EVENTS
from reporter.daemon.foreign_writers import (
    NO_FOREIGN_WRITERS,
    ForeignWriters,
    findings_about,
    look_for_foreign_writers,
)
from reporter.diagnosis.wanted_evidence import NOTHING_WANTED, WantedEvidence, wanted_evidence
from reporter.evaluation import evaluate_again
from reporter.metrics.looks.samples import NONE, Samples
from reporter.model.catalogue import Catalogue
from reporter.model.finding import Crash, EpisodeKey
from reporter.model.instant import Instant
from reporter.model.report import Report
from reporter.probes.reuse import Answered
from reporter.resolution import Memory, resolve
from reporter.resolution.handing_on import NOTHING, Handed, hand_on
from reporter.resolution.ready import ready_confirmed
from reporter.resolution.records import NO_RECORDS, Records, records_of
from reporter.resolution.unknown import confirmed
from reporter.settings import DaemonSettings
from reporter.sinks.alerts.plan import Alerts, plan_alerts
from reporter.sinks.events.plan import OwnWrites, Plan, Written, overlay, plan_events
from reporter.sinks.mirror.plan import Applied, MirrorPlan, plan_mirrors
from reporter.sinks.pod_view import crashes_of, with_last_lines
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.output import Decision, OutputScope
from reporter.stacks.stack import outputs_of

_NOTHING: Final = Plan((), None)


@dataclass(frozen=True, slots=True)
class Before:
    """What a pass is given of earlier ones.

    Attributes:
        answered: what need not be asked again.
        outputs: what the output of each stack remembers, by the stack's name.
        records: our Events of the last pass.
        alerts: what Alertmanager was to know; None before the first pass.

    """

    memory: Memory = field(default_factory=Memory)
    answered: Answered = field(default_factory=Answered)
    outputs: Mapping[str, object] = field(default_factory=dict)
    records: Records = field(default_factory=lambda: NO_RECORDS)
    foreign_writers: ForeignWriters = NO_FOREIGN_WRITERS
    alerts: Alerts | None = None


@dataclass(frozen=True, slots=True)
class Lately:
    """What was written lately, which the watches may not have brought back yet.

    Attributes:
        events: our Events by name.
        mirrors: the mirrors by name, as they were written since we lead.
        outputs: what was made of the writes of each stack, by the stack's name.
        versions: of our Events, as our own writes made them.

    """

    events: Mapping[str, Written] = field(default_factory=dict)
    mirrors: Mapping[str, Applied] = field(default_factory=dict)
    outputs: Mapping[str, object] = field(default_factory=dict)
    versions: Collection[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Pass:
    """The result of a pass.

    Attributes:
        records: our Events on record; None where they cannot be read.
        mirrors: the mirrors to write; None where nothing can be said of them.
        next_in: time until the next pass is due without a change, None for the resync only.
        processor_seconds: how much of that its thread had the processor.
        to_hand_on: what the next process should know of faults that are not told yet.
        wanted: what would explain what the report does not.
        crashes: the containers whose logs are worth reading, where logs are read.

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
    crashes: Mapping[EpisodeKey, Crash] = field(default_factory=dict)


def run_pass(
    snapshot: Snapshot,
    before: Before,
    lately: Lately,
    *,
    now: Instant,
    settings: DaemonSettings,
    instance: str,
    samples: Samples = NONE,
    leading: bool = True,
    handed: Handed = NOTHING,
    last_lines: Mapping[EpisodeKey, tuple[str, ...]] = MappingProxyType({}),
) -> Pass:
    """Evaluate a snapshot and what was scraped. No requests, no state but what is passed in and out.

    Args:
        snapshot: the cluster.
        before: what the last pass returned.
        lately: what the sinks wrote since.
        now: the time of the pass.
        settings: of the daemon.
        instance: which replica this is.
        samples: what was scraped.
        leading: whether this replica writes.
        handed: what the process that led before handed on.
        last_lines: what was read of containers that crashed.

    """
    began, spent = time.perf_counter(), time.thread_time()
    evaluation, answered = evaluate_again(snapshot, settings, before.answered, samples=samples)
    outputs = _decide(
        OutputScope(
            derived=evaluation.derived,
            snapshot=snapshot,
            now=now,
            settings=settings,
            instance=instance,
            leading=leading,
        ),
        before,
        lately,
    )
    kept_from = chain.from_iterable(each.findings for each in outputs.values())
    on_record = records_of(snapshot, before.records)
    own = OwnWrites(lately.events, lately.versions)
    foreign_writers = look_for_foreign_writers(
        before.foreign_writers, on_record, own, now=now, leading=leading
    )
    told = findings_about(foreign_writers, snapshot, settings)
    evaluation = replace(evaluation, findings=(*evaluation.findings, *kept_from, *told))
    resolution = resolve(
        evaluation,
        snapshot,
        before.memory,
        now=now,
        settings=settings,
        records=on_record,
        handed=handed,
    )
    records = overlay(on_record, lately.events)
    plan = _NOTHING
    may_tell = _confirmed_in(snapshot, settings.catalogue)
    if snapshot.state(EVENTS).confirmed or not snapshot.known(EVENTS):
        plan = plan_events(
            resolution.report, records, settings, instance=instance, confirmed=may_tell
        )
    mirrors = None
    if settings.mirror_to_workload and leading and _records_confirmed(snapshot):
        mirrors = plan_mirrors(
            records,
            lately.mirrors,
            snapshot,
            catalogue=settings.catalogue,
            now=now,
            resync=timedelta(seconds=settings.resync_seconds),
        )
    alerts = None
    if settings.alertmanager_url:
        alerts = plan_alerts(
            resolution.report, records, before.alerts, settings=settings, confirmed=may_tell
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
        wanted=wanted_evidence(resolution.report, snapshot),
        crashes=crashes_of(resolution.report, snapshot) if settings.pod_logs else {},
    )


def _decide(scope: OutputScope, before: Before, lately: Lately) -> dict[str, Decision]:
    return {
        name: output.decide(scope, before.outputs.get(name), lately.outputs.get(name))
        for name, output in outputs_of(scope.settings).items()
    }


def _records_confirmed(snapshot: Snapshot) -> bool:
    """Tell whether an Event that is not on record certainly does not exist."""
    return snapshot.known(EVENTS) and snapshot.state(EVENTS).confirmed


def _confirmed_in(snapshot: Snapshot, catalogue: Catalogue) -> Callable[[str], bool]:
    """Return what tells whether a verdict on a reason rests on confirmed data.

    Resolution starts no verdict without that. This is about those whose Event was not written
    before the connection was lost: they are as old as the loss.
    """

    def is_confirmed(reason: str) -> bool:
        row = catalogue[reason]
        if row.says_ready:
            return ready_confirmed(row.subject_kind, snapshot, catalogue)
        return confirmed(reason, snapshot, catalogue)

    return is_confirmed

"""One pass, from the snapshot to the planned Events: pure, so that it can run in a thread."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from reporter.catalogue.reasons import BY_NAME
from reporter.catalogue.resources import EVENTS
from reporter.model.instant import Instant
from reporter.model.report import EventType, Report
from reporter.probes import Answered, evaluate_again
from reporter.resolution import Memory, resolve
from reporter.resolution.ready import ready_confirmed
from reporter.resolution.records import records_of
from reporter.resolution.unknown import confirmed
from reporter.samples.samples import NONE, Samples
from reporter.settings import EvaluationSettings
from reporter.sinks.events.plan import Plan, plan_events
from reporter.sinks.events.written import Written, overlay
from reporter.snapshot.snapshot import Snapshot

_NOTHING: Final = Plan((), None)


@dataclass(frozen=True, slots=True)
class Pass:
    """The result of a pass.

    Attributes:
        report: what every sink renders.
        memory: what the next pass is given.
        answered: what the next pass need not ask again.
        plan: the Events to write.
        next_in: time until the next pass is due without a change, None for the resync only.
        seconds: how long it took.

    """

    report: Report
    memory: Memory
    answered: Answered
    plan: Plan
    next_in: timedelta | None
    seconds: float


def run_pass(
    snapshot: Snapshot,
    memory: Memory,
    answered: Answered,
    written: Mapping[str, Written],
    now: Instant,
    settings: EvaluationSettings,
    instance: str,
    samples: Samples = NONE,
) -> Pass:
    """Evaluate a snapshot and what was scraped. No requests, no state but what is passed in and out."""
    began = time.perf_counter()
    evaluation, answered = evaluate_again(snapshot, settings, answered, samples)
    resolution = resolve(evaluation, snapshot, memory, now, settings)
    records = overlay(records_of(snapshot), written)
    plan = _NOTHING
    if snapshot.state(EVENTS).confirmed or not snapshot.known(EVENTS):
        may_tell = _confirmed_in(snapshot)
        plan = plan_events(resolution.report, records, settings, instance, may_tell)
    waits = [wait for wait in (resolution.wake_in, plan.next_in) if wait is not None]
    seconds = time.perf_counter() - began
    next_in = min(waits, default=None)
    return Pass(resolution.report, resolution.memory, answered, plan, next_in, seconds)


def _confirmed_in(snapshot: Snapshot) -> Callable[[str], bool]:
    """Return what tells whether a verdict on a reason rests on confirmed data.

    Resolution starts no verdict without that. This is about those whose Event was not written
    before the connection was lost: they are as old as the loss.
    """

    def is_confirmed(reason: str) -> bool:
        row = BY_NAME[reason]
        if row.type is EventType.NORMAL:
            return ready_confirmed(row.subject_kind, snapshot)
        return confirmed(reason, snapshot)

    return is_confirmed

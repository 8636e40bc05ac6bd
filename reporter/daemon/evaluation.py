"""One pass, from the snapshot to the planned Events: pure, so that it can run in a thread."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from reporter.model.instant import Instant
from reporter.model.report import Report
from reporter.probes import evaluate
from reporter.resolution import Memory, resolve
from reporter.resolution.records import records_of
from reporter.settings import EvaluationSettings
from reporter.sinks.events.plan import Plan, plan_events
from reporter.sinks.events.written import Written, overlay
from reporter.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Pass:
    """The result of a pass.

    Attributes:
        report: what every sink renders.
        memory: what the next pass is given.
        plan: the Events to write.
        next_in: time until the next pass is due without a change, None for the resync only.
        seconds: how long it took.

    """

    report: Report
    memory: Memory
    plan: Plan
    next_in: timedelta | None
    seconds: float


def run_pass(
    snapshot: Snapshot,
    memory: Memory,
    written: Mapping[str, Written],
    now: Instant,
    settings: EvaluationSettings,
    instance: str,
) -> Pass:
    """Evaluate a snapshot. No requests, no state but what is passed in and out."""
    began = time.perf_counter()
    resolution = resolve(evaluate(snapshot, settings), snapshot, memory, now, settings)
    records = overlay(records_of(snapshot), written)
    plan = plan_events(resolution.report, records, settings, instance)
    waits = [wait for wait in (resolution.wake_in, plan.next_in) if wait is not None]
    seconds = time.perf_counter() - began
    return Pass(resolution.report, resolution.memory, plan, min(waits, default=None), seconds)

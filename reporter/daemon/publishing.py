"""Where the result of a pass goes."""

import asyncio
from dataclasses import dataclass, field

from reporter.daemon.evidence import EvidenceTask
from reporter.daemon.gate import WriteGate
from reporter.daemon.hand_over import HandOver
from reporter.daemon.live_page import LivePage
from reporter.daemon.logs import ChangeLog
from reporter.daemon.one_pass import Pass
from reporter.daemon.state import DaemonState
from reporter.daemon.writers import Writers
from reporter.sinks.own_metrics import Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Hands the result of each pass to everything that shows it, and to the writers."""

    state: DaemonState
    page: LivePage
    metrics: Metrics
    gate: WriteGate
    writers: Writers
    hand_over: HandOver
    evidence: EvidenceTask
    changes: ChangeLog = field(default_factory=ChangeLog)

    async def publish(self, done: Pass) -> None:
        """Have written what a pass planned, and show it.

        With a thousand faults that are new each of the three takes milliseconds, so the loop goes on in between.
        """
        self.state.passed(done)
        self.metrics.passed(done.seconds, done.report.now.timestamp())
        self.hand_over.passed(done)
        self.evidence.passed(done.wanted, done.crashes)
        if self.gate.outdated:
            # A plan replaces only what it speaks of; nothing else from before a pause may stay.
            self.writers.drop()
        self.gate.planned()
        self.writers.offer(done)
        await asyncio.sleep(0)
        self.page.passed(done.report, done.records)
        await asyncio.sleep(0)
        self.changes.note(done.report)

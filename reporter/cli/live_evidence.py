"""What explains the faults of a live cluster, read once for a command that looks once, or beside it."""

import argparse
import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from itertools import islice
from typing import Final

from reporter.cli.configure import ProgramSettings
from reporter.cli.one_look import evaluate_look, live_look
from reporter.daemon.evidence import EvidenceReader, EvidenceTask, RequestPace, WantedRead, steps
from reporter.diagnosis.signatures import signatures_with
from reporter.diagnosis.wanted_evidence import wanted_evidence
from reporter.errors import UsageError
from reporter.kube.errors import KubeError
from reporter.kube.live import LiveCluster
from reporter.snapshot.snapshot import Learned, Snapshot

MOST: Final = 200
"""Most that is read for one report: what hits most models comes first."""

SECONDS: Final = 20.0
"""How long somebody waits for it; what has not come by then is left out."""

_AT_ONCE: Final = 4


async def with_evidence(
    cluster: LiveCluster,
    snapshot: Snapshot,
    *,
    arguments: argparse.Namespace,
    settings: ProgramSettings,
) -> Snapshot:
    """Return a snapshot with what others say of what is at fault, and what logs say."""
    try:
        look = live_look(snapshot, arguments, settings)
        report = await asyncio.to_thread(evaluate_look, look, settings)
    except UsageError:
        return snapshot  # it is said where the report is made
    wanted = wanted_evidence(report, snapshot)
    learned = Learned()
    slots = asyncio.Semaphore(_AT_ONCE)
    reader = EvidenceReader(
        cluster.client,
        learned,
        signatures_with(settings.log_signatures),
        cluster.served_version,
        _at_once,
    )

    async def read(step: WantedRead) -> None:
        async with slots:
            with suppress(KubeError):
                await reader.take(step, wanted)

    only = arguments.namespace or ""
    chosen = (each for each in steps(wanted, logs=True) if not only or _is_in(each, only))
    reading = [asyncio.create_task(read(each)) for each in islice(chosen, MOST)]
    if reading:
        _, late = await asyncio.wait(reading, timeout=SECONDS)
        for task in late:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
    return learned.joined(snapshot)


@asynccontextmanager
async def evidence_of(
    cluster: LiveCluster, settings: ProgramSettings, changed: Callable[[], None]
) -> AsyncIterator[EvidenceTask]:
    """Read what explains faults beside a command that goes on looking, at the pace of a daemon."""
    learned = Learned()
    signatures = signatures_with(settings.log_signatures)
    reader = EvidenceReader(
        cluster.client, learned, signatures, cluster.served_version, RequestPace().turn
    )
    task = EvidenceTask(reader, learned, leading=lambda: True, changed=changed, logs=True)
    running = asyncio.create_task(task.run())
    try:
        yield task
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def _at_once() -> None:
    """Let a request begin: there are few, and somebody waits."""


def _is_in(step: WantedRead, namespace: str) -> bool:
    return namespace in {step.events, step.log.namespace if step.log else ""}

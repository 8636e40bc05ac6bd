"""The daemon compares itself with a pass from nothing, and corrects itself."""

import asyncio
from dataclasses import replace
from pathlib import Path

import msgspec
from structlog.testing import capture_logs

from reporter.catalogue.resources import DEPLOYMENTS
from reporter.daemon.one_pass import Before, RecentWrites
from reporter.daemon.passes import Passed, Passes, SelfCheck
from reporter.metrics.samples.window import NONE
from reporter.snapshot.dump import load_dump
from reporter.snapshot.table import Table
from reporter.stacks import BUILT_IN
from reporter.stacks.settings import FullDaemonSettings
from tests.tables import rows
from tests.unit.probes.building import at

HEALTHY = load_dump([Path(__file__).parents[3] / "examples" / "healthy-stack"], BUILT_IN).snapshot
SETTINGS = FullDaemonSettings(startup_grace_seconds=0)
EPP = "inferencesetEPPNotReady"
EVERY = 600


class Mistaken(Table):
    """A table that misses what changed in it, so that answers are reused that do not hold."""

    def changes(self, _before):
        return ()


class Source:
    """A cluster of which no endpoint picker runs from the second pass on."""

    def __init__(self, table):
        picker = {key: _stopped(each) for key, each in HEALTHY[DEPLOYMENTS].objects.items()}
        broken = replace(HEALTHY, tables={**HEALTHY.tables, DEPLOYMENTS: table(picker)})
        self._snapshots = [HEALTHY, broken]
        self.indexed_again = 0

    def snapshot(self):
        return self._snapshots.pop(0) if len(self._snapshots) > 1 else self._snapshots[0]

    def index_again(self):
        self.indexed_again += 1


class Daemon:
    """Passes that are asked for one by one, and what their checks find."""

    def __init__(self, table, *, due_after=0, **inputs):
        self.source = Source(table)
        self.results = asyncio.Queue()
        self.reports = asyncio.Queue()
        self.time = 0.0
        self.due = asyncio.Event()
        self.check = SelfCheck(
            EVERY, tell=self.results.put_nowait, changed=self.due.set, seconds=lambda: self.time
        )
        self.time = due_after
        given = {
            "settings": SETTINGS, "instance": "a", "now": lambda: at(self.time), "due": self.due,
            "pauses": lambda: 0, "leading": lambda: True, "recent_writes": RecentWrites,
            "samples": lambda _: NONE, "publish": self._publish, "self_check": self.check,
        }  # fmt: skip
        self.passes = Passes(self.source, **given | inputs)

    async def __aenter__(self):
        self._tasks = [
            asyncio.create_task(self.passes.run()),
            asyncio.create_task(self.check.run()),
        ]
        return self

    async def __aexit__(self, *_):
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _publish(self, done):
        self.reports.put_nowait(done.report)

    async def report(self):
        """The reasons of the next pass."""
        return {each.reason for each in (await self.reports.get()).findings}


def _stopped(deployment):
    if not deployment.name.endswith("-epp"):
        return deployment
    spec = msgspec.structs.replace(deployment.spec, replicas=0)
    return msgspec.structs.replace(deployment, spec=spec)


async def test_a_wrong_reused_answer_is_told_and_corrected():
    """It is logged with reason and subject, counted, and the next pass reuses nothing."""
    with capture_logs() as logs:
        async with Daemon(Mistaken) as daemon:
            assert EPP not in await daemon.report()
            daemon.time = EVERY + 1
            daemon.due.set()
            assert EPP not in await daemon.report()
            assert await daemon.results.get() == "different"
            assert EPP in await daemon.report()
    (line,) = [each for each in logs if each["event"] == "self_check_differs"]
    assert any(each.startswith(f"{EPP} inferenceset/chat-models/") for each in line["differences"])
    assert daemon.source.indexed_again == 1


async def test_a_pause_of_the_process_delays_the_correction_and_no_more():
    """The pass that it falls into is dropped; the one after it must not reuse the wrong answer."""
    async with Daemon(Mistaken, pauses=lambda: daemon.source.indexed_again) as daemon:
        await daemon.report()
        daemon.time = EVERY + 1
        daemon.due.set()
        assert EPP not in await daemon.report()
        assert EPP in await daemon.report()


async def test_what_is_reused_rightly_is_no_difference():
    """A pass after a change says the same as one from nothing."""
    async with Daemon(Table) as daemon:
        await daemon.report()
        daemon.time = EVERY + 1
        daemon.due.set()
        assert EPP in await daemon.report()
        assert await daemon.results.get() == "same"
    assert daemon.source.indexed_again == 0


async def test_a_check_that_fails_is_counted_and_the_next_one_takes_place():
    """It must not end the daemon, nor be taken for one that found nothing."""

    def fails(_snapshot, _before):
        raise RuntimeError("odd")

    daemon = Daemon(Table, due_after=EVERY)
    checking = asyncio.create_task(daemon.check.run())
    for _ in range(2):
        daemon.check.passed(Passed(fails, HEALTHY, Before(), None), busy=False)
        assert await daemon.results.get() == "failed"
        await asyncio.sleep(0)
        daemon.time += EVERY
    checking.cancel()


@rows(
    ("late", "busy", "checked"),
    {
        "too early": (-1, False, False),
        "quiet": (0, False, True),
        "busy": (0, True, False),
        "busy for long": (EVERY, True, True),
    },
)
async def test_a_check_waits_for_a_quiet_moment_but_not_for_ever(late, busy, checked):
    """It takes the processor that a pass needs, and must take place under churn too."""
    daemon = Daemon(Table, due_after=EVERY + late)
    found = []

    def ask(_snapshot, _before):
        found.append(True)
        raise RuntimeError("enough")

    daemon.check.passed(Passed(ask, HEALTHY, Before(), None), busy=busy)
    checking = asyncio.create_task(daemon.check.run())
    if checked:
        await daemon.results.get()
    else:
        for _ in range(3):
            await asyncio.sleep(0)
    checking.cancel()
    assert bool(found) is checked

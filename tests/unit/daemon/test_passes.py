"""One pass, when the next is due, and what opens the gate to the first."""

import itertools

import pytest

from reporter.daemon import one_pass
from reporter.daemon.one_pass import Before, RecentWrites, run_pass
from reporter.daemon.passes import SAVED_SECONDS, SHARE, SHORTEST_SECONDS, Allowance, WriteGate
from reporter.snapshot.table import Table
from reporter.stacks.settings import FullDaemonSettings
from tests.unit.daemon.test_self_check import Daemon
from tests.unit.probes.building import at, snapshot_of


@pytest.mark.parametrize(
    ("leads", "asks"),
    [([True, True], [True, False]), ([False, True, True], [True, True, False])],
    ids=["from the start", "after a pass before the Lease was read"],
)
async def test_who_begins_to_lead_asks_for_what_was_handed_on(leads, asks):
    """The elector may read the Lease only after the first pass; who leads already knows better."""
    now_leading = iter(leads)
    asked = []

    def handed(_now):
        asked.append(True)
        return {}

    async with Daemon(Table, leading=lambda: next(now_leading, True), handed=handed) as daemon:
        found = []
        for _ in leads:
            asked.clear()
            daemon.due.set()
            await daemon.report()
            found.append(bool(asked))
    assert found == asks


def starts(times: int, seconds: float, *, quiet: float = 3600.0) -> list[float]:
    """Return when passes of so many seconds begin, after quiet, each as soon as it may."""
    allowance, now = Allowance(), quiet
    found = []
    for _ in range(times):
        found.append(now - quiet)
        now = max(now + seconds, allowance.spend(now, seconds))
    return found


@pytest.mark.parametrize("seconds", [0.005, 0.3, 1.5])
def test_passes_take_a_third_of_the_time_in_the_long_run(seconds: float):
    price = max(SHORTEST_SECONDS, SHARE * seconds)
    found = starts(1000, seconds)
    assert found[-1] - found[-2] == pytest.approx(price)
    assert found[-1] >= 999 * price - max(SAVED_SECONDS, 2 * price) - price


def test_after_quiet_a_burst_does_not_wait():
    """Five passes of 0.2 s cost the five seconds that are saved up."""
    assert starts(5, 0.2) == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8])


def test_a_few_passes_follow_each_other_however_long():
    *followed, next_one = starts(5, 2.0)
    assert followed == pytest.approx([0.0, 2.0, 4.0, 6.0])
    assert next_one > 6.0 + 2.0


def test_a_process_that_has_just_begun_need_not_wait_after_its_first_pass():
    """It may begin to lead, and its first pass takes the longest."""
    *followed, next_one = starts(5, 2.0, quiet=0.0)
    assert followed == pytest.approx([0.0, 2.0, 4.0, 6.0])
    assert next_one > 6.0 + 2.0


def test_a_pass_that_waits_for_the_processor_costs_what_it_used(monkeypatch):
    """Else a process that others starve would slow itself down further."""
    wall, own = itertools.count(0.0, 10.0), itertools.count(5.0, 0.25)
    monkeypatch.setattr(one_pass.time, "perf_counter", lambda: next(wall))
    monkeypatch.setattr(one_pass.time, "thread_time", lambda: next(own))
    settings = FullDaemonSettings()
    done = run_pass(
        snapshot_of(), Before(), RecentWrites(), now=at(0), settings=settings, instance="a"
    )
    assert (done.seconds, done.processor_seconds) == (10.0, 0.25)


def test_only_a_leader_may_write():
    leads = [False]
    gate = WriteGate(lambda: leads[0], lambda: 0)
    gate.planned()
    assert not gate.may_write()
    leads[0] = True
    assert gate.may_write()


def test_after_a_pause_nothing_is_written_before_there_is_a_new_plan():
    """What was planned before a pause of the process may be wrong by now."""
    pauses = [0]
    gate = WriteGate(lambda: True, lambda: pauses[0])
    assert gate.may_write()
    pauses[0] = 1
    assert gate.outdated
    assert not gate.may_write()
    gate.planned()
    assert gate.may_write()

"""What a pass says of itself."""

import itertools

from reporter.daemon import one_pass
from reporter.daemon.one_pass import Before, RecentWrites, run_pass
from reporter.stacks.settings import FullDaemonSettings
from tests.unit.probes.building import at, snapshot_of


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

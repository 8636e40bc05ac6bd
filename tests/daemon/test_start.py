"""What a daemon says first, and when it may say it."""

from functools import partial

import pytest

from lab.sandbox import InjectedFault
from reporter.daemon import main
from reporter.kube.live import LiveCluster
from tests.daemon.replica import passes, until
from tests.daemon.stage import KAITO, READY, key_of


@pytest.mark.quick
async def test_healthy_stack_is_told_ready_once_and_nothing_else(stage, inside):
    """The first pass waits for each kind, so a healthy cluster gets its Readys and no Warning."""
    replica = await inside().start()
    await stage.all_ready()
    await replica.passes()
    assert sorted(map(key_of, stage.events())) == sorted(READY)


@pytest.mark.parametrize("resource", ["inferencesets.kaito.sh", "configmaps", "events"])
async def test_first_pass_waits_for_the_slowest_kind(stage, inside, resource):
    """A kind that is listed late delays the first verdicts and is never called unknown."""
    slow = InjectedFault(action="slow", verbs=("list",), resources=(resource,), seconds=1.0)
    stage.sandbox.faults.add(slow)
    replica = await inside().start()
    await until(lambda: stage.sandbox.faults.open_watches("workspaces.kaito.sh"), "others watch")
    assert (await replica.get("health-probe", "/readyz"))[0] == 503
    assert (await replica.get("report", "/api/v1/report"))[0] == 503
    assert not stage.events()
    await stage.all_ready()
    assert sorted(map(key_of, stage.events())) == sorted(READY)


@pytest.mark.quick
async def test_kind_that_never_answers_is_declared_unknown(stage, inside, monkeypatch):
    """After 30 s the rest is judged; what was not listed yet is nobody's fault."""
    monkeypatch.setattr(main, "LiveCluster", partial(LiveCluster, listed_within=1.0))
    hang = InjectedFault(action="hang", verbs=("list",), resources=("workspaces.kaito.sh",))
    stage.sandbox.faults.add(hang)
    stage.scale_kaito(0)
    replica = await (await inside().start()).ready()
    await stage.told(KAITO)
    report = await replica.report()
    assert {"resource": "workspaces.kaito.sh", "cause": "not listed yet"} in report["unknown"]
    assert [key_of(event) for event in stage.warnings()] == [KAITO]
    assert not [each for each in report["ready"] if each["reason"] == "inferencesetReady"]


async def test_two_replicas_that_start_at_once_say_everything_once(stage, inside):
    stage.scale_kaito(0)
    both = [await inside(name).start() for name in ("replica-a", "replica-b")]
    for replica in both:
        await replica.ready()
    await stage.told(KAITO)
    await until(lambda: len(stage.events()) >= len(READY) - 1, "the others are ready")
    await passes(both)
    assert sorted([await replica.leads() for replica in both]) == [False, True]
    keys = [key_of(event) for event in stage.events()]
    assert len(keys) == len(set(keys))
    assert stage.lease()["leaseTransitions"] == 0

"""Several replicas as processes of their own: who writes, and what a change of leader costs."""

import asyncio
import signal
from collections import Counter
from datetime import datetime, timedelta

import pytest

from lab.sandbox import InjectedFault
from tests.daemon.replica import LONG_LEASE, SHORT_LEASE, Program, Replica, passes, until
from tests.daemon.stage import BBR, KAITO, READY, key_of


async def leader_of(stage, *replicas: Program) -> Program:
    """Wait until one of the replicas holds the Lease and knows it; return it."""

    async def leader() -> Program | None:
        holder = stage.lease().get("holderIdentity", "").partition("_")[0]
        found = next((each for each in replicas if each.name == holder), None)
        return found if found is not None and await found.leads() else None

    return await until(leader, "one of them leads")


def holds(stage, replica: Replica) -> bool:
    """Tell whether the Lease is that of a replica, whichever process of it."""
    return stage.lease()["holderIdentity"].startswith(f"{replica.name}_")


async def two(program, **settings) -> list[Program]:
    """Start two replicas and wait until both know the cluster."""
    both = [program(name, **settings) for name in ("replica-a", "replica-b")]
    await asyncio.gather(*(replica.start() for replica in both))
    await asyncio.gather(*(replica.ready() for replica in both))
    return both


def other(both: list[Program], one: Program) -> Program:
    return next(each for each in both if each is not one)


def counts(stage) -> Counter:
    return Counter(key_of(event) for event in stage.events())


async def test_grace_goes_on_where_the_only_process_is_killed(stage, program):
    """A fault in its grace, of which no object says since when, keeps its start in the next process."""
    one = program("replica-a", **SHORT_LEASE | {"startup_grace_seconds": 300})
    await (await one.start()).ready()
    await stage.all_ready()
    stage.sandbox.delete("deployments.apps", "body-based-router", namespace="kaito-system")

    async def since() -> str:
        found = [each for each in (await one.report())["findings"] if each["reason"] == BBR[0]]
        assert [each["disposition"] for each in found] == ["pending"]
        return found[0]["since"]

    began = await until(since, "the fault is seen")
    await until(
        lambda: "status-reporter.io/pending-since" in stage.lease_annotations(), "handed on"
    )
    await asyncio.sleep(1.5)  # or the second of its start is that of the next process's
    one.send(signal.SIGKILL)
    await one.ended()
    await (await one.start()).ready()

    async def is_the_same() -> bool:
        early, late = map(datetime.fromisoformat, (began, await since()))
        return abs(late - early) <= timedelta(seconds=1)

    await until(is_the_same, "the next process knows since when")


@pytest.mark.quick
async def test_sigterm_hands_the_lease_over(stage, program):
    """The other one need not wait for the lease to expire, and the exit status is 0."""
    both = await two(program, **LONG_LEASE)
    leader = await leader_of(stage, *both)
    await stage.all_ready()
    leader.send(signal.SIGTERM)
    assert await leader.ended() == 0
    standby = other(both, leader)
    assert await leader_of(stage, standby) is standby
    assert leader.lines("lease_released")
    assert leader.lines()[-1]["event"] == "stopped"
    await standby.passes()
    assert counts(stage) == Counter(READY)


@pytest.mark.quick
async def test_standby_writes_nothing_at_all(stage, inside):
    """It lists, watches and looks at the Lease; it sees the same and says nothing."""
    leader = await (await inside("replica-a").start()).ready()
    standby = await (await inside("replica-b").start()).ready()
    stage.scale_kaito(0)
    await stage.told(KAITO)
    await passes([leader, standby])
    assert await leader.leads()
    assert await standby.dispositions() == await leader.dispositions()
    assert await leader.metric("api_requests_total", verb="create") > 0
    for verb in ("create", "update", "patch", "delete"):
        assert await standby.metric("api_requests_total", verb=verb) == 0
    assert await standby.writes() == 0
    assert {event["reportingInstance"] for event in stage.events()} == {"replica-a"}


async def test_without_election_there_is_no_lease(stage, inside):
    """--leader-elect=false writes at once and never touches a Lease."""
    replica = await inside(leader_elect=False).start()
    await stage.all_ready()
    assert stage.lease() == {}
    assert await replica.leads()
    assert await replica.metric("leader") == 1
    assert stage.sandbox.request_log.count(resource="leases.coordination.k8s.io") == 0


@pytest.mark.parametrize("fault", ["hang", "cut"])
async def test_stop_while_the_api_server_does_not_answer(stage, inside, fault):
    """A release that cannot be delivered keeps nobody from ending."""
    replica = await (await inside().start()).ready()
    await stage.all_ready()
    stage.sandbox.faults.add(InjectedFault(action=fault))
    await replica.stop()

"""Two replicas on the real API server: one writes, as the audit log of both shows."""

import signal

from e2e.envtest.audit import Request, requests
from tests.daemon.replica import SHORT_LEASE, until

BBR = ("clusterBBRNotReady", "cluster")


def written(plane, since) -> list[Request]:
    """Writes of Events that replicas made or tried, in the order of their answers."""
    return [
        each
        for each in requests(plane.audit_log, since=since)
        if each.pod and each.writes and each.resource == "events"
    ]


def writers(plane, since) -> list[str]:
    """The replicas that wrote, once for each term."""
    pods = [each.pod for each in written(plane, since) if each.code < 300]
    return [pod for pod, before in zip(pods, ["", *pods], strict=False) if pod != before]


async def both(replica, **settings):
    """Start two replicas, the first of which leads."""
    first = await replica("replica-a", **settings)
    await until(first.leads, "replica-a leads")
    second = await replica("replica-b", **settings)
    await second.ready()
    return first, second


async def test_standby_writes_nothing_and_takes_over_what_a_killed_leader_told(
    stage, replica, plane
):
    """The Event continues: same object, with the leader's count increased."""
    start = plane.audit_log.stat().st_size
    first, second = await both(replica, **SHORT_LEASE)
    await stage.stack.scale("kaito-system", "body-based-router", 0)
    event = await stage.told(*BBR)
    await first.passes(2)
    assert writers(plane, start) == ["replica-a"]

    first.send(signal.SIGKILL)
    (before,) = await stage.events(BBR)
    await until(second.leads, "replica-b leads")

    async def counted_on() -> bool:
        (now,) = await stage.events(BBR)
        return now["count"] > before["count"] and now["metadata"]["uid"] == event["metadata"]["uid"]

    await until(counted_on, "replica-b counts on")
    await stage.stack.install_shared()
    await stage.told(*BBR, state="over")
    assert writers(plane, start) == ["replica-a", "replica-b"]


async def test_leader_that_wakes_after_its_lease_changes_nothing(stage, replica, plane):
    """A paused leader finds another one leading, and continues as standby."""
    start = plane.audit_log.stat().st_size
    first, second = await both(replica, **SHORT_LEASE)
    await stage.told("clusterReady", "cluster", state="over")
    first.send(signal.SIGSTOP)
    await until(second.leads, "replica-b leads")
    await stage.stack.scale("kaito-system", "body-based-router", 0)
    event = await stage.told(*BBR)
    first.send(signal.SIGCONT)

    async def stands_by() -> bool:
        return not await first.leads()

    await until(stands_by, "replica-a stands by")
    await first.passes(3)
    assert writers(plane, start) == ["replica-a", "replica-b"]
    (now,) = await stage.events(BBR)
    assert now["metadata"]["uid"] == event["metadata"]["uid"]

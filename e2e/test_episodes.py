"""Episodes: one Event each, counted, written again when lost, kept by restarts and successors."""

import signal
from datetime import datetime

import pytest

from e2e.envtest.audit import requests
from e2e.envtest.binaries import binaries
from e2e.envtest.commands import kubectl as kubectl_of
from e2e.envtest.control_plane import ControlPlane
from e2e.stack.api import Api
from e2e.stack.stack import Stack
from e2e.stage import Stage
from lab.demo.sample_stack import present
from tests.daemon.replica import SHORT_LEASE, Program, until

BBR = ("clusterBBRNotReady", "cluster")
KAITO = ("clusterKaitoControllerNotReady", "cluster")
READY = ("clusterReady", "cluster")
SINCE = "status-reporter.io/since"


async def scale_router(stage, replicas):
    await stage.stack.scale("kaito-system", "body-based-router", replicas)


async def test_over_leaves_count_and_time_and_a_recurrence_is_a_new_event(stage, replica):
    """One episode is one object: a consumer of creations sees each fault once."""
    await scale_router(stage, 0)
    await replica(resync_seconds=60)
    told = await stage.told(*BBR)
    await stage.mend()
    over = await stage.told(*BBR, state="over")
    for field in ("count", "firstTimestamp", "lastTimestamp", "eventTime", "message"):
        assert over[field] == told[field]

    await scale_router(stage, 0)
    again = await stage.told(*BBR)
    assert again["metadata"]["name"] != over["metadata"]["name"]
    assert again["count"] == 1
    unchanged, _ = await stage.events(BBR)
    assert unchanged == over


@pytest.fixture(name="forgetful")
def _forgetful(tmp_path):
    """A control plane that keeps Events for seconds."""
    flags = ("--event-ttl=3s", "--lease-reuse-duration-seconds=1")
    plane = ControlPlane(binaries(), tmp_path, flags)
    plane.start()
    yield plane
    plane.stop()


async def test_event_that_expires_is_written_anew_under_its_name(forgetful, tmp_path):
    """The API server deletes it while the fault lasts, as it does after an hour."""
    kubeconfig = forgetful.admin.write_kubeconfig(tmp_path / "admin.yaml")
    async with Api(forgetful.admin) as api, Stack(api) as stack:
        await stack.install_shared()
        stage = Stage(api, stack, kubectl_of(forgetful.binaries.kubectl, kubeconfig))
        await scale_router(stage, 0)
        # If refreshed more often than they expire, Events would stay.
        daemon = await Program(kubeconfig, "replica-a", resync_seconds=9).start()
        first = await stage.told(*BBR)

        async def another():
            found = await stage.events(BBR)
            new = [each for each in found if each["metadata"]["uid"] != first["metadata"]["uid"]]
            return new[0] if new else None

        again = await until(another, "the Event has expired and is there again")
        await daemon.stop()
    assert again["metadata"]["name"] == first["metadata"]["name"]
    assert again["count"] == 1


async def ended(daemon):
    """End a replica as a failing node does."""
    daemon.send(signal.SIGKILL)
    await daemon.ended()


async def test_restart_goes_on_with_the_episode(stage, replica):
    """A successor finds the Event, counts on in it, and ends it; Ready is reported once."""
    await scale_router(stage, 0)
    first = await replica("replica-a", **SHORT_LEASE)
    event = await stage.told(*BBR)
    await ended(first)
    (before,) = await stage.events(BBR)
    second = await replica("replica-b", **SHORT_LEASE)

    async def counted_on() -> bool:
        (found,) = await stage.events(BBR)
        return found["count"] > before["count"]

    await until(counted_on, "the successor counts on")
    (after,) = await stage.events(BBR)
    assert after["metadata"]["uid"] == event["metadata"]["uid"]
    assert after["metadata"]["annotations"] == event["metadata"]["annotations"]
    assert after["firstTimestamp"] == event["firstTimestamp"]

    await ended(second)
    await stage.mend()
    third = await replica("replica-c", **SHORT_LEASE)
    await stage.told(*BBR, state="over")
    await stage.told(*READY, state="over")
    await third.passes(2)
    assert len(await stage.events()) == 2, "what ended while nobody looked is over, and Ready told"


async def test_restart_within_a_grace_does_not_begin_it_anew(stage, replica):
    """The condition has the start, so it is reported when it would have been."""
    await stage.stack.image_pull("kaito-system", "kaito-workspace", fails=True)
    first = await replica("replica-a", startup_grace_seconds=12, **SHORT_LEASE)

    async def pending() -> bool:
        return (await first.dispositions()).get(KAITO) == "pending"

    await until(pending, "the fault is pending")
    await ended(first)
    restarted = datetime.fromisoformat(present())
    await replica("replica-b", startup_grace_seconds=12, **SHORT_LEASE)
    event = await stage.told(*KAITO)
    since = datetime.fromisoformat(event["metadata"]["annotations"][SINCE])
    assert since < restarted
    assert (datetime.fromisoformat(event["eventTime"]) - since).total_seconds() >= 12


def writers(plane, since) -> list[str]:
    """The replicas that wrote Events, once for each term."""
    pods = [
        each.pod
        for each in requests(plane.audit_log, since=since)
        if each.pod and each.writes and each.resource == "events" and each.code < 300
    ]
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
    await scale_router(stage, 0)
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
    await scale_router(stage, 0)
    event = await stage.told(*BBR)
    first.send(signal.SIGCONT)

    async def stands_by() -> bool:
        return not await first.leads()

    await until(stands_by, "replica-a stands by")
    await first.passes(3)
    assert writers(plane, start) == ["replica-a", "replica-b"]
    (now,) = await stage.events(BBR)
    assert now["metadata"]["uid"] == event["metadata"]["uid"]

"""Episodes: one Event each, counted, written again when lost, and kept by restarts."""

import signal

from e2e.envtest.commands import kubectl as kubectl_of
from e2e.envtest.control_plane import control_plane
from e2e.stack.api import Api
from e2e.stack.played import PlayedStack
from e2e.stage import Stage
from tests.daemon.replica import SHORT_LEASE, Program, until

BBR = ("clusterBBRNotReady", "cluster")
READY = ("clusterReady", "cluster")


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


async def test_event_that_expires_is_written_anew_under_its_name(tmp_path):
    """The API server, which keeps Events for seconds here, deletes it while the fault lasts."""
    flags = ("--event-ttl=3s", "--lease-reuse-duration-seconds=1")
    with control_plane(tmp_path, *flags) as plane:
        kubeconfig = plane.admin.write_kubeconfig(tmp_path / "admin.yaml")
        async with Api(plane.admin) as api:
            control = kubectl_of(plane.binaries.kubectl, kubeconfig)
            stage = Stage(api, PlayedStack(api), control)
            await stage.stack.install_shared()
            await scale_router(stage, 0)
            # If refreshed more often than they expire, Events would stay.
            daemon = await Program(kubeconfig, "replica-a", resync_seconds=9).start()
            first = await stage.told(*BBR)

            async def another():
                found = await stage.events(BBR)
                return [e for e in found if e["metadata"]["uid"] != first["metadata"]["uid"]]

            (again,) = await until(another, "the Event has expired and is there again")
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

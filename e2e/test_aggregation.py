"""One Event for each episode: counted, written again when it is lost, new for a recurrence."""

import pytest

from e2e.envtest.binaries import binaries
from e2e.envtest.commands import kubectl as kubectl_of
from e2e.envtest.control_plane import ControlPlane
from e2e.stack.api import Api
from e2e.stack.stack import Stack
from e2e.stage import Stage
from tests.daemon.replica import Program, until

BBR = ("clusterBBRNotReady", "cluster")


async def break_router(stage):
    await stage.stack.scale("kaito-system", "body-based-router", 0)


async def test_over_leaves_count_and_time_and_a_recurrence_is_a_new_event(stage, replica):
    """One episode is one object: a consumer of creations sees each fault once."""
    await break_router(stage)
    await replica(resync_seconds=60)
    told = await stage.told(*BBR)
    await stage.mend()
    over = await stage.told(*BBR, state="over")
    for field in ("count", "firstTimestamp", "lastTimestamp", "eventTime", "message"):
        assert over[field] == told[field]

    await break_router(stage)
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
        await break_router(stage)
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

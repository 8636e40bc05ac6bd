"""How an episode ends, and how it continues across a restart of the reporter."""

import signal
from datetime import datetime

from e2e.stack.times import now
from tests.daemon.replica import SHORT_LEASE, until

BBR = ("clusterBBRNotReady", "cluster")
KAITO = ("clusterKaitoControllerNotReady", "cluster")
READY = ("clusterReady", "cluster")
SINCE = "status-reporter.io/since"


async def scale_router(stage, replicas):
    await stage.stack.scale("kaito-system", "body-based-router", replicas)


async def becomes(daemon, key, wanted):
    """Wait until a finding has a disposition."""

    async def has() -> bool:
        return (await daemon.dispositions()).get(key) == wanted

    await until(has, f"{key[0]} is {wanted}")


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
    await becomes(first, KAITO, "pending")
    await ended(first)
    restarted = datetime.fromisoformat(now())
    await replica("replica-b", startup_grace_seconds=12, **SHORT_LEASE)
    event = await stage.told(*KAITO)
    since = datetime.fromisoformat(event["metadata"]["annotations"][SINCE])
    assert since < restarted
    assert (datetime.fromisoformat(event["eventTime"]) - since).total_seconds() >= 12

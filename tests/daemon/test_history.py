"""The story of a fault survives a failover, and says what ended it."""

import asyncio
import json
import signal

from reporter.cli.daemon_report import HISTORY, fetch
from tests.daemon.replica import SHORT_LEASE, until
from tests.daemon.stage import KAITO


async def story(replica):
    """What a replica tells of the last day, by reason."""
    url = f"http://127.0.0.1:{replica.ports['report']}"
    told = json.loads(await asyncio.to_thread(fetch, url, HISTORY))
    by_reason = {each["reason"]: each for each in told["episodes"]}
    assert len(by_reason) == len(told["episodes"])
    return by_reason


async def test_a_standby_tells_the_same_story(stage, program):
    """It has seen the same, so that nothing is lost with the leader."""
    both = [program(name, **SHORT_LEASE) for name in ("replica-a", "replica-b")]
    await asyncio.gather(*(replica.start() for replica in both))
    await asyncio.gather(*(replica.ready() for replica in both))
    await stage.all_ready()
    stage.scale_kaito(0)
    await stage.told(KAITO)
    leader, *_ = [each for each in both if await each.leads()]
    standby = next(each for each in both if each is not leader)
    before = (await story(leader))[KAITO[0]]
    leader.send(signal.SIGKILL)
    await leader.ended()
    await until(standby.leads, "the other one leads")
    stage.scale_kaito(1)
    await stage.told(KAITO, "over")
    after = (await story(standby))[KAITO[0]]
    assert before["ended"] is None
    assert after["ended"] is not None
    for key in ("id", "began", "message", "about"):
        assert after[key] == before[key]
    assert "spec.replicas 0 to 1" in after["endedAfter"]


async def test_after_a_restart_what_events_tell_is_marked(stage, inside):
    """Its end is the last refresh of its Event."""
    replica = await (await inside().start()).ready()
    await stage.all_ready()
    stage.scale_kaito(0)
    await stage.told(KAITO)
    stage.scale_kaito(1)
    await stage.told(KAITO, "over")
    await replica.stop()
    again = await (await inside().start()).ready()
    told = (await story(again))[KAITO[0]]
    assert told["about"]
    assert told["ended"] is not None
    assert "kaito-workspace" in told["message"]

"""The life of an Event: written, repeated, changed, closed, expired, and written again."""

import pytest

from lab.sandbox import InjectedFault
from tests.daemon.replica import passes, until
from tests.daemon.stage import CHAT, GATEWAY, KAITO, READY

KUBE_SYSTEM = {"namespace": "kube-system"}


async def test_refresh_costs_exactly_one_request(stage, inside):
    """While nothing changes the only requests are one patch for each refresh, and the lease."""
    replica = await inside().start()
    await stage.all_ready()
    stage.scale_kaito(0)
    await stage.told(KAITO)
    await replica.passes()
    log = stage.sandbox.request_log
    before, count = log.count(verb="patch", resource="events"), stage.events(KAITO)[0]["count"]
    log.clear()
    await until(lambda: stage.events(KAITO)[0]["count"] >= count + 3, "count rises")
    patches = log.count(verb="patch", resource="events")
    assert before > 0
    assert patches == stage.events(KAITO)[0]["count"] - count
    assert {each.resource for each in log.recent} <= {"events", "leases.coordination.k8s.io", ""}
    assert log.count(resource="events") == patches


async def test_event_that_somebody_deletes_is_written_anew(stage, inside):
    """This also holds right after our own write: its answer does not prove that the Event still exists."""
    await inside(resync_seconds=2).start()
    stage.scale_kaito(0)
    first = await stage.told(KAITO)
    stage.sandbox.delete("events", first["metadata"]["name"], **KUBE_SYSTEM)
    again = await stage.told(KAITO)
    assert again["metadata"]["uid"] != first["metadata"]["uid"]


def set_gateway(stage, message: str) -> None:
    """Break the Gateway with a message, or repair it without one."""
    status, reason = ("False", "AddressNotUsable") if message else ("True", "Programmed")
    says = ("Programmed", status, reason, message)
    stage.cluster.condition("gateways.gateway.networking.k8s.io", CHAT, "chat-models-gw", says=says)


@pytest.mark.quick
async def test_two_writers_make_no_double(stage, inside):
    """Names are derived from the content, so two replicas that both write produce one Event."""
    both = [await inside(name, leader_elect=False).start() for name in ("one", "two")]
    ready = ("modelharnessReady", f"namespace/{CHAT}")
    await stage.all_ready()
    set_gateway(stage, "the Service is gone")
    await stage.told(GATEWAY)
    await passes(both)
    set_gateway(stage, "")
    await stage.told(GATEWAY, "over")
    await until(lambda: len(stage.events(ready)) == 2, "ready again")
    await passes(both)
    assert len(stage.events()) == len(READY) + 2


@pytest.mark.parametrize("answer", ["cut", "hang"])
async def test_event_whose_answer_was_lost_is_not_written_twice(stage, inside, answer):
    """A retry under the same name shows whether the create succeeded."""
    await inside(resync_seconds=60).start()
    await stage.all_ready()
    stage.sandbox.faults.add(
        InjectedFault(action=answer, verbs=("create",), resources=("events",), times=1)
    )
    stage.scale_kaito(0)
    event = await stage.told(KAITO)
    assert event["count"] == 1

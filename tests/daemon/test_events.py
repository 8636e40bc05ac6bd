"""The life of an Event: written, repeated, changed, closed, expired, and written again."""

import time
from datetime import timedelta

import pytest

from lab.sandbox import InjectedFault
from lab.sandbox.access import Rule
from reporter.sinks.events import plan
from tests.daemon.replica import passes, until
from tests.daemon.stage import CHAT, GATEWAY, INFRA, KAITO, READY, key_of, state_of

KUBE_SYSTEM = {"namespace": "kube-system"}


def counted(event) -> tuple[int, str]:
    return event["count"], event["lastTimestamp"]


@pytest.mark.quick
async def test_fault_becomes_an_event_that_is_counted_on(stage, inside):
    """Repeats within an episode raise count and move lastTimestamp, in the same object."""
    await inside().start()
    stage.scale_kaito(0)
    first = await stage.told(KAITO)
    assert first["type"] == "Warning"
    assert first["involvedObject"]["kind"] == "Namespace"
    assert first["related"]["name"] == "kaito-workspace"
    assert first["reportingInstance"] == "replica-a"

    def repeated() -> bool:
        (now,) = stage.events(KAITO)
        return now["count"] >= 3 and now["lastTimestamp"] > first["lastTimestamp"]

    await until(repeated, "count and time rise")
    (last,) = stage.events(KAITO)
    assert last["metadata"]["uid"] == first["metadata"]["uid"]
    assert last["firstTimestamp"] == first["firstTimestamp"]


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


async def test_expired_event_is_written_anew_under_its_name(stage, inside):
    """The API server forgets Events after an hour; what still fires is told again."""
    replica = await inside().start()
    await stage.all_ready()
    stage.scale_kaito(0)
    first = await stage.told(KAITO)
    await replica.passes()
    stage.clock.ahead = 7200.0
    stage.sandbox.expire()
    assert not stage.events()
    again = await stage.told(KAITO)
    assert again["metadata"]["name"] == first["metadata"]["name"]
    assert again["metadata"]["uid"] != first["metadata"]["uid"]
    await replica.passes(3)
    assert [key_of(event) for event in stage.events()] == [KAITO], "no Ready is told again"


async def test_event_that_somebody_deletes_is_written_anew(stage, inside):
    """Also right after our own write, whose answer must not be taken for the Event's presence."""
    await inside(resync_seconds=2).start()
    stage.scale_kaito(0)
    first = await stage.told(KAITO)
    stage.sandbox.delete("events", first["metadata"]["name"], **KUBE_SYSTEM)
    again = await stage.told(KAITO)
    assert again["metadata"]["uid"] != first["metadata"]["uid"]


@pytest.mark.quick
async def test_recurrence_is_a_new_object(stage, inside):
    """After a recovery the same fault is another episode, for those who watch creations."""
    await inside().start()
    await stage.all_ready()
    stage.scale_kaito(0)
    first = await stage.told(KAITO)
    stage.scale_kaito(1)
    await stage.told(KAITO, "over")
    await stage.ready_again()
    stage.scale_kaito(0)
    second = await stage.told(KAITO)
    assert second["metadata"]["name"] != first["metadata"]["name"]
    assert second["count"] == 1
    assert len(stage.events(KAITO)) == 2


async def test_changed_message_is_rewritten_in_place(stage, inside, monkeypatch):
    """The same episode with other words is the same Event."""
    monkeypatch.setattr(plan, "REWRITE_INTERVAL", timedelta(seconds=1))
    await inside(resync_seconds=60).start()
    set_gateway(stage, "the Service has no port 80")
    first = await stage.told(GATEWAY)
    set_gateway(stage, "the Service is gone")
    await until(lambda: "is gone" in stage.events(GATEWAY)[0]["message"], "new words")
    (last,) = stage.events(GATEWAY)
    assert last["metadata"]["uid"] == first["metadata"]["uid"]
    assert last["count"] == 2


def set_gateway(stage, message: str) -> None:
    """Break the Gateway with a message, or repair it without one."""
    stage.cluster.condition(
        "gateways.gateway.networking.k8s.io", CHAT, "chat-models-gw", type_="Programmed",
        status="False" if message else "True",
        reason="AddressNotUsable" if message else "Programmed", message=message,
    )  # fmt: skip


@pytest.mark.quick
async def test_recovery_changes_the_state_label_and_nothing_else(stage, inside):
    """An Event that is over keeps its count and the time it was last seen, by one patch."""
    await inside(resync_seconds=60).start()
    await stage.all_ready()
    stage.scale_kaito(0)
    fired = await stage.told(KAITO)
    stage.sandbox.request_log.clear()
    stage.scale_kaito(1)
    over = await stage.told(KAITO, "over")
    assert counted(over) == counted(fired)
    assert stage.sandbox.request_log.count(verb="patch", resource="events") == 1
    await stage.ready_again()


async def test_unknown_makes_an_event_stale_until_it_is_judged_again(stage, inside):
    """What cannot be read is not refreshed; count and lastTimestamp stay while it is stale."""
    replica = await inside().start()
    await stage.all_ready()
    set_quota(stage)
    fired = await stage.told(INFRA)
    verbs = ("list", "watch")
    stage.sandbox.access.deny(Rule(resources=("workspaces",), verbs=verbs))
    stage.sandbox.faults.end_watches("workspaces.kaito.sh")
    stale = await stage.told(INFRA, "stale")
    (unknown,) = stage.events(("clusterStatusUnknown", "cluster"))
    assert "workspaces.kaito.sh" in unknown["message"]
    assert "watch on workspaces.kaito.sh" in unknown["message"]
    assert (await replica.dispositions())[INFRA] == "firing stale"
    await replica.passes()
    assert counted(stage.events(INFRA)[0]) == counted(stale)
    assert stage.events(INFRA)[0]["metadata"]["name"] == fired["metadata"]["name"]
    stage.sandbox.access.reset()
    await stage.told(INFRA, "firing")
    await stage.told(("clusterStatusUnknown", "cluster"), "over")
    assert len(stage.events(INFRA)) == 1
    assert {key_of(event) for event in stage.warnings()} == {
        INFRA,
        ("clusterStatusUnknown", "cluster"),
    }


def set_quota(stage, status: str = "False") -> None:
    stage.cluster.condition(
        "workspaces.kaito.sh", "code-models", "qwen2-5-coder-7b",
        type_="NodeClaimReady", status=status, message="quota",
        reason="SubscriptionQuotaReached" if status == "False" else "NodeClaimsReady",
    )  # fmt: skip


@pytest.mark.quick
async def test_two_writers_make_no_double(stage, inside):
    """Names are derived from what is told, so replicas that both write tell it once."""
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


async def test_two_writers_that_saw_it_begin_at_different_moments_agree(stage, inside):
    """Where no timestamp says since when, the start on record is taken over by all."""
    both = [await inside(name, leader_elect=False).start() for name in ("one", "two")]
    await stage.all_ready()
    slow = InjectedFault(action="slow", verbs=("create",), resources=("events",), seconds=0.6)
    stage.sandbox.faults.add(slow)
    stage.scale_kaito(0)
    await until(lambda: len(stage.events(KAITO)) == 2, "each has told it")
    await until(lambda: len(stage.events(KAITO, state="over")) == 1, "one gives way")
    await passes(both, 3)
    assert len(stage.events(KAITO, state="firing")) == 1
    found = [each for replica in both for each in (await replica.report())["findings"]]
    assert len({each["since"] for each in found if each["reason"] == KAITO[0]}) == 1


async def test_conflict_is_resolved_by_the_next_plan(stage, inside):
    """Somebody writes the Event between our reading and our writing: 409, and then it goes on."""
    replica = await inside().start()
    stage.scale_kaito(0)
    event = await stage.told(KAITO)
    slow = InjectedFault(action="slow", verbs=("patch",), resources=("events",), seconds=0.3)
    stage.sandbox.faults.add(slow)

    async def disturbed() -> bool:
        note = {"metadata": {"annotations": {"note": str(time.monotonic())}}}
        stage.sandbox.patch("events", event["metadata"]["name"], note, **KUBE_SYSTEM)
        return await replica.writes(outcome="conflict") > 0

    await until(disturbed, "a conflict")
    stage.sandbox.faults.clear()
    count = stage.events(KAITO)[0]["count"]
    await until(lambda: stage.events(KAITO)[0]["count"] > count, "count goes on rising")
    assert len(stage.events(KAITO)) == 1
    assert state_of(stage.events(KAITO)[0]) == "firing"


@pytest.mark.parametrize("answer", ["cut", "hang"])
async def test_event_whose_answer_was_lost_is_not_written_twice(stage, inside, answer):
    """Whether the create landed is found out by trying again under the same name."""
    await inside(resync_seconds=60).start()
    await stage.all_ready()
    stage.sandbox.faults.add(
        InjectedFault(action=answer, verbs=("create",), resources=("events",), times=1)
    )
    stage.scale_kaito(0)
    event = await stage.told(KAITO)
    assert event["count"] == 1

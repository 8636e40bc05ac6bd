"""An API server that is slow, away, refusing or nonsensical: nothing false, and nothing lost."""

import time
from collections import Counter

import pytest
from structlog.testing import capture_logs

from lab.sandbox import InjectedFault
from lab.sandbox.access import Rule
from reporter.daemon import passes as heartbeat
from reporter.sinks import outbox as setbacks
from tests.daemon.replica import until
from tests.daemon.stage import CLUSTER_READY, CODE, INFRA, KAITO, PODS, READY, key_of

UNKNOWN = ("clusterStatusUnknown", "cluster")


def told_once(stage, *warnings: tuple[str, str]) -> bool:
    """Whether each Ready of the healthy stack and these Warnings are there once, and no more."""
    wanted = Counter([*READY, *warnings])
    return Counter(key_of(event) for event in stage.events()) == wanted


@pytest.mark.quick
async def test_expired_watches_are_listed_anew(stage, inside):
    """After a 410 on a watch the kind is listed again and missed changes are reported."""
    replica = await inside().start()
    await stage.all_ready()
    lists = await replica.metric("lists", resource="deployments.apps")
    faults = stage.sandbox.faults
    hold = faults.add(InjectedFault(action="slow", verbs=("watch",), seconds=0.3))
    faults.end_watches()
    stage.scale_kaito(0)
    faults.compact()
    faults.remove(hold)
    await stage.told(KAITO)

    async def listed() -> bool:
        return await replica.metric("lists", resource="deployments.apps") > lists

    # The watch that ends may still have brought the change.
    await until(listed, "another list")
    await replica.passes()
    assert told_once(stage, KAITO)


async def test_throttled_writes_come_later_and_all_of_them(stage, inside):
    """429 with Retry-After: the API server is left alone for that long, and no Event is lost."""
    throttle = InjectedFault(
        action="throttle", verbs=("create", "patch"), resources=("events",), seconds=1
    )
    number = stage.sandbox.faults.add(throttle)
    stage.scale_kaito(0)
    replica = await inside().start()
    log = stage.sandbox.request_log
    await until(lambda: log.count(resource="events", code=429) >= 2, "two refusals")
    waiting = await replica.metric("events_waiting")
    refusals = log.count(resource="events", code=429)
    assert waiting == len(READY)
    assert refusals <= 3, "one try for each Retry-After, not one for each Event"
    stage.sandbox.faults.remove(number)
    await stage.told(KAITO)
    without = READY - {CLUSTER_READY}
    await until(lambda: {key_of(event) for event in stage.events()} >= without, "the others")
    assert Counter(map(key_of, stage.events())) == Counter([*without, KAITO])


@pytest.mark.quick
async def test_connections_that_are_cut_lose_nothing(stage, inside):
    """The next list shows what happened in the meantime."""
    replica = await inside().start()
    await stage.all_ready()
    stage.scale_kaito(0)
    assert stage.sandbox.faults.cut_watches() > 10
    await stage.told(KAITO)
    stage.sandbox.faults.cut_watches()
    stage.scale_kaito(1)
    await stage.told(KAITO, "over")
    await stage.ready_again()
    await replica.passes()
    assert Counter(map(key_of, stage.events())) == Counter([*READY, KAITO, CLUSTER_READY])


@pytest.mark.quick
async def test_api_server_that_restarts_is_found_again(stage, inside):
    """Nothing is decided while it is away; later each change is reported once."""
    replica = await inside().start()
    await stage.all_ready()
    await stage.down()
    await replica.passes()
    assert await replica.dispositions() == {}
    assert not (await replica.report())["unknown"]
    stage.scale_kaito(0)
    await stage.up()
    await stage.told(KAITO)
    await replica.passes()
    assert told_once(stage, KAITO)


@pytest.mark.quick
async def test_right_that_is_withdrawn_is_named_and_blinds_nothing_else(stage, inside):
    """Pods cannot be read: no pod is at fault, no subject recovers, other faults are still reported."""
    replica = await inside().start()
    await stage.all_ready()
    stage.cluster.image_pull("search-models", "mistral-7b", fails=True)
    await stage.told(PODS)
    stage.sandbox.access.deny(Rule(resources=("pods",), verbs=("list", "watch")))
    stage.sandbox.faults.cut_watches("pods")
    event = await stage.told(UNKNOWN)
    assert "list, watch on pods" in event["message"]
    await stage.told(PODS, "stale")
    stage.scale_kaito(0)
    await stage.told(KAITO)
    assert {"resource": "pods", "cause": "forbidden"} in (await replica.report())["unknown"]
    stage.scale_kaito(1)
    await stage.told(KAITO, "over")
    stage.sandbox.access.reset()
    await stage.told(UNKNOWN, "over")
    await stage.told(PODS)
    await replica.passes()
    assert Counter(key_of(event) for event in stage.warnings()) == Counter([PODS, UNKNOWN, KAITO])


async def test_events_that_may_not_be_written_are_said_elsewhere(stage, inside, monkeypatch):
    """Refused Events show in the metrics; once allowed they are written."""
    monkeypatch.setattr(setbacks, "DOUBTED_SECONDS", 0.5)
    # One that is refused again before the others are is left alone for so long.
    monkeypatch.setattr(setbacks, "REFUSED_SECONDS", 2.0)
    stage.sandbox.access.deny(Rule(resources=("events",), verbs=("create", "patch")))
    stage.scale_kaito(0)

    async def refused() -> bool:
        return await replica.writes(outcome="refused") >= len(READY)

    with capture_logs() as lines:
        replica = await inside().start()
        await until(refused, "each Event is refused")
    said = [line for line in lines if line["event"] == "event_refused"]
    assert said[0]["log_level"] == "error"
    assert "events" in said[0]["error"]
    assert (await replica.dispositions())[KAITO] == "firing"
    assert (await replica.get("health-probe", "/healthz"))[0] == 200
    stage.sandbox.access.reset()
    await stage.told(KAITO)


async def test_events_that_may_not_be_read_are_written_once(stage, inside):
    """Without its own Events the reporter still reports, and names the missing right."""
    stage.sandbox.access.deny(Rule(resources=("events",), verbs=("list", "watch")))
    stage.scale_kaito(0)
    replica = await inside().start()
    await stage.told(KAITO)
    event = await stage.told(UNKNOWN)
    assert "list, watch on events in kube-system" in event["message"]
    await replica.passes()
    assert Counter(key_of(event) for event in stage.events()) == Counter([KAITO, UNKNOWN])


async def test_pause_of_the_process_lets_no_old_data_decide(stage, inside, monkeypatch):
    """A grace that ended during a pause fires only if the fault is still there after it."""
    monkeypatch.setattr(heartbeat, "PAUSE_SECONDS", 0.5)
    replica = await inside(startup_grace_seconds=5, leader_elect=False).start()
    await stage.all_ready()
    await replica.passes()
    stage.scale_kaito(0)

    async def pending() -> bool:
        return (await replica.dispositions()).get(KAITO) == "pending"

    await until(pending, "it is in grace")
    stage.sandbox.faults.add(InjectedFault(action="silent"))
    stage.scale_kaito(1)
    stage.sandbox.faults.add(InjectedFault(action="slow", verbs=("list",), seconds=0.5))
    lists = await replica.metric("lists", resource="deployments.apps")
    time.sleep(5.5)  # noqa: ASYNC251 - the event loop must not run: that is the pause

    async def listed_anew() -> bool:
        return await replica.metric("lists", resource="deployments.apps") > lists

    await until(listed_anew, "it is listed again")

    async def over() -> bool:
        return KAITO not in await replica.dispositions()

    await until(over, "what the list shows is known")
    assert told_once(stage)


@pytest.mark.quick
async def test_malformed_objects_are_left_out_and_their_neighbours_judged(stage, inside):
    """An object whose list has the wrong type hides nothing else; it is named and counted."""
    broken = {
        "apiVersion": "kaito.sh/v1beta1",
        "kind": "Workspace",
        "metadata": {"name": "broken", "namespace": CODE},
        "status": {"conditions": "none"},
    }
    stage.sandbox.load([broken])
    no = ("NodeClaimReady", "False", "SubscriptionQuotaReached", "quota")
    stage.cluster.condition("workspaces.kaito.sh", CODE, "qwen2-5-coder-7b", says=no)
    replica = await (await inside().start()).ready()
    await stage.told(INFRA)
    (skipped,) = (await replica.report())["skipped"]
    assert (skipped["resource"], skipped["name"]) == ("workspaces.kaito.sh", "broken")
    assert "status.conditions" in skipped["cause"]
    assert await replica.metric("objects_skipped", resource="workspaces.kaito.sh") == 1
    assert [key_of(event) for event in stage.warnings()] == [INFRA]


@pytest.mark.parametrize("fault", ["cut", "error", "html", "hang"])
async def test_start_in_the_middle_of_trouble(stage, inside, fault):
    number = stage.sandbox.faults.add(InjectedFault(action=fault))
    replica = await inside().start()

    async def waits() -> bool:
        failures = await replica.metric("api_requests_total", code="error")
        return failures > 5 or stage.sandbox.request_log.count() > 5 or fault == "hang"

    await until(waits, "it has tried")
    assert (await replica.get("health-probe", "/readyz"))[0] == 503
    assert (await replica.get("health-probe", "/healthz"))[0] == 200
    stage.sandbox.faults.remove(number)
    if fault == "hang":
        await stage.down()
        await stage.up()
    await stage.all_ready()
    assert told_once(stage)

"""The daemon mirrors our Events on workload objects in the sandbox."""

import signal
from collections import Counter

import pytest

from lab.sandbox import InjectedFault
from reporter.sinks.mirror import writer
from reporter.sinks.mirror import writer as refusals
from tests.daemon.replica import SHORT_LEASE, until
from tests.daemon.stage import CODE, INFRA, PODS, READY, SEARCH

MIRRORING = {"mirror_to_workload": True}
LABEL = "status-reporter.io/mirror"
PULL = "inferencesetModelPodsNotReady"
MODELS = {subject.partition("/")[2] for _, subject in READY if subject.startswith("inferenceset/")}


def mirrors(stage, reason="", *, state="", namespace=None):
    """Return the mirrors, of a reason or in a state, or all."""
    return [
        event
        for event in stage.sandbox.list("events", namespace=namespace)
        if LABEL in (event["metadata"].get("labels") or {})
        and reason in ("", event["reason"])
        and state in ("", event["metadata"]["labels"][LABEL])
    ]


def models(events):
    """Return the objects that mirrors are on, as `<namespace>/<name>`."""
    return [f"{e['involvedObject']['namespace']}/{e['involvedObject']['name']}" for e in events]


def writes(stage):
    """Return how many requests wrote, or tried to write, an Event in a workload namespace."""
    return sum(
        each.resource == "events" and each.verb in ("create", "patch", "update")
        for each in stage.sandbox.request_log.recent
        if each.namespace != "kube-system"
    )


async def mirrored(stage, reason, state="firing"):
    """Wait for a mirror; there must be only one of the reason."""
    (found,) = await until(lambda: mirrors(stage, reason, state=state), f"{reason} is mirrored")
    assert len(mirrors(stage, reason)) == 1
    return found


async def all_mirrored(stage):
    await until(lambda: set(models(mirrors(stage))) >= MODELS, "each model's Ready is mirrored")


def fail_pull(stage, *, fails=True):
    stage.cluster.image_pull(SEARCH, "mistral-7b", fails=fails)


@pytest.mark.quick
async def test_an_event_about_a_model_is_told_on_the_model(stage, inside):
    await inside(**MIRRORING).start()
    await all_mirrored(stage)
    fail_pull(stage)
    event = await stage.told(PODS)
    mirror = await mirrored(stage, PULL)
    model = stage.sandbox.get("inferencesets.kaito.sh", "mistral-7b", namespace=SEARCH)
    assert mirror["involvedObject"]["uid"] == model["metadata"]["uid"]
    assert mirror["metadata"]["namespace"] == SEARCH
    same = ("type", "reason", "message", "source", "reportingComponent", "eventTime")
    assert [mirror[each] for each in same] == [event[each] for each in same]
    fail_pull(stage, fails=False)
    await stage.told(PODS, "over")
    await mirrored(stage, PULL, "over")
    await until(lambda: Counter(models(mirrors(stage)))[f"{SEARCH}/mistral-7b"] == 3, "ready again")


@pytest.mark.quick
async def test_off_writes_nothing_where_workloads_are(stage, inside):
    replica = await inside().start()
    fail_pull(stage)
    await stage.told(PODS)
    await replica.passes(3)
    assert mirrors(stage) == []
    assert writes(stage) == 0
    assert await replica.metric("mirror_writes_total") == 0


@pytest.mark.parametrize("closed", ["while nobody leads", "by the next leader"])
async def test_a_failover_doubles_no_mirror_and_leaves_none_open(stage, program, closed):
    """The next leader applies each mirror once and reads none, as other writers may have changed them."""
    leader = await program("replica-a", **MIRRORING, **SHORT_LEASE).start()
    await all_mirrored(stage)
    fail_pull(stage)
    mirror = await mirrored(stage, PULL)
    leader.send(signal.SIGKILL)
    await leader.ended()
    if closed == "while nobody leads":
        # As a leader leaves it that ends between the two writes.
        (event,) = stage.events(PODS)
        over = {"metadata": {"labels": {"status-reporter.io/state": "over"}}}
        stage.sandbox.patch("events", event["metadata"]["name"], over, namespace="kube-system")
    fail_pull(stage, fails=False)
    before = writes(stage)
    following = await program("replica-b", **MIRRORING, **SHORT_LEASE).start()
    await until(following.leads, "the next one leads")
    closing = await mirrored(stage, PULL, "over")
    assert closing["metadata"]["uid"] == mirror["metadata"]["uid"]
    await until(lambda: Counter(models(mirrors(stage)))[f"{SEARCH}/mistral-7b"] == 3, "ready again")
    await following.passes(3)
    # Each Ready of before once, the one of now, and the end of the Warning, perhaps after it was applied.
    assert len(MODELS) + 2 <= writes(stage) - before <= len(MODELS) + 3
    reads = [
        each
        for each in stage.sandbox.request_log.recent
        if each.resource == "events" and each.verb in ("get", "watch")
    ]
    assert {each.namespace for each in reads} <= {"kube-system"}


@pytest.fixture(name="_quick")
def _quick(monkeypatch):
    monkeypatch.setattr(refusals, "FIRST_SECONDS", 0.2)
    monkeypatch.setattr(refusals, "LONGER", 1)


async def test_events_are_not_delayed_by_mirrors_that_hang(stage, inside, monkeypatch):
    hang = InjectedFault(action="hang", resources=("events",), namespaces=(SEARCH,))
    stage.sandbox.faults.add(hang)
    await inside(**MIRRORING).start()
    await stage.all_ready()
    no = ("NodeClaimReady", "False", "SubscriptionQuotaReached", "quota")
    stage.cluster.condition("workspaces.kaito.sh", CODE, "qwen2-5-coder-7b", says=no)
    await stage.told(INFRA)
    monkeypatch.setattr(writer, "YIELD_SECONDS", 0.01)
    await mirrored(stage, INFRA[0])

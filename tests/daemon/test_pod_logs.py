"""Logs and Events of others, read by the real daemon where something is at fault."""

import json

import pytest

from lab.demo.story import SEARCH
from lab.sandbox.faults import InjectedFault
from tests.daemon.replica import until
from tests.daemon.stage import PODS

LOG = (
    "INFO loading weights\n"
    "INFO using token hf_abcdefghijklmnopqrstuvwxyz123456\n"
    "\x1b[31mtorch.OutOfMemoryError: CUDA out of memory\x1b[0m\n"
)


def crash(stage) -> str:
    """Let the container of a model's pod end again and again; return the pod's name."""
    (pod,) = (
        each["metadata"]["name"]
        for each in stage.sandbox.list("pods", namespace=SEARCH)
        if each["metadata"]["name"].startswith("mistral-7b") and "epp" not in str(each)
    )
    container = {
        "name": "vllm",
        "ready": False,
        "restartCount": 4,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
        "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}},
    }
    status = {
        "containerStatuses": [container],
        "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}],
    }
    stage.sandbox.patch("pods", pod, {"status": status}, namespace=SEARCH, subresource="status")
    return pod


def asked(stage) -> int:
    return stage.sandbox.request_log.count(verb="get", resource="pods")


async def lines_of(replica, key) -> list[str]:
    _, text = await replica.get("report", "/api/v1/report")
    (finding,) = [each for each in json.loads(text)["findings"] if each["reason"] == key[0]]
    return finding.get("lastLines", [])


@pytest.mark.quick
async def test_the_last_lines_are_read_once_and_shown(stage, inside):
    """They are clean, in the report and on the page, and in no Event."""
    replica = await inside(pod_logs=True).start()
    pod = crash(stage)
    stage.sandbox.container_logs.write(SEARCH, pod, "vllm", text=LOG, previous=True)
    event = await stage.told(PODS)
    lines = await until(lambda: lines_of(replica, PODS), "the last lines")
    assert lines == [
        "INFO loading weights",
        "INFO using token <redacted>",
        "torch.OutOfMemoryError: CUDA out of memory",
    ]
    await replica.passes()
    assert asked(stage) == 1
    assert "OutOfMemoryError" not in event["message"]
    assert all("OutOfMemoryError" not in json.dumps(each) for each in stage.events())
    _, text = await replica.get("report", "/")
    assert "torch.OutOfMemoryError" in text


async def test_without_the_switch_no_log_is_asked_for(stage, inside):
    """It is off by default, and so is the right to read logs."""
    replica = await inside().start()
    pod = crash(stage)
    stage.sandbox.container_logs.write(SEARCH, pod, "vllm", text=LOG, previous=True)
    await stage.told(PODS)
    await replica.passes()
    assert asked(stage) == 0
    assert await lines_of(replica, PODS) == []


@pytest.mark.parametrize("forbidden", [True, False])
async def test_a_log_that_is_refused_is_not_asked_for_again(stage, inside, forbidden):
    """Without the right, or where the kubelet has it no more, the report goes without."""
    if forbidden:
        stage.sandbox.faults.add(
            InjectedFault(action="forbidden", verbs=("get",), resources=("pods",))
        )
    replica = await inside(pod_logs=True).start()
    crash(stage)
    await stage.told(PODS)
    await until(lambda: asked(stage), "the log is asked for")
    await replica.passes()
    assert asked(stage) == 1
    assert await lines_of(replica, PODS) == []


CAUSE = "weights and activations leave no room for the KV cache"
NO_ROOM = "RuntimeError: No available memory for the cache blocks\n"


def lists(stage, namespace) -> int:
    """How often the Events of a namespace were listed."""
    path = f"/namespaces/{namespace}/events"
    return sum(
        each.verb == "list" and path in each.path for each in stage.sandbox.request_log.recent
    )


async def test_events_and_logs_of_what_is_at_fault(stage, inside):
    """They are read beside the passes, and only in the namespace where something is at fault."""
    await inside(pod_logs=True).start()
    pod = crash(stage)
    stage.sandbox.container_logs.write(SEARCH, pod, "vllm", text=NO_ROOM, previous=True)
    await stage.told(PODS)
    assert await until(lambda: lists(stage, SEARCH), "the Events are listed")

    async def cause_is_told():
        return CAUSE in (await stage.told(PODS))["message"]

    await until(cause_is_told, "the message changes once the cause is known")
    assert json.dumps(stage.events()).count(NO_ROOM.strip()) == 0

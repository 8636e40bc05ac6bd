"""Events of others and logs, read by the real daemon from the API server when something is at fault."""

import json

from lab.demo.story import SEARCH
from tests.daemon.replica import until
from tests.daemon.stage import PODS
from tests.daemon.test_pod_logs import crash

CAUSE = "weights and activations leave no room for the KV cache"
LOG = "RuntimeError: No available memory for the cache blocks\n"


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
    stage.sandbox.container_logs.write(SEARCH, pod, "vllm", text=LOG, previous=True)
    await stage.told(PODS)
    assert await until(lambda: lists(stage, SEARCH), "the Events are listed")

    async def cause_is_told():
        return CAUSE in (await stage.told(PODS))["message"]

    await until(cause_is_told, "the message changes once the cause is known")
    assert json.dumps(stage.events()).count(LOG.strip()) == 0

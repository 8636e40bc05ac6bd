"""Daemons whose file declares components, and what becomes of their Events when it changes."""

import pytest

from tests.daemon.replica import until
from tests.daemon.stage import CLUSTER_READY

STORE = {
    "reason": "clusterVectorStoreNotReady",
    "layer": "cluster",
    "workload": {"kind": "StatefulSet", "name": "qdrant", "namespaces": ["vectors"]},
}
KEY = (STORE["reason"], "cluster")


async def test_a_declaration_that_is_taken_back_is_over(stage, inside):
    """The next daemon does not know the reason; its Event ends, and the cluster is ready."""
    old = await inside(custom_components=[STORE]).start()
    event = await stage.told(KEY)
    assert "StatefulSet vectors/qdrant is down: missing" in event["message"]
    assert not stage.events(CLUSTER_READY)
    await old.stop()

    without = await inside("replica-b").start()
    over = await stage.told(KEY, "over")
    assert over["metadata"]["name"] == event["metadata"]["name"]
    await until(lambda: stage.events(CLUSTER_READY), "the cluster is ready")
    await without.passes()
    assert KEY not in await without.dispositions()
    await without.stop()

    again = await inside("replica-c", custom_components=[STORE]).start()
    await until(lambda: len(stage.events(KEY)) == 2, "it is told again")
    await again.passes()
    assert len(stage.events(KEY, state="firing")) == 1


async def test_a_restart_with_the_same_file_goes_on(stage, inside):
    """One Event, whoever refreshes it."""
    old = await inside(custom_components=[STORE]).start()
    before = await stage.told(KEY)
    await old.stop()
    replica = await inside("replica-b", custom_components=[STORE]).start()
    await until(lambda: stage.events(KEY)[0]["count"] > before["count"] + 1, "count rises")
    await replica.passes()
    (event,) = stage.events(KEY)
    assert event["metadata"]["name"] == before["metadata"]["name"]


@pytest.mark.quick
async def test_what_is_read_for_declarations_is_in_the_metrics(stage, inside):
    """Each watch once, under a name of its own."""
    kind = {
        "group": "kaito.sh", "version": "v1beta1", "plural": "workspaces", "kind": "Workspace",
        "type": "Audited",
    }  # fmt: skip
    rule = {"reason": "clusterWorkspaceNotAudited", "layer": "cluster", "condition": kind}
    replica = await (await inside(custom_components=[STORE, rule]).start()).ready()
    _, text = await replica.get("metrics", "/metrics")
    lines = [each for each in text.splitlines() if each.startswith("status_reporter_objects")]
    assert len(lines) == len({each.rpartition(" ")[0] for each in lines})
    for name in ("statefulsets.apps", "workspaces.kaito.sh", "workspaces.kaito.sh v1beta1"):
        assert len([each for each in lines if f'resource="{name}"' in each]) == 1

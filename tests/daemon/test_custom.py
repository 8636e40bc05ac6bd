"""Daemons whose file declares components, and what becomes of their Events when it changes."""

import pytest

STORE = {
    "reason": "clusterVectorStoreNotReady",
    "layer": "cluster",
    "workload": {"kind": "StatefulSet", "name": "qdrant", "namespaces": ["vectors"]},
}


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

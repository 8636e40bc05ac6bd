"""What holds a write of an Event back that somebody else has changed meanwhile."""

import pytest

from reporter.kube.client import connect
from reporter.kube.errors import Conflict
from reporter.kube.writes import KubeEvents


async def test_a_patch_names_the_version_that_it_changes(sandbox, tmp_path):
    """Against the sandbox's rules, which are those of the API server."""
    sandbox.write_kubeconfig(tmp_path / "config")
    event = {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "kube-system"},
        "involvedObject": {"apiVersion": "v1", "kind": "Namespace", "name": "n"}, "reason": "r",
        "action": "a", "message": "m", "type": "Warning", "count": 1,
        "eventTime": "2026-11-20T12:00:00.000000Z", "firstTimestamp": "2026-11-20T12:00:00Z",
        "lastTimestamp": "2026-11-20T12:00:00Z", "reportingComponent": "c",
        "reportingInstance": "i",
    }  # fmt: skip
    async with await connect(kubeconfig=tmp_path / "config") as client:
        events = KubeEvents(client)
        version = (await events.create_event(event)).metadata.resource_version
        patched = await events.patch_event("e", {"count": 2}, resource_version=version)
        assert (patched.count, patched.metadata.resource_version != version) == (2, True)
        with pytest.raises(Conflict):
            await events.patch_event("e", {"count": 3}, resource_version=version)

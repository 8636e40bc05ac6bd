"""Writes of Events, and the Lease, against the sandbox's rules."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lab.sandbox import Sandbox
from lab.sandbox.access import Rule
from reporter.kube.client import KubeClient, connect
from reporter.kube.errors import AlreadyExists, Conflict, Forbidden, Invalid, NotFound
from reporter.kube.lease import Elector, LeaseTimes
from reporter.kube.writes import KubeEvents

TIME = "2026-11-20T12:00:00.000000Z"


def event(name: str, **parts: object) -> dict[str, object]:
    return {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "kube-system"},
        "involvedObject": {"apiVersion": "v1", "kind": "Namespace", "name": "n"}, "reason": "r",
        "action": "a", "message": "m", "type": "Warning", "count": 1, "eventTime": TIME,
        "firstTimestamp": "2026-11-20T12:00:00Z", "lastTimestamp": "2026-11-20T12:00:00Z",
        "reportingComponent": "c", "reportingInstance": "i", **parts,
    }  # fmt: skip


@pytest.fixture
async def client(sandbox: Sandbox, tmp_path: Path) -> AsyncIterator[KubeClient]:
    sandbox.write_kubeconfig(tmp_path / "config")
    async with await connect(kubeconfig=tmp_path / "config") as opened:
        yield opened


async def test_an_event_is_created_and_patched(client: KubeClient):
    """What is stored comes back, with the version that the next patch needs."""
    events = KubeEvents(client)
    stored = await events.create_event(event("e"))
    assert (stored.name, stored.count, stored.metadata.uid != "") == ("e", 1, True)
    patch = {"count": 2, "metadata": {"labels": {"state": "over"}}}
    version = stored.metadata.resource_version
    patched = await events.patch_event("e", patch, resource_version=version)
    assert patched.count == 2
    assert patched.metadata.label("state") == "over"
    assert patched.metadata.resource_version != version


async def test_refused_writes_are_told_apart(client: KubeClient, sandbox: Sandbox):
    events = KubeEvents(client)
    stored = await events.create_event(event("e"))
    with pytest.raises(AlreadyExists):
        await events.create_event(event("e"))
    with pytest.raises(Invalid):
        await events.create_event(event("long", message="x" * 1025))
    await events.patch_event("e", {"count": 2}, resource_version=stored.metadata.resource_version)
    with pytest.raises(Conflict):
        await events.patch_event(
            "e", {"count": 3}, resource_version=stored.metadata.resource_version
        )
    with pytest.raises(NotFound):
        await events.patch_event("gone", {"count": 3}, resource_version="1")
    sandbox.access.deny(Rule(resources=("events",)))
    with pytest.raises(Forbidden):
        await events.create_event(event("f"))


async def test_the_lease_needs_rights_on_one_name_only(client: KubeClient, sandbox: Sandbox):
    """Get, create and update of the one Lease are enough to lead and to release."""
    rule = Rule(
        api_groups=("coordination.k8s.io",),
        resources=("leases",),
        verbs=("get", "create", "update"),
        resource_names=("lease",),
        namespaces=("kube-system",),
    )
    sandbox.access.allow_only([rule])
    leading = asyncio.Event()
    elector = Elector(client, identity="a", name="lease", times=LeaseTimes(3))
    task = asyncio.create_task(elector.run(started=leading.set))
    async with asyncio.timeout(10):
        await leading.wait()
    assert elector.is_leader()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    stored = sandbox.get("leases.coordination.k8s.io", "lease", namespace="kube-system")
    assert stored["spec"]["holderIdentity"] == ""
    assert stored["spec"]["leaseTransitions"] == 0

"""The faults of the sandbox, over HTTP as its clients meet them."""

import asyncio

import aiohttp
import pytest

from lab.sandbox import InjectedFault, Sandbox
from tests.api_behaviour.api_client import Api, config_map, eventually

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"


async def opened(sandbox: Sandbox) -> None:
    """Wait until a watch is open."""

    async def is_open() -> bool:
        return sandbox.faults.open_watches() > 0

    await eventually(is_open)


@pytest.mark.parametrize(
    ("fault", "status", "content_type"),
    [
        (InjectedFault(action="unknown-path"), 404, "text/plain"),
        (InjectedFault(action="html", code=502), 502, "text/html"),
        (InjectedFault(action="html", code=200), 200, "text/html"),
        (InjectedFault(action="error", code=503), 503, "application/json"),
        (InjectedFault(action="error", code=401), 401, "application/json"),
    ],
    ids=str,
)
async def test_answers(sandbox: Sandbox, api: Api, fault: InjectedFault, *, status, content_type):
    """Faults answer for resources and for discovery."""
    sandbox.faults.add(fault)
    for path in (PODS, "/apis", "/version"):
        answer = await api.get(path)
        assert answer.status == status, path
        assert answer.headers["Content-Type"].split(";")[0] == content_type, path


async def test_hang(sandbox: Sandbox, api: Api):
    """A hung request is accepted and never answered."""
    sandbox.faults.add(InjectedFault(action="hang"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await api.get(PODS)


async def test_cut_watch_after_events(sandbox: Sandbox, api: Api):
    """A watch can be cut after so many chunks."""
    sandbox.create(
        {"apiVersion": "v1", **config_map("a"), "metadata": {"name": "a", "namespace": "default"}}
    )
    sandbox.faults.add(InjectedFault(action="cut", verbs=("watch",), events=1))
    async with api.watch(MAPS) as stream:
        assert await stream.names(1) == [("ADDED", "a")]
        with pytest.raises(aiohttp.ClientError):
            await stream.next_or_end()


async def test_silent_watch(sandbox: Sandbox, api: Api):
    """A silenced watch stays open and says nothing, not even its end."""
    async with api.watch(MAPS, timeoutSeconds=1) as stream:
        await opened(sandbox)
        sandbox.faults.add(InjectedFault(action="silent", resources=("configmaps",)))
        await api.made(MAPS, config_map("a"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await stream.next_or_end()


async def test_history_is_bounded():
    """Old changes are forgotten, and versions before them expire."""
    sandbox = Sandbox(history=5)
    obj = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "default"},
    }
    sandbox.create(obj)
    for count in range(20):
        sandbox.patch("configmaps", "a", {"data": {"x": str(count)}}, namespace="default")
    collection = sandbox.storage.collection("configmaps")
    assert 5 <= len(collection.changes_after(0)) <= 10
    assert collection.compacted > 0


async def test_admin_path(sandbox: Sandbox, api: Api):
    """A test in another process can do all this over HTTP."""
    fault = {"action": "error", "code": 500, "resources": ["pods"]}
    made = await api.post("/_sandbox/faults", fault)
    assert (await api.get(PODS)).status == 500
    (listed,) = (await api.get("/_sandbox/faults")).json
    assert (listed["id"], listed["action"]) == (made.json["id"], "error")
    await api.delete(f"/_sandbox/faults/{made.json['id']}")
    assert (await api.get(PODS)).status == 200
    await api.post("/_sandbox/faults", fault)
    await api.delete("/_sandbox/faults")
    assert (await api.get(PODS)).status == 200
    assert (await api.post("/_sandbox/faults", {"action": "dance"})).status == 400


async def test_admin_watches(sandbox: Sandbox, api: Api):
    """Watches can be counted, ended and cut over HTTP."""
    async with api.watch(MAPS) as stream:
        await opened(sandbox)
        assert (await api.get("/_sandbox/watches", resource="configmaps")).json == {"open": 1}
        assert (await api.post("/_sandbox/watches/end", {})).json == {"ended": 1}
        assert await stream.next_or_end() is None
    version = (await api.get(MAPS)).json["metadata"]["resourceVersion"]
    await api.post("/_sandbox/compact", {})
    async with api.watch(MAPS, resourceVersion=version) as stream:
        assert (await stream.next())["type"] == "ERROR"


async def test_admin_access(sandbox: Sandbox, api: Api):
    """Rights can be set over HTTP."""
    settings = {"grants": [{"resources": ["pods"], "verbs": ["list"]}], "denials": []}
    assert (await api.put("/_sandbox/access", settings)).status == 200
    assert (await api.get(MAPS)).status == 403
    assert (await api.get("/_sandbox/access")).json["grants"][0]["resources"] == ["pods"]
    await api.delete("/_sandbox/access")
    assert (await api.get(MAPS)).status == 200

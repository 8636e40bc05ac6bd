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


async def test_throttle(sandbox: Sandbox, api: Api):
    """Throttled requests get plain text and are told when to come back."""
    sandbox.faults.add(InjectedFault(action="throttle", seconds=3, resources=("pods",)))
    answer = await api.get(PODS)
    assert (answer.status, answer.headers["Retry-After"]) == (429, "3")
    assert answer.text.strip() == "Too many requests, please try again later."
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert (await api.get(MAPS)).status == 200


async def test_times(sandbox: Sandbox, api: Api):
    """A fault with a number of times is over after them."""
    sandbox.faults.add(InjectedFault(action="error", code=500, times=2))
    assert [(await api.get(PODS)).status for _ in range(3)] == [500, 500, 200]
    assert sandbox.faults.active() == {}


async def test_remove(sandbox: Sandbox, api: Api):
    """A fault lasts until it is removed."""
    number = sandbox.faults.add(InjectedFault(action="forbidden", verbs=("list",)))
    answer = await api.get(PODS)
    assert (answer.status, answer.reason) == (403, "Forbidden")
    assert (await api.get(f"{PODS}/a")).status == 404
    sandbox.faults.remove(number)
    assert (await api.get(PODS)).status == 200


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


async def test_slow(sandbox: Sandbox, api: Api):
    """A slow answer comes, later."""
    sandbox.faults.add(InjectedFault(action="slow", seconds=0.1))
    loop = asyncio.get_running_loop()
    start = loop.time()
    assert (await api.get(PODS)).status == 200
    assert loop.time() - start >= 0.1


async def test_cut_request(sandbox: Sandbox, api: Api):
    """A cut request loses its connection."""
    sandbox.faults.add(InjectedFault(action="cut"))
    with pytest.raises(aiohttp.ClientConnectionError):
        await api.get(PODS)
    sandbox.faults.clear()
    assert (await api.get(PODS)).status == 200


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


async def test_cut_open_watches(sandbox: Sandbox, api: Api):
    """Open watches can be dropped in mid-stream, of one resource alone."""
    async with api.watch(MAPS) as stream:
        await opened(sandbox)
        assert sandbox.faults.cut_watches("pods") == 0
        assert sandbox.faults.cut_watches("configmaps") == 1
        with pytest.raises(aiohttp.ClientError):
            await stream.next_or_end()


async def test_end_open_watches(sandbox: Sandbox, api: Api):
    """Open watches can be ended cleanly."""
    async with api.watch(MAPS) as stream:
        await opened(sandbox)
        assert sandbox.faults.end_watches() == 1
        assert await stream.next_or_end() is None


async def test_silent_watch(sandbox: Sandbox, api: Api):
    """A silenced watch stays open and says nothing, not even its end."""
    async with api.watch(MAPS, timeoutSeconds=1) as stream:
        await opened(sandbox)
        sandbox.faults.add(InjectedFault(action="silent", resources=("configmaps",)))
        await api.made(MAPS, config_map("a"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await stream.next_or_end()


async def test_compaction(sandbox: Sandbox, api: Api):
    """After a compaction every known version is too old: for watches, pages and exact lists."""
    for name in "abc":
        await api.made(MAPS, config_map(name))
    page = (await api.get(MAPS, limit=1)).json["metadata"]
    version, token = page["resourceVersion"], page["continue"]
    sandbox.faults.compact()
    async with api.watch(MAPS, resourceVersion=version) as stream:
        assert stream.status == 200
        event = await stream.next()
        assert await stream.next_or_end() is None
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    assert event["object"]["message"].startswith("too old resource version")
    exact = await api.get(MAPS, resourceVersion=version, resourceVersionMatch="Exact")
    assert (exact.status, exact.reason) == (410, "Expired")
    late = await api.get(MAPS, limit=1, continue_=token)
    assert (late.status, late.reason) == (410, "Expired")
    resumed = await api.get(MAPS, continue_=late.json["metadata"]["continue"])
    assert [item["metadata"]["name"] for item in resumed.json["items"]] == ["b", "c"]


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


async def test_request_log(sandbox: Sandbox, api: Api):
    """Requests are counted by method, verb, resource and code."""
    await api.get(PODS)
    await api.get(f"{PODS}/nope")
    async with api.watch(PODS, timeoutSeconds=1):
        await opened(sandbox)
    log = sandbox.request_log
    assert log.count(verb="list", resource="pods") == 1
    assert log.count(resource="pods", code=404) == 1
    found = (await api.get("/_sandbox/requests")).json
    assert {"method": "GET", "verb": "list", "resource": "pods", "code": 200, "count": 1} in found[
        "counters"
    ]
    await api.delete("/_sandbox/requests")
    assert log.count() == 0

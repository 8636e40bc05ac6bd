"""Watches (rows of 3.1, 3.3, 3.4, 3.6 and 3.7)."""

import pytest

from tests.api_behaviour.api_client import (
    CONFIG_MAPS,
    CORE_EVENTS,
    NEW_EVENTS,
    PARTIAL,
    TABLE,
    Api,
    config_map,
    old_event,
)

STREAMING = {
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    "allowWatchBookmarks": "true",
}


@pytest.fixture(name="path")
async def _path(api: Api, namespace: str) -> str:
    path = CONFIG_MAPS.format(namespace)
    await api.made(path, config_map("a"))
    return path


async def version_of(api: Api, path: str) -> str:
    """The version of a list."""
    return (await api.get(path)).json["metadata"]["resourceVersion"]


async def test_changes_after_a_list(api: Api, path: str):
    """A watch from a list's version tells each change once, in order."""
    async with api.watch(path, resourceVersion=await version_of(api, path)) as stream:
        await api.made(path, config_map("b"))
        await api.patch(f"{path}/b", {"data": {"x": "y"}})
        await api.delete(f"{path}/b")
        events = [await stream.next() for _ in range(3)]
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))
    assert events[0]["object"]["kind"] == "ConfigMap"
    assert events[2]["object"]["data"] == {"x": "y"}


async def test_past_changes_are_replayed(api: Api, path: str):
    """What happened between the version and the watch comes first."""
    version = await version_of(api, path)
    await api.made(path, config_map("b"))
    await api.delete(f"{path}/a")
    async with api.watch(path, resourceVersion=version) as stream:
        assert await stream.names(2) == [("ADDED", "b"), ("DELETED", "a")]


@pytest.mark.parametrize("version", ["", "0"])
async def test_state_first(api: Api, path: str, version: str):
    """Without a version, or at 0, the state comes as ADDED."""
    query = {"fieldSelector": "metadata.name!=kube-root-ca.crt"}
    async with api.watch(path, resourceVersion=version, **query) as stream:
        assert await stream.names(1) == [("ADDED", "a")]
        await api.made(path, config_map("b"))
        assert await stream.names(1) == [("ADDED", "b")]


async def test_future_version_waits(api: Api, path: str):
    """A watch from the future says nothing, and ends at its time."""
    async with api.watch(path, resourceVersion=str(2**40), timeoutSeconds=1) as stream:
        assert stream.status == 200
        assert await stream.next_or_end() is None


async def test_server_side_timeout(api: Api, path: str):
    """timeoutSeconds ends the stream cleanly."""
    version = await version_of(api, path)
    async with api.watch(path, resourceVersion=version, timeoutSeconds=1) as stream:
        assert await stream.next_or_end() is None


async def test_watch_in_go_spelling(api: Api, path: str):
    """Booleans may be spelled as Go parses them, as kubernetes_asyncio does."""
    answer = await api.get(path, watch="True", timeoutSeconds=1)
    assert '"type":"ADDED"' in answer.text


async def test_label_selector_moves_objects(api: Api, path: str):
    """An object that starts or stops to match is ADDED or DELETED for the watcher."""
    version = await version_of(api, path)
    async with api.watch(path, resourceVersion=version, labelSelector="on=yes") as stream:
        await api.patch(f"{path}/a", {"metadata": {"labels": {"on": "yes"}}})
        await api.patch(f"{path}/a", {"data": {"x": "1"}})
        await api.patch(f"{path}/a", {"metadata": {"labels": {"on": "no"}}})
        events = [await stream.next() for _ in range(3)]
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert events[2]["object"]["metadata"]["labels"] == {"on": "yes"}
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))


async def test_field_selector_on_a_watch(api: Api, path: str):
    """A watch of one name sees nothing else."""
    version = await version_of(api, path)
    async with api.watch(path, resourceVersion=version, fieldSelector="metadata.name=b") as stream:
        await api.made(path, config_map("c"))
        await api.made(path, config_map("b"))
        assert await stream.names(1) == [("ADDED", "b")]


async def test_no_op_is_no_event(api: Api, path: str):
    """What is not written is not told."""
    async with api.watch(path, resourceVersion=await version_of(api, path)) as stream:
        await api.patch(f"{path}/a", {"metadata": {"labels": None}})
        await api.made(path, config_map("b"))
        assert await stream.names(1) == [("ADDED", "b")]


async def test_last_bookmark(api: Api, path: str):
    """A bookmark before the end tells how far the watch has come."""
    version = await version_of(api, path)
    query = {"allowWatchBookmarks": "true", "timeoutSeconds": 3}
    async with api.watch(path, resourceVersion=version, **query) as stream:
        made = await api.made(path, config_map("b"))
        seen = []
        while event := await stream.next_or_end():
            seen.append(event)
    bookmarks = [event["object"] for event in seen if event["type"] == "BOOKMARK"]
    for bookmark in bookmarks:
        assert (bookmark["kind"], bookmark["apiVersion"]) == ("ConfigMap", "v1")
        assert int(bookmark["metadata"]["resourceVersion"]) >= int(
            made["metadata"]["resourceVersion"]
        )


async def test_streaming_list(api: Api, path: str):
    """sendInitialEvents gives the state, a marked bookmark, and what follows."""
    query = {**STREAMING, "fieldSelector": "metadata.name!=kube-root-ca.crt"}
    async with api.watch(path, **query) as stream:
        if stream.status == 422:
            pytest.skip("the server has streaming lists switched off")
        assert await stream.names(1) == [("ADDED", "a")]
        mark = await stream.next()
        assert mark["type"] == "BOOKMARK"
        assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert mark["object"]["metadata"]["resourceVersion"].isdecimal()
        await api.made(path, config_map("b"))
        assert await stream.names(1) == [("ADDED", "b")]


async def test_streaming_list_of_events(api: Api, namespace: str):
    """Events know the marked bookmark too."""
    path = CORE_EVENTS.format(namespace)
    await api.made(path, old_event("e", namespace))
    async with api.watch(path, **STREAMING) as stream:
        if stream.status == 422:
            pytest.skip("the server has streaming lists switched off")
        assert await stream.names(1) == [("ADDED", "e")]
        assert (await stream.next())["type"] == "BOOKMARK"


@pytest.mark.parametrize(
    "query",
    [
        {"sendInitialEvents": "true"},
        {"sendInitialEvents": "true", "resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "NotOlderThan", "resourceVersion": "1"},
    ],
    ids=str,
)
async def test_contradicting_options(api: Api, path: str, query: dict[str, str]):
    """Parameters that contradict each other are refused before the stream."""
    answer = await api.get(path, watch="true", **query)
    assert (answer.status, answer.reason) == (422, "Invalid")


async def test_table_on_a_watch(api: Api, path: str):
    """Each event carries a Table, only the first one with columns."""
    version = await version_of(api, path)
    async with api.watch(path, accept=TABLE, resourceVersion=version) as stream:
        await api.made(path, config_map("b", x="y"))
        await api.patch(f"{path}/b", {"data": {"z": "1"}})
        first, second = await stream.next(), await stream.next()
    assert [item["object"]["kind"] for item in (first, second)] == ["Table", "Table"]
    assert first["object"]["columnDefinitions"][0]["name"] == "Name"
    assert not second["object"].get("columnDefinitions")
    assert first["object"]["rows"][0]["cells"][:2] == ["b", 1]
    assert second["object"]["rows"][0]["cells"][:2] == ["b", 2]
    assert second["object"]["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


async def test_metadata_on_a_watch(api: Api, path: str):
    """A watch can be of metadata alone."""
    version = await version_of(api, path)
    async with api.watch(path, accept=PARTIAL, resourceVersion=version) as stream:
        await api.made(path, config_map("b", x="y"))
        event = await stream.next()
    assert event["object"]["kind"] == "PartialObjectMetadata"
    assert "data" not in event["object"]


async def test_both_event_views_are_told(api: Api, namespace: str):
    """A write through one view reaches the watchers of the other, in its shape."""
    core, new = CORE_EVENTS.format(namespace), NEW_EVENTS.format(namespace)
    async with api.watch(new, resourceVersion=await version_of(api, core)) as stream:
        await api.made(core, old_event("e", namespace, message="m"))
        event = await stream.next()
    assert (event["object"]["apiVersion"], event["object"]["note"]) == ("events.k8s.io/v1", "m")

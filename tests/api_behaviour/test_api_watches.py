"""Watches (rows of 3.1, 3.3, 3.4, 3.6 and 3.7)."""

import pytest

from tests.api_behaviour.api_client import (
    CONFIG_MAPS,
    Api,
    config_map,
)


@pytest.fixture(name="path")
async def _path(api: Api, namespace: str) -> str:
    path = CONFIG_MAPS.format(namespace)
    await api.made(path, config_map("a"))
    return path


async def version_of(api: Api, path: str) -> str:
    """The version of a list."""
    return (await api.get(path)).json["metadata"]["resourceVersion"]


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

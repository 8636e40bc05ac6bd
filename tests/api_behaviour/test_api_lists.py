"""Lists and objects (rows of 3.1, 3.4, 3.5 and 3.10)."""

import pytest

from tests.api_behaviour.api_client import (
    CONFIG_MAPS,
    Api,
    config_map,
)


@pytest.fixture(name="path")
async def _path(api: Api, namespace: str) -> str:
    path = CONFIG_MAPS.format(namespace)
    for name in "abcde":
        await api.made(path, config_map(name, key=name))
    return path


def names_of(answer) -> list[str]:
    """The names in a list, without what a real cluster puts into every namespace."""
    names = [item["metadata"]["name"] for item in answer.json["items"]]
    return [name for name in names if name != "kube-root-ca.crt"]


async def test_pages(api: Api, path: str):
    """limit and continue walk through a list at one version."""
    answer = await api.get(path, limit=2)
    version, seen = answer.json["metadata"]["resourceVersion"], names_of(answer)
    assert answer.json["metadata"]["remainingItemCount"] >= 3
    await api.made(path, config_map("bb"))
    await api.delete(f"{path}/e")
    while token := answer.json["metadata"].get("continue"):
        answer = await api.get(path, limit=2, continue_=token)
        assert answer.json["metadata"]["resourceVersion"] == version
        seen += names_of(answer)
    assert seen == list("abcde")


async def test_exact_version(api: Api, path: str):
    """resourceVersionMatch=Exact shows the past."""
    version = (await api.get(path)).json["metadata"]["resourceVersion"]
    await api.delete(f"{path}/a")
    await api.patch(f"{path}/b", {"data": {"key": "changed"}})
    then = await api.get(path, resourceVersion=version, resourceVersionMatch="Exact")
    assert names_of(then) == list("abcde")
    values = {item["metadata"]["name"]: item.get("data") for item in then.json["items"]}
    assert values["b"] == {"key": "b"}
    now = await api.get(path, resourceVersion=version, resourceVersionMatch="NotOlderThan")
    assert names_of(now) == list("bcde")


@pytest.mark.parametrize("query", [{"labelSelector": "a=(b"}, {"fieldSelector": "nonsense"}])
@pytest.mark.parametrize("watch", ["true", "false"])
async def test_bad_selectors(api: Api, namespace: str, query: dict[str, str], *, watch: str):
    """A selector that cannot be parsed is a 400, for lists and watches."""
    answer = await api.get(CONFIG_MAPS.format(namespace), watch=watch, **query)
    assert (answer.status, answer.reason) == (400, "BadRequest")


async def test_all_namespaces(api: Api, path: str, namespace: str):
    """Without a namespace in the path a list spans all, and fields can narrow it."""
    answer = await api.get("/api/v1/configmaps", fieldSelector=f"metadata.namespace={namespace}")
    assert names_of(answer) == list("abcde")

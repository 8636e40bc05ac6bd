"""Lists and objects (rows of 3.1, 3.4, 3.5 and 3.10)."""

import pytest

from tests.api_behaviour.api_client import CONFIG_MAPS, Api, config_map


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


async def test_all_namespaces(api: Api, path: str, namespace: str):
    """Without a namespace in the path a list spans all, and fields can narrow it."""
    answer = await api.get("/api/v1/configmaps", fieldSelector=f"metadata.namespace={namespace}")
    assert names_of(answer) == list("abcde")

"""Creating, replacing, patching and deleting objects."""

import pytest

from tests.api_behaviour.api_client import (
    MERGE,
    STRATEGIC,
    Api,
    config_map,
    deployment,
)


@pytest.mark.parametrize(
    ("kind", "patch", "data"),
    [
        (MERGE, {"data": {"x": None, "y": "2"}}, {"y": "2"}),
        (MERGE, {"data": None}, None),
        (STRATEGIC, {"data": {"x": None, "y": "2"}}, {"y": "2"}),
        (STRATEGIC, {"data": {"$patch": "replace", "z": "3"}}, {"z": "3"}),
    ],
)
async def test_patches(api: Api, path: str, kind: str, *, patch, data):
    """Merge and strategic patches do as they say."""
    await api.made(path, config_map("a", x="1"))
    answer = await api.patch(f"{path}/a", patch, kind)
    assert answer.status == 200, answer.text
    assert (data or {}) == (answer.json.get("data") or {})


@pytest.mark.parametrize(
    ("patch", "containers"),
    [
        ([{"name": "main", "image": "example.com/app:2"}], {"main": "example.com/app:2"}),
        ([{"name": "side", "image": "example.com/side:1"}], {"main": "example.com/app:1", "side": "example.com/side:1"}),
        ([{"name": "side", "image": "s"}, {"name": "main", "$patch": "delete"}], {"side": "s"}),
        ([{"$patch": "replace"}, {"name": "only", "image": "o"}], {"only": "o"}),
    ],
)  # fmt: skip
async def test_strategic_lists(api: Api, deployments: str, patch, *, containers):
    """A strategic merge patch knows containers by name."""
    await api.made(deployments, deployment("d"))
    body = {"spec": {"template": {"spec": {"containers": patch}}}}
    answer = await api.patch(f"{deployments}/d", body, STRATEGIC)
    assert answer.status == 200, answer.text
    found = answer.json["spec"]["template"]["spec"]["containers"]
    assert containers == {item["name"]: item["image"] for item in found}


async def test_strategic_order_and_environment(api: Api, deployments: str):
    """Environment merges by name, and the order that the patch wants is kept."""
    main = {"name": "main", "image": "i", "env": [{"name": "A", "value": "1"}]}
    template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [main]}}
    await api.made(deployments, deployment("d", template=template))
    change = {
        "name": "main",
        "$setElementOrder/env": [{"name": "B"}, {"name": "A"}],
        "env": [{"name": "B", "value": "2"}],
    }
    body = {"spec": {"template": {"spec": {"containers": [change]}}}}
    answer = await api.patch(f"{deployments}/d", body, STRATEGIC)
    env = answer.json["spec"]["template"]["spec"]["containers"][0]["env"]
    assert env == [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]

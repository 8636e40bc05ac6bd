"""Server-side apply and who owns what."""

import pytest

from tests.api_behaviour.api_client import CONFIG_MAPS, Api, config_map


@pytest.fixture(name="path")
def _path(namespace: str) -> str:
    return CONFIG_MAPS.format(namespace) + "/a"


def managers(obj) -> dict[tuple[str, str, str], dict]:
    """managedFields by manager, operation and subresource."""
    return {
        (item["manager"], item["operation"], item.get("subresource", "")): item["fieldsV1"]
        for item in obj["metadata"]["managedFields"]
    }


async def test_manager_is_required(api: Api, path: str):
    """An apply without fieldManager is a 422."""
    answer = await api.patch(path, config_map("a"), "application/apply-patch+yaml")
    assert (answer.status, answer.reason) == (422, "Invalid")


async def test_apply_with_a_stale_version(api: Api, path: str):
    """An apply that carries a version is conditional."""
    made = await api.apply(path, config_map("a", x="1"), "m")
    await api.apply(path, config_map("a", x="2"), "m")
    body = config_map("a", x="3")
    body["metadata"]["resourceVersion"] = made.json["metadata"]["resourceVersion"]
    assert (await api.apply(path, body, "m")).status == 409


async def test_apply_refuses_managed_fields(api: Api, path: str):
    """managedFields cannot be applied."""
    made = await api.apply(path, config_map("a"), "m")
    body = config_map("a")
    body["metadata"]["managedFields"] = made.json["metadata"].get("managedFields") or [
        {"manager": "m", "operation": "Apply", "apiVersion": "v1"}
    ]
    assert (await api.apply(path, body, "m")).status == 400


async def apply_status(api: Api, custom, manager: str, **status):
    """Apply a status."""
    body = custom.obj("o", status=status)
    return await api.apply(f"{custom.path}/o/status", body, manager)


async def test_status_coexistence_and_loss(api: Api, custom):
    """Applied status survives apply and merge patches, and vanishes under a PUT of the whole."""
    await api.made(custom.path, custom.obj("o", spec={"size": 1}))
    status = f"{custom.path}/o/status"
    conditions = [{"type": "Ready", "status": "True"}]
    await api.patch(status, {"status": {"phase": "Up", "conditions": conditions}}, fieldManager="a")
    advised = [{"type": "Advised", "status": "True"}]
    applied = await apply_status(api, custom, "b", advice="more", conditions=advised)
    assert applied.status == 200, applied.text
    assert [item["type"] for item in applied.json["status"]["conditions"]] == ["Ready", "Advised"]
    fields = managers(applied.json)["b", "Apply", "status"]["f:status"]
    assert 'k:{"type":"Advised"}' in fields["f:conditions"]

    merged = await api.patch(status, {"status": {"phase": "Down"}}, fieldManager="a")
    assert merged.json["status"]["advice"] == "more"
    put = merged.json
    put["status"] = {"phase": "Up", "conditions": conditions}
    lost = await api.put(status, put, fieldManager="a")
    assert lost.json["status"] == {"phase": "Up", "conditions": conditions}
    assert ("b", "Apply", "status") not in managers(lost.json)


async def test_merge_patch_of_conditions_replaces_them(api: Api, custom):
    """A merge patch with the list loses the other's condition and keeps its other fields."""
    await api.made(custom.path, custom.obj("o"))
    await apply_status(api, custom, "b", advice="more", conditions=[{"type": "Advised"}])
    change = {"status": {"conditions": [{"type": "Ready"}]}}
    answer = await api.patch(f"{custom.path}/o/status", change, fieldManager="a")
    assert [item["type"] for item in answer.json["status"]["conditions"]] == ["Ready"]
    fields = managers(answer.json)["b", "Apply", "status"]
    assert fields == {"f:status": {"f:advice": {}}}

"""Server-side apply and who owns what."""

import pytest

from tests.api_behaviour.api_client import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    STRATEGIC,
    Api,
    config_map,
    deployment,
)


@pytest.fixture(name="path")
def _path(namespace: str) -> str:
    return CONFIG_MAPS.format(namespace) + "/a"


def managers(obj) -> dict[tuple[str, str, str], dict]:
    """managedFields by manager, operation and subresource."""
    return {
        (item["manager"], item["operation"], item.get("subresource", "")): item["fieldsV1"]
        for item in obj["metadata"]["managedFields"]
    }


async def test_conflict(api: Api, path: str):
    """Another value for another's field is a conflict that names manager and field."""
    await api.apply(path, config_map("a", x="1"), "one")
    answer = await api.apply(path, config_map("a", x="2"), "two")
    assert (answer.status, answer.reason) == (409, "Conflict")
    (cause,) = answer.json["details"]["causes"]
    assert (cause["reason"], cause["field"]) == ("FieldManagerConflict", ".data.x")
    assert '"one"' in cause["message"]
    assert answer.json["message"].startswith("Apply failed with 1 conflict: conflict with")


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


async def test_containers_are_told_apart_by_name(api: Api, namespace: str):
    """Two managers can own fields of the same container."""
    path = DEPLOYMENTS.format(namespace)
    await api.made(path, deployment("d"))
    container = {"name": "main", "env": [{"name": "A", "value": "1"}]}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    answer = await api.apply(f"{path}/d", body, "env")
    assert answer.status == 200, answer.text
    (found,) = answer.json["spec"]["template"]["spec"]["containers"]
    assert found["image"] == "example.com/app:1"
    assert found["env"] == [{"name": "A", "value": "1"}]
    container.pop("env")
    answer = await api.apply(f"{path}/d", body, "env")
    (found,) = answer.json["spec"]["template"]["spec"]["containers"]
    assert "env" not in found


async def test_client_side_apply_is_tracked(api: Api, namespace: str):
    """A strategic patch is an Update of its manager, and forcing an apply takes it over."""
    path = DEPLOYMENTS.format(namespace)
    await api.made(path, deployment("d"))
    await api.patch(f"{path}/d", {"spec": {"replicas": 3}}, STRATEGIC, fieldManager="csa")
    body = deployment("d", replicas=4)
    refused = await api.apply(f"{path}/d", body, "ssa")
    assert (refused.status, refused.json["details"]["causes"][0]["field"]) == (
        409,
        ".spec.replicas",
    )
    forced = await api.apply(f"{path}/d", body, "ssa", force="true")
    assert forced.json["spec"]["replicas"] == 4


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


async def test_atomic_lists_have_one_owner(api: Api, custom):
    """A list without a type is owned as a whole."""
    path = f"{custom.path}/o"
    await api.apply(path, custom.obj("o", spec={"tags": ["a"]}), "one")
    answer = await api.apply(path, custom.obj("o", spec={"tags": ["b"]}), "two")
    assert answer.status == 409
    assert answer.json["details"]["causes"][0]["field"] == ".spec.tags"

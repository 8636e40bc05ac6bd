"""Custom kinds that come, change and go (rows of 3.8)."""

import pytest

from tests.api_behaviour.api_client import (
    CRDS,
    STRATEGIC,
    TABLE,
    Api,
    definition,
    eventually,
    unique,
)


async def test_established(api: Api, custom):
    """A definition is accepted and established, with the names it asked for."""
    found = (await api.get(f"{CRDS}/{custom.name}")).json
    conditions = {item["type"]: item["status"] for item in found["status"]["conditions"]}
    assert conditions.items() >= {"Established": "True", "NamesAccepted": "True"}.items()
    assert found["status"]["acceptedNames"]["kind"] == found["spec"]["names"]["kind"]
    assert found["status"]["storedVersions"] == ["v1"]


async def test_name_has_to_fit(api: Api):
    """The name of a definition is its plural and group."""
    body = definition(unique("k").replace("-", ""))
    body["metadata"]["name"] = "other.checks.example.com"
    answer = await api.post(CRDS, body)
    assert (answer.status, answer.json["details"]["causes"][0]["field"]) == (422, "metadata.name")


async def test_objects(api: Api, custom):
    """Objects are made, listed with their type, and counted in generations."""
    made = await api.made(custom.path, custom.obj("o", spec={"size": 1}))
    assert made["metadata"]["generation"] == 1
    found = (await api.get(custom.path)).json
    kind = custom.definition["spec"]["names"]["kind"]
    assert (found["kind"], found["items"][0]["kind"]) == (f"{kind}List", kind)
    changed = await api.patch(f"{custom.path}/o", {"spec": {"size": 2}})
    assert changed.json["metadata"]["generation"] == 2
    status = await api.patch(f"{custom.path}/o/status", {"status": {"phase": "Up"}})
    assert (status.json["metadata"]["generation"], status.json["status"]) == (2, {"phase": "Up"})


async def test_put_needs_a_version(api: Api, custom):
    """Custom objects are not replaced unconditionally."""
    await api.made(custom.path, custom.obj("o"))
    answer = await api.put(f"{custom.path}/o", custom.obj("o", spec={"size": 1}))
    assert (answer.status, answer.reason) == (422, "Invalid")


async def test_unknown_fields_are_pruned(api: Api, custom):
    """What the schema does not know is dropped without a word."""
    made = await api.made(custom.path, custom.obj("o", spec={"size": 1, "color": "red"}))
    assert made["spec"] == {"size": 1}


async def test_unknown_fields_are_refused_if_asked(api: Api, custom):
    """With fieldValidation=Strict an unknown field is a 400."""
    body = custom.obj("o", spec={"size": 1, "color": "red"})
    answer = await api.post(custom.path, body, fieldValidation="Strict")
    assert (answer.status, answer.reason) == (400, "BadRequest")
    assert 'strict decoding error: unknown field "spec.color"' in answer.json["message"]


@pytest.mark.parametrize("spec", [{"size": "big"}, {"tags": "a"}, {"tags": [1]}], ids=str)
async def test_schema_is_enforced(api: Api, custom, spec):
    """What the schema forbids is a 422."""
    answer = await api.post(custom.path, custom.obj("o", spec=spec))
    assert (answer.status, answer.reason) == (422, "Invalid")


async def test_no_strategic_patch(api: Api, custom):
    """Custom kinds do not take strategic merge patches."""
    await api.made(custom.path, custom.obj("o"))
    answer = await api.patch(f"{custom.path}/o", {"spec": {"size": 1}}, STRATEGIC)
    assert (answer.status, answer.reason) == (415, "UnsupportedMediaType")


async def test_default_columns(api: Api, custom):
    """Without columns of its own a kind prints name and age."""
    await api.made(custom.path, custom.obj("o"))
    table = (await api.get(custom.path, accept=TABLE)).json
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Age"]


async def test_printer_columns(api: Api, namespace: str):
    """A kind prints the columns of its definition."""
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {
            "name": "Ready",
            "type": "string",
            "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
            "priority": 1,
        },
    ]
    plural = unique("k").replace("-", "")
    body = definition(plural, additionalPrinterColumns=columns)
    await api.made(CRDS, body)
    path = f"/apis/checks.example.com/v1/namespaces/{namespace}/{plural}"
    await eventually(lambda: api.serves(path))
    obj = {
        "apiVersion": "checks.example.com/v1",
        "kind": body["spec"]["names"]["kind"],
        "metadata": {"name": "o"},
        "spec": {"size": 3},
    }
    await api.made(path, obj)
    status = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    await api.patch(f"{path}/o/status", status)
    table = (await api.get(path, accept=TABLE)).json
    shown = [(item["name"], item["priority"]) for item in table["columnDefinitions"]]
    assert shown == [("Name", 0), ("Size", 0), ("Ready", 1)]
    assert table["rows"][0]["cells"] == ["o", 3, "False"]
    await api.delete(f"{CRDS}/{plural}.checks.example.com")


async def test_deletion(api: Api, custom):
    """Deleting a definition deletes its objects, ends watches cleanly and ends in 404."""
    await api.made(custom.path, custom.obj("o"))
    version = (await api.get(custom.path)).json["metadata"]["resourceVersion"]
    async with api.watch(custom.path, resourceVersion=version) as stream:
        await api.delete(f"{CRDS}/{custom.name}")
        assert await stream.names(1) == [("DELETED", "o")]
        assert await stream.next_or_end() is None

    async def is_gone() -> bool:
        return not await api.serves(custom.path)

    await eventually(is_gone)
    answer = await api.get(custom.path)
    assert answer.text.strip() == "404 page not found"


async def test_change_of_the_definition(api: Api, custom):
    """Changing the schema ends the watches, and older versions are too old from then on."""
    await api.made(custom.path, custom.obj("o"))
    version = (await api.get(custom.path)).json["metadata"]["resourceVersion"]
    color = {"color": {"type": "string"}}
    schema = custom.definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"].update(color)
    versions = custom.definition["spec"]["versions"]
    async with api.watch(custom.path, resourceVersion=version) as stream:
        await api.patch(f"{CRDS}/{custom.name}", {"spec": {"versions": versions}})
        assert await stream.next_or_end() is None

    async def knows_color() -> bool:
        answer = await api.patch(f"{custom.path}/o", {"spec": {"color": "red"}})
        return answer.json["spec"].get("color") == "red"

    await eventually(knows_color)


async def test_versions_are_one_storage(api: Api, namespace: str):
    """The versions of a kind show the same objects under another apiVersion."""
    plural = unique("k").replace("-", "")
    body = definition(plural)
    first = body["spec"]["versions"][0]
    body["spec"]["versions"] = [{**first, "name": "v1beta1", "storage": False}, first]
    await api.made(CRDS, body)
    old = f"/apis/checks.example.com/v1beta1/namespaces/{namespace}/{plural}"
    new = f"/apis/checks.example.com/v1/namespaces/{namespace}/{plural}"
    await eventually(lambda: api.serves(old, new))
    kind = body["spec"]["names"]["kind"]
    obj = {"apiVersion": "checks.example.com/v1beta1", "kind": kind, "metadata": {"name": "o"}}
    made = await api.made(old, obj)
    seen = (await api.get(f"{new}/o")).json
    assert (made["apiVersion"], seen["apiVersion"]) == (
        "checks.example.com/v1beta1",
        "checks.example.com/v1",
    )
    assert made["metadata"]["uid"] == seen["metadata"]["uid"]
    await api.delete(f"{CRDS}/{plural}.checks.example.com")


async def test_discovery_follows(api: Api, custom):
    """A new kind appears in discovery, and goes with its definition."""

    async def listed() -> bool:
        answer = await api.get("/apis/checks.example.com/v1")
        resources = answer.json["resources"] if answer.status == 200 else []
        names = {item["name"] for item in resources}
        return {custom.definition["spec"]["names"]["plural"]} <= names

    async def unlisted() -> bool:
        return not await listed()

    await eventually(listed)
    await api.delete(f"{CRDS}/{custom.name}")
    await eventually(unlisted)

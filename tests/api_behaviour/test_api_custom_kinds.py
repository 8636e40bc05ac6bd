"""Custom kinds that come, change and go (rows of 3.8)."""

from tests.api_behaviour.api_client import (
    CRDS,
    TABLE,
    Api,
    definition,
    eventually,
    unique,
)


async def test_name_has_to_fit(api: Api):
    """The name of a definition is its plural and group."""
    body = definition(unique("k").replace("-", ""))
    body["metadata"]["name"] = "other.checks.example.com"
    answer = await api.post(CRDS, body)
    assert (answer.status, answer.json["details"]["causes"][0]["field"]) == (422, "metadata.name")


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

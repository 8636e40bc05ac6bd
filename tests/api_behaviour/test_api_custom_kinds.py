"""Custom kinds that come, change and go (rows of 3.8)."""

from tests.api_behaviour.api_client import CRDS, TABLE, Api, definition, eventually, unique


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

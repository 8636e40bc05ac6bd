"""Server-side apply of a status whose lists have keys: order, shared entries, missing fields."""

from copy import deepcopy

import pytest

from tests.api_behaviour.api_client import CRDS, Api, definition, eventually, unique


@pytest.fixture(name="custom")
async def _custom(api: Api, namespace: str):
    """A kind whose conditions need a status, as the entries of `roleStatuses` do."""
    plural = unique("k").replace("-", "")
    body = definition(plural)
    schema = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["status"]["properties"]["conditions"]["items"] = {
        "type": "object",
        "required": ["type", "status"],
        "properties": {"type": {"type": "string"}, "status": {"type": "string"}},
    }
    await api.made(CRDS, body)
    path = f"/apis/checks.example.com/v1/namespaces/{namespace}/{plural}"
    await eventually(lambda: api.serves(path))
    kind = body["spec"]["names"]["kind"]
    obj = {"apiVersion": "checks.example.com/v1", "kind": kind, "metadata": {"name": "o"}}
    await api.made(path, obj)
    yield lambda status: (f"{path}/o/status", {**deepcopy(obj), "status": status})
    await api.delete(f"{CRDS}/{plural}.checks.example.com")


def conditions(text: str):
    """`a+ b-` as conditions."""
    return [{"type": each[:-1], "status": each[-1]} for each in text.split()]


def shown(answer) -> str:
    """Conditions as text."""
    assert answer.status == 200, answer.text
    found = (answer.json.get("status") or {}).get("conditions") or []
    return " ".join(each["type"] + each["status"] for each in found)


@pytest.mark.parametrize(
    ("others", "applied", "then", "result"),
    [
        ("", "a+ b+", "b+ a+", "b+ a+"),
        ("", "b+", "a+ b+ c+", "a+ b+ c+"),
        ("", "a+ b+ c+", "c+ a-", "c+ a-"),
        ("x+", "a+", "b+ a+", "x+ b+ a+"),
        ("x+ y+", "a+ b+", "b+ n+ a+", "x+ y+ b+ n+ a+"),
    ],
)
async def test_entries_come_in_the_order_in_which_they_are_applied(
    api: Api, custom, others, *, applied, then, result
):
    """Those of other managers stay where they stood."""
    if others:
        path, body = custom({"conditions": conditions(others)})
        await api.apply(path, body, "others")
    for each in (applied, then):
        path, body = custom({"conditions": conditions(each)})
        answer = await api.apply(path, body, "m", force="true")
    assert shown(answer) == result


async def test_undeclared_fields_are_refused(api: Api, custom):
    """An apply with fields that the schema lacks stores nothing at all."""
    path, body = custom({"phase": "Up", "color": "red", "size": 1})
    answer = await api.apply(path, body, "m", force="true")
    assert answer.status == 500
    named = [
        field
        for field in ("phase", "color", "size")
        if f".status.{field}: field not declared in schema" in answer.json["message"]
    ]
    assert named in (["color"], ["size"])


async def test_put_drops_undeclared_fields(api: Api, custom):
    """A PUT stores the rest; metadata and status are enough for it."""
    path, body = custom({"phase": "Up", "color": "red"})
    found = (await api.get(path)).json
    body["metadata"]["resourceVersion"] = found["metadata"]["resourceVersion"]
    answer = await api.put(path, body)
    assert (answer.status, answer.json["status"]) == (200, {"phase": "Up"})


async def test_entry_that_an_update_owns_too_cannot_be_left_out(api: Api, custom):
    """What is left of it is no entry; once it was removed for all, the apply succeeds."""
    path, body = custom({"conditions": conditions("a+ b+")})
    found = (await api.get(path)).json
    body["metadata"]["resourceVersion"] = found["metadata"]["resourceVersion"]
    assert (await api.put(path, body, fieldManager="m")).status == 200
    path, changed = custom({"conditions": conditions("a- b-")})
    assert shown(await api.apply(path, changed, "m", force="true")) == "a- b-"
    path, fewer = custom({"conditions": conditions("a-")})
    refused = await api.apply(path, fewer, "m", force="true")
    assert (refused.status, refused.reason) == (422, "Invalid")
    removed = await api.patch(path, {"status": {"conditions": None}}, fieldManager="m")
    assert removed.status == 200
    assert shown(await api.apply(path, fewer, "m", force="true")) == "a-"

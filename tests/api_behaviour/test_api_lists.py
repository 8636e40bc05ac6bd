"""Lists and objects (rows of 3.1, 3.4, 3.5 and 3.10)."""

import pytest

from tests.api_behaviour.api_client import (
    CONFIG_MAPS,
    PARTIAL,
    PARTIAL_LIST,
    TABLE,
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


async def test_envelope(api: Api, path: str):
    """A list has a kind, a version of digits, and items without types."""
    found = (await api.get(path)).json
    assert (found["kind"], found["apiVersion"]) == ("ConfigMapList", "v1")
    assert found["metadata"]["resourceVersion"].isdecimal()
    assert {"kind", "apiVersion"}.isdisjoint(found["items"][0])


async def test_system_fields(api: Api, namespace: str):
    """The server fills in uid, creation time, version, namespace and managedFields."""
    made = await api.made(CONFIG_MAPS.format(namespace), config_map("a"))
    metadata = made["metadata"]
    assert metadata["namespace"] == namespace
    assert metadata["resourceVersion"].isdecimal()
    assert metadata["uid"]
    assert metadata["creationTimestamp"].endswith("Z")
    assert (made["apiVersion"], made["kind"]) == ("v1", "ConfigMap")


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


async def test_no_count_with_selectors(api: Api, path: str):
    """How many remain is not told when there are selectors."""
    answer = await api.get(path, limit=2, labelSelector="!none")
    assert answer.json["metadata"]["continue"]
    assert "remainingItemCount" not in answer.json["metadata"]


async def test_bad_continue_token(api: Api, path: str):
    """A token that is none is a 400."""
    answer = await api.get(path, limit=2, continue_="nonsense")
    assert (answer.status, answer.reason) == (400, "BadRequest")


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


async def test_version_zero_knows_no_limit(api: Api, path: str):
    """A list from the cache at version 0 is not cut."""
    answer = await api.get(path, resourceVersion="0", limit=2)
    assert answer.status == 200
    assert "continue" not in answer.json["metadata"]


@pytest.mark.parametrize(
    "query",
    [
        {"resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "NotOlderThan"},
        {"resourceVersionMatch": "Sideways", "resourceVersion": "1"},
        {"resourceVersionMatch": "Exact", "resourceVersion": "0"},
        {"sendInitialEvents": "true"},
    ],
    ids=str,
)
async def test_contradicting_options(api: Api, namespace: str, query: dict[str, str]):
    """Parameters that contradict each other are refused as invalid ListOptions."""
    answer = await api.get(CONFIG_MAPS.format(namespace), **query)
    assert (answer.status, answer.reason) == (422, "Invalid")


@pytest.mark.parametrize("query", [{"labelSelector": "a=(b"}, {"fieldSelector": "nonsense"}])
@pytest.mark.parametrize("watch", ["true", "false"])
async def test_bad_selectors(api: Api, namespace: str, query: dict[str, str], *, watch: str):
    """A selector that cannot be parsed is a 400, for lists and watches."""
    answer = await api.get(CONFIG_MAPS.format(namespace), watch=watch, **query)
    assert (answer.status, answer.reason) == (400, "BadRequest")


async def test_future_version(api: Api, namespace: str):
    """A version that is still to come times out with the hint to try again."""
    path = CONFIG_MAPS.format(namespace)
    answer = await api.get(path, resourceVersion=str(2**40))
    assert (answer.status, answer.reason) == (504, "Timeout")
    assert answer.headers["Retry-After"] == "1"
    assert answer.json["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


async def test_malformed_version(api: Api, namespace: str):
    """A text for a version is refused, with one code or another."""
    answer = await api.get(CONFIG_MAPS.format(namespace), resourceVersion="abc")
    assert answer.status in {400, 422, 500}
    assert answer.json["kind"] == "Status"


@pytest.mark.parametrize("path", ["/apis/apps/v9/deployments", "/api/v1/nopes"])
@pytest.mark.parametrize("watch", ["true", "false"])
async def test_unknown_resources(api: Api, path: str, watch: str):
    """Unknown versions and resources of groups that are built in are a Status that names nothing."""
    answer = await api.get(path, watch=watch)
    assert (answer.status, answer.reason, answer.json["details"]) == (404, "NotFound", {})


@pytest.mark.parametrize("path", ["/apis/nope.example.com/v1/things", "/nope"])
@pytest.mark.parametrize("watch", ["true", "false"])
async def test_unknown_paths(api: Api, path: str, watch: str):
    """Unknown groups, as those of kinds that are not installed, are a plain text."""
    answer = await api.get(path, watch=watch)
    assert (answer.status, answer.text.strip()) == (404, "404 page not found")
    assert answer.headers["Content-Type"].startswith("text/plain")


async def test_unknown_object(api: Api, namespace: str):
    """An object that is not there is a Status that says which."""
    answer = await api.get(CONFIG_MAPS.format(namespace) + "/nope")
    assert answer.json == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'configmaps "nope" not found',
        "reason": "NotFound",
        "details": {"name": "nope", "kind": "configmaps"},
        "code": 404,
    }


async def test_all_namespaces(api: Api, path: str, namespace: str):
    """Without a namespace in the path a list spans all, and fields can narrow it."""
    answer = await api.get("/api/v1/configmaps", fieldSelector=f"metadata.namespace={namespace}")
    assert names_of(answer) == list("abcde")


@pytest.mark.parametrize("operator", ["=", "==", "!="])
async def test_name_selector(api: Api, path: str, operator: str):
    """metadata.name selects on every kind."""
    answer = await api.get(path, fieldSelector=f"metadata.name{operator}c")
    assert (list("abde") if operator == "!=" else ["c"]) == names_of(answer)


async def test_other_fields_are_refused(api: Api, path: str):
    """Fields of kinds that have no selectable ones are a 400."""
    assert (await api.get(path, fieldSelector="data.key=a")).status == 400


async def test_metadata_only(api: Api, path: str):
    """Metadata alone can be asked for, of one object and of lists."""
    one = (await api.get(f"{path}/a", accept=PARTIAL)).json
    assert (one["kind"], one["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    assert "data" not in one
    many = (await api.get(path, accept=PARTIAL_LIST)).json
    assert many["kind"] == "PartialObjectMetadataList"
    assert "data" not in many["items"][0]
    assert many["items"][0]["metadata"]["name"] == "a"


async def test_table(api: Api, path: str):
    """Other kinds print as Tables too, single objects included."""
    table = (await api.get(f"{path}/a", accept=TABLE)).json
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert table["rows"][0]["cells"][:2] == ["a", 1]


async def test_not_acceptable(api: Api, path: str):
    """Only unknown representations are a 406."""
    answer = await api.get(path, accept="image/png")
    assert (answer.status, answer.reason) == (406, "NotAcceptable")


async def test_method_not_allowed(api: Api):
    """A verb that a path does not have is a 405 with a Status."""
    answer = await api.post("/api/v1/configmaps", config_map("a"))
    assert (answer.status, answer.reason) == (405, "MethodNotAllowed")


async def test_date_header(api: Api):
    """Every answer says what time the server has."""
    assert "Date" in (await api.get("/version")).headers

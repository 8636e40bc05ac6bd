"""The sandbox in process: its methods, its clock, and what is loaded into it."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from lab.sandbox import Sandbox
from tests.api_behaviour.api_client import (
    Api,
    config_map,
    definition,
    deployment,
    old_event,
)
from tests.clock import Clock

EVENTS = "/api/v1/namespaces/default/events"


@pytest.fixture(name="clock")
def _clock() -> Clock:
    return Clock(1_800_000_000.0)


@pytest.fixture(name="sandbox")
def _sandbox(clock: Clock) -> Sandbox:
    return Sandbox(clock=clock)


@pytest.fixture(name="api")
async def _api(sandbox: Sandbox) -> AsyncIterator[Api]:
    async with sandbox, aiohttp.ClientSession() as session:
        yield Api(session, sandbox.url)


def within(namespace: str, obj):
    """An object with its namespace."""
    obj["metadata"]["namespace"] = namespace
    return obj


async def test_events_expire(api: Api, clock: Clock):
    """An Event lives for its time after the last change, and watchers see it go."""
    await api.made(EVENTS, old_event("e", "default", count=1))
    version = (await api.get(EVENTS)).json["metadata"]["resourceVersion"]
    clock.now += 3599
    assert (await api.get(f"{EVENTS}/e")).status == 200
    async with api.watch(EVENTS, resourceVersion=version) as stream:
        clock.now += 1
        assert (await api.patch(f"{EVENTS}/e", {"count": 2})).status == 404
        assert await stream.names(1) == [("DELETED", "e")]


@pytest.mark.parametrize(("change", "status"), [({"count": 2}, 200), ({"count": 1}, 404)])
async def test_only_real_changes_renew(api: Api, clock: Clock, change, *, status: int):
    """A patch that changes nothing does not renew the life of an Event."""
    await api.made(EVENTS, old_event("e", "default", count=1))
    clock.now += 3000
    assert (await api.patch(f"{EVENTS}/e", change)).status == 200
    clock.now += 3000
    assert status == (await api.get(f"{EVENTS}/e")).status


async def test_clock_tells_the_date(api: Api, clock: Clock):
    """The Date header and creation times follow the clock."""
    clock.now = 0.0
    made = await api.post("/api/v1/namespaces/default/configmaps", config_map("a"))
    assert made.headers["Date"] == "Thu, 01 Jan 1970 00:00:00 GMT"
    assert made.json["metadata"]["creationTimestamp"] == "1970-01-01T00:00:00Z"


async def test_periodic_bookmarks():
    """Watches of cached kinds get bookmarks when there is something to say, Events do not."""
    async with Sandbox(bookmark_seconds=0.05) as sandbox, aiohttp.ClientSession() as session:
        api = Api(session, sandbox.url)
        pods, events = "/api/v1/pods", "/api/v1/events"
        version = str(sandbox.storage.version)
        query = {"resourceVersion": version, "allowWatchBookmarks": "true", "timeoutSeconds": 1}
        async with api.watch(pods, **query) as stream, api.watch(events, **query) as silent:
            sandbox.create(within("default", config_map("a")))
            bookmark = await stream.next()
            assert bookmark["type"] == "BOOKMARK"
            assert bookmark["object"]["metadata"] == {
                "resourceVersion": str(sandbox.storage.version)
            }
            assert await silent.next_or_end() is None


def test_given_objects_are_not_changed(sandbox: Sandbox):
    """What is handed in stays as it is, and what comes out is a copy."""
    body = within("default", config_map("a", x="1"))
    before = {**body, "metadata": {**body["metadata"]}}
    sandbox.create(body)["data"]["x"] = "2"
    assert body == before
    assert sandbox.get("configmaps", "a", namespace="default")["data"] == {"x": "1"}


def test_load_keeps_what_it_is_given(sandbox: Sandbox):
    """Status, uid, creation time and generation of loaded objects stay, versions are new."""
    obj = within("team", deployment("d"))
    obj["metadata"] |= {
        "uid": "u-1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "generation": 7,
        "resourceVersion": "123456789",
        "deletionTimestamp": "2026-01-02T00:00:00Z",
    }
    obj["status"] = {"readyReplicas": 1}
    assert sandbox.load([obj]) == []
    found = sandbox.get("deployments.apps", "d", namespace="team")
    assert found["status"] == {"readyReplicas": 1}
    metadata = found["metadata"]
    assert (metadata["uid"], metadata["generation"]) == ("u-1", 7)
    assert metadata["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert metadata["deletionTimestamp"] == "2026-01-02T00:00:00Z"
    assert metadata["resourceVersion"] != "123456789"
    assert sandbox.get("namespaces", "team")["status"] == {"phase": "Active"}


def test_load_takes_lists_apart(sandbox: Sandbox):
    """Lists of any kind are taken apart, and what is no object is given back."""
    items = [{"metadata": {"name": "n"}}]
    documents = [
        {"apiVersion": "v1", "kind": "List", "items": [within("default", config_map("a"))]},
        {"apiVersion": "v1", "kind": "NodeList", "items": items},
        {"apiVersion": "v1", "kind": "Status", "reason": "Forbidden", "metadata": {}},
        None,
        "text",
    ]
    skipped = sandbox.load(documents)
    assert [item["kind"] for item in skipped] == ["Status"]
    assert sandbox.get("nodes", "n") is not None
    assert sandbox.get("configmaps", "a", namespace="default") is not None


@pytest.mark.parametrize(
    ("api_version", "kind", "namespace", "resource"),
    [
        ("kaito.sh/v1beta1", "Workspace", "team", "workspaces.kaito.sh"),
        ("gateway.networking.k8s.io/v1", "Gateway", "team", "gateways.gateway.networking.k8s.io"),
        ("gateway.networking.k8s.io/v1", "GatewayClass", "", "gatewayclasses.gateway.networking.k8s.io"),
        ("karpenter.sh/v1", "NodeClaim", "", "nodeclaims.karpenter.sh"),
        ("autoscaling/v2", "HorizontalPodAutoscaler", "team", "horizontalpodautoscalers.autoscaling"),
        ("security.istio.io/v1", "AuthorizationPolicy", "team", "authorizationpolicies.security.istio.io"),
    ],
)  # fmt: skip
def test_load_makes_kinds_served(sandbox: Sandbox, api_version, kind, *, namespace, resource):
    """A kind without definition is served because objects of it exist."""
    metadata = {"name": "o", **({"namespace": namespace} if namespace else {})}
    obj = {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {"any": 1}}
    sandbox.load([{**obj, "status": {"phase": "Up"}}])
    found = sandbox.get(resource, "o", namespace=namespace)
    assert (found["spec"], found["status"]) == ({"any": 1}, {"phase": "Up"})
    has_definition = sandbox.get("customresourcedefinitions.apiextensions.k8s.io", resource)
    assert ("." in api_version.split("/")[0]) is (has_definition is not None)


def test_load_skips_what_the_server_could_not_hold(sandbox: Sandbox):
    """A malformed object is given back, and its neighbours are loaded."""
    crd = definition("widgets")
    crd["spec"]["versions"].append({**crd["spec"]["versions"][0], "name": "v0", "served": False})
    documents = [
        within("default", old_event("bad", "default", eventTime="2026-11-20T10:00:00Z")),
        within("default", old_event("good", "default")),
        crd,
        {"apiVersion": "checks.example.com/v0", "kind": "Widgets", "metadata": {"name": "o"}},
    ]
    skipped = sandbox.load(documents)
    assert [item["metadata"]["name"] for item in skipped] == ["bad", "o"]
    assert [item["metadata"]["name"] for item in sandbox.list("events")] == ["good"]


def test_load_of_definitions(sandbox: Sandbox):
    """A definition in the dump is used, wherever it stands."""
    crd = definition("widgets")
    obj = {
        "apiVersion": "checks.example.com/v1",
        "kind": "Widgets",
        "metadata": {"name": "o", "namespace": "default"},
        "spec": {"size": 1},
    }
    sandbox.load([obj, crd])
    assert sandbox.get("widgets.checks.example.com", "o", namespace="default")["spec"] == {
        "size": 1
    }
    found = sandbox.get(
        "customresourcedefinitions.apiextensions.k8s.io", "widgets.checks.example.com"
    )
    assert {item["type"] for item in found["status"]["conditions"]} >= {"Established"}


def test_load_of_resource_lists(sandbox: Sandbox):
    """An APIResourceList makes its kinds served."""
    resources = [
        {"name": "nodepools", "kind": "NodePool", "namespaced": False, "shortNames": ["np"]},
        {"name": "nodepools/status", "kind": "NodePool", "namespaced": False},
    ]
    document = {
        "apiVersion": "v1",
        "kind": "APIResourceList",
        "groupVersion": "karpenter.sh/v1",
        "resources": resources,
    }
    sandbox.load([document])
    resource = sandbox.resource("nodepools.karpenter.sh")
    assert (resource.namespaced, resource.status, resource.short_names) == (False, True, ("np",))

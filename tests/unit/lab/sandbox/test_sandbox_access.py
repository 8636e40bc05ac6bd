"""Rules of the sandbox: tokens, grants and denials (rows of 6.1 and 6.2)."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from lab.sandbox import Rule, Sandbox
from tests.api_behaviour.api_client import LEASES, Api, config_map, lease

MAPS = "/api/v1/namespaces/default/configmaps"
LEASE_PATH = LEASES.format("default")
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@pytest.fixture(name="sandbox")
async def _sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture(name="api")
async def _api(sandbox: Sandbox) -> AsyncIterator[Api]:
    async with aiohttp.ClientSession() as session:
        yield Api(session, sandbox.url)


async def test_token():
    """With a token set, requests without it are unauthorized."""
    async with Sandbox(token="secret") as sandbox, aiohttp.ClientSession() as session:
        api = Api(session, sandbox.url)
        answer = await api.get(MAPS)
        assert (answer.status, answer.reason) == (401, "Unauthorized")
        headers = {"Authorization": "Bearer secret"}
        assert (await api.get(MAPS, headers=headers)).status == 200
        assert sandbox.kubeconfig()["users"][0]["user"] == {"token": "secret"}


async def test_grants(sandbox: Sandbox, api: Api):
    """With grants only what they cover is allowed, each group for itself."""
    rules = [
        Rule(api_groups=("",), resources=("events",), verbs=("list",), namespaces=("default",))
    ]
    sandbox.access.allow_only(rules)
    assert (await api.get("/api/v1/namespaces/default/events")).status == 200
    for path in (
        "/apis/events.k8s.io/v1/namespaces/default/events",
        "/api/v1/events",
        "/api/v1/namespaces/kube-system/events",
        "/api/v1/namespaces/default/events/e",
        MAPS,
    ):
        answer = await api.get(path)
        assert (answer.status, answer.reason) == (403, "Forbidden"), path
    assert (await api.get("/apis")).status == 200


async def test_roles(sandbox: Sandbox, api: Api):
    """Roles hold in their namespace, cluster roles everywhere."""
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}
    role = {"kind": "Role", "metadata": {"name": "r", "namespace": "default"}, "rules": [rule]}
    pods = {**rule, "resources": ["pods"]}
    other = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    cluster_role = {"kind": "ClusterRole", "metadata": {"name": "c"}, "rules": [pods, other]}
    sandbox.access.allow_roles([role, cluster_role])
    assert (await api.get(MAPS)).status == 200
    assert (await api.get("/api/v1/configmaps")).status == 403
    assert (await api.get("/api/v1/pods")).status == 200


async def test_message(sandbox: Sandbox, api: Api):
    """A refusal says who may not do what where."""
    sandbox.access.deny(Rule(resources=("configmaps",)))
    answer = await api.get(MAPS)
    assert answer.json["message"] == (
        'configmaps is forbidden: User "sandbox" cannot list resource "configmaps" in API group "" '
        'in the namespace "default"'
    )
    sandbox.access.reset()
    assert (await api.get(MAPS)).status == 200


async def test_subresources_are_apart(sandbox: Sandbox, api: Api):
    """The right to patch a status is no right on the parent, and the other way round."""
    sandbox.access.allow_only([Rule(resources=("deployments/status",), verbs=("patch",))])
    path = "/apis/apps/v1/namespaces/default/deployments/d"
    assert (await api.patch(f"{path}/status", {"status": {}})).status == 404
    assert (await api.patch(path, {"spec": {}})).status == 403


@pytest.mark.parametrize("verb", ["list", "watch"])
async def test_names_and_collections(sandbox: Sandbox, api: Api, verb: str):
    """A rule with names lets list and watch through only for exactly that name."""
    sandbox.access.allow_only([Rule(resources=("configmaps",), resource_names=("a",))])
    options = {"watch": "true", "timeoutSeconds": 1} if verb == "watch" else {}
    allowed = await api.get(MAPS, fieldSelector="metadata.name=a", **options)
    assert allowed.status == 200
    for selector in ("", "metadata.name=b", "metadata.name!=a"):
        assert (await api.get(MAPS, fieldSelector=selector, **options)).status == 403


async def test_names_and_creation(sandbox: Sandbox, api: Api):
    """A POST never matches a name; a PUT or an apply to the name does."""
    verbs = ("create", "get", "update", "patch")
    sandbox.access.allow_only([Rule(resource_names=("l", "a"), verbs=verbs)])
    assert (await api.post(LEASE_PATH, lease("l"))).status == 403
    assert (await api.put(f"{LEASE_PATH}/l", lease("l"))).status == 201
    assert (await api.put(f"{LEASE_PATH}/other", lease("other"))).status == 403
    assert (await api.apply(f"{MAPS}/a", config_map("a"), "m")).status == 201


async def test_creation_by_put_needs_both_verbs(sandbox: Sandbox, api: Api):
    """Update alone does not create."""
    sandbox.access.allow_only([Rule(verbs=("update",))])
    assert (await api.put(f"{LEASE_PATH}/l", lease("l"))).status == 403


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        ({"verb": "list", "resource": "configmaps"}, True),
        ({"verb": "watch", "resource": "configmaps"}, False),
        ({"verb": "list", "resource": "configmaps", "group": "apps"}, False),
        (
            {"verb": "patch", "group": "apps", "resource": "deployments", "subresource": "status"},
            True,
        ),
        ({"verb": "patch", "group": "apps", "resource": "deployments"}, False),
    ],
    ids=str,
)
async def test_reviews_answer_by_the_rules(sandbox: Sandbox, api: Api, asked, *, allowed):
    """Reviews are allowed to everybody and say what the rules say."""
    sandbox.access.allow_only(
        [
            Rule(api_groups=("",), resources=("configmaps",), verbs=("list",)),
            Rule(api_groups=("apps",), resources=("deployments/status",), verbs=("patch",)),
        ]
    )
    answer = await api.post(REVIEWS, {"spec": {"resourceAttributes": asked}})
    assert (201, allowed) == (answer.status, answer.json["status"]["allowed"])


async def test_admin_path(sandbox: Sandbox, api: Api):
    """Rules can be set over HTTP."""
    settings = {"grants": [{"resources": ["pods"], "verbs": ["list"]}], "denials": []}
    assert (await api.put("/_sandbox/access", settings)).status == 200
    assert (await api.get(MAPS)).status == 403
    assert (await api.get("/_sandbox/access")).json["grants"][0]["resources"] == ["pods"]
    await api.delete("/_sandbox/access")
    assert (await api.get(MAPS)).status == 200

"""Rules of the sandbox: tokens, grants and denials (rows of 6.1 and 6.2)."""

import aiohttp
import pytest

from lab.sandbox import Rule, Sandbox
from tests.api_behaviour.api_client import Api

MAPS = "/api/v1/namespaces/default/configmaps"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


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


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        ({"verb": "list", "resource": "configmaps"}, True),
        ({"verb": "watch", "resource": "configmaps"}, False),
        ({"verb": "list", "resource": "configmaps", "group": "apps"}, False),
        ({"verb": "patch", "group": "apps", "resource": "deployments", "subresource": "status"}, True),
        ({"verb": "patch", "group": "apps", "resource": "deployments"}, False),
    ],
    ids=str,
)  # fmt: skip
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

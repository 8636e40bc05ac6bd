"""The server under test: the sandbox, or a real one named by environment variables."""

import contextlib
import os
import ssl
from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus
from typing import Any, Protocol

import aiohttp

from lab.sandbox import Sandbox
from tests.api_behaviour.api_client import Api, eventually

_RBAC = "rbac.authorization.k8s.io"
_USER = "restricted"

_EXPIRY_SECONDS = 660.0
"""Twice the interval at which a server compacts, and some more, unless it is told another one."""

Rules = Sequence[dict[str, Any]]
"""Rules of a Role: apiGroups, resources, verbs, resourceNames."""


class ServerUnderTest(Protocol):
    """A server, and users of it who may not do everything."""

    api: Api
    is_real: bool

    def restricted(
        self, namespace: str, rules: Rules
    ) -> contextlib.AbstractAsyncContextManager[Api]:
        """Requests of a user with nothing but a Role in a namespace."""

    async def expire(self, version: str) -> None:
        """Let a version and all before it expire, or wait until they have."""


class SandboxUnderTest:
    """The sandbox: it has one user, whose rights are changed for the while."""

    is_real = False

    def __init__(self, sandbox: Sandbox, api: Api) -> None:
        self.api = api
        self._sandbox = sandbox

    @contextlib.asynccontextmanager
    async def restricted(self, namespace: str, rules: Rules) -> AsyncIterator[Api]:
        role = {"kind": "Role", "metadata": {"namespace": namespace}, "rules": [*rules]}
        self._sandbox.access.allow_roles([role])
        yield self.api
        self._sandbox.access.reset()

    async def expire(self, version: str) -> None:
        self._sandbox.faults.compact(None)


class RealServer:
    """A real API server: a ServiceAccount with a Role and a token of its own."""

    is_real = True

    def __init__(self, url: str, authority: str | None, api: Api) -> None:
        self.api = api
        self._url = url
        self._authority = authority

    @contextlib.asynccontextmanager
    async def restricted(self, namespace: str, rules: Rules) -> AsyncIterator[Api]:
        token = await self._account(namespace, rules)
        async with connected(self._url, token, self._authority) as api:
            await eventually(lambda: _has_rules(api, namespace, rules))
            yield api

    async def expire(self, version: str) -> None:
        # The storage forgets first, the caches of most kinds a while later.
        query = f"resourceVersion={version}&resourceVersionMatch=Exact&limit=1"
        paths = [f"/api/v1/{plural}?{query}" for plural in ("events", "configmaps")]

        async def has_expired() -> bool:
            answers = [await self.api.get(path) for path in paths]
            return all(answer.status == HTTPStatus.GONE for answer in answers)

        await eventually(has_expired, seconds=_EXPIRY_SECONDS)

    async def _account(self, namespace: str, rules: Rules) -> str:
        home = f"/apis/{_RBAC}/v1/namespaces/{namespace}"
        named = {"metadata": {"name": _USER}}
        bound = {
            "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": _USER},
            "subjects": [{"kind": "ServiceAccount", "name": _USER, "namespace": namespace}],
        }
        accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        for path, body in (
            (accounts, named),
            (f"{home}/roles", {**named, "rules": [*rules]}),
            (f"{home}/rolebindings", {**named, **bound}),
        ):
            answer = await self.api.post(path, body)
            assert answer.status in {201, 409}, answer.text
        made = await self.api.made(f"{accounts}/{_USER}/token", {"spec": {}})
        return made["status"]["token"]


async def _has_rules(api: Api, namespace: str, rules: Rules) -> bool:
    """Whether the authorizer knows the Role yet: it follows with a watch."""
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    answer = await api.post(path, {"spec": {"namespace": namespace}})
    known = answer.json["status"]["resourceRules"] if answer.status == 201 else []
    return all(rule in known for rule in rules)


@contextlib.asynccontextmanager
async def connected(url: str, token: str, authority: str | None) -> AsyncIterator[Api]:
    """A client of a server."""
    tls = ssl.create_default_context(cafile=authority) if authority else True
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    connector = aiohttp.TCPConnector(ssl=tls)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        yield Api(session, url)


@contextlib.asynccontextmanager
async def server_under_test() -> AsyncIterator[ServerUnderTest]:
    """The server that STATUS_REPORTER_API_URL, _TOKEN and _CA name, else a sandbox."""
    url = os.environ.get("STATUS_REPORTER_API_URL", "").rstrip("/")
    if url:
        token = os.environ.get("STATUS_REPORTER_API_TOKEN", "")
        authority = os.environ.get("STATUS_REPORTER_API_CA")
        async with connected(url, token, authority) as api:
            yield RealServer(url, authority, api)
        return
    async with Sandbox() as sandbox, connected(sandbox.url, "", None) as api:
        yield SandboxUnderTest(sandbox, api)

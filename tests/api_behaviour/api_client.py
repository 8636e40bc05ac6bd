"""A small client for the checks: requests as they go over the wire, answers as they come."""

import asyncio
import contextlib
import json
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp

JSON = "application/json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"

CORE_EVENTS = "/api/v1/namespaces/{}/events"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{}/deployments"
CONFIG_MAPS = "/api/v1/namespaces/{}/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

MICRO = "2026-11-20T10:00:00.000000Z"
TIMEOUT_SECONDS = 20.0


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def reason(self) -> str:
        return self.json.get("reason", "")


class Stream:
    """The events of a watch, one at a time."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status

    async def next(self) -> dict[str, Any]:
        """The next event; fails where the stream ends before one comes."""
        event = await self.next_or_end()
        assert event is not None, "the watch ended"
        return event

    async def next_or_end(self) -> dict[str, Any] | None:
        """The next event, or None at the clean end of the stream."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            line = await self._response.content.readline()
        return json.loads(line) if line else None

    async def names(self, count: int) -> list[tuple[str, str]]:
        """Types and names of the next events."""
        events = [await self.next() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


class Api:
    """Requests against one server."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self.url = url

    async def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = JSON,
        accept: str = JSON,
        headers: dict[str, str] | None = None,
        **query: object,
    ) -> Answer:
        """Send a request; `continue_` stands for the parameter of that name."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = {"Accept": accept, **(headers or {})}
        if data is not None:
            sent["Content-Type"] = content_type
        parameters = {name.rstrip("_"): str(value) for name, value in query.items()}
        async with self._session.request(
            method, self.url + path, data=data, headers=sent, params=parameters
        ) as response:
            return Answer(response.status, dict(response.headers), await response.text())

    async def serves(self, *paths: str) -> bool:
        """Whether all of some paths are there."""
        return all([(await self.get(path)).status == 200 for path in paths])

    async def get(self, path: str, **options: Any) -> Answer:
        return await self.request("GET", path, **options)

    async def post(self, path: str, body: object, **options: Any) -> Answer:
        return await self.request("POST", path, body, **options)

    async def put(self, path: str, body: object, **options: Any) -> Answer:
        return await self.request("PUT", path, body, **options)

    async def patch(self, path: str, body: object, kind: str = MERGE, **options: Any) -> Answer:
        return await self.request("PATCH", path, body, content_type=kind, **options)

    async def apply(self, path: str, body: object, manager: str, **options: Any) -> Answer:
        return await self.patch(path, body, APPLY, fieldManager=manager, **options)

    async def delete(self, path: str, body: object = None, **options: Any) -> Answer:
        return await self.request("DELETE", path, body, **options)

    async def made(self, path: str, body: object) -> dict[str, Any]:
        """Create an object that must be accepted."""
        answer = await self.post(path, body)
        assert answer.status == 201, answer.text
        return answer.json

    @contextlib.asynccontextmanager
    async def watch(self, path: str, *, accept: str = JSON, **query: object):
        """Open a watch."""
        parameters = {"watch": "true", **{name: str(value) for name, value in query.items()}}
        async with self._session.get(
            self.url + path, params=parameters, headers={"Accept": accept}
        ) as response:
            yield Stream(response)


async def eventually(
    check: Callable[[], Awaitable[bool]], *, seconds: float = TIMEOUT_SECONDS
) -> None:
    """Wait until a check holds: real servers take a moment for some things."""
    async with asyncio.timeout(seconds):
        while True:
            if await check():
                return
            await asyncio.sleep(0.02)


def unique(prefix: str) -> str:
    """A name that no other test uses."""
    return f"{prefix}-{uuid.uuid4().hex[:10]}"


def config_map(name: str, **data: str) -> dict[str, Any]:
    """A ConfigMap."""
    content = {"data": data} if data else {}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **content}


def deployment(name: str, **spec: object) -> dict[str, Any]:
    """A Deployment."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "example.com/app:1"}]},
            },
            **spec,
        },
    }  # fmt: skip


def old_event(name: str, namespace: str, **fields: object) -> dict[str, Any]:
    """An Event as legacy recorders write it."""
    return {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": name},
        "involvedObject": {"kind": "Pod", "namespace": namespace, "name": "p"}, **fields,
    }  # fmt: skip


def new_event(name: str, **fields: object) -> dict[str, Any]:
    """A core/v1 Event with eventTime, about a cluster-scoped object."""
    return {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": name},
        "involvedObject": {"apiVersion": "v1", "kind": "Namespace", "name": "subject"},
        "eventTime": MICRO, "reportingComponent": "checks.example.com/agent",
        "reportingInstance": "agent-0", "action": "Check", "reason": "Checked",
        "message": "all is well", "type": "Normal", **fields,
    }  # fmt: skip


def definition(plural: str, **version: object) -> dict[str, Any]:
    """A CustomResourceDefinition of a namespaced kind with status."""
    kind = plural.capitalize()
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    properties = {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}},
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "phase": {"type": "string"}, "advice": {"type": "string"},
                "conditions": {
                    "type": "array", "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["type"],
                    "items": {
                        **anything, "required": ["type"],
                        "properties": {"type": {"type": "string"}},
                    },
                },
            },
        },
    }  # fmt: skip
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.checks.example.com"},
        "spec": {
            "group": "checks.example.com", "scope": "Namespaced",
            "names": {
                "plural": plural, "singular": plural, "kind": kind, "listKind": f"{kind}List",
            },
            "versions": [
                {
                    "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
                    **version,
                },
            ],
        },
    }  # fmt: skip

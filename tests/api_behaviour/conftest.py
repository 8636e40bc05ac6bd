"""The server under test, a namespace and a custom kind on it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.api_behaviour.api_client import (
    CONFIG_MAPS,
    CRDS,
    DEPLOYMENTS,
    Api,
    definition,
    eventually,
    unique,
)
from tests.api_behaviour.servers import ServerUnderTest, server_under_test


@pytest.fixture(name="server")
async def _server() -> AsyncIterator[ServerUnderTest]:
    async with server_under_test() as server:
        yield server


@pytest.fixture(name="api")
async def _api(server: ServerUnderTest) -> Api:
    return server.api


@pytest.fixture(name="namespace")
async def _namespace(api: Api) -> AsyncIterator[str]:
    name = unique("checks")
    await api.made("/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    await api.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture(name="path")
def _path(namespace: str) -> str:
    return CONFIG_MAPS.format(namespace)


@pytest.fixture(name="deployments")
def _deployments(namespace: str) -> str:
    return DEPLOYMENTS.format(namespace)


@dataclass(frozen=True)
class CustomKind:
    """A kind that is served while the test runs."""

    definition: dict[str, Any]
    namespace: str

    @property
    def name(self) -> str:
        return self.definition["metadata"]["name"]

    @property
    def path(self) -> str:
        """The URL of the objects in the test's namespace."""
        plural = self.definition["spec"]["names"]["plural"]
        return f"/apis/checks.example.com/v1/namespaces/{self.namespace}/{plural}"

    def obj(self, name: str, **content: object) -> dict[str, Any]:
        """An object of the kind."""
        return {
            "apiVersion": "checks.example.com/v1",
            "kind": self.definition["spec"]["names"]["kind"],
            "metadata": {"name": name},
            **content,
        }


@pytest.fixture(name="custom")
async def _custom(api: Api, namespace: str) -> AsyncIterator[CustomKind]:
    made = await api.made(CRDS, definition(unique("k").replace("-", "")))
    kind = CustomKind(made, namespace)
    await eventually(lambda: api.serves(kind.path))
    yield kind
    await api.delete(f"{CRDS}/{kind.name}")

"""A sandbox that is served, and a client of it."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from lab.sandbox import Sandbox
from tests.api_behaviour.api_client import Api


@pytest.fixture(name="sandbox")
async def _sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture(name="api")
async def _api(sandbox: Sandbox) -> AsyncIterator[Api]:
    async with aiohttp.ClientSession() as session:
        yield Api(session, sandbox.url)

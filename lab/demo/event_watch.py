"""A watch for Events over HTTP, like that of `kubectl get events -w`."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Self

import aiohttp
import msgspec

from reporter.model.objects import Event


class _Frame(msgspec.Struct, frozen=True):
    type: str
    object: Event


class EventWatch(ABC):
    """Watches the Events of a namespace while entered.

    Args:
        url: the API server's base URL.
        namespace: the namespace of the Events.
        only: the selectors of the watch, as query parameters.

    """

    def __init__(self, url: str, namespace: str, only: Mapping[str, str]) -> None:
        self._url = f"{url}/api/v1/namespaces/{namespace}/events"
        self._params = {"watch": "true", **only}
        self._session: aiohttp.ClientSession | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None))
        self._task = asyncio.create_task(self._watch(self._session))
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    @abstractmethod
    def _note(self, change: str, event: Event) -> None:
        """Handle an Event; `change` is the type of its frame, such as ADDED."""

    async def _watch(self, session: aiohttp.ClientSession) -> None:
        async with session.get(self._url, params=self._params) as answer:
            answer.raise_for_status()
            async for line in answer.content:
                frame = msgspec.json.decode(line, type=_Frame)
                self._note(frame.type, frame.object)

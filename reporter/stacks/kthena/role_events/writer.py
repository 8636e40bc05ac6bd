"""Writes role Events: each once, and never without the lease.

They are news, not state: one that cannot be written is lost and counted, and nothing derives it
anew. `status.roleStatuses` says what is.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, Protocol

import structlog

from reporter.kube.errors import AlreadyExists, ApiStatusError, Forbidden, KubeError, NotFound
from reporter.sinks.events.render import Document

QUEUE: Final = 1000
"""Most Events that wait; the oldest are lost first."""

_BACKOFF_FIRST: Final = 0.5
_BACKOFF_LONGEST: Final = 30.0
REFUSED_SECONDS: Final = 60.0
"""How long a namespace where Events are forbidden is left alone."""


class CreateEvent(Protocol):
    """The one request that role Events need."""

    def __call__(self, namespace: str, body: Document) -> Awaitable[object]:
        """Create an Event in a namespace."""


class RoleEventWriter:
    """Writes Events in the order in which they are offered."""

    def __init__(
        self,
        create: CreateEvent,
        may_write: Callable[[], bool],
        observe: Callable[[str], None],
    ) -> None:
        """Make one.

        Args:
            create: makes the request.
            may_write: asked before each request.
            observe: told of each Event: written, repeated, or lost.
        """
        self._create = create
        self._may_write = may_write
        self._observe = observe
        self._queue: deque[Document] = deque()
        self._wakeup = asyncio.Event()
        self._forbidden: dict[str, float] = {}
        self._resume_at = 0.0
        self._backoff = _BACKOFF_FIRST
        self._failure = ""
        self._log = structlog.get_logger("role_events")

    @property
    def waiting(self) -> int:
        """How many Events wait."""
        return len(self._queue)

    def offer(self, events: Iterable[Document]) -> None:
        """Add Events to those that wait."""
        self._queue.extend(events)
        while len(self._queue) > QUEUE:
            self._lose()
        self._wakeup.set()

    def drop(self) -> None:
        """Give up the Events that wait."""
        while self._queue:
            self._lose()

    def _lose(self) -> None:
        self._queue.popleft()
        self._observe("lost")

    async def run(self) -> None:
        """Write until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            self._wakeup.clear()
            if not self._queue:
                await self._wakeup.wait()
                continue
            if self._resume_at > loop.time():
                await asyncio.sleep(self._resume_at - loop.time())
            if not self._may_write():
                self.drop()
                continue
            if self._queue:
                await self._write(self._queue.popleft())

    async def _write(self, event: Document) -> None:
        namespace = _namespace_of(event)
        now = asyncio.get_running_loop().time()
        self._forbidden = {each: end for each, end in self._forbidden.items() if end > now}
        if namespace in self._forbidden:
            self._observe("lost")
            return
        try:
            await self._create(namespace, event)
        except AlreadyExists:
            self._observe("repeated")
        except KubeError as error:
            self._observe("lost")
            self._note(namespace, error)
        else:
            self._backoff = _BACKOFF_FIRST
            self._failure = ""
            self._observe("written")

    def _note(self, namespace: str, error: KubeError) -> None:
        """Say what went wrong, once, and wait where the API server is at its limits."""
        now = asyncio.get_running_loop().time()
        if isinstance(error, Forbidden | NotFound):
            # No right to write there, or the namespace goes or is gone: so it is for the next.
            self._forbidden[namespace] = now + REFUSED_SECONDS
        else:
            wait = self._backoff
            if isinstance(error, ApiStatusError) and error.retry_after is not None:
                wait = max(wait, error.retry_after)
            self._backoff = min(self._backoff * 2, _BACKOFF_LONGEST)
            self._resume_at = now + wait
        if str(error) != self._failure:
            self._log.warning("role_event_lost", namespace=namespace, error=str(error))
        self._failure = str(error)


def _namespace_of(event: Document) -> str:
    metadata = event["metadata"]
    return str(metadata["namespace"]) if isinstance(metadata, dict) else ""

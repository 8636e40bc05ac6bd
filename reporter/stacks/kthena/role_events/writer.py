"""Writes role Events: each once, and never without the lease.

They are news, not state: one that cannot be written is lost and counted, and nothing derives it
again. `status.roleStatuses` says what is.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final, Protocol

from reporter.kube.errors import AlreadyExists, Forbidden, KubeError, NotFound
from reporter.sinks.events.render import Document
from reporter.sinks.outbox import Entry, Outbox, Refused, Retry

QUEUE: Final = 1000
"""Most Events that wait; the oldest are lost first."""


class CreateEvent(Protocol):
    """The one request that role Events need."""

    def __call__(self, namespace: str, body: Document) -> Awaitable[object]:
        """Create an Event in a namespace."""


class RoleEventWriter(Outbox[Document]):
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
        super().__init__("role_events", may_write)
        self._create = create
        self._observe = observe
        self._refused: Refused[str] = Refused()

    def offer(self, events: Iterable[Document]) -> None:
        """Add Events to those that wait."""
        self._refused.tidy()
        waiting = [*self._queue, *(Entry(_namespace_of(event), event) for event in events)]
        self._lose(len(waiting) - QUEUE)
        self._replace(waiting[-QUEUE:])

    def drop(self) -> None:
        """Give up the Events that wait."""
        self._lose(len(self._queue))
        super().drop()

    def _lose(self, count: int) -> None:
        for _ in range(count):
            self._observe("lost")

    async def _send(self, write: Document) -> Retry:
        namespace = _namespace_of(write)
        if self._refused.covers(namespace):
            self._observe("lost")
            return Retry.NO
        try:
            await self._create(namespace, write)
        except AlreadyExists:
            self._observe("repeated")
        except KubeError as error:
            self._observe("lost")
            self._note(namespace, error)
        else:
            self._backoff.reset()
            self._observe("written")
        return Retry.NO

    def _note(self, namespace: str, error: KubeError) -> None:
        """Say what went wrong, once, and wait where the API server is at its limits."""
        if isinstance(error, Forbidden | NotFound):
            # No right to write there, or the namespace goes or is gone: so it is for the next.
            self._refused.leave(namespace)
        else:
            self._pause(error)
        if self._backoff.is_news(error):
            self._log.warning("role_event_lost", namespace=namespace, error=str(error))


def _namespace_of(event: Document) -> str:
    metadata = event["metadata"]
    return str(metadata["namespace"]) if isinstance(metadata, dict) else ""

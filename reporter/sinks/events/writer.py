"""Writes the planned Events: in order, paced, and never without the lease."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, Protocol, TypeAlias

import structlog

from reporter.kube.errors import (
    AlreadyExists,
    ApiStatusError,
    Conflict,
    Forbidden,
    Invalid,
    KubeError,
    NotFound,
)
from reporter.model.objects import Event
from reporter.sinks.events.plan import REFRESH_PER_SECOND, Plan, Purpose, Write
from reporter.sinks.events.render import Document
from reporter.sinks.events.written import Written

_BACKOFF_FIRST: Final = 0.5
_BACKOFF_LONGEST: Final = 30.0
REFUSED_SECONDS: Final = 60.0
"""How long a write that the API server refuses is left alone."""

DOUBTED_SECONDS: Final = 5.0
"""The same after its first 403: an API server that starts answers so until it has read its roles."""

_WRITTEN_SECONDS: Final = 120.0
_SHORTEST_SLEEP: Final = 0.001
"""Less is due now: a clock need not tell two moments apart that are so close."""


class EventApi(Protocol):
    """The two requests that Events need."""

    async def create_event(self, body: Document) -> Event:
        """Create an Event and return it as stored."""

    async def patch_event(self, name: str, patch: Document, *, resource_version: str) -> Event:
        """Merge-patch an Event, if it is still of that version, and return it as stored."""


class WriteObserver(Protocol):
    """Is told of each write, for metrics."""

    def __call__(self, purpose: Purpose, outcome: str) -> None:
        """Count a write; `outcome` is written, repeated, conflict, expired, refused or failed."""


class EventWriter:
    """Works through the latest plan.

    A new plan replaces the old one: what was not written is derived anew, so nothing is lost and
    the queue cannot grow. A conflict or an expired Event needs no repair either: the next plan
    is made from what the watch brings.
    """

    def __init__(
        self,
        api: EventApi,
        may_write: Callable[[], bool],
        observe: WriteObserver,
        changed: Callable[[], None],
        outdated: Callable[[], None],
        told: Callable[[datetime], None] = lambda _since: None,
    ) -> None:
        """Make one.

        Args:
            api: makes the requests.
            may_write: asked before each write.
            observe: told of each write.
            changed: called when a new plan is needed.
            outdated: called when the Events that plans are made from are not as they are.
            told: called with the start of an episode when its Event has been created.
        """
        self._api = api
        self._may_write = may_write
        self._observe = observe
        self._changed = changed
        self._outdated = outdated
        self._told = told
        self._queue: list[Write] = []
        self._wakeup = asyncio.Event()
        self._written: dict[str, tuple[Written, float]] = {}
        self._left: dict[_Kind, tuple[object, float]] = {}
        self._refused: dict[_Kind, float] = {}
        self._denied: set[tuple[str, str]] = set()
        self._resume_at = 0.0
        self._refresh_at = 0.0
        self._backoff = _BACKOFF_FIRST
        self._failure = ""
        self._log = structlog.get_logger("events")

    @property
    def waiting(self) -> int:
        """How many writes wait."""
        return len(self._queue)

    @property
    def urgent(self) -> bool:
        """Whether a write waits that says something new."""
        return bool(self._queue) and self._queue[0].purpose is not Purpose.REFRESH

    def written(self) -> Mapping[str, Written]:
        """Return the recent writes that the watch may not have brought back yet."""
        now = asyncio.get_running_loop().time()
        self._written = {name: each for name, each in self._written.items() if each[1] > now}
        return {name: each for name, (each, _) in self._written.items()}

    def offer(self, plan: Plan) -> None:
        """Replace the writes that wait by those of a new plan."""
        now = asyncio.get_running_loop().time()
        self._left = {kind: each for kind, each in self._left.items() if each[1] > now}
        self._refused = {kind: until for kind, until in self._refused.items() if until > now}
        self._denied &= {_version_of(write) for write in plan.writes}
        self._queue = [write for write in plan.writes if not self._is_left(write)]
        self._wakeup.set()

    def drop(self) -> None:
        """Forget the writes that wait: what they rest on is not to be trusted any more."""
        self._queue = []

    async def run(self) -> None:
        """Write until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            self._wakeup.clear()
            delay = self._delay(loop.time())
            if delay is None or delay > _SHORTEST_SLEEP:
                await self._sleep(delay)
                continue
            if not self._may_write():
                self.drop()
            if not self._queue:
                continue
            # A plan that comes meanwhile replaces the queue, and what failed of the old one with it.
            queue, write = self._queue, self._queue[0]
            if not self._is_made(write):
                if write.purpose is Purpose.REFRESH:
                    self._refresh_at = loop.time() + 1 / REFRESH_PER_SECOND
                try:
                    await self._write(write)
                except KubeError as error:
                    self._pause(write, error)
                    continue
            queue.pop(0)

    def _delay(self, now: float) -> float | None:
        """Return the seconds until the first write is due, None where none waits."""
        if not self._queue:
            return None
        due = self._resume_at
        if self._queue[0].purpose is Purpose.REFRESH:
            due = max(due, self._refresh_at)
        return due - now

    async def _sleep(self, delay: float | None) -> None:
        try:
            async with asyncio.timeout(delay):
                await self._wakeup.wait()
        except TimeoutError:
            pass

    async def _write(self, write: Write) -> None:
        """Make a write and note what became of it.

        Raises:
            KubeError: it has to be made again later.

        """
        try:
            event = await self._send(write)
        except AlreadyExists:
            # The name is that of this very episode: an earlier leader, or we before an answer
            # was lost, wrote it. The watch brings it, and the next plan goes on from there.
            self._leave(write)
            self._observe(write.purpose, "repeated")
        except (Conflict, NotFound) as error:
            # Else our own last answer would be taken for news, and an Event for present that has
            # expired, or that a restored cluster has in an older version.
            self._written.pop(write.name, None)
            self._observe(write.purpose, "expired" if isinstance(error, NotFound) else "conflict")
            self._deny(write)
        except (Invalid, Forbidden) as error:
            self._refuse(write, error)
        else:
            self._backoff = _BACKOFF_FIRST
            self._failure = ""
            until = asyncio.get_running_loop().time() + _WRITTEN_SECONDS
            self._written[write.name] = (Written(event, write.resource_version), until)
            self._observe(write.purpose, "written")
            if write.since is not None:
                self._told(write.since)

    def _deny(self, write: Write) -> None:
        """Ask for a new plan; if the last one asked for the same, the watch brings nothing."""
        version = _version_of(write)
        if version in self._denied:
            self._denied.clear()
            self._outdated()
        else:
            self._denied.add(version)
        self._changed()

    def _is_made(self, write: Write) -> bool:
        """Tell whether a plan older than our last answer asks for the same write again."""
        each = self._written.get(write.name)
        return each is not None and each[0].before == write.resource_version

    async def _send(self, write: Write) -> Event:
        if write.resource_version:
            return await self._api.patch_event(
                write.name, write.body, resource_version=write.resource_version
            )
        return await self._api.create_event(write.body)

    def _is_left(self, write: Write) -> bool:
        left = self._left.get(_kind_of(write))
        return left is not None and left[0] == write.body.get("message")

    def _refuse(self, write: Write, error: KubeError) -> None:
        kind = _kind_of(write)
        doubted = isinstance(error, Forbidden) and kind not in self._refused
        seconds = DOUBTED_SECONDS if doubted else REFUSED_SECONDS
        if kind not in self._refused:
            self._log.error("event_refused", event_name=write.name, error=str(error))
        self._refused[kind] = asyncio.get_running_loop().time() + 2 * REFUSED_SECONDS
        self._leave(write, seconds)
        self._observe(write.purpose, "refused")

    def _leave(self, write: Write, seconds: float = REFUSED_SECONDS) -> None:
        """Leave a write alone for a while; to repeat the same at once would end the same."""
        until = asyncio.get_running_loop().time() + seconds
        self._left[_kind_of(write)] = (write.body.get("message"), until)

    def _pause(self, write: Write, error: KubeError) -> None:
        """Wait for the API server; the write stays first in its queue."""
        wait = self._backoff
        if isinstance(error, ApiStatusError) and error.retry_after is not None:
            wait = max(wait, error.retry_after)
        self._backoff = min(self._backoff * 2, _BACKOFF_LONGEST)
        self._resume_at = asyncio.get_running_loop().time() + wait
        self._observe(write.purpose, "failed")
        if str(error) != self._failure:  # once, not at every retry
            self._log.warning("event_not_written", wait_seconds=round(wait, 1), error=str(error))
        self._failure = str(error)


_Kind: TypeAlias = tuple[str, bool]
"""An Event, and whether it is created: what ends a create says nothing of a patch."""


def _version_of(write: Write) -> tuple[str, str]:
    return write.name, write.resource_version


def _kind_of(write: Write) -> _Kind:
    return write.name, not write.resource_version

"""Writes the planned statuses: one at a time, and never without the lease."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, Protocol

import structlog

from reporter.kube.errors import (
    ApiStatusError,
    Conflict,
    Forbidden,
    Invalid,
    KubeError,
    NotFound,
)
from reporter.model.derived import Document
from reporter.model.resource import Resource
from reporter.model.subject import ObjectRef
from reporter.stacks.kthena.derived.ownership import BEHIND
from reporter.stacks.kthena.derived.ownership_memory import Answer
from reporter.stacks.kthena.derived.share import digest, our_share, status_document
from reporter.stacks.kthena.objects import ModelServing
from reporter.stacks.kthena.statuses.plan import (
    Method,
    StatusPlan,
    StatusWrite,
    leaves_more,
    release_of,
)
from reporter.stacks.kthena.statuses.put_off import REFUSED_SECONDS, PutOff
from reporter.stacks.kthena.statuses.requests import FieldsUndeclared, StoredStatus

_BACKOFF_FIRST: Final = 0.5
_BACKOFF_LONGEST: Final = 30.0
_SHORTEST_SLEEP: Final = 0.001


class StatusApi(Protocol):
    """The requests that statuses need; see `reporter.stacks.kthena.statuses.requests`."""

    async def replace_status(
        self,
        resource: Resource[ModelServing],
        ref: ObjectRef,
        status: Document,
        *,
        resource_version: str,
    ) -> StoredStatus:
        """Replace the whole status."""

    async def apply_status(
        self,
        resource: Resource[ModelServing],
        ref: ObjectRef,
        status: Document,
        *,
        resource_version: str,
    ) -> StoredStatus:
        """Apply fields of the status."""

    async def release_status(
        self,
        resource: Resource[ModelServing],
        ref: ObjectRef,
        status: Document,
        *,
        resource_version: str,
    ) -> StoredStatus:
        """Remove fields of the status, whoever owns them."""


class StatusObserver(Protocol):
    """Is told of each write, for metrics."""

    def __call__(self, method: Method, outcome: str) -> None:
        """Count a write.

        `outcome` is written, unchanged, pruned (stored without some fields, or not at all for
        their lack), conflict, gone, refused or failed.
        """


class StatusWriter:
    """Works through the latest plan.

    A new plan replaces the old one. An object that is not of the planned version any more is left
    to the plan that is made once the watch has brought the new one; a write that fails goes behind
    the others.
    """

    def __init__(
        self,
        api: StatusApi,
        may_write: Callable[[], bool],
        observe: StatusObserver,
        changed: Callable[[], None],
        outdated: Callable[[Resource[ModelServing]], None],
    ) -> None:
        """Make one.

        Args:
            api: makes the requests.
            may_write: asked before each request.
            observe: told of each request.
            changed: called when a new plan is needed although the watch brings nothing.
            outdated: called with the resource that the watch does not bring as it is.
        """
        self._api = api
        self._may_write = may_write
        self._observe = observe
        self._changed = changed
        self._queue: list[StatusWrite] = []
        self._wakeup = asyncio.Event()
        self._answers: dict[str, tuple[Answer, float]] = {}
        self._number = 0
        self._put_off = PutOff(outdated)
        self._released: dict[str, float] = {}
        self._shared: set[str] = set()
        self._resume_at = 0.0
        self._backoff = _BACKOFF_FIRST
        self._failure = ""
        self._log = structlog.get_logger("statuses")

    @property
    def waiting(self) -> int:
        """How many writes wait."""
        return len(self._queue)

    def answers(self) -> Mapping[str, Answer]:
        """Return the last answer for each object by uid."""
        return {uid: answer for uid, (answer, _) in self._answers.items()}

    def offer(self, plan: StatusPlan) -> None:
        """Replace the writes that wait by those of a new plan, and forget objects that are gone."""
        now = asyncio.get_running_loop().time()
        self._answers = {uid: each for uid, each in self._answers.items() if uid in plan.objects}
        self._released = {uid: until for uid, until in self._released.items() if until > now}
        self._shared &= plan.objects
        self._put_off.tidy(plan.objects, now)
        self._queue = [write for write in plan.writes if not self._put_off.covers(write, now)]
        self._wakeup.set()

    def drop(self) -> None:
        """Forget the writes that wait: what they rest on is not to be trusted any more."""
        self._queue = []

    def forget(self) -> None:
        """Forget what was written too: somebody else leads now."""
        self.drop()
        self._answers = {}
        self._shared = set()

    async def run(self) -> None:
        """Write until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            self._wakeup.clear()
            delay = self._resume_at - loop.time() if self._queue else None
            if delay is None or delay > _SHORTEST_SLEEP:
                await self._sleep(delay)
                continue
            if not self._may_write():
                self.drop()
                continue
            # A plan that comes meanwhile replaces the queue, and what failed of the old one with it.
            queue, write = self._queue, self._queue.pop(0)
            if self._is_made(write):
                continue
            try:
                await self._write(write)
            except KubeError as error:
                queue.append(write)
                self._pause(write, error)

    async def _sleep(self, delay: float | None) -> None:
        try:
            async with asyncio.timeout(delay):
                await self._wakeup.wait()
        except TimeoutError:
            pass

    async def _write(self, write: StatusWrite) -> None:
        """Make a write and note what became of it.

        Raises:
            KubeError: it has to be made again later.

        """
        uid = write.object.uid
        if uid in self._shared:
            write = release_of(write)
        try:
            stored = await self._send(write)
        except (Conflict, NotFound) as error:
            self._put_off.deny(write, asyncio.get_running_loop().time())
            self._observe(write.method, "gone" if isinstance(error, NotFound) else "conflict")
        except FieldsUndeclared as error:
            self._note(write, None, tuple(sorted(error.fields)))
            self._observe(write.method, "pruned")
            self._changed()
        except Invalid as error:
            if write.method is Method.APPLY and uid not in self._released:
                # Others own parts of entries that we do not apply any more, and what is left of
                # such an entry is none. Once nobody owns anything of them, an apply succeeds.
                self._queue.insert(0, release_of(write))
                self._observe(write.method, "refused")
            else:
                self._refuse(write, error)
        except Forbidden as error:
            self._refuse(write, error)
        else:
            self._backoff = _BACKOFF_FIRST
            self._failure = ""
            self._shared.discard(uid)
            self._observe(write.method, self._stored(write, stored))

    async def _send(self, write: StatusWrite) -> StoredStatus:
        if write.method is Method.RELEASE:
            until = asyncio.get_running_loop().time() + REFUSED_SECONDS
            self._released[write.object.uid] = until
        send = {
            Method.REPLACE: self._api.replace_status,
            Method.APPLY: self._api.apply_status,
            Method.RELEASE: self._api.release_status,
        }[write.method]
        return await send(
            write.resource, write.object, write.status, resource_version=write.version
        )

    def _stored(self, write: StatusWrite, stored: StoredStatus) -> str:
        """Note an answer and return the outcome."""
        pruned = tuple(sorted(name for name, value in write.status.items() if value))
        pruned = tuple(name for name in pruned if name not in stored.fields)
        is_shared = write.object.uid not in self._released and leaves_more(
            write, stored.object.status
        )
        if is_shared:
            # The next write removes what others own of the roles; this one settled nothing.
            self._shared.add(write.object.uid)
            write = replace(write, asked="")
        self._note(write, stored, pruned)
        is_changed = stored.object.metadata.resource_version != write.version
        if (pruned or is_shared) and not is_changed:  # so that the watch brings nothing
            self._changed()
        if pruned:
            return "pruned"
        return "written" if is_changed else "unchanged"

    def _note(
        self, write: StatusWrite, stored: StoredStatus | None, pruned: tuple[str, ...]
    ) -> None:
        self._number += 1
        left = None
        if stored is not None:
            left = digest(our_share(status_document(stored.object.status), whole=write.whole))
        answer = Answer(
            number=self._number,
            before=write.version,
            version=stored.object.metadata.resource_version if stored else write.version,
            stored=left,
            asked=write.asked,
            left_out=write.left_out,
            pruned=pruned,
        )
        until = asyncio.get_running_loop().time() + BEHIND.total_seconds()
        self._answers[write.object.uid] = answer, until

    def _is_made(self, write: StatusWrite) -> bool:
        """Tell whether a plan older than our last answer asks for a write over the same version."""
        answer, until = self._answers.get(write.object.uid, (None, 0.0))
        return (
            answer is not None
            and answer.before == write.version != answer.version
            and asyncio.get_running_loop().time() < until
        )

    def _refuse(self, write: StatusWrite, error: KubeError) -> None:
        now = asyncio.get_running_loop().time()
        if self._put_off.refuse(write, now, is_forbidden=isinstance(error, Forbidden)):
            self._log.error("status_refused", object=str(write.object), error=str(error))
        self._observe(write.method, "refused")

    def _pause(self, write: StatusWrite, error: KubeError) -> None:
        """Wait for the API server."""
        wait = self._backoff
        if isinstance(error, ApiStatusError) and error.retry_after is not None:
            wait = max(wait, error.retry_after)
        self._backoff = min(self._backoff * 2, _BACKOFF_LONGEST)
        self._resume_at = asyncio.get_running_loop().time() + wait
        self._observe(write.method, "failed")
        if str(error) != self._failure:  # once, not at every retry
            self._log.warning("status_not_written", wait_seconds=round(wait, 1), error=str(error))
        self._failure = str(error)

"""Writes the planned mirrors: after our Events, each namespace for itself, never without the lease.

It also remembers which namespaces refuse mirrors, and for how long each is left alone.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from reporter.kube import errors
from reporter.kube.writes import KubeEvents
from reporter.sinks import outbox
from reporter.sinks.events.plan import REFRESH_PER_SECOND, Document
from reporter.sinks.mirror.plan import (
    Applied,
    MirrorPlan,
    MirrorPurpose,
    MirrorWrite,
    document,
    state_patch,
)

YIELD_SECONDS: Final = 0.1
"""Time until the next check whether Events still wait."""

_IN_FLIGHT: Final = 8
"""Concurrent writes, one per namespace: a tenant's admission webhook may take seconds."""

_SLOW_SECONDS: Final = 0.2
"""A write without an answer for this long no longer holds up the next one."""

_NO_RIGHT: Final = 'resource "events" in API group ""'
"""Part of a refusal by RBAC, not by a quota, an admission plugin or a terminating namespace."""

_HINT: Final = (
    "grant create and patch on events in this namespace or in all (the chart does so with "
    "mirrorToWorkload=true), or leave --mirror-to-workload out"
)


@dataclass(frozen=True, slots=True)
class _Invalid:
    namespace: str
    message: str
    until: float


class MirrorWriter(outbox.Outbox[MirrorWrite]):
    """Works through the latest plan, and remembers what it wrote.

    A namespace that refuses is left alone, longer each time, and does not hold up the others.
    """

    def __init__(
        self,
        api: KubeEvents,
        may_write: Callable[[], bool],
        observe: Callable[[MirrorPurpose, str], None],
        *,
        events_wait: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__("mirrors", may_write, concurrency=_IN_FLIGHT)
        self._api = api
        self._observe = observe
        self._events_wait = events_wait
        self._pace = outbox.Pace(REFRESH_PER_SECOND)
        self._applied: dict[str, Applied] = {}
        self._refusals = Refusals()
        self._invalid: dict[str, _Invalid] = {}
        self._began = 0.0
        self._newest: MirrorWrite | None = None

    @property
    def refusing(self) -> int:
        return len(self._refusals)

    def applied(self) -> Mapping[str, Applied]:
        return dict(self._applied)

    def offer(self, plan: MirrorPlan) -> None:
        self._applied = {name: each for name, each in self._applied.items() if name in plan.names}
        self._invalid = {name: each for name, each in self._invalid.items() if name in plan.names}
        self._refusals.keep(
            {each.mirror.namespace for each in plan.writes},
            {each.mirror.namespace for each in self._applied.values()},
        )
        now = outbox.loop_time()
        self._replace(
            outbox.Entry(
                (each.mirror.namespace, each.mirror.name),
                each,
                self._pace if each.purpose >= MirrorPurpose.ASSURE else None,
                now + each.due_in.total_seconds() if each.due_in else 0.0,
            )
            for each in plan.writes
        )

    def forget(self) -> None:
        super().forget()
        self._applied = {}
        self._refusals = Refusals()
        self._invalid = {}

    def _next(self, now: float) -> tuple[outbox.Entry[MirrorWrite] | None, float | None]:
        left = self._began + _SLOW_SECONDS - now
        # A shorter remainder is a rounding error, which no clock resolves.
        is_out = any(each.write is self._newest for each in self._in_flight)
        if is_out and left > _SLOW_SECONDS / 100:
            return None, left
        entry, delay = super()._next(now)
        if entry is not None and self._events_wait():
            return None, YIELD_SECONDS
        return entry, delay

    def _order(self) -> Iterable[outbox.Entry[MirrorWrite]]:
        """Skip namespaces with a write in flight, so that a slow one holds up only itself, and try
        those that refused last.
        """
        busy = {each.write.mirror.namespace for each in self._in_flight}
        return sorted(
            (each for each in self._queue if each.write.mirror.namespace not in busy),
            key=lambda each: each.write.mirror.namespace in self._refusals,
        )

    def _due(self, write: MirrorWrite) -> float:
        due = self._refusals.until(write.mirror.namespace)
        invalid = self._invalid.get(write.mirror.name)
        if invalid is not None and invalid.message == write.mirror.message:
            due = max(due, invalid.until)
        return due

    def _is_made(self, write: MirrorWrite) -> bool:
        before = self._applied.get(write.mirror.name)
        return before is not None and before.sure and before.mirror == write.mirror

    async def _send(self, write: MirrorWrite) -> outbox.Retry:
        self._began, self._newest = outbox.loop_time(), write
        term, outcome, mirror = self._term, "written", write.mirror
        try:
            if write.applies:
                await self._api.apply_mirror(mirror.namespace, mirror.name, document(mirror))
            else:
                patch: Document = {**state_patch(live=False)}
                await self._api.patch_mirror(mirror.namespace, mirror.name, patch)
        except errors.KubeError as error:
            if write.applies or not isinstance(error, errors.NotFound):
                self._note(write, error, term)
                return outbox.Retry.IN_PLACE
            # A mirror that does not exist need not be marked as over.
            outcome = "gone"
        self._refusals.forgive(mirror.namespace)
        self._invalid.pop(mirror.name, None)
        if term == self._term:
            self._applied[mirror.name] = write.applied
        self._observe(write.purpose, outcome)
        return outbox.Retry.NO

    def _note(self, write: MirrorWrite, error: errors.KubeError, term: int) -> None:
        refused = isinstance(error, errors.Invalid | errors.Forbidden | errors.NotFound)
        self._observe(write.purpose, "refused" if refused else "failed")
        if term != self._term:
            return
        now = outbox.loop_time()
        name, namespace = write.mirror.name, write.mirror.namespace
        if isinstance(error, errors.Invalid):
            is_new = all(each.namespace != namespace for each in self._invalid.values())
            self._invalid[name] = _Invalid(namespace, write.mirror.message, now + LONGEST_SECONDS)
        else:
            is_new = self._refusals.note(namespace, error, now)
        if not isinstance(error, errors.ApiStatusError) or isinstance(error, errors.ServerError):
            # The write may have succeeded; closing a mirror does not make it younger.
            before = self._applied.get(name)
            at = write.planned if before is None or write.applies else before.at
            self._applied[name] = replace(write.doubted, at=at)
        if is_new and isinstance(error, errors.Forbidden) and _NO_RIGHT in str(error):
            self._log.error("mirrors_forbidden", namespace=namespace, error=str(error), hint=_HINT)
        elif is_new:
            self._log.warning("mirror_not_written", namespace=namespace, error=str(error))


FIRST_SECONDS: Final = 5.0
"""Delay after a namespace's first refusal: a starting API server refuses until it has its roles."""

LONGER: Final = 4
"""Each further refusal in a row multiplies the delay by this."""

LONGEST_SECONDS: Final = 1800.0
"""Longest delay after a refusal."""

UNREACHED_SECONDS: Final = 60.0
"""Longest delay if there was no answer: a webhook or the API server itself hangs."""

UNTRIED_SECONDS: Final = 1.0
"""Longest wait of an untried namespace after another one has refused."""

PAUSE_LONGEST: Final = 60.0
"""Longest pause after a failure, while no write succeeds."""


@dataclass(frozen=True, slots=True)
class _Left:
    until: float
    refusals: int


class Refusals:
    """The refusals of namespaces; times are those of the event loop.

    A namespace that refuses does not hold up those that are known to accept mirrors, and holds up
    untried ones only for a moment. Those that refused wait longer after each failure, so that a
    permission missing everywhere costs one request a minute once every namespace was tried.
    """

    def __init__(self) -> None:
        self._left: dict[str, _Left] = {}
        self._good: set[str] = set()
        self._resume_at = 0.0
        self._doubt_until = 0.0
        self._untried_until = 0.0
        self._backoff = outbox.retry_delay(PAUSE_LONGEST)

    def __len__(self) -> int:
        return len(self._left)

    def __contains__(self, namespace: str) -> bool:
        return namespace in self._left

    def until(self, namespace: str) -> float:
        left = self._left.get(namespace)
        until = max(self._resume_at, left.until if left is not None else 0.0)
        if namespace in self._good:
            return until
        return max(until, self._untried_until if left is None else self._doubt_until)

    def note(self, namespace: str, error: errors.KubeError, now: float) -> bool:
        pause = self._backoff.next()
        of_server = isinstance(error, errors.TooManyRequests | errors.Unauthorized)
        if of_server or isinstance(error, errors.ConnectionFailed):
            self._resume_at = now + max(pause, outbox.retry_after(error))
        else:
            self._resume_at = now + max(outbox.BACKOFF_FIRST, outbox.retry_after(error))
            self._doubt_until = now + pause
            self._untried_until = now + min(pause, UNTRIED_SECONDS)
        if of_server:
            return self._backoff.is_new(error)
        before = self._left.get(namespace)
        refusals = before.refusals if before is not None else 0
        longest = (
            UNREACHED_SECONDS if isinstance(error, errors.ConnectionFailed) else LONGEST_SECONDS
        )
        seconds = min(FIRST_SECONDS * LONGER**refusals, longest)
        self._left[namespace] = _Left(now + seconds, refusals + 1)
        self._good.discard(namespace)
        return before is None

    def forgive(self, namespace: str) -> None:
        self._left.pop(namespace, None)
        self._good.add(namespace)
        self._backoff.reset()

    def keep(self, wanted: Collection[str], known: Collection[str]) -> None:
        self._left = {name: each for name, each in self._left.items() if name in wanted}
        self._good &= set(known)

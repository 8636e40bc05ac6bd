"""Leader election on a Lease: client-go's algorithm with a fence.

The API server enforces nothing: any client that may update a Lease can take it. So replicas follow
client-go's algorithm (tools/leaderelection/leaderelection.go):

- The holder renews every 2 s. A candidate takes the Lease once its record has not *changed* for the
  duration written in it. The times in the record are never compared with a clock, so clocks may
  differ.
- A holder that could not renew for the renew deadline, which is shorter, stops leading. All writes
  carry the version that was read, so if two replicas try at once, one gets a conflict.
- A candidate that has just started waits for the whole duration, unless the holder released the
  Lease on exit. The wait between two attempts has jitter, and ends early when a watch shows that
  the Lease is free (`_look_out`). client-go does not do that; it saves seconds in which no replica
  reports a new fault. Only a read decides who may lead.
- Each process has its own identity. If the pod's name were the identity, a restarted container
  would retake its Lease at once, and start all graces again, although a standby knows them. For the
  same reason a candidate that has never seen the record change waits one jittered retry period
  longer: a replica that has been running for longer leads first.

**The fence.** client-go does not guarantee a single leader: a suspended process wakes up and writes
before it notices that its lease has expired. So every write here checks `fence_left` right before
it starts. The fence is counted from *before* the last renewal was sent, so it closes before another
replica may take the Lease, unless that replica's clock runs faster by more than the lease exceeds
the renew deadline. A write sent at the last moment is made harmless elsewhere: names of Events are
derived from their content, and updates carry the version that they change. The clock counts suspend
(`CLOCK_BOOTTIME`); with `time.monotonic` the fence would still be open after one.

`leaderelection` of kubernetes_asyncio 36.1.0 is not used: a dropped connection ends the election
while the leader's task goes on, its requests have no timeout, and it never releases the Lease.
"""

import asyncio
import math
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from http import HTTPStatus
from typing import Final, NoReturn
from urllib.parse import quote

import msgspec
import structlog

from reporter.catalogue.resources import COMPONENT, EVENT_NAMESPACE, LABEL_PREFIX, LEASES
from reporter.kube import decode
from reporter.kube.client import KubeClient, Response, api_path, encode
from reporter.kube.clock import Now, real_now
from reporter.kube.errors import Conflict, Forbidden, Invalid, KubeError, NotFound, NotJson
from reporter.model.instant import rfc3339_micro
from reporter.model.objects import Lease

_JITTER: Final = 1.2
_GROUP: Final = "coordination.k8s.io"

_SERVER_SECONDS: Final = 300
_IDLE_SECONDS: Final = _SERVER_SECONDS + 30.0
_PAUSE_SECONDS: Final = 30.0

HANDED_ON_ANNOTATION: Final = f"{LABEL_PREFIX}pending-since"
"""Data that a leader leaves on its Lease for the next leader."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Seconds. Candidates wait for `duration`; a leader starts no request later than
    `renew_deadline` after its last renewal. Both try every `retry`.

    The ratios are those of Kubernetes' own components, 15 : 10 : 2 (client-go,
    tools/leaderelection/leaderelection.go); they meet its conditions for every duration.
    """

    duration: float = 15.0

    @property
    def renew_deadline(self) -> float:
        return self.duration * 10 / 15

    @property
    def retry(self) -> float:
        return self.duration * 2 / 15

    @property
    def patience(self) -> float:
        """Return the timeout of one request: short enough that a hung request costs no Lease.

        As in client-go (tools/leaderelection/resourcelock/interface.go, `NewFromKubeconfig`). A
        shorter timeout would take the Lease from a leader whose API server is slow, and no replica
        could lead until the server is fast again.
        """
        return max(self.retry, self.renew_deadline / 2)


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str
    annotations: dict[str, str] | None = None


class _Lease(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: msgspec.Raw = msgspec.Raw(b"{}")


@dataclass(frozen=True, slots=True)
class Left:
    """The data that another process left on the Lease for its successor, and when it last wrote."""

    text: str
    renewed: str


@dataclass(frozen=True, slots=True)
class _Record:
    """The Lease as last read; any change of its `raw` spec shows that the holder is alive.

    `document` is complete, so that a PUT keeps fields of other writers. `changed_at` is when this
    process saw the last change, or the record for the first time, in seconds on our clock.
    """

    document: dict[str, object]
    raw: bytes
    spec: _Spec
    version: str
    changed_at: float
    seen_to_change: bool

    @property
    def holder(self) -> str:
        return self.spec.holder_identity or ""


@dataclass(eq=False)
class Elector:
    """Tries to hold the Lease. Every write checks `fence_left` before it starts.

    A former leader goes on as a candidate. `run` ends only by cancellation, and then releases the
    Lease: cancel it only after the guarded work has ended.

    `identity` must be unique to this process, for ever. `hand_on` returns the text to leave on the
    Lease for the next leader; None keeps the current text.
    """

    client: KubeClient
    _: KW_ONLY
    identity: str
    name: str = COMPONENT
    times: LeaseTimes = LeaseTimes()
    now: Now = real_now
    chance: random.Random = field(default_factory=random.Random)
    hand_on: Callable[[], str | None] = lambda: None

    def __post_init__(self) -> None:
        self._leases = api_path(_GROUP, "v1", "namespaces", EVENT_NAMESPACE, "leases")
        self._path = f"{self._leases}/{quote(self.name, safe='')}"
        self._record: _Record | None = None
        self._renewed_at: float | None = None
        self._failure = ""
        self.left_by_another: Left | None = None

    @property
    def holder(self) -> str:
        return self._record.holder if self._record else ""

    def fence_left(self) -> float:
        """Return for how many seconds requests may still be started; 0 if not leading.

        Counted from before the last renewal was sent. Other replicas count the longer lease
        duration from when they saw that renewal, so they always wait longer.
        """
        if self._renewed_at is None:
            return 0.0
        return max(0.0, self._renewed_at + self.times.renew_deadline - self._seconds())

    def is_leader(self) -> bool:
        return self.fence_left() > 0

    async def run(
        self,
        *,
        started: Callable[[], None] = lambda: None,
        stopped: Callable[[], None] = lambda: None,
    ) -> NoReturn:
        """Take part in the election until cancelled, then release the Lease if it is ours.

        `stopped` is called also on cancellation.
        """
        try:
            while True:
                await self._acquire()
                log.info("leading_started", lease=self.name, identity=self.identity)
                try:
                    started()
                    await self._hold()
                finally:
                    self._renewed_at = None
                    log.info("leading_stopped", lease=self.name, identity=self.identity)
                    stopped()
        finally:
            self._renewed_at = None
            await self._release()

    async def _acquire(self) -> None:
        if await self._try(self.times.renew_deadline):
            return
        free = asyncio.Event()
        async with _beside(self._look_out(free)):
            held = False
            while not held:
                # Jitter keeps candidates out of step.
                pause = self.times.retry * (1 + _JITTER * self.chance.random())
                left = self._held_for()
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(pause, left) if left > 0 else pause):
                        await free.wait()
                free.clear()
                held = await self._try(self.times.renew_deadline)

    async def _look_out(self, free: asyncio.Event) -> None:
        """Watch the Lease for ever, and set `free` when it has no holder."""
        while True:
            pause = 1.0
            try:
                await self._watch(free)
            except KubeError as error:
                log.debug("lease_not_watched", lease=self.name, cause=str(error))
                pause = _PAUSE_SECONDS
            await asyncio.sleep(pause * (1 + self.chance.random()))

    async def _watch(self, free: asyncio.Event) -> None:
        async with self.client.stream(
            self._leases,
            resource="leases",
            params={
                "watch": "true",
                "fieldSelector": f"metadata.name={self.name}",
                "timeoutSeconds": str(_SERVER_SECONDS),
            },
            idle_seconds=_IDLE_SECONDS,
        ) as lines:
            async for each in lines:
                for frame in await decode.off_the_loop(decode.decode_frames, LEASES, each):
                    if isinstance(frame.content, Lease) and (
                        frame.type is decode.FrameType.DELETED
                        or not frame.content.spec.holder_identity
                    ):
                        free.set()

    async def _hold(self) -> None:
        """Renew every retry period; return once the fence has closed or the Lease is taken."""
        while True:
            await asyncio.sleep(min(self.times.retry, self.fence_left()))
            while (left := self.fence_left()) > 0:
                began = self._seconds()
                if await self._try(left):
                    break
                if self.holder != self.identity:
                    return
                # An attempt that hung has already used up its period.
                spent = self._seconds() - began
                pause = max(0.0, self.times.retry - spent)
                await asyncio.sleep(min(pause, self.fence_left()))
            else:
                return

    async def _try(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                held = await self._renew_at_once() or await self._get_and_put()
        except TimeoutError:
            self._failed("no answer in time")
        except KubeError as error:
            self._failed(str(error))
        else:
            self._failure = ""
            return held
        return False

    def _failed(self, cause: str) -> None:
        """Log why attempts fail, once for each cause and not at every retry."""
        if cause != self._failure:
            log.warning("lease_try_failed", lease=self.name, cause=cause)
        self._failure = cause

    async def _renew_at_once(self) -> bool:
        """Renew with the version last seen: one request in the normal case."""
        record = self._record
        if record is None or record.holder != self.identity or not self.is_leader():
            return False
        # If this fails, `_get_and_put` finds out why.
        with suppress(KubeError):
            return await self._put(record)
        return False

    async def _get_and_put(self) -> bool:
        try:
            response = await self._request("GET", "get")
        except NotFound as error:
            if not error.is_status_object:
                raise
            # The Lease was deleted, but its holder may still write.
            return self._held_for() <= 0 and await self._create()
        record = self._observe(response)
        return self._held_for() <= 0 and await self._put(record)

    def _held_for(self) -> float:
        record = self._record
        if record is None or record.holder in ("", self.identity):
            return 0.0
        lasts = float(record.spec.lease_duration_seconds or self.times.duration)
        if not record.seen_to_change:
            lasts += self.times.retry * (1 + _JITTER)
        return max(0.0, record.changed_at + lasts - self._seconds())

    async def _create(self) -> bool:
        # By PUT: RBAC cannot limit a POST to one name, as the request's path has none.
        document: dict[str, object] = {
            "apiVersion": f"{_GROUP}/v1",
            "kind": "Lease",
            "metadata": {"name": self.name, "namespace": EVENT_NAMESPACE},
        }
        try:
            return await self._write(self._changed(document, self._spec(None)), "create")
        except (Invalid, Conflict):
            # Another replica has created it since: a PUT without a version is refused with 422.
            log.debug("lease_made_by_another", lease=self.name)
            return False

    async def _put(self, record: _Record) -> bool:
        return await self._write(self._changed(record.document, self._spec(record)), "update")

    async def _write(self, document: dict[str, object], verb: str) -> bool:
        began = self._seconds()
        response = await self._request("PUT", verb, encode(document))
        if self._observe(response).holder != self.identity:
            raise NotJson(f"PUT {self._path}: the answer is not the Lease that was written")
        self._renewed_at = began
        return True

    async def _release(self) -> None:
        if self._record is None or self._record.holder != self.identity:
            return
        try:
            async with asyncio.timeout(self.times.retry):
                record = self._observe(await self._request("GET", "get"))
                if record.holder != self.identity:
                    return
                spec = self._spec(record)
                spec |= {"holderIdentity": "", "leaseDurationSeconds": 1}
                spec["acquireTime"] = spec["renewTime"]
                await self._request("PUT", "update", encode(self._changed(record.document, spec)))
        except TimeoutError:
            log.warning("lease_release_failed", lease=self.name, cause="no answer in time")
        except Forbidden as error:
            # Expected when the chart is uninstalled: its Role is deleted before its pods.
            log.info("lease_not_released", lease=self.name, cause=str(error))
        except KubeError as error:
            log.warning("lease_release_failed", lease=self.name, cause=str(error))
        else:
            self._record = replace(record, spec=_Spec())
            log.info("lease_released", lease=self.name)

    def _spec(self, record: _Record | None) -> dict[str, object]:
        """Return what this process writes to hold the Lease, after a record on it."""
        now, before = rfc3339_micro(self.now().wall), record.spec if record else _Spec()
        is_ours = record is not None and record.holder == self.identity
        is_taken = record is not None and not is_ours
        return {
            "holderIdentity": self.identity,
            # The API takes whole seconds; candidates may wait longer than configured, never less.
            "leaseDurationSeconds": math.ceil(self.times.duration),
            "acquireTime": (before.acquire_time if is_ours else None) or now,
            "renewTime": now,
            "leaseTransitions": (before.lease_transitions or 0) + is_taken,
        }

    def _observe(self, response: Response) -> _Record:
        """Store a Lease that the server sent; note when its spec changes."""
        lease = response.decode(_Lease)
        raw = bytes(lease.spec)
        before = self._record
        same = before is not None and before.raw == raw
        try:
            spec = msgspec.json.decode(raw, type=_Spec | None) or _Spec()
        except msgspec.DecodeError:
            raise NotJson(f"GET {self._path}: the Lease's spec is malformed") from None
        self._record = _Record(
            document=response.decode(dict[str, object]),
            raw=raw,
            spec=spec,
            version=lease.metadata.resource_version,
            changed_at=before.changed_at if before is not None and same else self._seconds(),
            seen_to_change=before is not None and (before.seen_to_change or not same),
        )
        if spec.holder_identity != self.identity:
            text = (lease.metadata.annotations or {}).get(HANDED_ON_ANNOTATION, "")
            self.left_by_another = Left(text, spec.renew_time or "")
        return self._record

    def _changed(self, document: dict[str, object], spec: dict[str, object]) -> dict[str, object]:
        changed = {**document, "spec": {**_mapping(document, "spec"), **spec}}
        text = self.hand_on()
        if text is not None:
            metadata = _mapping(document, "metadata")
            annotations = _mapping(metadata, "annotations") | {HANDED_ON_ANNOTATION: text}
            if not text:
                del annotations[HANDED_ON_ANNOTATION]
            changed["metadata"] = {**metadata, "annotations": annotations}
        return changed

    async def _request(self, method: str, verb: str, body: bytes | None = None) -> Response:
        response = await self.client.request(
            method,
            self._path,
            verb=verb,
            resource="leases",
            body=body,
            timeout=self.times.patience,
            lease=True,
        )
        if response.status not in (HTTPStatus.OK, HTTPStatus.CREATED):
            raise NotJson(f"{method} {self._path}: an answer {response.status} has no Lease")
        return response

    def _seconds(self) -> float:
        return self.now().boot.total_seconds()


@asynccontextmanager
async def _beside(work: Coroutine[object, object, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


def _mapping(document: dict[str, object], name: str) -> dict[str, object]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}

"""Leader election on a Lease: client-go's algorithm with a fence.

The API server enforces nothing: whoever may update a Lease can take it. So replicas follow the
algorithm of client-go (tools/leaderelection/leaderelection.go):

- The holder renews every 2 s. Who is not the holder takes the Lease once its record has not
  *changed* for the duration that stands in it. The times in the record are never compared with a
  clock, so clocks may differ.
- A holder that could not renew for the renew deadline, which is shorter, stops leading. Both write
  with the version that they have read, so of two that try at once one gets a conflict.
- A candidate that has just started waits for the whole duration, unless the holder released the
  Lease when it ended. The wait between two tries has jitter, and ends early when a watch says that
  the Lease is free (`LeaseWatch`), which client-go does not do: those are seconds in which a new
  fault is told by nobody. Only a read decides who may lead.
- Identities are those of processes. Under the name of its pod a container that restarts would take
  its own Lease back at once, and begin all graces again, from a standby that knows them. For the
  same end a candidate that never saw the record change waits for as long as another one may take to
  look: who has been here for longer leads first.

**The fence.** client-go does not guarantee a single leader: a process that stood still wakes up and
writes before it notices that its lease is over. So every write here asks `fence_left` right before
it starts; that is counted from the moment *before* the last renewal was sent, so it is up before
another replica may take the Lease, unless its clock runs faster by more than the lease is longer.
What is sent at the very last moment is made harmless elsewhere: names of Events follow from what
they tell, and updates name the version that they change. The clock counts suspend
(`CLOCK_BOOTTIME`); with `time.monotonic` the fence would still be open after one.

`leaderelection` of kubernetes_asyncio 36.1.0 is not used: a dropped connection ends the election
while the leader's task goes on, requests have no time limit, and it never releases the Lease.
"""

import asyncio
import math
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final, NoReturn
from urllib.parse import quote

import msgspec
import structlog

from reporter.catalogue.resources import COMPONENT, EVENT_NAMESPACE, LABEL_PREFIX
from reporter.kube.client import KubeClient, Response, api_path, encode
from reporter.kube.clock import Now, real_now
from reporter.kube.errors import Conflict, Forbidden, Invalid, KubeError, NotFound, NotJson, mapped
from reporter.model.instant import rfc3339_micro

_JITTER: Final = 1.2
_GROUP: Final = "coordination.k8s.io"

HANDED_ON_ANNOTATION: Final = f"{LABEL_PREFIX}pending-since"
"""What a leader leaves on its Lease for the next one."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Seconds: `duration` > `renew_deadline` > 1.2 x `retry`, as in client-go.

    Others wait for `duration`; a leader starts no request `renew_deadline` after its last renewal.
    """

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not self.duration > self.renew_deadline > _JITTER * self.retry > 0:
            raise ValueError(
                f"lease {self.duration} s, renew deadline {self.renew_deadline} s, retry period "
                f"{self.retry} s: the lease must exceed the renew deadline, and that 1.2 times "
                "the retry period"
            )

    @property
    def patience(self) -> float:
        """Longest that one request may take: short enough that one that hangs costs no Lease.

        As in client-go (tools/leaderelection/resourcelock/interface.go, `NewFromKubeconfig`). Less
        would take the Lease from a leader whose API server is slow, and nobody would lead for as
        long as it is.
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
    """What another process left on the Lease for whoever comes next, and when it wrote so last."""

    text: str
    renewed: str


@dataclass(frozen=True, slots=True)
class _Record:
    """The Lease as it was seen last; any change of its `raw` spec shows that its holder lives.

    `document` is whole, so that a PUT keeps what others wrote on it. `changed_at` is when a change
    was seen here, in seconds on our clock; at the first read none was seen yet.
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


class Elector:
    """Tries to hold the Lease. `fence_left` is what every write asks before it starts.

    A former leader goes on as a candidate. `run` ends only by cancellation, and then releases the
    Lease: cancel it after the work that it guards has ended.
    """

    def __init__(
        self,
        client: KubeClient,
        *,
        identity: str,
        name: str = COMPONENT,
        times: LeaseTimes | None = None,
        now: Now = real_now,
        chance: random.Random | None = None,
        hand_on: Callable[[], str | None] = lambda: None,
    ) -> None:
        """`identity`: no other process may ever have had it. `hand_on`: what to leave on the Lease
        for the next leader; None leaves what stands there.
        """
        self._client = client
        self._identity = identity
        self._name = name
        self._leases = api_path(_GROUP, "v1", "namespaces", EVENT_NAMESPACE, "leases")
        self._path = f"{self._leases}/{quote(name, safe='')}"
        self._times = times or LeaseTimes()
        self._now = now
        self._chance = chance or random.Random()  # noqa: S311 - jitter is no secret
        self._record: _Record | None = None
        self._renewed_at: float | None = None
        self._failure = ""
        self._hand_on = hand_on
        self.left_by_another: Left | None = None

    @property
    def holder(self) -> str:
        return self._record.holder if self._record else ""

    def fence_left(self) -> float:
        """Return for how many seconds requests may still be started; 0 if not leading.

        It is counted from before the last renewal was sent, so others, who count the longer lease
        duration from when they saw that renewal, always wait longer.
        """
        if self._renewed_at is None:
            return 0.0
        return max(0.0, self._renewed_at + self._times.renew_deadline - self._seconds())

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
                log.info("leading_started", lease=self._name, identity=self._identity)
                try:
                    started()
                    await self._hold()
                finally:
                    self._renewed_at = None
                    log.info("leading_stopped", lease=self._name, identity=self._identity)
                    stopped()
        finally:
            self._renewed_at = None
            await self._release()

    async def _acquire(self) -> None:
        if await self._try(self._times.renew_deadline):
            return
        watch = LeaseWatch(self._client, self._leases, self._name, chance=self._chance)
        async with _beside(watch.run()):
            held = False
            while not held:
                # Jitter keeps candidates out of step.
                pause = self._times.retry * (1 + _JITTER * self._chance.random())
                left = self._held_for()
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(pause, left) if left > 0 else pause):
                        await watch.free.wait()
                watch.free.clear()
                held = await self._try(self._times.renew_deadline)

    async def _hold(self) -> None:
        """Renew every retry period; return once the fence has closed or another one holds it."""
        while True:
            await asyncio.sleep(min(self._times.retry, self.fence_left()))
            while (left := self.fence_left()) > 0:
                began = self._seconds()
                if await self._try(left):
                    break
                if self.holder != self._identity:
                    return
                # A try that hung has used up its period already.
                spent = self._seconds() - began
                pause = max(0.0, self._times.retry - spent)
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
        """Say once why tries fail, not at every retry."""
        if cause != self._failure:
            log.warning("lease_try_failed", lease=self._name, cause=cause)
        self._failure = cause

    async def _renew_at_once(self) -> bool:
        """Renew with the version last seen: one request while all is well."""
        record = self._record
        if record is None or record.holder != self._identity or not self.is_leader():
            return False
        # If this fails, the complete way finds out why.
        with suppress(KubeError):
            return await self._put(record)
        return False

    async def _get_and_put(self) -> bool:
        try:
            response = await self._request("GET", "get")
        except NotFound as error:
            if not error.is_status_object:
                raise
            # Somebody has deleted the Lease, but its holder may still write.
            return self._held_for() <= 0 and await self._create()
        record = self._observe(response)
        return self._held_for() <= 0 and await self._put(record)

    def _held_for(self) -> float:
        record = self._record
        if record is None or record.holder in ("", self._identity):
            return 0.0
        lasts = float(record.spec.lease_duration_seconds or self._times.duration)
        if not record.seen_to_change:
            lasts += self._times.retry * (1 + _JITTER)
        return max(0.0, record.changed_at + lasts - self._seconds())

    async def _create(self) -> bool:
        # By PUT: RBAC cannot grant a create by POST for one name only, as the request has none.
        now = rfc3339_micro(self._now().wall)
        spec = self._spec(acquired=now, renewed=now, transitions=0)
        document: dict[str, object] = {
            "apiVersion": f"{_GROUP}/v1",
            "kind": "Lease",
            "metadata": {"name": self._name, "namespace": EVENT_NAMESPACE},
        }
        try:
            return await self._write(self._changed(document, spec), "create")
        except (Invalid, Conflict):
            # Another one has made it since: a PUT without a version is then refused with 422.
            log.debug("lease_made_by_another", lease=self._name)
            return False

    async def _put(self, record: _Record) -> bool:
        now = rfc3339_micro(self._now().wall)
        transitions = record.spec.lease_transitions or 0
        acquired = now
        if record.holder == self._identity:
            acquired = record.spec.acquire_time or now
        else:
            transitions += 1
        spec = self._spec(acquired=acquired, renewed=now, transitions=transitions)
        return await self._write(self._changed(record.document, spec), "update")

    async def _write(self, document: dict[str, object], verb: str) -> bool:
        began = self._seconds()
        response = await self._request("PUT", verb, encode(document))
        if self._observe(response).holder != self._identity:
            raise NotJson(f"PUT {self._path}: the answer is not the Lease that was written")
        self._renewed_at = began
        return True

    async def _release(self) -> None:
        if self._record is None or self._record.holder != self._identity:
            return
        try:
            async with asyncio.timeout(self._times.retry):
                record = self._observe(await self._request("GET", "get"))
                if record.holder != self._identity:
                    return
                now = rfc3339_micro(self._now().wall)
                transitions = record.spec.lease_transitions or 0
                spec = self._spec(acquired=now, renewed=now, transitions=transitions)
                spec |= {"holderIdentity": "", "leaseDurationSeconds": 1}
                await self._request("PUT", "update", encode(self._changed(record.document, spec)))
        except TimeoutError:
            log.warning("lease_release_failed", lease=self._name, cause="no answer in time")
        except Forbidden as error:
            # As when the chart is uninstalled: its Role is gone before its pods are.
            log.info("lease_not_released", lease=self._name, cause=str(error))
        except KubeError as error:
            log.warning("lease_release_failed", lease=self._name, cause=str(error))
        else:
            self._record = replace(record, spec=_Spec())
            log.info("lease_released", lease=self._name)

    def _spec(self, *, acquired: str, renewed: str, transitions: int) -> dict[str, object]:
        return {
            "holderIdentity": self._identity,
            # The API takes whole seconds; others may wait longer than asked, never shorter.
            "leaseDurationSeconds": math.ceil(self._times.duration),
            "acquireTime": acquired,
            "renewTime": renewed,
            "leaseTransitions": transitions,
        }

    def _observe(self, response: Response) -> _Record:
        """Take over a Lease that the server sent; note when its spec changes."""
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
        if spec.holder_identity != self._identity:
            text = (lease.metadata.annotations or {}).get(HANDED_ON_ANNOTATION, "")
            self.left_by_another = Left(text, spec.renew_time or "")
        return self._record

    def _changed(self, document: dict[str, object], spec: dict[str, object]) -> dict[str, object]:
        changed = {**document, "spec": {**_mapping(document, "spec"), **spec}}
        text = self._hand_on()
        if text is not None:
            metadata = _mapping(document, "metadata")
            annotations = _mapping(metadata, "annotations") | {HANDED_ON_ANNOTATION: text}
            if not text:
                del annotations[HANDED_ON_ANNOTATION]
            changed["metadata"] = {**metadata, "annotations": annotations}
        return changed

    async def _request(self, method: str, verb: str, body: bytes | None = None) -> Response:
        response = await self._client.request(
            method,
            self._path,
            verb=verb,
            resource="leases",
            body=body,
            timeout=self._times.patience,
            lease=True,
        )
        if response.status not in (HTTPStatus.OK, HTTPStatus.CREATED):
            raise NotJson(f"{method} {self._path}: an answer {response.status} has no Lease")
        return response

    def _seconds(self) -> float:
        return self._now().boot.total_seconds()


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


_SERVER_SECONDS: Final = 300
_IDLE_SECONDS: Final = _SERVER_SECONDS + 30.0
_PAUSE_SECONDS: Final = 30.0


class _WatchedLease(msgspec.Struct, frozen=True):
    spec: _Spec | None = None


class _Frame(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw

    def frees(self) -> bool:
        if self.type not in ("ADDED", "MODIFIED"):
            return self.type == "DELETED"
        spec = msgspec.json.decode(self.object, type=_WatchedLease).spec
        return spec is None or not spec.holder_identity


class LeaseWatch:
    """Watches one Lease while `run` runs, and sets `free` when nobody holds it."""

    def __init__(self, client: KubeClient, path: str, name: str, *, chance: random.Random) -> None:
        self.free = asyncio.Event()
        self._client = client
        self._path = path
        self._name = name
        self._chance = chance

    async def run(self) -> None:
        while True:
            pause = 1.0
            try:
                await self._watch()
            except KubeError as error:
                log.debug("lease_not_watched", lease=self._name, cause=str(error))
                pause = _PAUSE_SECONDS
            await asyncio.sleep(pause * (1 + self._chance.random()))

    async def _watch(self) -> None:
        async with self._client.stream(
            self._path,
            resource="leases",
            params={
                "watch": "true",
                "fieldSelector": f"metadata.name={self._name}",
                "timeoutSeconds": str(_SERVER_SECONDS),
            },
            idle_seconds=_IDLE_SECONDS,
        ) as lines:
            async for line in lines:
                with mapped("watching the Lease"):
                    if msgspec.json.decode(line, type=_Frame).frees():
                        self.free.set()

"""Reads what explains faults, beside the passes: others' Events, objects on demand, ends of logs.

A pass makes no request, and the evidence of why a pod does not run is not watched. When a node pool
is emptied, hundreds of models break in the same minute, and the API server has other things to do.
So each pass lists what it could not explain, starting with what hits the most models. Evidence for
it is read at once, again after 10 s and after 60 s, as kubelets and autoscalers need that long to
report, and then at most once a minute: at most two requests a second in all. Nothing waits for it:
the symptom is reported in time, and its message changes when the cause is known.

Only the leader reads, except evidence that verdicts depend on, because the API server keeps no
cache of Events. HorizontalPodAutoscalers are read every 10 s while one is reported as at fault,
unless there are so many that a read takes long. Evidence is kept as long as anything is at fault in
its namespace, as an Event expires after an hour. A read that was forbidden is retried after ten
minutes.

Nothing here is watched. A watch of Events would decode every Event of the cluster, for ever. The
API server has no watch cache for Events, so even a list of one namespace reads them all from etcd
(kubernetes, pkg/kubeapiserver/default_storage_factory_builder.go). Hence one paged list per
namespace, only while a fault there is unexplained. Each request first awaits `turn`, with which the
caller sets the pace.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final, TypeVar

import msgspec
import structlog

from reporter.catalogue.resources import AUTOSCALERS, EVENTS, LEASES, VOLUMES
from reporter.diagnosis.logs import LogReading, read_log
from reporter.diagnosis.signatures import Signature
from reporter.diagnosis.wanted_evidence import NOTHING_WANTED, WantedEvidence, WantedRun, together
from reporter.kube.client import KubeClient, api_path
from reporter.kube.decode import ListBody, decode_page, page_of
from reporter.kube.errors import (
    ApiStatusError,
    KubeError,
    NotFound,
    ServerError,
    TooManyRequests,
    mapped,
)
from reporter.model.evidence import ContainerLog, ForeignEvent, LogCause
from reporter.model.finding import EpisodeKey
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.sinks.outbox import retry_after
from reporter.snapshot.foreign_events import EventObject, foreign_event
from reporter.snapshot.snapshot import Learned, Snapshot

PAGE: Final = 500

MOST_PAGES: Final = 4
"""Most pages read per namespace; beyond that, Events are requested by object."""

_OBJECT_PAGE: Final = 250
_REQUEST_SECONDS: Final = 10.0
_PAGE_BYTES: Final = 8 * 2**20

ObjectT = TypeVar("ObjectT", bound=KubeObject)
Turn = Callable[[], Awaitable[None]]


async def read_events(
    client: KubeClient, namespace: str, *, uids: Iterable[str], turn: Turn
) -> list[ForeignEvent]:
    """Return the Events of others in a namespace; if there are too many to page through, also read
    those about the objects with `uids`.
    """
    found: list[ForeignEvent] = []
    page = await _event_page(client, namespace, {}, turn=turn)
    found += _foreign_events(page)
    for _ in range(MOST_PAGES - 1):
        if (
            not page.metadata.continue_token
            or (page.metadata.remaining_item_count or 0) > PAGE * MOST_PAGES
        ):
            break
        page = await _event_page(
            client, namespace, {"continue": page.metadata.continue_token}, turn=turn
        )
        found += _foreign_events(page)
    if page.metadata.continue_token:
        for uid in uids:
            selector = {"fieldSelector": f"involvedObject.uid={uid}"}
            found += _foreign_events(await _event_page(client, namespace, selector, turn=turn))
    return found


async def _event_page(
    client: KubeClient, namespace: str, params: dict[str, str], *, turn: Turn
) -> ListBody[msgspec.Raw]:
    await turn()
    response = await client.request(
        "GET",
        api_path("", "v1", "namespaces", namespace, EVENTS.plural),
        verb="list",
        resource=EVENTS.plural,
        params={"limit": str(PAGE), **params},
        timeout=_REQUEST_SECONDS,
        max_bytes=_PAGE_BYTES,
    )
    with mapped("list events"):
        return msgspec.json.decode(response.body, type=ListBody[msgspec.Raw])


def _foreign_events(page: ListBody[msgspec.Raw]) -> list[ForeignEvent]:
    found: list[ForeignEvent] = []
    for item in page.items or ():
        try:
            event = foreign_event(msgspec.json.decode(item, type=EventObject))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            continue  # a malformed Event explains nothing, and must not hide the others
        if event is not None:
            found.append(event)
    return found


async def read_objects(
    client: KubeClient, resource: Resource[KubeObject], version: str, *, turn: Turn
) -> tuple[list[KubeObject], bool]:
    """Return the objects of a kind, and whether the list is complete."""
    found: list[KubeObject] = []
    token, whole = "", True
    for _ in range(MOST_PAGES):
        await turn()
        response = await client.request(
            "GET",
            api_path(resource.group, version, resource.plural),
            verb="list",
            resource=resource.plural,
            params={"limit": str(_OBJECT_PAGE), **({"continue": token} if token else {})},
            timeout=_REQUEST_SECONDS,
            max_bytes=_PAGE_BYTES,
        )
        page = decode_page(resource, response.body)
        found += page.objects
        whole = whole and not page.skipped
        token = page.continue_token
        if not token:
            return found, whole
    return found, False


async def read_object(
    client: KubeClient, resource: Resource[ObjectT], name: str, *, namespace: str = "", turn: Turn
) -> ObjectT | None:
    """Return one object, or None if it does not exist or is malformed."""
    await turn()
    place = ("namespaces", namespace) if namespace else ()
    try:
        response = await client.request(
            "GET",
            api_path(resource.group, resource.versions[0], *place, resource.plural, name),
            verb="get",
            resource=resource.plural,
            timeout=_REQUEST_SECONDS,
        )
    except NotFound:
        return None
    page = page_of(resource, response.body)
    return page.objects[0] if page.objects else None


LINES: Final = 1_000
"""Lines to request; enough for an engine with eight workers to say why it failed."""

_BYTES: Final = 1024 * 1024
_FEWER: Final = 10
_LOG_SECONDS: Final = 5.0


async def fetch_log(client: KubeClient, crash: ContainerLog) -> str:
    """Return the last lines of a container's run, as the kubelet sends them.

    With `limitBytes` the kubelet cuts off the end (kubernetes, pkg/kubelet/kuberuntime/logs), so if
    the limit is reached, fewer lines are requested. Raises ApiStatusError if the kubelet no longer
    has the log or the pod is gone.
    """
    body = await _read_lines(client, crash, LINES)
    if len(body) >= _BYTES:
        body = await _read_lines(client, crash, LINES // _FEWER)
    return body.decode("utf-8", "replace")


async def _read_lines(client: KubeClient, crash: ContainerLog, lines: int) -> bytes:
    response = await client.request(
        "GET",
        api_path("", "v1", "namespaces", crash.namespace, "pods", crash.pod, "log"),
        verb="get",
        resource="pods/log",
        params={
            "container": crash.container,
            "previous": "true" if crash.previous else "false",
            "tailLines": str(lines),
            "limitBytes": str(_BYTES),
        },
        headers={"Accept": "*/*"},
        timeout=_LOG_SECONDS,
        max_bytes=2 * _BYTES,
    )
    return response.body


@dataclass(frozen=True, slots=True)
class WantedRead:
    """One read: a Lease, the Events of a namespace, a kind, a volume, or a log."""

    lease: tuple[str, str] | None = None
    events: str = ""
    kind: Resource[KubeObject] | None = None
    volume: str = ""
    log: WantedRun | None = None

    @property
    def is_of_verdicts(self) -> bool:
        """Whether verdicts depend on it, so that standbys read it too."""
        return self.lease is not None or self.kind is AUTOSCALERS

    @property
    def namespace(self) -> str:
        """The namespace whose faults it explains; empty if any."""
        return self.events or (self.log.namespace if self.log else "")

    @property
    def repeats(self) -> bool:
        """Whether a later read may say more: the log of an ended run no longer changes."""
        return self.log is None or False in self.log.runs


def steps(wanted: WantedEvidence, *, logs: bool) -> Iterator[WantedRead]:
    """Yield the wanted reads, the most telling first: Leases, Events, then logs, then objects."""
    yield from (WantedRead(lease=each) for each in wanted.leases)
    if wanted.scalers:
        yield WantedRead(kind=AUTOSCALERS)
    yield from (WantedRead(events=each) for each in wanted.namespaces)
    if logs:
        yield from (WantedRead(log=each) for each in wanted.logs)
    yield from (WantedRead(kind=each) for each in wanted.resources)
    yield from (WantedRead(volume=each) for each in wanted.volumes)


@dataclass(frozen=True, slots=True)
class EvidenceReader:
    client: KubeClient
    learned: Learned
    signatures: Sequence[Signature]
    version: Callable[[Resource[KubeObject]], str]
    turn: Turn

    async def take(self, step: WantedRead, wanted: WantedEvidence) -> bool:
        """Read, and return whether anything new was learned. Raises KubeError."""
        if step.lease:
            namespace, name = step.lease
            lease = await read_object(
                self.client, LEASES, name, namespace=namespace, turn=self.turn
            )
            ahead = timedelta(seconds=self.client.clock_offset_seconds)
            held = lease is not None and lease.is_held(datetime.now(UTC) + ahead)
            return self.learned.note_lease(step.lease, lease if held else None)
        if step.events:
            pods = wanted.pods.get(step.events, ())
            uids = [each.metadata.uid for each in pods if each.metadata.uid]
            events = await read_events(self.client, step.events, uids=uids, turn=self.turn)
            return self.learned.note_events(step.events, events)
        if step.log:
            return self.learned.note_log(step.log.key, await self._read_log(step.log))
        if step.volume:
            volume = await read_object(self.client, VOLUMES, step.volume, turn=self.turn)
            found = [volume] if volume is not None else []
            return self.learned.note_objects(VOLUMES, found, partial=True)
        if step.kind is not None and (version := self.version(step.kind)):
            objects, whole = await read_objects(self.client, step.kind, version, turn=self.turn)
            return self.learned.note_objects(step.kind, objects, partial=not whole)
        return False

    async def _read_log(self, wanted: WantedRun) -> LogCause:
        causes: list[LogCause] = []
        refused: ApiStatusError | None = None
        for previous in wanted.runs:
            await self.turn()
            run = ContainerLog(wanted.namespace, wanted.pod, wanted.container, previous)
            try:
                text = await fetch_log(self.client, run)
            except ApiStatusError as error:
                # The kubelet no longer has this log, but it may have that of the other run.
                refused = error
                continue
            # In a thread, and with a rest for the others: a log may be a mebibyte of anything.
            reading, seconds = await asyncio.to_thread(_timed, text, self.signatures)
            await asyncio.sleep(_REST * seconds)
            causes.append(reading.cause)
            if reading.cause.signature and not reading.cause.symptom:
                break
        if not causes and refused is not None:
            raise refused
        return together(causes)


_REST: Final = 4
"""Pause after a log was searched, in multiples of the processor time that it took."""


def _timed(text: str, signatures: Sequence[Signature]) -> tuple[LogReading, float]:
    began = time.thread_time()
    return read_log(text, signatures), time.thread_time() - began


SECONDS: Final = 0.55
"""Time between two requests."""

LATER: Final = (10.0, 50.0)
"""Seconds from the first read to the second, and from that to the third."""

AGAIN: Final = 60.0
_REFUSED: Final = 600.0
_SOONEST: Final = 10.0
_SHARE: Final = 10
"""The next read waits at least this many times as long as a read takes."""

NO_CRASHES: Final[Mapping[EpisodeKey, ContainerLog]] = MappingProxyType({})

log = structlog.get_logger("evidence")


@dataclass(slots=True)
class _Due:
    """When a read is due next, how often it was made, and what was at fault then."""

    at: float
    times: int = 0
    last: float = -_SOONEST
    faults: frozenset[object] = frozenset()
    pause: float = _SOONEST  # least time between two reads that a reported fault depends on


class RequestPace:
    def __init__(self) -> None:
        self._free_at = 0.0

    async def turn(self) -> None:
        now = asyncio.get_running_loop().time()
        begins = max(now, self._free_at)
        self._free_at = begins + SECONDS
        if begins > now:
            await asyncio.sleep(begins - now)


@dataclass(slots=True)
class EvidenceTask:
    reader: EvidenceReader
    leading: Callable[[], bool]
    changed: Callable[[], None]
    logs: bool
    _wanted: WantedEvidence = NOTHING_WANTED
    _crashes: Mapping[EpisodeKey, ContainerLog] = field(default_factory=dict)
    _due: dict[WantedRead, _Due] = field(default_factory=dict)
    _served: dict[str, float] = field(default_factory=dict)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    def joined(self, snapshot: Snapshot) -> Snapshot:
        return self.reader.learned.joined(snapshot)

    def last_lines(self) -> Mapping[EpisodeKey, tuple[str, ...]]:
        """Return the last lines before the crashes of the last pass, as far as they were read."""
        found = {
            key: self.reader.learned.last_lines(each[:3]) for key, each in self._crashes.items()
        }
        return {key: lines for key, lines in found.items() if lines}

    def passed(
        self, wanted: WantedEvidence, crashes: Mapping[EpisodeKey, ContainerLog] = NO_CRASHES
    ) -> None:
        """Accept what a pass could not explain, and the crashes whose last lines it would show."""
        self._wanted, self._crashes = wanted, crashes
        now = asyncio.get_running_loop().time()
        due: dict[WantedRead, _Due] = {}
        for step in steps(wanted, logs=self.logs):
            faults = wanted.namespaces.get(step.events, frozenset())
            known = self._due.get(step)
            if known is None:
                known = _Due(now, faults=faults)
            elif not faults <= known.faults:
                # Something else broke in a namespace whose Events were read already.
                known.at = min(known.at, max(now, known.last + _SOONEST))
                known.times = 0
            known.faults = faults
            if self._must_be_new(step):
                known.at = min(known.at, known.last + known.pause)
            due[step] = known
        self._due = due
        places = {step.namespace for step in due}
        self._served = {place: at for place, at in self._served.items() if place in places}
        logs = {each.key for each in wanted.logs} | {each[:3] for each in crashes.values()}
        self.reader.learned.forget(wanted.at_fault, logs, wanted.leases)
        self._woken.set()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._woken.clear()
            if not self._mine():
                await self._woken.wait()  # a change of leadership leads to a pass
            elif (step := self._next(loop.time())) is not None:
                await self._take(step, self._due[step])
            else:
                await self._pause(loop.time())

    def _must_be_new(self, step: WantedRead) -> bool:
        return step.kind is AUTOSCALERS and self._wanted.scalers_at_fault

    def _mine(self) -> dict[WantedRead, _Due]:
        """Return the reads of this replica: a standby reads only what verdicts depend on."""
        leads = self.leading()
        return {step: each for step, each in self._due.items() if leads or step.is_of_verdicts}

    def _next(self, now: float) -> WantedRead | None:
        """Return a read that is due, of the namespace whose turn was longest ago: a tenant may have
        ever new pods. In a namespace, new ones first, in order, then the one waiting longest.
        """
        due = {step: each for step, each in self._mine().items() if each.at <= now}

        def order(step: WantedRead) -> tuple[bool, float, float]:
            turn = self._served.get(step.namespace, -math.inf)
            return not step.is_of_verdicts, turn, due[step].at if due[step].last > 0 else 0.0

        return min(due, key=order, default=None)

    async def _pause(self, now: float) -> None:
        soonest = min((each.at for each in self._mine().values()), default=None)
        wait = max(SECONDS, soonest - now) if soonest is not None else None
        try:
            async with asyncio.timeout(wait):
                await self._woken.wait()
        except TimeoutError:
            return

    async def _take(self, step: WantedRead, due: _Due) -> None:
        loop = asyncio.get_running_loop()
        began = self._served[step.namespace] = loop.time()
        try:
            if await self.reader.take(step, self._wanted):
                self.changed()
        except KubeError as error:
            log.info("evidence_not_read", what=_named(step), cause=str(error))
            if isinstance(error, ApiStatusError):
                is_busy = isinstance(error, ServerError | TooManyRequests)
                due.pause = max(_SOONEST, retry_after(error)) if is_busy else _REFUSED
                due.at, due.last = loop.time() + due.pause, loop.time()
                return
        due.pause = max(_SOONEST, _SHARE * (loop.time() - began))
        due.last = loop.time()
        wait = LATER[due.times] if due.times < len(LATER) else AGAIN
        if self._must_be_new(step):
            wait = min(wait, due.pause)
        due.times += 1
        due.at = due.last + wait if step.repeats else float("inf")


def _named(step: WantedRead) -> str:
    if step.log:
        return f"log of {'/'.join(step.log.key)}"
    if step.lease:
        return f"Lease {'/'.join(step.lease)}"
    return f"events in {step.events}" if step.events else str(step.kind or step.volume)

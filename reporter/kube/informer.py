"""List-then-watch of one resource: a local copy that knows how far it can be trusted.

A pass makes no requests, so it reads a local copy, and it must know when that copy may be stale: a
verdict on stale data is false. A list returns a consistent state and its version; a watch from that
version returns the changes since, until one side ends it. Four things can go wrong:

- **The version is too old.** Between the pages of a list the answer is 410; in a watch it is an
  ERROR frame with code 410 in a 200 answer. Only a new list helps. The version of a quiet kind
  expires although nothing is wrong: bookmarks renew it about once a minute, but they are not
  guaranteed, and a watch of Events has none (Kubernetes,
  pkg/kubeapiserver/default_storage_factory_builder.go).
- **A connection dies silently.** So the server is asked to end each watch after 5 to 10 min, TCP
  keep-alive is on (`store.py`), and a watch without a frame for 150 s leads to a new list. That is
  not a loss yet: the list shows whether the server is there.
- **A connection is lost.** The copy is unconfirmed until a new list: a resumed watch is stale until
  it has delivered the missed changes, and nothing marks that moment.
- **A proxy ends every watch at once.** A watch shorter than a second is followed by a back-off.

client-go's reflector (tools/cache/reflector.go) is the same loop, with the same back-off and watch
length. `Watch` of kubernetes_asyncio 36.1.0 (watch/watch.py) is not used: it never checks the HTTP
status, never waits between two attempts and never lists after a 410. In its typed lists, an object
without a required field fails the whole list; here only that object is skipped.
"""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass, field
from typing import Final, Generic, NoReturn, TypeAlias, TypeVar

import structlog

from reporter.catalogue.resources import EVENTS
from reporter.kube import decode, errors
from reporter.kube.client import KubeClient, Response, api_path
from reporter.kube.clock import Now, real_now
from reporter.kube.store import Key, Skips, Store
from reporter.model.instant import Instant
from reporter.model.objects import KubeObject
from reporter.model.report import SkippedObject
from reporter.model.resource import Resource
from reporter.snapshot.snapshot import (
    CREDENTIALS,
    FORBIDDEN,
    NOT_LISTED,
    UNREACHABLE,
    ResourceState,
    Served,
)

ObjectT = TypeVar("ObjectT", bound=KubeObject)

_PAGE_BYTES: Final = 24 * 2**20
"""Largest page that is read; beyond it, pages with fewer objects are requested."""

_AGAIN_SECONDS: Final = 60.0
"""Interval between two GETs of an object that is read alone."""

_FRESH_SECONDS: Final = 1.0
"""Frames read sooner after a pause may have been buffered in the connection since before it."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Intervals of an informer, in seconds, and the size of its pages.

    The server is asked to end a watch after a random time within `watch`. After `idle` without a
    frame a watch counts as dead: bookmarks come about once a minute, but for a quiet kind the first
    one was measured at 120.2 s (kube-apiserver 1.36).
    """

    unknown_after: float = 120.0
    idle: float = 150.0
    watch: tuple[int, int] = (300, 600)
    list: float = 60.0
    page: int = 250
    backoff: float = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Place(Generic[ObjectT]):
    """What one informer reads: a resource, optionally limited to a namespace and to one name.

    RBAC rules with `resourceNames` grant list and watch only with a field selector on the name
    (Kubernetes documentation, "Using RBAC Authorization"). With `alone`, that object is read by a
    periodic GET: a Role lets a tenant get its Namespace, but not list or watch it.
    """

    resource: Resource[ObjectT]
    version: str
    namespace: str = ""
    name: str = ""
    alone: bool = False

    @property
    def path(self) -> str:
        scope = ("namespaces", self.namespace) if self.namespace else ()
        only = (self.name,) if self.alone else ()
        return api_path(self.resource.group, self.version, *scope, self.resource.plural, *only)

    @property
    def selectors(self) -> dict[str, str]:
        selectors: dict[str, str] = {}
        if self.alone:
            return selectors
        if self.name:
            selectors["fieldSelector"] = f"metadata.name={self.name}"
        if self.resource.label_selector:
            selectors["labelSelector"] = self.resource.label_selector
        return selectors

    def permission(self, verbs: str) -> str:
        name = f"/{self.name}" if self.name else ""
        if self.alone:
            # A Role in the Namespace can grant get on it.
            return f"get on {self.resource}{name} in {self.name}"
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{verbs} on {self.resource}{name}{where}"


class _Idle(errors.ConnectionFailed):
    """A watch delivered nothing for so long that its connection may be dead."""


@dataclass(eq=False)
class Informer(Generic[ObjectT]):
    """Keeps a copy of one place; `run` never returns and never raises a `KubeError`.

    **When the copy is confirmed.** A complete list confirms it. A lost connection makes it
    unconfirmed until a new list: a resumed watch sends nothing for a quiet kind, and its HTTP 200
    may come from a proxy. A pause of the process makes it unconfirmed too; then a watch that goes
    on delivering also confirms it. A watch that the server ends properly is not a loss: the next
    watch continues it.

    `last_frame` is the time of the last list or frame, or of the last proper end of a watch.
    """

    client: KubeClient
    place: Place[ObjectT]
    _: KW_ONLY
    timing: Timing = field(default_factory=Timing)
    now: Now = real_now
    chance: random.Random = field(default_factory=random.Random)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    in_all: Counter[str] = field(default_factory=Counter)
    on_change: Callable[[], None] = lambda: None
    on_missing: Callable[[], None] = lambda: None
    on_page: Callable[[bytes, str], None] = lambda *_: None

    def __post_init__(self) -> None:
        self.lists = self.failures = 0
        self._backoff = errors.Backoff(self._seconds, self.chance, self.timing.backoff)
        self._ours = self.place.resource is EVENTS
        # Our own Events are written with the version that was read.
        self.store: Store[ObjectT] = Store(
            self.place.resource, versions_matter=self._ours, in_all=self.in_all
        )
        self._scope: asyncio.Timeout | None = None
        self._page = self.timing.page
        self._version = ""
        self._relist = True
        self._pauses = 0
        self._listed = False
        self._unconfirmed: Instant | None = self.now()
        self._doubted: float | None = None
        self._refused: ResourceState | None = None
        self.failure: errors.KubeError | None = None
        self._was_away = False
        self.last_frame: Instant | None = None

    @property
    def settled(self) -> bool:
        return self._listed or self._refused is not None

    @property
    def state(self) -> ResourceState:
        if self._refused is not None:
            return self._refused
        lost = self._unconfirmed
        if lost is None:
            return ResourceState(Served.SERVED)
        seconds = (self.now().boot - lost.boot).total_seconds()
        if seconds >= self.timing.unknown_after:
            since = lost.after(self.timing.unknown_after)
            return ResourceState(Served.UNKNOWN, False, UNREACHABLE, since=since)
        if not self._listed:
            return ResourceState(Served.UNKNOWN, False, NOT_LISTED, since=lost)
        return ResourceState(Served.SERVED, confirmed=False)

    def unconfirm(self) -> None:
        self._pauses += 1
        self._relist = True
        self._lose()
        self._restart_in(0.0)

    def doubt(self, seconds: float) -> None:
        """Unconfirm the copy after a pause of the process, until the watch delivers or a new list.

        A watch whose connection survived delivers the missed changes in order and needs no list. If
        it delivers nothing for `seconds`, a new list starts.
        """
        self._pauses += 1
        self._lose()
        self._doubted = self._seconds()
        self._restart_in(seconds)

    def _restart_in(self, seconds: float | None) -> None:
        if self._scope is not None and not self._scope.expired():
            now = asyncio.get_running_loop().time()
            self._scope.reschedule(None if seconds is None else now + seconds)

    def _confirm(self) -> None:
        """Confirm the copy by a frame that is too recent to have been buffered before the pause."""
        if self._doubted is not None and self._seconds() - self._doubted >= _FRESH_SECONDS:
            self._doubted = None
            self._unconfirmed = None
            self._restart_in(None)
            self.on_change()

    async def run(self) -> NoReturn:
        while True:
            try:
                async with asyncio.timeout(None) as self._scope:
                    while True:
                        wait = await self._round()
                        await asyncio.sleep(wait)
            except TimeoutError:
                # From `unconfirm` or `doubt`; timeouts of requests are never raised as
                # TimeoutError here.
                self._relist = True
                log.info("informer_restarted", resource=str(self.place.resource))
            finally:
                self._scope = None

    async def look(self) -> None:
        """List once without a watch; retry until the list succeeds or is refused."""
        while not self.settled:
            try:
                await self._list()
            except errors.KubeError as error:
                await asyncio.sleep(self._failed(error))

    async def _round(self) -> float:
        try:
            if self._relist:
                await self._list()
            if self.place.alone:
                self._relist = True
                return _AGAIN_SECONDS
            return await self._watch()
        except _Idle:
            # Not a failure yet: a quiet kind without bookmarks looks the same. The list will tell.
            self._relist = True
            return 0.0
        except errors.KubeError as error:
            return self._failed(error)

    async def _list(self) -> None:
        objects: dict[Key, ObjectT] = {}
        skipped = Skips()
        token = ""
        pauses = self._pauses
        while True:
            try:
                page = await (self._got() if self.place.alone else self._listed_page(token))
            except errors.Gone:
                # Paging took longer than the server keeps history: list without pages next time,
                # as client-go does.
                self._page = 0
                raise
            except errors.AnswerTooLarge:
                self._page = max(1, (self._page or self.timing.page) // 5)
                raise
            async with self._taking_turns():
                held, left_out = self.store.known(page.objects)
            objects.update(held)
            for each in (*page.skipped, *left_out):
                skipped.keep(each)
            token = page.continue_token
            if not token:
                break
        self.lists += 1
        self.failure = None
        self._was_away = False
        self.last_frame = self.now()
        self._page = self.timing.page
        before = self.store.changes, self._listed, self._unconfirmed
        self.store.replace(objects, skipped)
        self._version = page.resource_version
        self._listed = True
        if skipped:
            log.warning("objects_skipped", resource=str(self.place.resource), count=len(skipped))
        # A list that was in flight when the process paused may be older than the pause.
        if pauses == self._pauses:
            self._relist = False
            self._unconfirmed = None
            self._doubted = None
            self._restart_in(None)
        if before != (self.store.changes, self._listed, self._unconfirmed):
            self.on_change()

    async def _listed_page(self, token: str) -> decode.ListPage[ObjectT]:
        limit = {"limit": str(self._page)} if self._page else {}
        proceed = {"continue": token} if token else {}
        params = {**self.place.selectors, **limit, **proceed}
        response = await self._read("list", params)
        async with self._taking_turns():
            page = await decode.off_the_loop(decode.decode_page, self.place.resource, response.body)
            self.on_page(response.body, token)
            return page

    @asynccontextmanager
    async def _taking_turns(self) -> AsyncIterator[None]:
        """Run milliseconds of decoding for one informer at a time, then yield to the loop."""
        async with self.turn:
            yield
            await asyncio.sleep(0)

    async def _got(self) -> decode.ListPage[ObjectT]:
        try:
            response = await self._read("get", {})
        except errors.NotFound as error:
            if not error.is_status_object:
                raise
            return decode.ListPage((), (), "", "")
        page = await decode.off_the_loop(decode.page_of, self.place.resource, response.body)
        self.on_page(response.body, "")
        return page

    async def _read(self, verb: str, params: Mapping[str, str]) -> Response:
        return await self.client.request(
            "GET",
            self.place.path,
            verb=verb,
            resource=self.place.resource.plural,
            params=params,
            timeout=self.timing.list,
            max_bytes=_PAGE_BYTES,
        )

    async def _watch(self) -> float:
        """Watch until the server ends the watch; return the seconds to wait before the next one."""
        seconds = self.chance.randint(*self.timing.watch)
        # Bookmarks come from the watch cache, and the API server has none for Events: only the end
        # of such a watch shows that it was alive.
        bookmarks = self.place.resource.plural != "events"
        idle = self.timing.idle if bookmarks else seconds + 30.0
        parameters = {
            **self.place.selectors,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(seconds),
        }
        began = last_answer = self._seconds()
        frames = False
        try:
            async with self.client.stream(
                self.place.path,
                resource=self.place.resource.plural,
                params=parameters,
                idle_seconds=idle,
            ) as lines:
                if self._refused is not None:
                    self._refused = None
                    log.info("permission_granted", resource=str(self.place.resource))
                    self.on_change()
                last_answer = self._seconds()
                if self._unconfirmed is not None:
                    # Allowed again after a refusal: only a list has the changes in between.
                    self._relist = True
                    return 0.0
                async for each in lines:
                    self._take(
                        await decode.off_the_loop(decode.decode_frames, self.place.resource, each)
                    )
                    last_answer = self._seconds()
                    frames = True
        except errors.AnswerTooLarge:
            log.warning("watch_frame_too_large", resource=str(self.place.resource))
            raise
        except errors.ConnectionFailed as error:
            if self._seconds() - last_answer >= idle:
                raise _Idle(str(error)) from None
            raise
        if self._seconds() - began >= 1.0:
            self.last_frame = self.now()
            return 0.0
        # A proxy that ends every watch at once must not become a hot loop.
        if not frames:
            self._relist = True
        return self._backoff.next()

    def _take(self, frames: Sequence[decode.Frame[ObjectT]]) -> None:
        self.last_frame = self.now()
        self._confirm()
        before = self.store.changes
        for frame in frames:
            # Watches start at a list's version, so each frame's version is newer and can be
            # resumed from.
            self._version = frame.resource_version or self._version
            if (
                frame.content is not None
                and self.store.apply(frame.type, frame.content)
                and isinstance(frame.content, SkippedObject)
                and frame.type is not decode.FrameType.DELETED
            ):
                log.warning(
                    "object_skipped",
                    resource=frame.content.resource,
                    namespace=frame.content.namespace,
                    name=frame.content.name,
                    cause=frame.content.cause,
                )
        # The echo of our own writes does not trigger a pass: no verdict depends on it, and the
        # next resync picks it up.
        if self.store.changes != before and not self._ours:
            self.on_change()

    def _lose(self) -> None:
        if self._unconfirmed is None:
            self._unconfirmed = self.now()
            self.on_change()

    def _failed(self, error: errors.KubeError) -> float:
        self.failures += 1
        match error:
            case errors.Forbidden() | errors.Unauthorized() if self._was_away:
                # An API server that starts refuses every client until it has read its roles.
                self._was_away = False
                self._backoff.reset()
            case errors.Forbidden() | errors.Unauthorized():
                self._refuse(error)
            case _:
                self._was_away = True
                self._relist = True
                self._doubted = None
                self._lose()
                if isinstance(error, errors.NotFound):
                    # Only discovery can say whether the resource is gone.
                    self.on_missing()
        asked = error.retry_after if isinstance(error, errors.ApiStatusError) else None
        wait = self._backoff.next(asked or 0.0)
        if str(error) != str(self.failure):  # once, not at every retry
            log.info(
                "informer_failed",
                resource=str(self.place.resource),
                namespace=self.place.namespace,
                cause=str(error),
                retry_seconds=round(wait, 1),
            )
        self.failure = error.with_traceback(None)  # its frames would keep answers alive
        return wait

    def _refuse(self, error: errors.KubeError) -> None:
        if isinstance(error, errors.Unauthorized):
            permission = CREDENTIALS
        else:
            # A refused watch does not relist, so the watch itself is retried.
            permission = self.place.permission("list, watch" if self._relist else "watch")
        before = self._refused
        since = before.since if before else self.now()
        self._refused = ResourceState(Served.UNKNOWN, False, FORBIDDEN, permission, since)
        if before is None:
            log.warning("forbidden", resource=str(self.place.resource), permission=permission)
            self.on_change()
        if self._unconfirmed is None:
            self._unconfirmed = self.now()

    def _seconds(self) -> float:
        return self.now().boot.total_seconds()


AnyPlace: TypeAlias = Place[KubeObject]
PageTaker: TypeAlias = Callable[[AnyPlace, bytes, str], None]
"""Takes each page that is listed, as it was sent, and its continue token, empty for the first."""

AnyInformer: TypeAlias = Informer[KubeObject]

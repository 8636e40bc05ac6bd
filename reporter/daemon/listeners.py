"""What the daemon serves and where: metrics, health, the report, and the page with its changes.

`--metrics-authentication` works as in kube-rbac-proxy and controller-runtime (pkg/metrics/filters):
a TokenReview says whose the bearer token is, a SubjectAccessReview whether that user may `get` the
path `/metrics`. Answers are cached for a while, by the token's digest. A client that keeps sending
new tokens costs the API server a few concurrent requests, and does not lock out valid tokens.
"""

import asyncio
import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Final

import msgspec
import structlog
from aiohttp import hdrs, web

from reporter import __version__
from reporter.daemon import server
from reporter.daemon.passes import server_now
from reporter.daemon.state import DaemonState, LivePage
from reporter.kube.client import KubeClient, connect, encode
from reporter.kube.clock import ClockOffset, Now, real_now
from reporter.kube.errors import ApiStatusError, KubeError
from reporter.model.instant import Instant
from reporter.settings import DaemonSettings
from reporter.sinks.own_metrics import LiveMetrics, Metrics, SubjectMetrics
from reporter.sinks.page.document import POLICY, TYPES, asset
from reporter.version import commit


@dataclass(frozen=True, slots=True)
class Connection:
    client: KubeClient
    now: Now
    metrics: Metrics


@asynccontextmanager
async def connected(
    *, kubeconfig: Path | None = None, context: str | None = None
) -> AsyncIterator[Connection]:
    """Prepare the connection to the API server, without sending a request."""
    offset = ClockOffset()

    def now() -> Instant:
        return server_now(real_now(), offset.seconds())

    metrics = Metrics(__version__, commit(), lambda: now().wall)
    client = await connect(
        kubeconfig=kubeconfig, context=context, observer=metrics.requested, clock_offset=offset
    )
    async with client:
        yield Connection(client, now, metrics)


Rendering = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(eq=False)
class RenderingPace:
    """Renders one answer at a time, and rests after each for as long as it took.

    However many clients request the report and the page, at least half of the time is left for
    health and the Lease.
    """

    clock: Callable[[], float] = time.monotonic
    rest: Callable[[float], Awaitable[object]] = asyncio.sleep

    def __post_init__(self) -> None:
        self._lock = asyncio.Lock()
        self._resting: asyncio.Future[object] | None = None

    def paced(self, handler: Rendering) -> Rendering:
        async def serve(request: web.Request) -> web.StreamResponse:
            await self._lock.acquire()
            began = self.clock()
            try:
                if request.transport is None:
                    # The client left while it waited; do not render for it.
                    return web.Response(status=503)
                return await handler(request)
            finally:
                self._rest_for(self.clock() - began)

        return serve

    def _rest_for(self, seconds: float) -> None:
        """Keep the lock for a rest, without delaying the answer."""
        self._resting = asyncio.ensure_future(self.rest(seconds))
        self._resting.add_done_callback(lambda _: self._lock.release())


MOST_STREAMS: Final = 32
"""Most browsers that wait for changes at a time; others retry by themselves."""

ALIVE_SECONDS: Final = 5.0
"""How often a stream sends a heartbeat, with the age of the newest report."""

SLOW_SECONDS: Final = 10.0
"""A browser that accepts no data for this long is dropped."""

_NOTHING_YET: Final = "No pass has ended yet.\n"
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_AGAIN_MILLISECONDS: Final = 1000
"""How soon a browser reopens a stream that has ended."""

_STREAM_HEADERS: Final = {
    **_HEADERS,
    "Content-Type": "text/event-stream",
    # Otherwise nginx buffers the answer.
    "X-Accel-Buffering": "no",
}


def with_page(
    routes: Mapping[str, server.Handler],
    page: LivePage,
    address: server.ListenAddress | None,
    *,
    pace: RenderingPace | None = None,
) -> dict[str, server.Handler]:
    """Return the routes of the report listener with those of the page, all at one pace.

    `/` stays text for clients that do not accept HTML, such as curl and `status-reporter status`.
    """
    as_text = routes["/"]

    async def root(request: web.Request) -> web.StreamResponse:
        if "text/html" not in request.headers.get("Accept", ""):
            response = await as_text(request)
            response.headers["Vary"] = "Accept"
            return response
        html = await page.html(request.query.get("q", ""), whole="all" in request.query)
        if html is None:
            # A browser retries by itself.
            return web.Response(status=503, text=_NOTHING_YET, headers={**_HEADERS, "Refresh": "1"})
        return web.Response(
            body=html,
            content_type="text/html",
            charset="utf-8",
            headers={**_HEADERS, "Vary": "Accept"},
        )

    async def history(_request: web.Request) -> web.StreamResponse:
        return server.answer(await asyncio.to_thread(page.history), "no pass has ended yet")

    async def file(_request: web.Request, name: str) -> web.StreamResponse:
        return web.Response(
            text=asset(name), content_type=TYPES[name], charset="utf-8", headers=_HEADERS
        )

    pace = pace or RenderingPace()
    drawn = {**routes, "/": root, "/api/v1/history": history}
    rendered = {path: pace.paced(each) for path, each in drawn.items()}
    files = {f"/{name}": partial(file, name=name) for name in TYPES}
    served: dict[str, server.Handler] = {**rendered, **files, "/live": _Streams(page).serve}
    return {path: server.named_only(each, address) for path, each in served.items()}


class _Streams:
    """Server-sent events: each browser has its own coroutine, which nearly always waits.

    A stream sends versions, not pages, so a slow browser skips versions and nothing is kept for it.
    """

    def __init__(self, page: LivePage) -> None:
        self._page = page
        self._open = 0

    async def serve(self, request: web.Request) -> web.StreamResponse:
        if request.method == hdrs.METH_HEAD:
            return web.Response(headers=_STREAM_HEADERS)
        if self._open >= MOST_STREAMS or self._page.closed:
            return web.Response(
                status=503,
                text="Too many pages are open.\n",
                headers={**_HEADERS, "Retry-After": "15"},
            )
        self._open += 1
        try:
            return await self._stream(request)
        finally:
            self._open -= 1

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers=_STREAM_HEADERS)
        try:
            async with asyncio.timeout(SLOW_SECONDS):
                await response.prepare(request)
                await response.write(f"retry: {_AGAIN_MILLISECONDS}\n\n".encode())
            known: str | None = None
            while True:
                known = await self._next(known)
                if self._page.closed:
                    break
                update = self._page.update
                data = (
                    f"event: report\ndata: {json.dumps(update)}\n\n" if update else ": waiting\n\n"
                )
                async with asyncio.timeout(SLOW_SECONDS):
                    await response.write(data.encode())
        except (TimeoutError, ConnectionError):
            # The browser is slow or gone; it will reconnect by itself.
            if request.transport is not None:
                request.transport.abort()
        return response

    async def _next(self, known: str | None) -> str | None:
        """Wait for another version than `known` or until a heartbeat is due; return the version."""
        try:
            async with asyncio.timeout(ALIVE_SECONDS):
                await self._page.changed(known)
        except TimeoutError:
            pass
        return self._page.version


ALLOWED_SECONDS: Final = 60.0
"""How long a positive answer is cached; a revoked token works for as long."""

REFUSED_SECONDS: Final = 10.0
KEPT: Final = 1000
"""Most cached answers of each kind, so that bad tokens do not evict good ones; the oldest goes."""

_AT_ONCE: Final = 4
_TOKEN_BYTES: Final = 16 * 1024
_REVIEW_SECONDS: Final = 5.0
_TOKENS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
_RIGHTS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class _User(msgspec.Struct, frozen=True):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}  # msgspec copies it


class _Status(msgspec.Struct, frozen=True):
    authenticated: bool = False
    allowed: bool = False
    user: _User = _User()


class _Review(msgspec.Struct, frozen=True):
    status: _Status = _Status()


@dataclass(frozen=True, slots=True)
class _Verdict:
    status: HTTPStatus
    text: str
    until: float


@dataclass(eq=False)
class MetricsAccess:
    client: KubeClient
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._good: OrderedDict[bytes, _Verdict] = OrderedDict()
        self._bad: OrderedDict[bytes, _Verdict] = OrderedDict()
        self._asked: dict[bytes, asyncio.Task[_Verdict]] = {}

    def guarded(self, handler: server.Handler) -> server.Handler:
        async def serve(request: web.Request) -> web.StreamResponse:
            verdict = await self._verdict(request.headers.get("Authorization", ""))
            if verdict.status is HTTPStatus.OK:
                return await handler(request)
            headers = {
                HTTPStatus.UNAUTHORIZED: {"WWW-Authenticate": "Bearer"},
                HTTPStatus.SERVICE_UNAVAILABLE: {"Retry-After": "1"},
            }.get(verdict.status, {})
            return web.Response(status=verdict.status, text=verdict.text, headers=headers)

        return serve

    async def _verdict(self, header: str) -> _Verdict:
        scheme, _, token = header.strip().partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not 0 < len(token) <= _TOKEN_BYTES or not token.isascii():
            text = (
                "A bearer token is missing: send `Authorization: Bearer <token>` of a "
                "ServiceAccount.\n"
            )
            return _Verdict(HTTPStatus.UNAUTHORIZED, text, 0)
        digest = hashlib.sha256(token.encode()).digest()
        known = self._good.get(digest) or self._bad.get(digest)
        if known is not None and self.clock() < known.until:
            return known
        if digest not in self._asked:
            was_good = known is not None and known.status is HTTPStatus.OK
            if len(self._asked) >= _AT_ONCE and not was_good:
                text = "Other tokens are being checked; try again.\n"
                return _Verdict(HTTPStatus.SERVICE_UNAVAILABLE, text, 0)
            task = self._asked[digest] = asyncio.create_task(self._ask(token))
            task.add_done_callback(lambda _: self._asked.pop(digest, None))
        verdict = await asyncio.shield(self._asked[digest])
        if verdict.until:
            self._keep(digest, verdict)
        return verdict

    def _keep(self, digest: bytes, verdict: _Verdict) -> None:
        self._good.pop(digest, None)
        self._bad.pop(digest, None)
        kept = self._good if verdict.status is HTTPStatus.OK else self._bad
        kept[digest] = verdict
        while len(kept) > KEPT:
            kept.popitem(last=False)

    async def _ask(self, token: str) -> _Verdict:
        try:
            user = (await self._review(_TOKENS, "TokenReview", {"token": token})).user
            if not user.username:
                text = "The API server does not know this token: it may have expired.\n"
                return self._for(HTTPStatus.UNAUTHORIZED, text)
            spec = {
                "user": user.username,
                "uid": user.uid,
                "groups": user.groups,
                "extra": user.extra,
                "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
            }
            if (await self._review(_RIGHTS, "SubjectAccessReview", spec)).allowed:
                return self._for(HTTPStatus.OK, "")
        except KubeError as error:
            return _Verdict(HTTPStatus.SERVICE_UNAVAILABLE, _why(error), 0)
        text = (
            f"{user.username} may not get /metrics: bind it to a ClusterRole with "
            "nonResourceURLs [/metrics] and verbs [get].\n"
        )
        return self._for(HTTPStatus.FORBIDDEN, text)

    def _for(self, status: HTTPStatus, text: str) -> _Verdict:
        seconds = ALLOWED_SECONDS if status is HTTPStatus.OK else REFUSED_SECONDS
        return _Verdict(status, text, self.clock() + seconds)

    async def _review(self, path: str, kind: str, spec: object) -> _Status:
        group = path.removeprefix("/apis/").rpartition("/")[0]
        answer = await self.client.request(
            "POST",
            path,
            verb="create",
            resource=path.rpartition("/")[2],
            body=encode({"apiVersion": group, "kind": kind, "spec": spec}),
            timeout=_REVIEW_SECONDS,
        )
        return answer.decode(_Review).status


def _why(error: KubeError) -> str:
    if isinstance(error, ApiStatusError) and error.status == HTTPStatus.FORBIDDEN:
        return (
            "The reporter may not check tokens: it needs `create` on tokenreviews "
            "(authentication.k8s.io) and subjectaccessreviews (authorization.k8s.io), which the "
            "chart grants with metrics.authentication=true.\n"
        )
    return "The API server could not check the token; try again.\n"


@asynccontextmanager
async def listening(
    settings: DaemonSettings, connection: Connection, state: DaemonState, *, page: LivePage
) -> AsyncIterator[None]:
    report_address = server.ListenAddress.parse("report-bind-address", settings.report_bind_address)
    if report_address is not None:
        report_address = replace(report_address, names=settings.report_hosts)
    metrics_address = server.ListenAddress.parse(
        "metrics-bind-address", settings.metrics_bind_address
    )
    health_address = server.ListenAddress.parse(
        "health-probe-bind-address", settings.health_probe_bind_address
    )
    pages = server.Pages(state.report_json, state.report_text, state.pod_json, state.pod_text)
    async with server.Servers(before_close=page.close) as servers, AsyncExitStack() as stack:
        of_subjects = SubjectMetrics(state.report)
        exported = server.MetricsPage(
            LiveMetrics(connection.metrics, state), of_subjects, state.report
        )
        stack.callback(exported.close)
        serve: server.Handler = exported.serve
        if settings.metrics_authentication:
            serve = MetricsAccess(connection.client).guarded(serve)
        for address, routes in (
            (metrics_address, {"/metrics": serve}),
            (health_address, server.health_routes(state.unhealthy, state.not_ready)),
            (
                report_address,
                with_page(server.report_routes(pages), page, report_address),
            ),
        ):
            port = await servers.listen(address, routes)
            if address is not None and port is not None:
                # With port 0 the system chooses the port.
                structlog.get_logger("daemon").info(
                    "listening", setting=address.setting, address=str(replace(address, port=port))
                )
        yield

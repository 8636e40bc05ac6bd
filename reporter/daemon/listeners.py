"""What the daemon serves, and where.

Who may read the metrics, asked of the API server: `--metrics-authentication`.

As kube-rbac-proxy and controller-runtime do it (pkg/metrics/filters): a TokenReview says whose the bearer
token is, a SubjectAccessReview whether they may `get` the path `/metrics`. What is answered is kept for a
while, by the token's digest. A client with ever other tokens costs the API server a few requests at a time,
and keeps out nobody whose token was good.
"""

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final

import msgspec
import structlog
from aiohttp import web

from reporter.daemon.connections import Connection
from reporter.daemon.live_page import LivePage
from reporter.daemon.page_routes import with_page
from reporter.daemon.server import (
    Handler,
    ListenAddress,
    MetricsPage,
    Pages,
    Probes,
    Servers,
    health_routes,
    report_routes,
)
from reporter.daemon.state import DaemonState
from reporter.kube.client import KubeClient, encode
from reporter.kube.errors import ApiStatusError, KubeError
from reporter.settings import DaemonSettings
from reporter.sinks.own_metrics import LiveMetrics
from reporter.sinks.subject_metrics import SubjectMetrics

ALLOWED_SECONDS: Final = 60.0
"""For how long a good answer is believed; a revoked token is good for as long."""

REFUSED_SECONDS: Final = 10.0
KEPT: Final = 1000
"""Most answers that are kept of each kind, so that bad tokens push out no good one; the oldest makes room."""

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
    """What a token is good for, until a time of the clock."""

    status: HTTPStatus
    text: str
    until: float


class MetricsAccess:
    """Lets in whom the API server lets in."""

    def __init__(self, client: KubeClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._good: OrderedDict[bytes, _Verdict] = OrderedDict()
        self._bad: OrderedDict[bytes, _Verdict] = OrderedDict()
        self._asked: dict[bytes, asyncio.Task[_Verdict]] = {}

    def guarded(self, handler: Handler) -> Handler:
        """Return a handler that answers those alone who may read."""

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
            text = "A bearer token is missing: send `Authorization: Bearer <token>` of a ServiceAccount.\n"
            return _Verdict(HTTPStatus.UNAUTHORIZED, text, 0)
        digest = hashlib.sha256(token.encode()).digest()
        known = self._good.get(digest) or self._bad.get(digest)
        if known is not None and self._clock() < known.until:
            return known
        if digest not in self._asked:
            was_good = known is not None and known.status is HTTPStatus.OK
            if len(self._asked) >= _AT_ONCE and not was_good:
                text = "Other tokens are being looked at; ask again.\n"
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
            attributes = {"path": "/metrics", "verb": "get"}
            spec = {
                "user": user.username,
                "uid": user.uid,
                "groups": user.groups,
                "extra": user.extra,
                "nonResourceAttributes": attributes,
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
        return _Verdict(status, text, self._clock() + seconds)

    async def _review(self, path: str, kind: str, spec: object) -> _Status:
        group = path.removeprefix("/apis/").rpartition("/")[0]
        answer = await self._client.request(
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
            "The reporter may not ask who you are: it needs `create` on tokenreviews "
            "(authentication.k8s.io) and subjectaccessreviews (authorization.k8s.io), which the "
            "chart grants with metrics.authentication=true.\n"
        )
    return "The API server does not say who you are; ask again.\n"


@asynccontextmanager
async def listening(
    settings: DaemonSettings, connection: Connection, state: DaemonState, *, page: LivePage
) -> AsyncIterator[None]:
    """Serve metrics, health, the report and the page while entered.

    Raises:
        UsageError: an address cannot be used.

    """
    report_address = ListenAddress.parse("report-bind-address", settings.report_bind_address)
    if report_address is not None:
        report_address = replace(report_address, names=settings.report_hosts)
    metrics_address = ListenAddress.parse("metrics-bind-address", settings.metrics_bind_address)
    health_address = ListenAddress.parse(
        "health-probe-bind-address", settings.health_probe_bind_address
    )
    pages = Pages(state.report_json, state.report_text, state.pod_json, state.pod_text)
    probes = Probes(unhealthy=state.unhealthy, not_ready=state.not_ready)
    async with Servers(before_close=page.close) as servers, AsyncExitStack() as stack:
        of_subjects = SubjectMetrics(state.report, settings.subject_series)
        exported = MetricsPage(LiveMetrics(connection.metrics, state), of_subjects, state.report)
        stack.callback(exported.close)
        serve: Handler = exported.serve
        if settings.metrics_authentication:
            serve = MetricsAccess(connection.client).guarded(serve)
        await _listen(servers, metrics_address, {"/metrics": serve})
        await _listen(servers, health_address, health_routes(probes))
        routes = with_page(report_routes(pages, report_address), page, report_address)
        await _listen(servers, report_address, routes)
        yield


async def _listen(
    servers: Servers, address: ListenAddress | None, routes: Mapping[str, Handler]
) -> None:
    port = await servers.listen(address, routes)
    if address is not None and port is not None:
        # The port is the system's choice where the setting says 0.
        structlog.get_logger("daemon").info(
            "listening", setting=address.setting, address=str(replace(address, port=port))
        )

"""The HTTP side: from a request to an answer, with injected faults."""

import asyncio
import contextlib
from email.utils import formatdate
from http import HTTPStatus

from aiohttp import hdrs, web

from lab.sandbox import discovery
from lab.sandbox.access import Access
from lab.sandbox.errors import ApiError, UnknownPathError, forbidden, not_acceptable, unauthorized
from lab.sandbox.faults import Faults, InjectedFault
from lab.sandbox.objects import JSON, Object, encode
from lab.sandbox.operations import Operations
from lab.sandbox.requests import (
    LoggedRequest,
    RequestLog,
    ResourceRequest,
    read_request,
    read_unserved_request,
)
from lab.sandbox.resource_handlers import ResourceHandlers
from lab.sandbox.resources import Registry

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
_PAGE = "<html><head><title>{0} {1}</title></head><body><h1>{0} {1}</h1></body></html>\n"
_REASONS = {
    401: "Unauthorized",
    403: "Forbidden",
    409: "Conflict",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
_HEALTH_PATHS = ("/healthz", "/readyz", "/livez")


class Server:
    def __init__(
        self,
        operations: Operations,
        handlers: ResourceHandlers,
        access: Access,
        *,
        faults: Faults,
        request_log: RequestLog,
        token: str | None,
    ) -> None:
        self._storage = operations.storage
        self._registry: Registry = operations.registry
        self._handlers = handlers
        self._access = access
        self._faults = faults
        self._log = request_log
        self._token = token
        self._openapi: tuple[int, Object] = (-1, {})

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self._storage.expire()
        wanted: ResourceRequest | None = None
        try:
            if not self._is_authorized(request):
                raise unauthorized()
            with contextlib.suppress(UnknownPathError, ApiError):
                wanted = read_request(
                    self._registry, request.method, request.path, query=request.query
                )
            for fault in self._faults.take(request.path, wanted):
                answer = await self._suffer(fault, request, wanted)
                if answer is not None:
                    return self._finish(request, wanted, answer)
            answer = await self._answer(request, wanted)
        except UnknownPathError:
            answer = _text(HTTPStatus.NOT_FOUND, "404 page not found\n")
        except ApiError as error:
            answer = _status(error)
        return self._finish(request, wanted, answer)

    def _is_authorized(self, request: web.Request) -> bool:
        given = request.headers.get(hdrs.AUTHORIZATION, "")
        return self._token is None or given == f"Bearer {self._token}"

    def _finish(
        self, request: web.Request, wanted: ResourceRequest | None, answer: web.StreamResponse
    ) -> web.StreamResponse:
        if not answer.prepared:
            self._decorate(answer)
        self._record(request, wanted, answer.status)
        return answer

    def _decorate(self, answer: web.StreamResponse) -> None:
        answer.headers[hdrs.DATE] = formatdate(self._storage.clock(), usegmt=True)
        answer.headers.setdefault(hdrs.CACHE_CONTROL, "no-cache, private")

    def _record(self, request: web.Request, wanted: ResourceRequest | None, code: int) -> None:
        self._log.add(
            LoggedRequest(
                method=request.method,
                verb=wanted.verb if wanted else request.method.lower(),
                resource=wanted.resource.name if wanted else "",
                namespace=wanted.namespace if wanted else "",
                name=wanted.name if wanted else "",
                code=code,
                path=request.path_qs,
            )
        )

    async def _suffer(  # noqa: C901 - one case for each kind of fault
        self, fault: InjectedFault, request: web.Request, wanted: ResourceRequest | None
    ) -> web.StreamResponse | None:
        """Apply a fault to a request; None lets the request proceed."""
        match fault.action:
            case "throttle":
                text = "Too many requests, please try again later.\n"
                answer = _text(HTTPStatus.TOO_MANY_REQUESTS, text)
                answer.headers[hdrs.RETRY_AFTER] = str(int(fault.seconds))
                return answer
            case "hang":
                # Wait until the client gives up, or the server stops.
                await asyncio.Event().wait()
            case "cut":
                if wanted is None or wanted.verb != "watch":
                    await _break_off(request)
                    raise asyncio.CancelledError
                return await self._watch(request, wanted, cut_after=fault.events)
            case "slow":
                await asyncio.sleep(fault.seconds)
            case "unknown-path":
                return _text(HTTPStatus.NOT_FOUND, "404 page not found\n")
            case "forbidden":
                resource = wanted.resource if wanted else None
                raise forbidden(
                    resource.group if resource else "",
                    resource.plural if resource else "",
                    wanted.name if wanted else "",
                    cause=f'User "{self._access.user}" cannot do this',
                )
            case "html":
                page = _PAGE.format(fault.code, HTTPStatus(fault.code).phrase)
                return web.Response(status=fault.code, text=page, content_type="text/html")
            case "error":
                raise ApiError(
                    fault.code,
                    _REASONS.get(fault.code, "InternalError"),
                    "a fault of the sandbox",
                    retry_after=int(fault.seconds) or None,
                )
            case "silent":
                pass
        return None

    async def _answer(
        self, request: web.Request, wanted: ResourceRequest | None
    ) -> web.StreamResponse:
        if wanted is None:
            answer = self._answer_other(request)
            if answer is not None:
                return answer
            unserved = read_unserved_request(request.method, request.path, request.query)
            if unserved is not None:
                # Rights are checked by the path, whether or not anything is served there.
                self._access.check(unserved)
            # Parse it again, to raise the error suppressed above.
            wanted = read_request(self._registry, request.method, request.path, query=request.query)
        if wanted.verb == "watch":
            self._handlers.authorize(wanted, request.query)
            return await self._watch(request, wanted)
        return await self._handlers.answer(request, wanted)

    async def _watch(
        self, request: web.Request, wanted: ResourceRequest, *, cut_after: int | None = None
    ) -> web.StreamResponse:
        watch = self._handlers.open_watch(request, wanted)
        answer = web.StreamResponse(headers={hdrs.CONTENT_TYPE: "application/json"})
        answer.enable_chunked_encoding()
        self._decorate(answer)
        with self._handlers.opened(request, wanted, watch):
            await answer.prepare(request)
            async with contextlib.aclosing(watch.lines()) as lines:
                if cut_after == 0:
                    await _break_off(request)
                    return answer
                async for chunk in lines:
                    if self._faults.silences(request.path, wanted):
                        await asyncio.Event().wait()
                    await answer.write(chunk)
                    if cut_after is not None:
                        cut_after -= 1
                        if not cut_after:
                            await _break_off(request)
                            return answer
            if self._faults.silences(request.path, wanted):
                await asyncio.Event().wait()
            await answer.write_eof()
        return answer

    def _answer_other(self, request: web.Request) -> web.StreamResponse | None:
        path = request.path.rstrip("/")
        if path.startswith(_HEALTH_PATHS):
            return _text(HTTPStatus.OK, "ok")
        if path in {"/api", "/apis"}:
            return self._discover(request, core=path == "/api")
        parts = path.strip("/").split("/")
        found: JSON = discovery.legacy(self._registry, parts)
        if found is not None:
            if discovery.aggregated_version(request.headers.get(hdrs.ACCEPT, "")):
                raise not_acceptable()
            return _json(found)
        match parts:
            case ["version"]:
                found = discovery.VERSION
            case ["openapi", "v3"]:
                found = self._openapi_index()
            case ["openapi", "v3", "api", "v1"]:
                found = discovery.openapi_document(self._registry, "", "v1")
            case ["openapi", "v3", "apis", group, version]:
                found = discovery.openapi_document(self._registry, group, version)
            case _:
                pass
        return None if found is None else _json(found)

    def _openapi_index(self) -> Object:
        # Cached, because its digests need every schema to be rendered.
        if self._openapi[0] != self._registry.generation:
            self._openapi = (self._registry.generation, discovery.openapi_index(self._registry))
        return self._openapi[1]

    def _discover(self, request: web.Request, *, core: bool) -> web.StreamResponse:
        version = discovery.aggregated_version(request.headers.get(hdrs.ACCEPT, ""))
        if version is None:
            raise not_acceptable()
        if not version:
            legacy = discovery.core_versions() if core else discovery.groups(self._registry)
            return _json(legacy)
        document = discovery.aggregated(self._registry, version, core=core)
        tag = discovery.etag(document)
        headers = {hdrs.ETAG: tag, hdrs.VARY: "Accept", hdrs.CACHE_CONTROL: "public"}
        if request.headers.get(hdrs.IF_NONE_MATCH) == tag:
            return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
        headers[hdrs.CONTENT_TYPE] = _AGGREGATED.format(version)
        return web.Response(body=document, headers=headers)


def _json(document: JSON) -> web.Response:
    return web.Response(body=encode(document), content_type="application/json")


def _text(status: HTTPStatus, text: str) -> web.Response:
    answer = web.Response(status=status, text=text)
    answer.headers["X-Content-Type-Options"] = "nosniff"
    return answer


def _status(error: ApiError) -> web.Response:
    answer = web.Response(
        status=error.code, body=encode(error.status()), content_type="application/json"
    )
    if error.retry_after is not None:
        answer.headers[hdrs.RETRY_AFTER] = str(error.retry_after)
    return answer


async def _break_off(request: web.Request) -> None:
    """Drop the connection in the middle of the answer."""
    if request.transport is not None:
        request.transport.abort()
    await asyncio.sleep(0)

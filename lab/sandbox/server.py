"""The HTTP side: from a request to an answer, with injected faults."""

import asyncio
import contextlib
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus

from aiohttp import hdrs, web

from lab.sandbox import discovery
from lab.sandbox.errors import ApiError, UnknownPathError, bad_request, forbidden, unauthorized
from lab.sandbox.faults import Faults, InjectedFault
from lab.sandbox.objects import JSON
from lab.sandbox.requests import (
    LoggedRequest,
    RequestLog,
    ResourceRequest,
    read_request,
    read_unserved_request,
)
from lab.sandbox.resource_handlers import ResourceHandlers, answered
from lab.sandbox.resources import Registry

_PAGE = "<html><head><title>{0} {1}</title></head><body><h1>{0} {1}</h1></body></html>\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    handlers: ResourceHandlers
    faults: Faults
    request_log: RequestLog
    token: str | None

    @property
    def _registry(self) -> Registry:
        return self.handlers.operations.registry

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.handlers.storage.expire()
        wanted: ResourceRequest | None = None
        try:
            if self.token is not None:
                self._authenticate(request)
            with contextlib.suppress(UnknownPathError, ApiError):
                wanted = self._read(request)
            for fault in self.faults.take(request.path, wanted):
                answer = await self._suffer(fault, request, wanted)
                if answer is not None:
                    return self._finish(request, wanted, answer)
            answer = await self._answer(request, wanted)
        except UnknownPathError:
            answer = _unknown_path()
        except ApiError as error:
            answer = _status(error)
        return self._finish(request, wanted, answer)

    def _read(self, request: web.Request) -> ResourceRequest:
        return read_request(self._registry, request.method, request.path, query=request.query)

    def _authenticate(self, request: web.Request) -> None:
        if request.headers.get(hdrs.AUTHORIZATION) != f"Bearer {self.token}":
            raise unauthorized()

    def _finish(
        self, request: web.Request, wanted: ResourceRequest | None, answer: web.StreamResponse
    ) -> web.StreamResponse:
        if not answer.prepared:
            self._decorate(answer)
        self.request_log.add(
            LoggedRequest(
                method=request.method,
                verb=wanted.verb if wanted else request.method.lower(),
                resource=wanted.resource.name if wanted else "",
                namespace=wanted.namespace if wanted else "",
                name=wanted.name if wanted else "",
                code=answer.status,
                path=request.path_qs,
            )
        )
        return answer

    def _decorate(self, answer: web.StreamResponse) -> None:
        answer.headers[hdrs.DATE] = formatdate(self.handlers.storage.clock(), usegmt=True)
        answer.headers.setdefault(hdrs.CACHE_CONTROL, "no-cache, private")

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
                return _unknown_path()
            case "forbidden":
                about = wanted.resource if wanted else None
                place = (about.group, about.plural) if about else ("", "")
                cause = f'User "{self.handlers.access.user}" cannot do this'
                raise forbidden(*place, wanted.name if wanted else "", cause=cause)
            case "html":
                page = _PAGE.format(fault.code, HTTPStatus(fault.code).phrase)
                return web.Response(status=fault.code, text=page, content_type="text/html")
            case "error":
                reason = HTTPStatus(fault.code).phrase.replace(" ", "")
                after = int(fault.seconds) or None
                raise ApiError(fault.code, reason, "a fault of the sandbox", retry_after=after)
            case "silent":
                pass
        return None

    async def _answer(
        self, request: web.Request, wanted: ResourceRequest | None
    ) -> web.StreamResponse:
        if "dryRun" in request.query:
            raise bad_request("the sandbox has no dry run")
        if wanted is None:
            answer = self._answer_other(request)
            if answer is not None:
                return answer
            unserved = read_unserved_request(request.method, request.path, request.query)
            if unserved is not None:
                # Rights are checked by the path, whether or not anything is served there.
                self.handlers.access.check(unserved)
            # Parse it again, to raise the error suppressed above.
            wanted = self._read(request)
        if wanted.verb == "watch":
            self.handlers.authorize(wanted, request.query)
            return await self._watch(request, wanted)
        return await self.handlers.answer(request, wanted)

    async def _watch(
        self, request: web.Request, wanted: ResourceRequest, *, cut_after: int | None = None
    ) -> web.StreamResponse:
        watch = self.handlers.open_watch(request, wanted)
        answer = web.StreamResponse(headers={hdrs.CONTENT_TYPE: "application/json"})
        answer.enable_chunked_encoding()
        self._decorate(answer)
        self.faults.open.add(watch)
        try:
            await answer.prepare(request)
            async with contextlib.aclosing(watch.lines()) as lines:
                sent = 0
                while sent != cut_after and (chunk := await anext(lines, None)) is not None:
                    await self._be_silent(request, wanted)
                    await answer.write(chunk)
                    sent += 1
            if sent == cut_after:
                await _break_off(request)
                return answer
            await self._be_silent(request, wanted)
            await answer.write_eof()
        finally:
            self.faults.open.discard(watch)
        return answer

    async def _be_silent(self, request: web.Request, wanted: ResourceRequest) -> None:
        """Wait for ever if a fault silences the watch."""
        if self.faults.silences(request.path, wanted):
            await asyncio.Event().wait()

    def _answer_other(self, request: web.Request) -> web.StreamResponse | None:
        registry = self._registry
        parts = request.path.strip("/").split("/")
        found: JSON = None
        match parts:
            case ["healthz" | "readyz" | "livez", *_]:
                return _text(HTTPStatus.OK, "ok")
            case ["api" | "apis"]:
                accept, core = request.headers.get(hdrs.ACCEPT, ""), parts == ["api"]
                document = discovery.aggregated(registry, accept, core=core)
                headers = {hdrs.CONTENT_TYPE: discovery.AGGREGATED}
                return web.Response(body=document, headers=headers)
            case ["api", "v1"]:
                found = discovery.resources(registry, "", "v1")
            case ["apis", group, version]:
                found = discovery.resources(registry, group, version)
            case ["version"]:
                found = discovery.VERSION
            case ["openapi", "v3"]:
                found = discovery.openapi_index(registry)
            case ["openapi", "v3", "api", "v1"]:
                found = discovery.openapi_document(registry, "", "v1")
            case ["openapi", "v3", "apis", group, version]:
                found = discovery.openapi_document(registry, group, version)
        return None if found is None else answered(found)


def _text(status: HTTPStatus, text: str) -> web.Response:
    return web.Response(status=status, text=text, headers={"X-Content-Type-Options": "nosniff"})


def _unknown_path() -> web.Response:
    return _text(HTTPStatus.NOT_FOUND, "404 page not found\n")


def _status(error: ApiError) -> web.Response:
    answer = answered(error.status(), error.code)
    if error.retry_after is not None:
        answer.headers[hdrs.RETRY_AFTER] = str(error.retry_after)
    return answer


async def _break_off(request: web.Request) -> None:
    """Drop the connection in the middle of the answer."""
    if request.transport is not None:
        request.transport.abort()
    await asyncio.sleep(0)

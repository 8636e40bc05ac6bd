"""Injected faults: failures between clients and API servers, on demand.

Tests that run a process of their own use the admin path:

| request | effect |
| --- | --- |
| ``GET /_sandbox/faults`` | the faults that are on, by number |
| ``POST /_sandbox/faults`` | switch one on, the answer has its ``id`` |
| ``DELETE /_sandbox/faults``, ``/_sandbox/faults/<id>`` | switch all off, or one |
| ``POST /_sandbox/watches/cut``, ``/end`` | drop or end open watches (``?resource=``) |
| ``GET /_sandbox/watches`` | how many are open (``?resource=``) |
| ``POST /_sandbox/compact`` | let versions expire (``?resource=``) |
| ``GET``, ``PUT``, ``DELETE /_sandbox/access`` | grants and denials; deleting allows everything |
| ``GET``, ``DELETE /_sandbox/requests`` | counters of requests and the latest of them |
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

import msgspec
from aiohttp import web

from lab.sandbox.access import Access, Rule
from lab.sandbox.objects import JSON, encode
from lab.sandbox.requests import RequestLog, ResourceRequest
from lab.sandbox.storage import Storage
from lab.sandbox.watching import Watch

Action = Literal[
    "throttle", "hang", "cut", "forbidden", "unknown-path", "slow", "html", "error", "silent"
]


class InjectedFault(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """A fault for matching requests.

    Attributes:
        action: the fault. `throttle`: 429 as plain text with Retry-After. `hang`: never answer.
            `cut`: drop the connection, for a watch after `events` chunks. `forbidden`: 403.
            `unknown-path`: 404 as plain text. `slow`: answer `seconds` later. `html`: a proxy's
            page, with `code`. `error`: a Status with `code`. `silent`: watches, also those already
            open, stay open but send nothing.
        verbs: the verbs to match; empty for all requests, including discovery and health.
        resources: the resources to match, as `plural` or `plural.group`; empty for all.
        namespaces: the namespaces to match; empty for all.
        path_prefix: the URL path prefix to match.
        times: how many requests to hit; None for all until the fault is removed.
        code: the status of an `error` or `html` answer.
        seconds: the delay of `slow`, the Retry-After of `throttle` and `error` (0 for none).
        events: how many chunks of a watch pass before it is cut.
    """

    action: Action
    verbs: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    path_prefix: str = "/"
    times: int | None = None
    code: int = 503
    seconds: float = 1.0
    events: int = 0

    def matches(self, path: str, request: ResourceRequest | None) -> bool:
        if not path.startswith(self.path_prefix):
            return False
        if request is None:
            return not (self.verbs or self.resources or self.namespaces)
        return (
            (not self.verbs or request.verb in self.verbs)
            and (not self.resources or request.resource.name in self.resources)
            and (not self.namespaces or request.namespace in self.namespaces)
        )


@dataclass(eq=False, slots=True)
class OpenWatch:
    """A watch that is being served."""

    request: ResourceRequest
    path: str
    watch: Watch
    transport: asyncio.Transport | None


class Faults:
    """The active faults, and the means to disturb open watches."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._active: dict[int, InjectedFault] = {}
        self._left: dict[int, int] = {}
        self._next = 1
        self._open: set[OpenWatch] = set()

    def add(self, fault: InjectedFault) -> int:
        number = self._next
        self._next += 1
        self._active[number] = fault
        if fault.times is not None:
            self._left[number] = fault.times
        return number

    def remove(self, number: int) -> None:
        self._active.pop(number, None)
        self._left.pop(number, None)

    def clear(self) -> None:
        self._active.clear()
        self._left.clear()

    def active(self) -> dict[int, InjectedFault]:
        return dict(self._active)

    def take(self, path: str, request: ResourceRequest | None) -> list[InjectedFault]:
        """Return the faults that hit a request, and count it against their `times`."""
        hits = []
        for number, fault in list(self._active.items()):
            if fault.action == "silent" or not fault.matches(path, request):
                continue
            hits.append(fault)
            if number in self._left:
                self._left[number] -= 1
                if not self._left[number]:
                    self.remove(number)
        return hits

    def silences(self, path: str, request: ResourceRequest) -> bool:
        """Return whether a watch must not send anything more."""
        return any(
            fault.action == "silent" and fault.matches(path, request)
            for fault in self._active.values()
        )

    def compact(self, resource: str | None = None) -> None:
        """Let every version that clients have seen expire, of one resource or of all."""
        self._storage.compact(None if resource is None else [self._collection(resource)])

    def cut_watches(self, resource: str | None = None) -> int:
        """Drop the connections of open watches in mid-stream; return their number."""
        count = 0
        for opened in list(self._matching(resource)):
            if opened.transport is not None:
                opened.transport.abort()
                count += 1
        return count

    def end_watches(self, resource: str | None = None) -> int:
        """End open watches cleanly, like the server at their timeout; return their number."""
        found = list(self._matching(resource))
        for opened in found:
            opened.watch.end()
        return len(found)

    def open_watches(self, resource: str | None = None) -> int:
        return sum(1 for _ in self._matching(resource))

    def opened(self, watch: OpenWatch) -> None:
        self._open.add(watch)

    def closed(self, watch: OpenWatch) -> None:
        self._open.discard(watch)

    def _matching(self, resource: str | None) -> Iterator[OpenWatch]:
        for opened in self._open:
            if resource is None or opened.request.resource.name == resource:
                yield opened

    @staticmethod
    def _collection(resource: str) -> str:
        return "events" if resource == "events.events.k8s.io" else resource


PREFIX = "/_sandbox"
_T = TypeVar("_T")


class AccessSettings(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The allowed requests: without grants, everything except the denials."""

    grants: list[Rule] | None = None
    denials: list[Rule] = []


class Admin:
    def __init__(self, faults: Faults, access: Access, request_log: RequestLog) -> None:
        self._faults = faults
        self._access = access
        self._log = request_log

    def routes(self) -> list[web.AbstractRouteDef]:
        return [
            web.get(f"{PREFIX}/faults", self._list_faults),
            web.post(f"{PREFIX}/faults", self._add_fault),
            web.delete(f"{PREFIX}/faults", self._clear_faults),
            web.delete(PREFIX + r"/faults/{number:\d+}", self._remove_fault),
            web.get(f"{PREFIX}/watches", self._count_watches),
            web.post(f"{PREFIX}/watches/cut", self._cut_watches),
            web.post(f"{PREFIX}/watches/end", self._end_watches),
            web.post(f"{PREFIX}/compact", self._compact),
            web.get(f"{PREFIX}/access", self._get_access),
            web.put(f"{PREFIX}/access", self._set_access),
            web.delete(f"{PREFIX}/access", self._reset_access),
            web.get(f"{PREFIX}/requests", self._get_requests),
            web.delete(f"{PREFIX}/requests", self._clear_requests),
        ]

    async def _list_faults(self, _request: web.Request) -> web.Response:
        active = self._faults.active()
        return _json([{"id": number, **_plain(fault)} for number, fault in active.items()])

    async def _add_fault(self, request: web.Request) -> web.Response:
        fault = _read(await request.read(), InjectedFault)
        return _json({"id": self._faults.add(fault)}, 201)

    async def _clear_faults(self, _request: web.Request) -> web.Response:
        self._faults.clear()
        return _json({})

    async def _remove_fault(self, request: web.Request) -> web.Response:
        self._faults.remove(int(request.match_info["number"]))
        return _json({})

    async def _count_watches(self, request: web.Request) -> web.Response:
        return _json({"open": self._faults.open_watches(request.query.get("resource"))})

    async def _cut_watches(self, request: web.Request) -> web.Response:
        return _json({"cut": self._faults.cut_watches(request.query.get("resource"))})

    async def _end_watches(self, request: web.Request) -> web.Response:
        return _json({"ended": self._faults.end_watches(request.query.get("resource"))})

    async def _compact(self, request: web.Request) -> web.Response:
        self._faults.compact(request.query.get("resource"))
        return _json({})

    async def _get_access(self, _request: web.Request) -> web.Response:
        settings = AccessSettings(grants=self._access.grants, denials=self._access.denials)
        return _json(_plain(settings))

    async def _set_access(self, request: web.Request) -> web.Response:
        settings = _read(await request.read(), AccessSettings)
        self._access.grants = settings.grants
        self._access.denials = settings.denials
        return _json({})

    async def _reset_access(self, _request: web.Request) -> web.Response:
        self._access.reset()
        return _json({})

    async def _get_requests(self, _request: web.Request) -> web.Response:
        counters = [
            {"method": method, "verb": verb, "resource": resource, "code": code, "count": count}
            for (method, verb, resource, code), count in sorted(self._log.counters.items())
        ]
        recent = [
            {
                "method": item.method,
                "verb": item.verb,
                "resource": item.resource,
                "namespace": item.namespace,
                "name": item.name,
                "code": item.code,
                "path": item.path,
            }
            for item in self._log.recent
        ]
        return _json({"total": self._log.count(), "counters": counters, "recent": recent})

    async def _clear_requests(self, _request: web.Request) -> web.Response:
        self._log.clear()
        return _json({})


def _plain(value: msgspec.Struct) -> JSON:
    return msgspec.to_builtins(value)


def _read(raw: bytes, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError as error:
        raise web.HTTPBadRequest(text=str(error)) from None


def _json(document: JSON, status: int = 200) -> web.Response:
    return web.Response(status=status, body=encode(document), content_type="application/json")

"""The admin path: faults, rules and counters, for tests that run a process of their own.

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

from typing import TypeVar

import msgspec
from aiohttp import web

from lab.sandbox.access import Access, Rule
from lab.sandbox.faults import Faults, InjectedFault
from lab.sandbox.objects import JSON, encode
from lab.sandbox.requests import RequestLog

PREFIX = "/_sandbox"
_T = TypeVar("_T")


class AccessSettings(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The allowed requests: without grants, everything except the denials."""

    grants: list[Rule] | None = None
    denials: list[Rule] = []


class Admin:
    """Serves the admin path."""

    def __init__(self, faults: Faults, access: Access, request_log: RequestLog) -> None:
        self._faults = faults
        self._access = access
        self._log = request_log

    def routes(self) -> list[web.AbstractRouteDef]:
        """Return the routes of an application."""
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

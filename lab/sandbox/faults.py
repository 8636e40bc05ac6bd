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

from collections.abc import Callable
from http import HTTPStatus
from itertools import count
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


class Faults:
    def __init__(self, storage: Storage) -> None:
        self.active: dict[int, InjectedFault] = {}
        """By their number."""

        self.open: set[Watch] = set()
        self._storage = storage
        self._left: dict[int, int] = {}
        self._numbers = count(1)

    def add(self, fault: InjectedFault) -> int:
        number = next(self._numbers)
        self.active[number] = fault
        if fault.times is not None:
            self._left[number] = fault.times
        return number

    def remove(self, number: int) -> None:
        self.active.pop(number, None)
        self._left.pop(number, None)

    def clear(self) -> None:
        self.active.clear()
        self._left.clear()

    def take(self, path: str, request: ResourceRequest | None) -> list[InjectedFault]:
        """Return the faults that hit a request, and count it against their `times`."""
        hits = []
        for number, fault in list(self.active.items()):
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
            for fault in self.active.values()
        )

    def compact(self, resource: str | None = None) -> None:
        """Let every version that clients have seen expire, of one resource or of all."""
        self._storage.compact(None if resource is None else [resource])

    def cut_watches(self, resource: str | None = None) -> int:
        """Drop the connections of open watches in mid-stream; return their number."""
        transports = [each.transport for each in self._matching(resource) if each.transport]
        for transport in transports:
            transport.abort()
        return len(transports)

    def end_watches(self, resource: str | None = None) -> int:
        """End open watches cleanly, like the server at their timeout; return their number."""
        found = self._matching(resource)
        for opened in found:
            opened.notify()
        return len(found)

    def open_watches(self, resource: str | None = None) -> int:
        return len(self._matching(resource))

    def _matching(self, resource: str | None) -> list[Watch]:
        return [each for each in self.open if resource in {None, each.resource.name}]


class AccessSettings(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The allowed requests: without grants, everything except the denials."""

    grants: list[Rule] | None = None
    denials: list[Rule] = []


class Admin:
    """Answers the requests below `/_sandbox/`."""

    def __init__(self, faults: Faults, access: Access, request_log: RequestLog) -> None:
        self._faults = faults
        self._access = access
        self._log = request_log

    async def handle(self, request: web.Request) -> web.Response:
        raw, resource = await request.read(), request.query.get("resource")
        path, _, number = request.match_info["path"].partition("/")
        faults = self._faults
        acts: dict[tuple[str, str], Callable[[], JSON]] = {
            ("GET", "faults"): self._list,
            ("POST", "faults"): lambda: {"id": faults.add(_read(raw, InjectedFault))},
            ("DELETE", "faults"): lambda: faults.remove(int(number)) if number else faults.clear(),
            ("GET", "watches"): lambda: {"open": faults.open_watches(resource)},
            ("POST", "watches/cut"): lambda: {"cut": faults.cut_watches(resource)},
            ("POST", "watches/end"): lambda: {"ended": faults.end_watches(resource)},
            ("POST", "compact"): lambda: faults.compact(resource),
            ("GET", "access"): lambda: AccessSettings(
                grants=self._access.grants, denials=self._access.denials
            ),
            ("PUT", "access"): lambda: self._set_access(_read(raw, AccessSettings)),
            ("DELETE", "access"): self._access.reset,
            ("GET", "requests"): self._requests,
            ("DELETE", "requests"): self._log.clear,
        }
        wanted = path if number.isdecimal() else request.match_info["path"]
        act = acts.get((request.method, wanted))
        if act is None:
            raise web.HTTPNotFound
        found = act()
        created = request.method == "POST" and wanted == "faults"
        return web.Response(
            status=HTTPStatus.CREATED if created else HTTPStatus.OK,
            body=encode({} if found is None else found),
            content_type="application/json",
        )

    def _list(self) -> JSON:
        active = self._faults.active.items()
        return [{"id": number, **msgspec.to_builtins(fault)} for number, fault in active]

    def _set_access(self, settings: AccessSettings) -> None:
        self._access.grants, self._access.denials = settings.grants, settings.denials

    def _requests(self) -> JSON:
        names = ("method", "verb", "resource", "code")
        counters = [
            {**dict(zip(names, key, strict=True)), "count": count}
            for key, count in sorted(self._log.counters.items())
        ]
        return {"total": self._log.count(), "counters": counters, "recent": [*self._log.recent]}


_T = TypeVar("_T")


def _read(raw: bytes, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError as error:
        raise web.HTTPBadRequest(text=str(error)) from None

"""A small JSON client of the API server, with the terms of the sandbox."""

import asyncio
import contextlib
import socket
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Self

import aiohttp
import msgspec
from aiohttp import AddrInfoType

from e2e.envtest.commands import Access
from lab.sandbox.objects import (
    JSON,
    Object,
    copy_json,
    decode,
    dig,
    encode,
    meta,
    name_of,
    namespace_of,
)


class StackError(Exception):
    """The cluster cannot be played as requested; the message says what to do."""


class ApiError(StackError):
    """The API server refused a request.

    Attributes:
        code: HTTP status.
        reason: of the Status object, such as `NotFound`, or empty.
    """

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(f"the API server answered {code} {reason}: {message}")
        self.code = code
        self.reason = reason

    @property
    def not_found(self) -> bool:
        """Whether the object or its kind does not exist."""
        return self.code == HTTPStatus.NOT_FOUND

    @property
    def conflict(self) -> bool:
        """Whether the object has changed, was replaced, or exists already."""
        return self.code == HTTPStatus.CONFLICT


AWAY: Final = (ApiError, aiohttp.ClientError, TimeoutError, OSError, msgspec.DecodeError)
"""Errors while the API server or a kind is missing; to be retried."""

DISCOVERY: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
"""The content type of aggregated discovery: two requests return everything."""

ROOTS: Final = ("/api", "/apis")
"""The core group, and the others."""


@dataclass(frozen=True, slots=True)
class Resource:
    """How the objects of a kind are addressed.

    Attributes:
        group: empty for the core group.
        version: the one in URLs.
        plural: the name in URLs.
        kind: the name in documents.
        namespaced: whether the objects live in namespaces.
        verbs: what may be done, such as `deletecollection`.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    verbs: frozenset[str]

    @property
    def name(self) -> str:
        """`plural.group`, or the plural alone in the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        """`group/version`, or `version` alone in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the path of a collection, an object, or a subresource."""
        root = "/apis" if self.group else "/api"
        place = ["namespaces", namespace] if self.namespaced and namespace else []
        parts = [root, self.api_version, *place, self.plural, name, subresource]
        return "/".join(part for part in parts if part)


def discovered(document: Object) -> Iterator[Resource]:
    """Yield the resources of an aggregated discovery document, preferred versions first."""
    for group in document["items"]:
        name = group.get("metadata", {}).get("name", "")
        for version in group["versions"]:
            for each in version.get("resources") or ():
                yield Resource(
                    group=name,
                    version=version["version"],
                    plural=each["resource"],
                    kind=each["responseKind"]["kind"],
                    namespaced=each["scope"] == "Namespaced",
                    verbs=frozenset(each["verbs"]),
                )


_END_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.005


class Connections:
    """Makes the sockets of a connector and ends them.

    A cancelled request leaves a TLS connection that waits for the other side to close, which takes
    longer than the event loop of a test.
    """

    def __init__(self) -> None:
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def make(self, address: AddrInfoType) -> socket.socket:
        family, kind, protocol, *_ = address
        made = socket.socket(family, kind, protocol)
        self._sockets.add(made)
        return made

    async def end(self) -> None:
        for each in self._open():
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        async with asyncio.timeout(_END_SECONDS):
            while self._open():  # noqa: ASYNC110 - a closed socket tells nobody
                await asyncio.sleep(_POLL_SECONDS)

    def _open(self) -> list[socket.socket]:
        return [each for each in self._sockets if each.fileno() != -1]


MANAGER: Final = "e2e-stack"
"""Field manager of everything that is applied."""

_BY_SERVER: Final = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")
_OK: Final = 200
_REQUEST_SECONDS: Final = 30.0
_WATCH_SECONDS: Final = 60
_WATCH_SLACK_SECONDS: Final = 15
_LONGEST_LINE: Final = 4 * 1024 * 1024
_MERGE: Final = "application/merge-patch+json"
_APPLY: Final = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Page:
    """A list, and the version to watch from."""

    items: list[Object]
    version: str


class Api:
    """The API server for somebody with `access`; resources are named `plural.group`."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self._resources: list[Resource] = []
        self._connections = Connections()
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            self.access.url,
            connector=aiohttp.TCPConnector(
                ssl=self.access.tls(), limit=0, socket_factory=self._connections.make
            ),
            headers=self.access.headers,
            timeout=aiohttp.ClientTimeout(total=_REQUEST_SECONDS),
            read_bufsize=_LONGEST_LINE,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
            await self._connections.end()

    @property
    def session(self) -> aiohttp.ClientSession:
        """The HTTP session, for requests that are not about objects."""
        if self._session is None:
            raise RuntimeError("enter the Api with 'async with' first")
        return self._session

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: JSON = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        **params: str,
    ) -> Object:
        """Send a request and return the object in the answer."""
        headers = {"Accept": accept}
        data = None
        if body is not None:
            headers["Content-Type"] = content_type
            data = encode(body)
        async with self.session.request(
            method, path, data=data, headers=headers, params=params
        ) as answer:
            raw = await answer.read()
        if not _OK <= answer.status < _OK + 100:
            raise _refusal(answer.status, raw)
        found: Object = decode(raw)
        return found

    async def resources(self, *, fresh: bool = False) -> list[Resource]:
        if fresh or not self._resources:
            documents = [await self.request("GET", root, accept=DISCOVERY) for root in ROOTS]
            self._resources = [each for document in documents for each in discovered(document)]
        return self._resources

    async def resource(self, name: str) -> Resource:
        """Return a resource in its preferred version."""
        return await self._found(name, lambda each: each.name == name)

    async def resource_of(self, obj: Object) -> Resource:
        """Return the resource of an object, in the version that the object has."""
        wanted = obj["apiVersion"], obj["kind"]
        return await self._found(
            " ".join(wanted),
            lambda each: (each.api_version, each.kind) == wanted and "create" in each.verbs,
        )

    async def _found(self, what: str, wanted: Callable[[Resource], bool]) -> Resource:
        for fresh in (False, True):
            for each in await self.resources(fresh=fresh):
                if wanted(each):
                    return each
        raise ApiError(404, "NotFound", f"{what} is not served")

    async def get(self, resource: str, name: str, *, namespace: str = "") -> Object | None:
        path = (await self.resource(resource)).path(namespace, name)
        try:
            return await self.request("GET", path)
        except ApiError as error:
            if error.not_found:
                return None
            raise

    async def items(
        self, resource: str, *, namespace: str = "", selector: str = ""
    ) -> list[Object]:
        """Return the objects of a namespace, or of all."""
        params = {"labelSelector": selector} if selector else {}
        return (await self.page(await self.resource(resource), namespace, **params)).items

    async def page(self, resource: Resource, namespace: str = "", **params: str) -> Page:
        answer = await self.request("GET", resource.path(namespace), **params)
        # The items of a list omit what the list says once.
        own = {"apiVersion": resource.api_version, "kind": resource.kind}
        items = [{**own, **item} for item in answer.get("items") or ()]
        return Page(items, str(dig(answer, "metadata", "resourceVersion") or ""))

    async def create(self, obj: Object) -> Object:
        """Create an object and return it as stored."""
        resource = await self.resource_of(obj)
        return await self.request("POST", resource.path(namespace_of(obj)), body=obj)

    async def apply(self, obj: Object) -> Object:
        """Create an object, or set its fields, whoever owned them."""
        resource = await self.resource_of(obj)
        path = resource.path(namespace_of(obj), name_of(obj))
        return await self.request(
            "PATCH", path, body=obj, content_type=_APPLY, fieldManager=MANAGER, force="true"
        )

    async def install(self, obj: Object) -> Object:
        """Apply an object without what only servers set, then its status; return it as stored."""
        wanted = copy_json(obj)
        for field in _BY_SERVER:
            meta(wanted).pop(field, None)
        status = wanted.pop("status", None)
        stored = await self.apply(wanted)
        if status:
            resource = await self.resource_of(wanted)
            await self.status(resource.name, namespace_of(wanted), name_of(wanted), status)
        return stored

    async def status(self, resource: str, namespace: str, name: str, status: Object) -> None:
        """Merge into the status of an object."""
        patch = {"status": status}
        await self.patch(resource, name, patch, namespace=namespace, subresource="status")

    async def patch(
        self, resource: str, name: str, patch: JSON, *, namespace: str = "", subresource: str = ""
    ) -> Object:
        """Merge a patch into an object or a subresource of it."""
        path = (await self.resource(resource)).path(namespace, name, subresource)
        return await self.request("PATCH", path, body=patch, content_type=_MERGE)

    async def delete(
        self,
        resource: str,
        name: str,
        *,
        namespace: str = "",
        uid: str = "",
        grace_seconds: int | None = None,
    ) -> None:
        """Delete an object if it exists and, with `uid`, is still the same."""
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        path = (await self.resource(resource)).path(namespace, name)
        await unless_gone(self.request("DELETE", path, body=options))

    async def watch(self, resource: Resource, version: str) -> AsyncIterator[tuple[str, Object]]:
        """Yield type and object of each change after `version`, until the server ends the watch."""
        params = {
            "watch": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(_WATCH_SECONDS),
        }
        timeout = aiohttp.ClientTimeout(
            total=None,
            sock_connect=_WATCH_SLACK_SECONDS,
            sock_read=_WATCH_SECONDS + _WATCH_SLACK_SECONDS,
        )
        async with self.session.get(resource.path(), params=params, timeout=timeout) as answer:
            if answer.status != _OK:
                raise _refusal(answer.status, await answer.read())
            async for line in answer.content:
                frame: Object = decode(line)
                if frame["type"] == "ERROR":
                    status = frame["object"]
                    raise ApiError(status["code"], status["reason"], status["message"])
                yield frame["type"], frame["object"]


async def unless_gone(request: Awaitable[object]) -> None:
    """Send a request about an object that may be gone or replaced by one of the same name."""
    try:
        await request
    except ApiError as error:
        if not (error.not_found or error.conflict):
            raise


def _refusal(code: int, raw: bytes) -> ApiError:
    try:
        status: Object = decode(raw)
        return ApiError(code, str(status.get("reason") or ""), str(status.get("message") or ""))
    except (msgspec.DecodeError, AttributeError):
        return ApiError(code, "", raw.decode(errors="replace").strip())

"""Requests to the API server: bounded in time and size, authenticated, observed.

kubernetes_asyncio supplies configuration, authentication and the HTTP session; its request
methods are not used: they never time out, as each request gets an empty `ClientTimeout`
(kubernetes_asyncio 36.1.0, client/rest.py), they follow redirects, and they parse error pages.
"""

import asyncio
import ipaddress
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeAlias, TypeVar
from urllib.parse import quote, urlencode

import aiohttp
import msgspec
import yarl

from reporter import __version__
from reporter.catalogue.resources import COMPONENT
from reporter.kube import errors
from reporter.kube.clock import ClockOffset
from reporter.kube.credentials import Credentials, choose_source, library
from reporter.model.text import clean

if TYPE_CHECKING:
    from kubernetes_asyncio.client import Configuration


_READ_BYTES: Final = 2**18


class Session:
    def __init__(self, configuration: "Configuration") -> None:
        try:
            self._rest = library().rest_client(configuration)
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise errors.ConfigurationError(
                "the certificates of the cluster's configuration cannot be used: "
                f"{clean(str(error))}; check certificate-authority, client-certificate and "
                "client-key in the kubeconfig"
            ) from None
        # The library's own session asks a thread for ~/.netrc before each request.
        self.http = aiohttp.ClientSession(
            connector=self._rest.pool_manager.connector,
            connector_owner=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=_READ_BYTES,
        )
        self.proxy = configuration.proxy or environment_proxy(configuration.host or "")

    async def close(self) -> None:
        await self.http.close()
        await self._rest.close()


def environment_proxy(host: str) -> str | None:
    """Return the proxy that the environment names for the API server, or None.

    Same rules as client-go (Go, golang.org/x/net/http/httpproxy): hosts in NO_PROXY bypass the
    proxy, and so do `localhost` and loopback addresses: a proxy must not see their token.
    """
    url = yarl.URL(host)
    if not url.host or _is_direct(url.host.lower().rstrip("."), url.port):
        return None
    name = f"{url.scheme}_proxy"
    return os.environ.get(name.upper()) or os.environ.get(name) or None


def _is_direct(host: str, port: int | None) -> bool:
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    named = os.environ.get("NO_PROXY") or os.environ.get("no_proxy") or ""
    return any(_names(each.strip().lower(), host, port) for each in named.split(","))


def _names(entry: str, host: str, port: int | None) -> bool:
    """True if a NO_PROXY entry (`*`, a range, an address or a domain) covers the host."""
    if entry in {"", "*"}:
        return bool(entry)
    address = _address(host)
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, _, digits = entry.rpartition(":")
    if name and digits.isdigit() and (":" not in name or name.startswith("[")):
        if int(digits) != port:
            return False
        entry = name
    entry = entry.strip("[]")
    if address is not None:
        return _address(entry) == address
    domain = entry.removeprefix("*").removeprefix(".")
    is_own = domain == entry and host == domain
    return bool(domain) and (is_own or host.endswith(f".{domain}"))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def tls_identity(configuration: "Configuration") -> tuple[object, ...]:
    """Return the inputs of the TLS context, which is rebuilt when they change."""
    files = (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
    return (configuration.host, configuration.verify_ssl, *map(_file_identity, files))


def _file_identity(name: str | None) -> tuple[str, int] | None:
    if not name:
        return None
    try:
        return name, Path(name).stat().st_mtime_ns
    except OSError:
        return name, 0


AnswerT = TypeVar("AnswerT")

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
USER_AGENT: Final = f"{COMPONENT}/{__version__}"

REQUEST_SECONDS: Final = 30.0
"""Default timeout of a request; the server's own is 60 s (kube-apiserver, `--request-timeout`)."""

_CONNECT_SECONDS: Final = 10.0
_ANSWER_BYTES: Final = 8 * 2**20
_REFUSAL_BYTES: Final = 2**16


RequestObserver: TypeAlias = Callable[[str, str, str], None]
"""Counts a request: verb, resource, and HTTP status, or `error` if there was no answer."""


@dataclass(frozen=True, slots=True)
class Response:
    """A complete answer: 2xx or 304."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def decode(self, type_: type[AnswerT]) -> AnswerT:
        with errors.mapped("reading an answer"):
            return msgspec.json.decode(self.body, type=type_)


def encode(body: object) -> bytes:
    return msgspec.json.encode(body)


def api_path(group: str, version: str, *segments: str) -> str:
    root = ("apis", group, version) if group else ("api", version)
    return "/" + "/".join(quote(segment, safe="") for segment in (*root, *segments))


class KubeClient:
    """The one connection to the API server. Made by `connect`; close it with `aclose`."""

    def __init__(
        self, credentials: Credentials, observer: RequestObserver, clock_offset: ClockOffset
    ) -> None:
        self._credentials = credentials
        self._observer = observer
        self._clock_offset = clock_offset
        self._sessions: dict[bool, Session] = {}
        self._identity = tls_identity(credentials.configuration)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._credentials.aclose()
        await self._close_sessions()

    async def _close_sessions(self) -> None:
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            await session.close()

    def prepare(self) -> None:
        """Create the TLS contexts of both connections, which blocks for about 20 ms each.

        Raises ConfigurationError if the server's URL or the certificates cannot be used.
        """
        try:
            url = yarl.URL(self._credentials.host)
            usable = url.scheme in {"http", "https"} and bool(url.host)
        except ValueError:
            usable = False
        if not usable:  # the message leaves the URL out: it may contain a password
            raise errors.ConfigurationError(
                "the server's address in the kubeconfig is not a URL like https://host:6443"
            )
        for lease in (False, True):
            self._session(lease=lease)

    @property
    def server(self) -> str:
        url = yarl.URL(self._credentials.host)
        return str(url.with_user(None)) if url.is_absolute() else str(url)

    @property
    def in_cluster(self) -> bool:
        """True if we run as a pod of the cluster and can reach other pods directly."""
        return self._credentials.in_cluster

    @property
    def renewal(self) -> str:
        return self._credentials.renewal

    @property
    def clock_offset_seconds(self) -> float:
        return self._clock_offset.seconds()

    async def request(
        self,
        method: str,
        path: str,
        *,
        verb: str,
        resource: str,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        headers: Mapping[str, str] | None = None,
        timeout: float = REQUEST_SECONDS,  # noqa: ASYNC109 - also bounds the reload after a 401
        max_bytes: int = _ANSWER_BYTES,
        lease: bool = False,
    ) -> Response:
        """Send one request and read the whole answer, of at most `max_bytes`.

        `verb` and `resource` are for the observer. `timeout` limits the whole call in seconds,
        including a retry after a 401. `lease` selects the connections reserved for the Lease, so
        that other requests cannot starve it. Raises ApiStatusError if the server refuses,
        ConnectionFailed without a complete answer in time, NotJson if the answer is not from an API
        server, and AnswerTooLarge.
        """
        with errors.mapped(f"{method} {path}"):
            async with asyncio.timeout(timeout), AsyncExitStack() as stack:
                answer = await self._open(
                    stack,
                    _Call(method, path, verb, resource, params, body, content_type, headers, lease),
                )
                return Response(answer.status, answer.headers, await _read(answer, max_bytes))

    @asynccontextmanager
    async def stream(
        self, path: str, *, resource: str, params: Mapping[str, str], idle_seconds: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch and yield its lines; raises like `request`. After `idle_seconds` without a
        byte the connection counts as lost.
        """
        call = _Call("GET", path, "watch", resource, params, idle_seconds=idle_seconds)
        async with AsyncExitStack() as stack:
            with errors.mapped(f"watch {path}"):
                async with asyncio.timeout(REQUEST_SECONDS):
                    answer = await self._open(stack, call)
                _keep_alive(answer)
            yield _lines(answer.content)

    @asynccontextmanager
    async def pod_proxy(
        self, path: str, headers: Mapping[str, str]
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a GET that the API server forwards to a pod, and yield the raw answer.

        The pod may have written it, so do not trust it: it is not decompressed, and its Date header
        is ignored. The caller must limit its size and time, and map exceptions from reading it.
        """
        call = _Call("GET", path, "get", "pods/proxy", headers=headers, of_pod=True)
        async with AsyncExitStack() as stack:
            with errors.mapped(f"GET {path}"):
                answer = await self._open(stack, call)
            stack.callback(answer.close)
            yield answer

    async def _open(self, stack: AsyncExitStack, call: "_Call") -> aiohttp.ClientResponse:
        """Send a request; if the credentials are refused, renew them and retry once."""
        try:
            return await self._attempt(stack, call)
        except (errors.Unauthorized, errors.CertificateRejected):
            if not await self._renew():
                raise
            return await self._attempt(stack, call)

    async def _attempt(self, stack: AsyncExitStack, call: "_Call") -> aiohttp.ClientResponse:
        code = "error"
        try:
            with errors.mapped(f"{call.method} {call.path}"):
                answer = await stack.enter_async_context(await self._send(call))
                code = str(answer.status)
                if call.of_pod:
                    await _require_authorized(answer)
                else:
                    self._clock_offset.note(answer.headers.get("Date", ""))
                    await _require_success(answer)
                return answer
        finally:
            self._observer(call.verb, call.resource, code)

    async def _send(self, call: "_Call") -> "aiohttp.client._RequestContextManager":
        session = self._session(lease=call.lease)
        configuration = self._credentials.configuration
        headers = {
            "User-Agent": USER_AGENT,
            "Accept": JSON,
            # Saves the server's time, and rules out decompression bombs.
            "Accept-Encoding": "identity",
            **(call.headers or {}),
            **await self._credentials.headers(),
        }
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        query = f"?{urlencode(call.params)}" if call.params else ""
        return session.http.request(
            call.method,
            yarl.URL(f"{self._credentials.host}{call.path}{query}", encoded=True),
            data=call.body,
            headers=headers,
            allow_redirects=False,
            proxy=session.proxy,
            server_hostname=configuration.tls_server_name or None,
            auto_decompress=not call.of_pod,
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=_CONNECT_SECONDS, sock_read=call.idle_seconds
            ),
        )

    def _session(self, *, lease: bool) -> Session:
        session = self._sessions.get(lease)
        if session is None:
            session = self._sessions[lease] = Session(self._credentials.configuration)
        return session

    async def _renew(self) -> bool:
        if not await self._credentials.reload():
            return False
        identity = tls_identity(self._credentials.configuration)
        if identity != self._identity:
            self._identity = identity
            await self._close_sessions()
        return True


@dataclass(frozen=True, slots=True)
class _Call:
    method: str
    path: str
    verb: str
    resource: str
    params: Mapping[str, str] | None = None
    body: bytes | None = None
    content_type: str = JSON
    headers: Mapping[str, str] | None = None
    lease: bool = False
    idle_seconds: float | None = None
    of_pod: bool = False


async def _require_authorized(answer: aiohttp.ClientResponse) -> None:
    """Raise for a 401 of the API server; a 401 of the pod does not concern our credentials."""
    if answer.status == HTTPStatus.UNAUTHORIZED:
        refusal = errors.status_error(answer.status, await _read(answer, _REFUSAL_BYTES))
        if refusal.is_status_object:
            raise refusal


async def _require_success(answer: aiohttp.ClientResponse) -> None:
    if HTTPStatus.MULTIPLE_CHOICES <= answer.status < HTTPStatus.BAD_REQUEST:
        if answer.status == HTTPStatus.NOT_MODIFIED:
            return
        raise errors.NotJson(
            f"the answer is a redirect ({answer.status}), which no API server sends: "
            "is a proxy or a login page in front of it?"
        )
    if answer.content_type == "text/html" and answer.status in {200, 404}:
        # A 404 of an API server is JSON or plain text; this one says nothing about the cluster.
        raise errors.NotJson("the answer is an HTML page; is a proxy in front of the API server?")
    if answer.status >= HTTPStatus.BAD_REQUEST:
        body = await _read(answer, _ANSWER_BYTES)
        raise errors.status_error(answer.status, body, answer.headers.get("Retry-After"))


async def _read(answer: aiohttp.ClientResponse, most: int) -> bytes:
    parts = bytearray()
    async for part in answer.content.iter_any():
        parts += part
        if len(parts) > most:
            raise errors.AnswerTooLarge(f"the answer has more than {most} bytes")
    return bytes(parts)


FRAME_BYTES: Final = 8 * 2**20
"""Longest watch frame that is read; etcd accepts at most 1.5 MiB (`--max-request-bytes`)."""

_KEEP_ALIVE: Final = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
"""Detects a vanished peer after a minute; aiohttp sets none of these options."""


def _keep_alive(response: aiohttp.ClientResponse) -> None:
    """Turn TCP keep-alive on for the connection of an answer that is still being read."""
    connection = response.connection
    transport = connection.transport if connection is not None else None
    sock = transport.get_extra_info("socket") if transport is not None else None
    if sock is None:
        return
    with suppress(OSError):  # if the connection was just lost, the next read fails
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEP_ALIVE:
            if hasattr(socket, option):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Yield the complete lines received so far, joined; a clean end of the stream ends the
    iteration. Raises ConnectionFailed if the stream was cut or idle for too long, and
    AnswerTooLarge if a line exceeds the limit; the rest cannot be read then.
    """
    pending = bytearray()
    with errors.mapped("watching"):
        async for chunk in content.iter_any():
            end = chunk.rfind(b"\n")
            if len(pending) + (chunk.find(b"\n") if end >= 0 else len(chunk)) > FRAME_BYTES:
                text = f"watching: a frame has more than {FRAME_BYTES} bytes"
                raise errors.AnswerTooLarge(text)
            if end < 0:
                pending += chunk
                continue
            lines = bytes(pending) + chunk[:end]
            pending = bytearray(chunk[end + 1 :])
            if lines.strip():
                yield lines
    if pending.strip():
        yield bytes(pending)


async def connect(
    *,
    kubeconfig: Path | None = None,
    context: str | None = None,
    observer: RequestObserver = lambda *_: None,
    clock_offset: ClockOffset | None = None,
) -> KubeClient:
    """Load the cluster's configuration and return a client for it; send no request.

    Raises ConfigurationError if the configuration is missing or invalid.
    """
    credentials = await Credentials.load(choose_source(kubeconfig, context))
    client = KubeClient(credentials, observer, clock_offset or ClockOffset())
    client.prepare()
    return client

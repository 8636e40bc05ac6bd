"""One scrape: fetches a page from the pod's IP or through the API server's proxy, and reads it."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from http import HTTPStatus
from secrets import token_hex
from typing import Final, Protocol, Self
from urllib.parse import quote

import aiohttp
import msgspec
import yarl

from reporter.kube import errors
from reporter.kube.client import USER_AGENT, KubeClient, api_path
from reporter.kube.clock import Now, real_now
from reporter.metrics.pages.reader import UnreadablePage
from reporter.metrics.pages.reading import Page
from reporter.metrics.samples.sample import Failure, Scrape, Target
from reporter.metrics.scraping.scraper import FairSlots
from reporter.metrics.scraping.targets import ScrapeFailed, mapped


class Fetch(Protocol):
    def __call__(self, target: Target) -> Awaitable[bytes]:
        """Raises ScrapeFailed."""


class Attempts:
    """Scrapes pods; every failure becomes a `Scrape`.

    Pages are parsed in a single thread, so that a page crafted to be slow cannot block the event
    loop, which renews the Lease. Namespaces take turns in it.
    """

    def __init__(self, fetch: Fetch, read: Callable[[bytes], Page], *, now: Now = real_now) -> None:
        self._fetch = fetch
        self._read = read
        self._now = now
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="pages")
        self._turns = FairSlots(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._reading.shutdown(wait=False, cancel_futures=True)

    async def __call__(self, target: Target) -> Scrape:
        at = self._now()
        try:
            body = await self._fetch(target)
            seconds = self._since(at.boot.total_seconds())
            return Scrape(at=at, seconds=seconds, page=await self._page(target, body))
        except ScrapeFailed as failed:
            seconds = self._since(at.boot.total_seconds())
            return Scrape(at=at, seconds=seconds, failure=failed.failure, detail=failed.detail)

    def _since(self, boot: float) -> float:
        return max(0.0, self._now().boot.total_seconds() - boot)

    async def _page(self, target: Target, body: bytes) -> Page:
        loop = asyncio.get_running_loop()
        try:
            async with self._turns.of(target.namespace):
                return await loop.run_in_executor(self._reading, self._read, body)
        except UnreadablePage as error:
            raise ScrapeFailed(Failure.UNREADABLE, str(error)) from None


HEADERS: Final = {
    "User-Agent": USER_AGENT,
    "Accept": "text/plain;version=0.0.4, */*;q=0.1",
    "Accept-Encoding": "identity",
}
"""Requests the simple format from builds that negotiate."""

_CONTENT_TYPES: Final = frozenset({"", "text/plain", "application/openmetrics-text"})
"""Accepted types; vLLM always sends one, KAITO's server before vLLM may not."""

_LARGE_BYTES: Final = 2**20
"""Larger than a page of 16 engines, which has about 0.7 MB."""

_LARGE_AT_ONCE: Final = 2


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """`seconds` limits one scrape to the last byte, `bytes` a page, which is never decompressed.

    Half of Prometheus' default timeout: an engine that takes longer is not well, and the next
    scrape is due soon.
    """

    seconds: float = 5.0
    bytes: int = 8 * 2**20


LIMITS: Final = FetchLimits()


class AnswerReader:
    """Reads the answers of all scrapes; only a few large bodies are in memory at once."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)

    @property
    def full(self) -> bool:
        return self._large.locked()

    async def read(self, answer: aiohttp.ClientResponse) -> bytes:
        """Return the body of an answer; raises ScrapeFailed if it cannot be a metrics page."""
        if answer.status != HTTPStatus.OK:
            raise ScrapeFailed(Failure.STATUS, _status_text(answer.status))
        encoding = answer.headers.get("Content-Encoding", "").strip().lower()
        if encoding not in {"", "identity"}:
            raise ScrapeFailed(Failure.ENCODED)
        content_type = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if content_type not in _CONTENT_TYPES:
            raise ScrapeFailed(Failure.UNSUPPORTED)
        if (answer.content_length or 0) > self._most:
            raise self._too_large()
        body = await self._body(answer)
        if not body:
            raise ScrapeFailed(Failure.EMPTY)
        return body

    async def _body(self, answer: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async with AsyncExitStack() as stack:
            large = False
            async for part in answer.content.iter_any():
                body += part
                if len(body) > self._most:
                    raise self._too_large()
                if len(body) > _LARGE_BYTES and not large:
                    large = True
                    await stack.enter_async_context(self._large)
        return bytes(body)

    def _too_large(self) -> ScrapeFailed:
        return ScrapeFailed(Failure.TOO_LARGE, f"more than {self._most} bytes")


def _status_text(status: int) -> str:
    redirect = HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST
    return f"{status}, redirects are not followed" if redirect else str(status)


CONNECT_SECONDS: Final = 2.0
"""Short, because a pod's address answers at once or not at all."""

_READ_BYTES: Final = 2**16


_PATH: Final = "/metrics"
"""Path of the page, which neither vLLM nor SGLang lets anybody choose."""


def url_of(target: Target, port: int) -> yarl.URL:
    """Return the URL of a pod's page; yarl puts IPv6 addresses in brackets."""
    return yarl.URL.build(
        scheme=target.scheme, host=target.address, port=target.port or port, path=_PATH
    )


class DirectFetch:
    """Fetches pages from pod addresses over its own connections. Close it with `aclose`."""

    def __init__(
        self, port: int, limits: FetchLimits = LIMITS, reader: AnswerReader | None = None
    ) -> None:
        self._port = port
        self._limits = limits
        self._reader = reader or AnswerReader(limits.bytes)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0,  # the scraper limits concurrency
                force_close=True,  # KAITO's server before vLLM serves one client at a time
                use_dns_cache=False,
                # Certificates of pods do not name their IPs. As in the kubelet's probes, no secret
                # is sent.
                ssl=False,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
            read_bufsize=_READ_BYTES,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._session.close()

    async def __call__(self, target: Target) -> bytes:
        with mapped():
            async with asyncio.timeout(self._limits.seconds):
                answer = await self._session.get(
                    url_of(target, self._port),
                    headers={**HEADERS, "Connection": "close"},
                    allow_redirects=False,
                )
                try:
                    return await self._reader.read(answer)
                finally:
                    answer.close()  # do not wait for the unread rest


MOST_AT_ONCE: Final = 10
"""Most concurrent proxied requests; each occupies the API server, outside of its own limits."""

_REFUSAL_BYTES: Final = 2**16


class ProxiedFetch:
    """Fetches pages through the API server, with its credentials and connections.

    An answer is from the API server or from the pod: the proxy forwards status, headers and body
    unchanged (Kubernetes, apimachinery pkg/util/proxy/upgradeaware.go), so a pod can forge any
    refusal. Only requests that no pod can answer show which of the two it was.
    """

    def __init__(self, client: KubeClient, port: int, limits: FetchLimits = LIMITS) -> None:
        self._client = client
        self._port = port
        self._limits = limits
        self._reader = AnswerReader(limits.bytes)

    async def __call__(self, target: Target) -> bytes:
        with mapped():
            async with asyncio.timeout(self._limits.seconds):
                try:
                    return await self._fetched(target)
                except errors.ApiStatusError as refusal:
                    raise await self._classified(target, refusal) from None

    async def _fetched(self, target: Target) -> bytes:
        path = proxy_path(target, self._port)
        async with self._client.pod_proxy(path, HEADERS) as answer:
            if answer.status != HTTPStatus.OK:
                await _require_answer_of_pod(answer)
            return await self._reader.read(answer)

    async def _classified(self, target: Target, refusal: errors.ApiStatusError) -> Exception:
        of_pod = ScrapeFailed(Failure.STATUS, str(refusal.status))
        if isinstance(refusal, errors.NotFound):
            if await self._exists(target):
                return of_pod
            return ScrapeFailed(Failure.UNREACHABLE, "no such pod")
        if _CONNECTING in str(refusal):
            # It does not matter who wrote it: the pod could as well not answer at all.
            return _of_connection(refusal)
        answered = await self._answer_for_nobody(target)
        if isinstance(refusal, errors.Forbidden | errors.Unauthorized):
            return refusal if answered in _REFUSING else of_pod
        if answered == HTTPStatus.TOO_MANY_REQUESTS or answered >= HTTPStatus.INTERNAL_SERVER_ERROR:
            detail = f"the API server answered {refusal.status}"
            return ScrapeFailed(Failure.UNREACHABLE, detail)
        return of_pod

    async def _answer_for_nobody(self, target: Target) -> int:
        """Return the API server's status for a pod that does not exist: 404 if all is well.

        The API server checks permissions before it looks up the pod (Kubernetes, Controlling Access
        to the Kubernetes API), so a refusal also applies to this pod, and no pod can forge it.
        """
        nobody = replace(target, name=f"status-reporter-{token_hex(8)}")
        path = proxy_path(nobody, self._port)
        try:
            async with self._client.pod_proxy(path, HEADERS) as answer:
                return answer.status
        except errors.Unauthorized as refusal:
            return refusal.status

    async def _exists(self, target: Target) -> bool:
        """True if the pod exists, or that is unknown: then the 404 came from the pod."""
        selector = {"fieldSelector": f"metadata.name={target.name}", "limit": "1"}
        path = api_path("", "v1", "namespaces", target.namespace, "pods")
        try:
            answer = await self._client.request(
                "GET", path, verb="list", resource="pods", params=selector
            )
            return bool(answer.decode(_Listed).items)
        except (errors.ApiStatusError, errors.NotJson):
            return True


class _Listed(msgspec.Struct, frozen=True):
    items: tuple[msgspec.Raw, ...] = ()


def proxy_path(target: Target, port: int) -> str:
    scheme = "https:" if target.scheme == "https" else ""
    pod = f"{scheme}{target.name}:{target.port or port}"
    place = api_path("", "v1", "namespaces", target.namespace, "pods")
    return f"{place}/{quote(pod, safe=':')}/proxy{_PATH}"


async def _require_answer_of_pod(answer: aiohttp.ClientResponse) -> None:
    """Raise if the answer may be a refusal by the API server: a Status object, or any 429.

    The API server's 429 is plain text (Kubernetes, apiserver pkg/server/filters/maxinflight.go).
    """
    body = bytearray()
    async for part in answer.content.iter_any():
        body += part
        if len(body) > _REFUSAL_BYTES:
            return
    refusal = errors.status_error(answer.status, bytes(body))
    if refusal.is_status_object or isinstance(refusal, errors.TooManyRequests):
        raise refusal


_REFUSING: Final = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED})

_CONNECTING: Final = "error trying to reach service:"
"""Start of the API server's message if its own connection to the pod fails (Kubernetes,
apimachinery pkg/util/proxy/transport.go)."""

_CONNECTION_ERRORS: Final = (
    ("connection refused", Failure.REFUSED),
    ("timeout", Failure.TIMEOUT),
    ("deadline exceeded", Failure.TIMEOUT),
    ("timed out", Failure.TIMEOUT),
    ("connection reset", Failure.RESET),
    ("broken pipe", Failure.RESET),
    ("EOF", Failure.RESET),
)
"""Words of Go's network library in that message."""


def _of_connection(refusal: errors.ApiStatusError) -> ScrapeFailed:
    text = str(refusal)
    found = (failure for words, failure in _CONNECTION_ERRORS if words in text)
    return ScrapeFailed(next(found, Failure.UNREACHABLE), "from the API server")

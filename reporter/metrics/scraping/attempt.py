"""One scrape: fetch a page by the pod's IP or the API server's pod proxy, read it, judge it."""

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
from reporter.metrics.looks.look import Failure, Scrape, Target
from reporter.metrics.pages.reader import UnreadablePage
from reporter.metrics.pages.reading import Page
from reporter.metrics.scraping.scraper import FairSlots
from reporter.metrics.scraping.targets import ScrapeFailed, mapped


class Fetch(Protocol):
    def __call__(self, target: Target) -> Awaitable[bytes]:
        """Raises ScrapeFailed."""


class Attempts:
    """Scrapes pods, whatever goes wrong.

    Pages are read in a single thread, by turns of namespaces: a page that is made to be slow may
    take as long as the limits let it, and the event loop renews the Lease.
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
"""Asks builds that negotiate for the simple format."""

_CONTENT_TYPES: Final = frozenset({"", "text/plain", "application/openmetrics-text"})
"""Formats that are read; vLLM always names one, its predecessor on KAITO's port may not."""

_LARGE_BYTES: Final = 2**20
"""More than a page of 16 engines has, which is about 0.7 MB."""

_LARGE_AT_ONCE: Final = 2


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """`seconds` for one scrape, `bytes` of a page: nothing is decompressed."""

    seconds: float = 5.0
    bytes: int = 8 * 2**20


class AnswerReader:
    """Reads the answers of all scrapes, so that only few large bodies are held at once."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)

    @property
    def full(self) -> bool:
        return self._large.locked()

    async def read(self, answer: aiohttp.ClientResponse) -> bytes:
        """Return the body of an answer that may be a page."""
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
"""A pod's address answers at once or not at all."""

_READ_BYTES: Final = 2**16


@dataclass(frozen=True, slots=True)
class Endpoint:
    scheme: str = "http"
    port: int = 5000
    path: str = "/metrics"

    def url(self, target: Target) -> yarl.URL:
        """Return the page of a pod with an IP of either family; yarl puts IPv6 in brackets."""
        port = target.port or self.port
        scheme = target.scheme or self.scheme
        return yarl.URL.build(scheme=scheme, host=target.address, port=port, path=self.path)


class DirectFetch:
    """Fetches pages from pod addresses over a pool of its own. Close it with `aclose`."""

    def __init__(
        self, endpoint: Endpoint, limits: FetchLimits, reader: AnswerReader | None = None
    ) -> None:
        self._endpoint = endpoint
        self._limits = limits
        self._reader = reader or AnswerReader(limits.bytes)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0,  # the scraper bounds how many are scraped at once
                force_close=True,  # KAITO's server before vLLM serves one client at a time
                use_dns_cache=False,
                # Certificates of pods do not name their IPs. As in the kubelet's probes nothing
                # secret is sent.
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
                    self._endpoint.url(target),
                    headers={**HEADERS, "Connection": "close"},
                    allow_redirects=False,
                )
                try:
                    return await self._reader.read(answer)
                finally:
                    answer.close()  # what was not read is not waited for


MOST_AT_ONCE: Final = 10
"""Proxied requests under way; each occupies the API server and passes its limits by."""

_REFUSAL_BYTES: Final = 2**16


class ProxiedFetch:
    """Fetches pages with the credentials and connections of the API server.

    What comes back is the API server's own or the pod's: the proxy hands on status, headers and
    body as they are (Kubernetes, apimachinery pkg/util/proxy/upgradeaware.go), so a pod can write
    any refusal word for word. Only what no pod can answer for tells them apart.
    """

    def __init__(self, client: KubeClient, endpoint: Endpoint, limits: FetchLimits) -> None:
        self._client = client
        self._endpoint = endpoint
        self._limits = limits
        self._reader = AnswerReader(limits.bytes)

    async def __call__(self, target: Target) -> bytes:
        with mapped():
            async with asyncio.timeout(self._limits.seconds):
                try:
                    return await self._fetched(target)
                except errors.ApiStatusError as refusal:
                    raise await self._told(target, refusal) from None

    async def _fetched(self, target: Target) -> bytes:
        path = proxy_path(target, self._endpoint)
        async with self._client.pod_proxy(path, HEADERS) as answer:
            if answer.status != HTTPStatus.OK:
                await _require_answer_of_pod(answer)
            return await self._reader.read(answer)

    async def _told(self, target: Target, refusal: errors.ApiStatusError) -> Exception:
        of_pod = ScrapeFailed(Failure.STATUS, str(refusal.status))
        if isinstance(refusal, errors.NotFound):
            if await self._exists(target):
                return of_pod
            return ScrapeFailed(Failure.UNREACHABLE, "no such pod")
        if _CONNECTING in str(refusal):
            # Who wrote it matters little: a pod can be out of reach without a word.
            return _of_connection(refusal)
        answered = await self._answer_for_nobody(target)
        if isinstance(refusal, errors.Forbidden | errors.Unauthorized):
            return refusal if answered in _REFUSING else of_pod
        if answered == HTTPStatus.TOO_MANY_REQUESTS or answered >= HTTPStatus.INTERNAL_SERVER_ERROR:
            detail = f"the API server answered {refusal.status}"
            return ScrapeFailed(Failure.UNREACHABLE, detail)
        return of_pod

    async def _answer_for_nobody(self, target: Target) -> int:
        """Return the status that the API server answers for a pod that does not exist; 404 if it is
        well.

        It asks for permission before it looks for the pod (Kubernetes, Controlling Access to the
        Kubernetes API), so it refuses this one too, and no pod can answer in its place.
        """
        nobody = replace(target, name=f"status-reporter-{token_hex(8)}")
        path = proxy_path(nobody, self._endpoint)
        try:
            async with self._client.pod_proxy(path, HEADERS) as answer:
                return answer.status
        except errors.Unauthorized as refusal:
            return refusal.status

    async def _exists(self, target: Target) -> bool:
        """Tell whether there is such a pod, or nobody says: what answered 404 is then the pod."""
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


def proxy_path(target: Target, endpoint: Endpoint) -> str:
    scheme = "https:" if (target.scheme or endpoint.scheme) == "https" else ""
    pod = f"{scheme}{target.name}:{target.port or endpoint.port}"
    place = api_path("", "v1", "namespaces", target.namespace, "pods")
    return f"{place}/{quote(pod, safe=':')}/proxy{quote(endpoint.path)}"


async def _require_answer_of_pod(answer: aiohttp.ClientResponse) -> None:
    """Raise for what may be a refusal of the API server: a Status object, or any 429.

    Its own 429 is plain text (Kubernetes, apiserver pkg/server/filters/maxinflight.go).
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
"""How the API server begins what its own connection to the pod came to (Kubernetes, apimachinery
pkg/util/proxy/transport.go)."""

_SAID: Final = (
    ("connection refused", Failure.REFUSED),
    ("timeout", Failure.TIMEOUT),
    ("deadline exceeded", Failure.TIMEOUT),
    ("timed out", Failure.TIMEOUT),
    ("connection reset", Failure.RESET),
    ("broken pipe", Failure.RESET),
    ("EOF", Failure.RESET),
)
"""What it says there: words of Go's network library."""


def _of_connection(refusal: errors.ApiStatusError) -> ScrapeFailed:
    text = str(refusal)
    failure = next((failure for words, failure in _SAID if words in text), Failure.UNREACHABLE)
    return ScrapeFailed(failure, "from the API server")

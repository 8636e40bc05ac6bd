"""Scraping a pod by its IP."""

import asyncio
from dataclasses import dataclass
from typing import Final, Self

import aiohttp
import yarl

from reporter.metrics.looks.target import Target
from reporter.metrics.scraping.answer import HEADERS, AnswerReader, FetchLimits
from reporter.metrics.scraping.failures import mapped

CONNECT_SECONDS: Final = 2.0
"""A pod's address answers at once or not at all."""

_READ_BYTES: Final = 2**16


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where pods serve their page."""

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
        """Close all connections."""
        await self._session.close()

    async def __call__(self, target: Target) -> bytes:
        """Return the page of a pod.

        Raises:
            ScrapeFailed: there is none.

        """
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

"""What a pod answered: refused unless it may be a page, and read within limits."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import aiohttp

from reporter.kube.client import USER_AGENT
from reporter.metrics.looks.scrape import Failure
from reporter.metrics.scraping.failures import ScrapeFailed

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
    """What a pod may cost.

    Attributes:
        seconds: for one scrape, from the connection to the last byte.
        bytes: of a page. Nothing is decompressed, so there is no other size.

    """

    seconds: float = 5.0
    bytes: int = 8 * 2**20


class AnswerReader:
    """Reads answers. One reader serves all scrapes, so that only few large bodies are held at once.

    Otherwise as many pods as may be scraped at once, each with the largest page allowed, would
    need more memory than the daemon has; now they wait for each other, and the rest goes on.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)

    @property
    def full(self) -> bool:
        """Whether one more large body would have to wait."""
        return self._large.locked()

    async def read(self, answer: aiohttp.ClientResponse) -> bytes:
        """Return the body of an answer that may be a page.

        Raises:
            ScrapeFailed: it is none, or it is too large.
            aiohttp.ClientError: the connection was lost.

        """
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

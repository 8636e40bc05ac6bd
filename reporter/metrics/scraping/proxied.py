"""Scraping a pod through the API server's pod proxy, where the network allows no other way."""

import asyncio
from dataclasses import replace
from http import HTTPStatus
from secrets import token_hex
from typing import Final
from urllib.parse import quote

import aiohttp

from reporter.kube.client import KubeClient, api_path
from reporter.kube.errors import ApiStatusError, Forbidden, NotFound, Unauthorized, status_error
from reporter.metrics.looks.scrape import Failure
from reporter.metrics.looks.target import Target
from reporter.metrics.scraping.answer import HEADERS, AnswerReader, FetchLimits
from reporter.metrics.scraping.direct import Endpoint
from reporter.metrics.scraping.failures import ScrapeFailed, mapped

MOST_AT_ONCE: Final = 10
"""Proxied requests under way; each occupies the API server and passes its limits by."""

_REFUSAL_BYTES: Final = 2**16


class ProxiedFetch:
    """Fetches pages with the credentials and connections of the API server."""

    def __init__(self, client: KubeClient, endpoint: Endpoint, limits: FetchLimits) -> None:
        self._client = client
        self._endpoint = endpoint
        self._limits = limits
        self._reader = AnswerReader(limits.bytes)

    async def __call__(self, target: Target) -> bytes:
        """Return the page of a pod.

        Raises:
            ScrapeFailed: there is none.

        """
        with mapped():
            async with asyncio.timeout(self._limits.seconds):
                try:
                    return await self._fetched(target)
                except (Forbidden, Unauthorized) as refusal:
                    if await self._refuses(target):
                        raise
                    raise ScrapeFailed(Failure.STATUS, str(refusal.status)) from None

    async def _fetched(self, target: Target) -> bytes:
        path = proxy_path(target, self._endpoint)
        async with self._client.pod_proxy(path, HEADERS) as answer:
            if answer.status != HTTPStatus.OK:
                await _require_answer_of_pod(answer)
            return await self._reader.read(answer)

    async def _refuses(self, target: Target) -> bool:
        """Tell whether it is the API server that refuses: a pod may answer with the same words.

        The API server asks for permission before it looks for the pod (Kubernetes, Controlling Access
        to the Kubernetes API), so it refuses one that does not exist too, and no pod can answer for that.
        """
        nobody = replace(target, name=f"status-reporter-{token_hex(8)}")
        try:
            async with self._client.pod_proxy(
                proxy_path(nobody, self._endpoint), HEADERS
            ) as answer:
                return answer.status in {HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED}
        except Unauthorized:
            return True


def proxy_path(target: Target, endpoint: Endpoint) -> str:
    """Return the path of a pod's page below the API server, quoted."""
    scheme = "https:" if (target.scheme or endpoint.scheme) == "https" else ""
    pod = f"{scheme}{target.name}:{target.port or endpoint.port}"
    place = api_path("", "v1", "namespaces", target.namespace, "pods")
    return f"{place}/{quote(pod, safe=':')}/proxy{quote(endpoint.path)}"


async def _require_answer_of_pod(answer: aiohttp.ClientResponse) -> None:
    """Raise for a refusal of the API server itself, which is a Status object."""
    body = bytearray()
    async for part in answer.content.iter_any():
        body += part
        if len(body) > _REFUSAL_BYTES:
            return
    refusal = status_error(answer.status, bytes(body))
    if refusal.is_status_object:
        if isinstance(refusal, Forbidden):
            raise refusal
        raise _failure(refusal)


def _failure(refusal: ApiStatusError) -> ScrapeFailed:
    match refusal:
        case NotFound():
            return ScrapeFailed(Failure.UNREACHABLE, "no such pod")
        case _:
            return _of_network(refusal)


_SAID: Final = (
    ("connection refused", Failure.REFUSED),
    ("timeout", Failure.TIMEOUT),
    ("deadline exceeded", Failure.TIMEOUT),
    ("timed out", Failure.TIMEOUT),
    ("connection reset", Failure.RESET),
    ("broken pipe", Failure.RESET),
    ("EOF", Failure.RESET),
)
"""What the API server says of its own connection to the pod: words of Go's network library."""


def _of_network(refusal: ApiStatusError) -> ScrapeFailed:
    text = str(refusal)
    for words, failure in _SAID:
        if words in text:
            return ScrapeFailed(failure, "from the API server")
    return ScrapeFailed(Failure.UNREACHABLE, f"the API server answered {refusal.status}")

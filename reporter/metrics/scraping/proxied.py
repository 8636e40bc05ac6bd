"""Scraping a pod through the API server's pod proxy, where the network allows no other way."""

import asyncio
from dataclasses import replace
from http import HTTPStatus
from secrets import token_hex
from typing import Final
from urllib.parse import quote

import aiohttp
import msgspec

from reporter.kube.client import KubeClient, api_path
from reporter.kube.errors import (
    ApiStatusError,
    Forbidden,
    NotFound,
    NotJson,
    TooManyRequests,
    Unauthorized,
    status_error,
)
from reporter.metrics.looks.scrape import Failure
from reporter.metrics.looks.target import Target
from reporter.metrics.scraping.answer import HEADERS, AnswerReader, FetchLimits
from reporter.metrics.scraping.direct import Endpoint
from reporter.metrics.scraping.failures import ScrapeFailed, mapped

MOST_AT_ONCE: Final = 10
"""Proxied requests under way; each occupies the API server and passes its limits by."""

_REFUSAL_BYTES: Final = 2**16


class ProxiedFetch:
    """Fetches pages with the credentials and connections of the API server.

    What comes back is the API server's own or the pod's: the proxy hands on status, headers and body as
    they are (Kubernetes, apimachinery pkg/util/proxy/upgradeaware.go), so a pod can write any refusal
    word for word. Only what no pod can answer for tells them apart.
    """

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
                except ApiStatusError as refusal:
                    raise await self._told(target, refusal) from None

    async def _fetched(self, target: Target) -> bytes:
        path = proxy_path(target, self._endpoint)
        async with self._client.pod_proxy(path, HEADERS) as answer:
            if answer.status != HTTPStatus.OK:
                await _require_answer_of_pod(answer)
            return await self._reader.read(answer)

    async def _told(self, target: Target, refusal: ApiStatusError) -> Exception:
        """Return what a refusal means that may be the API server's own."""
        of_pod = ScrapeFailed(Failure.STATUS, str(refusal.status))
        if isinstance(refusal, NotFound):
            if await self._exists(target):
                return of_pod
            return ScrapeFailed(Failure.UNREACHABLE, "no such pod")
        if _CONNECTING in str(refusal):
            # Who wrote it matters little: a pod can be out of reach without a word.
            return _of_connection(refusal)
        answered = await self._answer_for_nobody(target)
        if isinstance(refusal, Forbidden | Unauthorized):
            return refusal if answered in _REFUSING else of_pod
        if answered == HTTPStatus.TOO_MANY_REQUESTS or answered >= HTTPStatus.INTERNAL_SERVER_ERROR:
            detail = f"the API server answered {refusal.status}"
            return ScrapeFailed(Failure.UNREACHABLE, detail)
        return of_pod

    async def _answer_for_nobody(self, target: Target) -> int:
        """Return the status that the API server answers for a pod that does not exist; 404 if it is well.

        It asks for permission before it looks for the pod (Kubernetes, Controlling Access to the
        Kubernetes API), so it refuses this one too, and no pod can answer in its place.
        """
        nobody = replace(target, name=f"status-reporter-{token_hex(8)}")
        path = proxy_path(nobody, self._endpoint)
        try:
            async with self._client.pod_proxy(path, HEADERS) as answer:
                return answer.status
        except Unauthorized as refusal:
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
        except (ApiStatusError, NotJson):
            return True


class _Listed(msgspec.Struct, frozen=True):
    items: tuple[msgspec.Raw, ...] = ()


def proxy_path(target: Target, endpoint: Endpoint) -> str:
    """Return the path of a pod's page below the API server, quoted."""
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
    refusal = status_error(answer.status, bytes(body))
    if refusal.is_status_object or isinstance(refusal, TooManyRequests):
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


def _of_connection(refusal: ApiStatusError) -> ScrapeFailed:
    text = str(refusal)
    failure = next((failure for words, failure in _SAID if words in text), Failure.UNREACHABLE)
    return ScrapeFailed(failure, "from the API server")

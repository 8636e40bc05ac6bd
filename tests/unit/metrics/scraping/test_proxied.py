"""Scraping through the API server: its refusals told from the pod's, its credentials kept safe."""

import asyncio
import gzip
import json
from collections.abc import Callable

import pytest
from aiohttp import web

from reporter.metrics.samples.sample import Failure
from reporter.metrics.scraping.attempt import FetchLimits, ProxiedFetch, proxy_path
from reporter.metrics.scraping.targets import ScrapeFailed
from tests.unit.kube.scripted import status
from tests.unit.metrics.scraping.servers import PAGE, target

LIMITS = FetchLimits(seconds=30.0, bytes=100_000)
IMPATIENT = FetchLimits(seconds=0.2, bytes=100_000)


async def fetched(client, limits=LIMITS):
    return await ProxiedFetch(client, 5000, limits)(target())


async def failed(client, limits=LIMITS) -> ScrapeFailed:
    with pytest.raises(ScrapeFailed) as caught:
        await fetched(client, limits)
    return caught.value


@pytest.mark.parametrize(
    ("scheme", "port", "path"),
    [
        ("http", 5000, "/api/v1/namespaces/n/pods/pod-0:5000/proxy/metrics"),
        ("https", 8443, "/api/v1/namespaces/n/pods/https:pod-0:8443/proxy/metrics"),
    ],
)
def test_the_path(scheme, port, path):
    """Namespace, scheme, pod and port, as the API has them."""
    assert proxy_path(target(scheme=scheme), port) == path


async def test_a_page(client_for):
    """It comes with our credentials, and asks for what a direct scrape asks for."""
    seen = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request)
        return web.Response(body=PAGE, content_type="text/plain")

    async with client_for(handler) as client:
        assert await fetched(client) == PAGE
    (request,) = seen
    assert request.path == "/api/v1/namespaces/n/pods/pod-0:5000/proxy/metrics"
    assert request.headers["Authorization"] == "Bearer secret-token-of-a-test"
    assert request.headers["Accept"] == "text/plain;version=0.0.4, */*;q=0.1"
    assert request.headers["Accept-Encoding"] == "identity"


def network(text: str) -> web.Response:
    return status(503, "ServiceUnavailable", f"error trying to reach service: {text}")


DIAL = "dial tcp 10.0.0.7:5000: "
BY_API_SERVER, PLAIN = "from the API server", {"content_type": "text/plain"}
ELSEWHERE, PACKED = {"Location": "/api/v1/secrets"}, {"Content-Encoding": "gzip"}


def answered(code: int, reason: str, text: str = "") -> Callable[[], web.Response]:
    return lambda: status(code, reason, text)


def of_pod(**answer: object) -> Callable[[], web.Response]:
    return lambda: web.Response(**answer)


REFUSALS = {
    "forbidden": (answered(403, "Forbidden", 'cannot get resource "pods/proxy"'), Failure.FORBIDDEN, "no permission to get pods/proxy"),
    "no address": (answered(500, "InternalError"), Failure.UNREACHABLE, "the API server answered 500"),
    "overload": (answered(429, "TooManyRequests"), Failure.UNREACHABLE, "the API server answered 429"),
    "refused": (lambda: network(f"{DIAL}connect: connection refused"), Failure.REFUSED, BY_API_SERVER),
    "dial timeout": (lambda: network(f"{DIAL}i/o timeout"), Failure.TIMEOUT, BY_API_SERVER),
    "no route": (lambda: network(f"{DIAL}connect: no route to host"), Failure.UNREACHABLE, BY_API_SERVER),
    "out of order": (answered(503, "ServiceUnavailable"), Failure.UNREACHABLE, "the API server answered 503"),
    "overload in plain text": (
        of_pod(status=429, text="Too many requests, please try again later.\n"),
        Failure.UNREACHABLE, "the API server answered 429",
    ),
    "closed": (lambda: network("EOF"), Failure.RESET, BY_API_SERVER),
    "404 of the pod": (of_pod(status=404, text="Not Found"), Failure.STATUS, "404"),
    "401 of the pod": (of_pod(status=401, text="Who?"), Failure.STATUS, "401"),
    "503 of the pod": (lambda: web.json_response({"detail": "dead"}, status=503), Failure.STATUS, "503"),
    "redirect of the pod": (of_pod(status=302, headers=ELSEWHERE), Failure.STATUS, "302, redirects are not followed"),
    "compressed": (of_pod(body=gzip.compress(PAGE), headers=PACKED), Failure.ENCODED, ""),
    "HTML": (of_pod(text="<html>", content_type="text/html"), Failure.UNSUPPORTED, ""),
    "empty": (of_pod(**PLAIN), Failure.EMPTY, ""),
    "too large": (of_pod(body=b"#" * 100_001, **PLAIN), Failure.TOO_LARGE, "more than 100000 bytes"),
    "large refusal": (of_pod(status=500, body=b"x" * 200_000), Failure.STATUS, "500"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
async def test_refusals(client_for, name):
    """What the API server says of itself is a Status object; anything else is the pod's."""
    made, failure, detail = REFUSALS[name]
    asked = []

    async def handler(request: web.Request) -> web.Response:
        asked.append(request.path)
        return made()

    async with client_for(handler) as client:
        error = await failed(client)
    assert (error.failure, error.detail) == (failure, detail)
    assert sum("/pod-0:" in path for path in asked) == 1


async def test_a_pod_that_hangs(client_for):
    """The API server sets no deadline on what it hands on, so ours counts."""

    async def handler(request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        return web.Response()

    async with client_for(handler) as client:
        error = await failed(client, IMPATIENT)
    assert (error.failure, error.detail) == (Failure.TIMEOUT, "no complete answer")


async def test_refused_credentials_are_renewed_once(client_for, tmp_path):
    """As for all requests; the token has been replaced on disk, or it has not."""
    seen = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        if seen[-1] == "Bearer new-token-of-a-test":
            return web.Response(body=PAGE, content_type="text/plain")
        return status(401, "Unauthorized")

    async with client_for(handler) as client:
        client._credentials._loaded_at -= 60
        path = tmp_path / "config"
        config = json.loads(path.read_text())
        config["users"][0]["user"]["token"] = "new-token-of-a-test"
        path.write_text(json.dumps(config))
        assert await fetched(client) == PAGE
    assert seen == ["Bearer secret-token-of-a-test", "Bearer new-token-of-a-test"]


async def test_credentials_that_stay_refused(client_for):
    async with client_for(lambda _: status(401, "Unauthorized")) as client:
        error = await failed(client)
    assert (error.failure, error.detail) == (
        Failure.FORBIDDEN,
        "the API server refused the credentials",
    )


async def test_the_clock_of_a_pod_is_not_that_of_the_api_server(client_for):
    """The Date of a proxied answer is the pod's, which may be years off."""
    date = {"Date": "Fri, 20 Nov 2020 12:00:00 GMT"}
    page = web.Response(body=PAGE, content_type="text/plain", headers=date)
    async with client_for(lambda _: page) as client:
        await fetched(client)
        assert client.clock_offset_seconds == 0.0


async def test_requests_are_counted(client_for):
    """As one verb on one resource."""
    counted = []

    page = web.Response(body=PAGE, content_type="text/plain")
    async with client_for(lambda _: page, lambda *request: counted.append(request)) as client:
        await fetched(client)
    assert counted == [("get", "pods/proxy", "200")]


def api_server(of_pod, pods=("pod-0",)):
    """An API server that is well, with pods one of which answers so through the proxy."""

    def handler(request: web.Request) -> web.Response:
        if "/pod-0:" in request.path:
            return of_pod()
        if request.path == "/api/v1/namespaces/n/pods":
            named = request.query["fieldSelector"].removeprefix("metadata.name=")
            items = [{"metadata": {"name": name}} for name in pods if name == named]
            return web.json_response({"kind": "PodList", "apiVersion": "v1", "items": items})
        return status(404, "NotFound")

    return handler


WRITTEN = {
    "no permission": (403, "Forbidden", 'cannot get resource "pods/proxy"'),
    "no credentials": (401, "Unauthorized", ""),
    "no such pod": (404, "NotFound", 'pods "pod-0" not found'),
    "overload": (429, "TooManyRequests", "please try again later"),
    "a fault": (500, "InternalError", "etcdserver: leader changed"),
    "no answer": (503, "ServiceUnavailable", "the server is currently unable"),
    "no answer in time": (504, "Timeout", "request did not complete"),
    "a request that is wrong": (400, "BadRequest", "address not allowed"),
}


@pytest.mark.parametrize("name", WRITTEN)
async def test_a_refusal_that_the_pod_wrote(client_for, name):
    """Word for word the API server's own, and yet a status of the pod: the API server is asked what it says."""
    code, reason, text = WRITTEN[name]
    async with client_for(api_server(lambda: status(code, reason, text))) as client:
        failure = await failed(client)
    assert (failure.failure, failure.detail) == (Failure.STATUS, str(code))


async def test_a_plain_429_of_the_pod(client_for):
    async with client_for(api_server(lambda: web.Response(status=429))) as client:
        failure = await failed(client)
    assert (failure.failure, failure.detail) == (Failure.STATUS, "429")


async def test_a_pod_that_is_gone(client_for):
    async with client_for(api_server(lambda: status(404, "NotFound"), pods=())) as client:
        failure = await failed(client)
    assert (failure.failure, failure.detail) == (Failure.UNREACHABLE, "no such pod")


async def test_a_404_while_pods_cannot_be_listed(client_for):
    """Nobody says that the pod is gone: only what was answered is told."""

    def handler(request: web.Request) -> web.Response:
        listing = "fieldSelector" in request.query
        return status(403, "Forbidden") if listing else status(404, "NotFound")

    async with client_for(handler) as client:
        failure = await failed(client)
    assert (failure.failure, failure.detail) == (Failure.STATUS, "404")

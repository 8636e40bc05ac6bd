"""The client against a real server that answers in odd ways, and through which proxy."""

import asyncio
import gzip
import json
import socket
import time
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from aiohttp import web

from reporter.kube.client import USER_AGENT, connect, environment_proxy
from reporter.kube.errors import (
    AlreadyExists,
    AnswerTooLarge,
    ApiStatusError,
    ConfigurationError,
    Conflict,
    ConnectionFailed,
    Forbidden,
    Gone,
    Invalid,
    KubeError,
    NotFound,
    NotJson,
    ServerError,
    TooManyRequests,
    Unauthorized,
    status_error,
)
from tests.unit.kube.scripted import kubeconfig, status


async def get(client, **options):
    return await client.request("GET", "/api/v1/pods", verb="list", resource="pods", **options)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda: status(400, "BadRequest"), Invalid),
        (lambda: status(401, "Unauthorized"), Unauthorized),
        (lambda: status(403, "Forbidden"), Forbidden),
        (lambda: status(404, "NotFound"), NotFound),
        (lambda: web.Response(status=404, text="404 page not found\n"), NotFound),
        (lambda: status(409, "AlreadyExists"), AlreadyExists),
        (lambda: status(409, "Conflict"), Conflict),
        (lambda: status(410, "Expired"), Gone),
        (lambda: status(422, "Invalid"), Invalid),
        (lambda: web.Response(status=429, text="Too many requests"), TooManyRequests),
        (lambda: web.Response(status=502, text="<html>bad gateway</html>"), ServerError),
        (lambda: web.Response(status=418, body=b"\xff\xfe"), ApiStatusError),
        (lambda: web.Response(text="<html>login</html>", content_type="text/html"), NotJson),
        (lambda: web.Response(status=404, text="<p>", content_type="text/html"), NotJson),
        (lambda: web.Response(status=302, headers={"Location": "http://elsewhere/"}), NotJson),
        (lambda: web.Response(body=b"x" * 2000), AnswerTooLarge),
        (lambda: web.Response(body=gzip.compress(b" " * 50_000_000), headers={"Content-Encoding": "gzip"}), AnswerTooLarge),
        (lambda: web.Response(body=b"zz", headers={"Content-Encoding": "gzip"}), ConnectionFailed),
    ],
)  # fmt: skip
async def test_each_answer_has_its_error(client_for, answer, error):
    """Each kind of refusal becomes the exception that callers tell apart, and nothing else."""
    async with client_for(lambda _: answer()) as client:
        with pytest.raises(KubeError) as caught:
            await get(client, max_bytes=1000)
    assert type(caught.value) is error


async def hang(_: web.Request) -> web.Response:
    await asyncio.Event().wait()
    raise AssertionError


async def hang_after_headers(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b'{"kind":')
    await asyncio.Event().wait()
    return response


async def cut(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "100"})
    await response.prepare(request)
    await response.write(b"{")
    request.transport.close()
    return response


async def cut_before_headers(request: web.Request) -> web.StreamResponse:
    request.transport.abort()
    return web.Response()


@pytest.mark.parametrize("handler", [hang, hang_after_headers, cut, cut_before_headers])
async def test_a_dead_server_is_a_failed_connection(client_for, handler):
    """Servers that hang or hang up end in one error, within the time given."""
    async with client_for(handler) as client:
        with pytest.raises(ConnectionFailed):
            await get(client, timeout=0.2)


@pytest.mark.parametrize(
    ("server", "error", "hint"),
    [
        ("http://127.0.0.1:{port}", ConnectionFailed, "reachable"),
        ("https://127.0.0.1:{port}", ConnectionFailed, "reachable"),
        ("http://no-such-host.invalid", ConnectionFailed, "resolved"),
    ],
)
async def test_unreachable_servers(tmp_path: Path, server, error, *, hint):
    """Where nobody listens or no name resolves, the message says what to look at."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = server.format(port=unused.getsockname()[1])
        path = kubeconfig(tmp_path / "config", address)
        async with await connect(kubeconfig=path) as client:
            with pytest.raises(error, match=hint):
                await get(client)


@pytest.mark.parametrize(
    "server", ["nonsense", "ftp://127.0.0.1", "http://", "http://[bad", "https://host:port"]
)
async def test_addresses_that_are_none(tmp_path: Path, server):
    """An address that no request could reach is refused at start."""
    with pytest.raises(ConfigurationError, match="kubeconfig"):
        await connect(kubeconfig=kubeconfig(tmp_path / "config", server))


async def test_tls_that_is_not_trusted(tmp_path: Path):
    """A server that speaks no TLS is told apart from one that is away."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(speak, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        path = kubeconfig(tmp_path / "config", f"https://127.0.0.1:{port}")
        async with await connect(kubeconfig=path) as client:
            with pytest.raises(ConnectionFailed, match="TLS"):
                await get(client)


async def test_what_is_sent(client_for):
    """Requests carry our name and token, the body as given, and no wish for compression."""
    seen: list[tuple[dict[str, str], bytes, str]] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append((dict(request.headers), await request.read(), request.path_qs))
        return web.json_response({})

    async with client_for(handler, token="abc\n") as client:
        await client.request(
            "PATCH",
            "/api/v1/x",
            verb="patch",
            resource="x",
            params={"a": "b c"},
            body=b"{}",
            content_type="application/merge-patch+json",
        )
    headers, body, path = seen[0]
    assert headers["Authorization"] == "Bearer abc"
    assert headers["User-Agent"] == USER_AGENT
    assert headers["Accept-Encoding"] == "identity"
    assert headers["Content-Type"] == "application/merge-patch+json"
    assert (body, path) == (b"{}", "/api/v1/x?a=b+c")


async def test_a_refused_token_is_read_again(client_for, tmp_path: Path, monkeypatch):
    """After a 401 the token is loaded again, once, and the request repeated."""
    monkeypatch.setattr("reporter.kube.credentials._RELOAD_SECONDS", 0.0)
    token = tmp_path / "token"
    token.write_text("old")
    seen: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        return web.json_response({}) if seen[-1] == "Bearer new" else status(401, "Unauthorized")

    async with client_for(handler, tokenFile=str(token)) as client:
        token.write_text("new\n")
        await get(client)
        assert seen == ["Bearer old", "Bearer new"]
        token.write_text("bad")
        monkeypatch.setattr("reporter.kube.credentials._REFRESH_SECONDS", 0.0)
        await get(client)  # starts a refresh beside it, with the token that is still good
        await asyncio.sleep(0)
        with pytest.raises(Unauthorized):
            await get(client)
    assert len(seen) == 5


async def test_requests_are_counted(client_for):
    """The observer hears of each request with verb, resource and code."""
    seen: list[tuple[str, str, str]] = []

    async def handler(request: web.Request) -> web.Response:
        if request.query:
            request.transport.abort()
        return status(403, "Forbidden")

    async with client_for(handler, lambda *args: seen.append(args)) as client:
        for params in ({}, {"cut": "1"}):
            with pytest.raises(KubeError):
                await get(client, params=params)
    assert seen == [("list", "pods", "403"), ("list", "pods", "error")]


async def test_the_server_clock_is_measured(client_for):
    """A server whose clock is an hour ahead is noticed, to about a second."""
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    async with client_for(lambda _: web.json_response({}, headers={"Date": date})) as client:
        assert client.clock_offset_seconds == 0.0
        await get(client)
        assert client.clock_offset_seconds == pytest.approx(3600, abs=1.5)


async def test_a_clock_of_ours_that_is_set_is_corrected_before_the_next_answer(
    client_for, monkeypatch
):
    """A grace must not end because somebody set the clock of the node an hour ahead."""
    async with client_for(lambda _: web.json_response({})) as client:
        await get(client)
        assert client.clock_offset_seconds == pytest.approx(0, abs=1.5)
        real = time.time
        monkeypatch.setattr(time, "time", lambda: real() + 3600)
        assert client.clock_offset_seconds == pytest.approx(-3600, abs=1.5)


async def test_lease_traffic_has_connections_of_its_own(client_for):

    async def handler(request: web.Request) -> web.Response:
        return web.json_response({}) if "lease" in request.query else await hang(request)

    async with client_for(handler) as client:
        hung = [asyncio.create_task(get(client, timeout=5)) for _ in range(101)]
        await asyncio.sleep(0)
        answer = await get(client, params={"lease": "1"}, lease=True, timeout=5)
        for task in hung:
            task.cancel()
        await asyncio.gather(*hung, return_exceptions=True)
    assert answer.status == 200


@pytest.fixture
def streaming(client_for):
    """Open a stream of which these parts arrive; it hangs after them, or is over."""

    @asynccontextmanager
    async def open_stream(*parts, idle_seconds=5, ends=False):
        async def handler(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse()
            await response.prepare(request)
            for part in parts:
                await response.write(part)
            return response if ends else await hang(request)

        async with (
            client_for(handler) as client,
            client.stream("/x", resource="x", params={}, idle_seconds=idle_seconds) as lines,
        ):
            yield lines

    return open_stream


async def test_stream_gives_lines_of_any_length(streaming):
    """Frames arrive whole however they are cut into packets; blank lines are nothing."""
    long = b'{"a":"' + b"x" * 3_000_000 + b'"}'
    async with streaming(b"on", b"e\n\ntwo\n", long, b"\nlast", ends=True) as lines:
        got = b"\n".join([some async for some in lines]).split(b"\n")
    assert [line for line in got if line] == [b"one", b"two", long, b"last"]


@pytest.mark.parametrize(
    ("part", "error"), [(b"x" * (9 * 2**20), AnswerTooLarge), (b"half", ConnectionFailed)]
)
async def test_stream_failures(streaming, part, error):
    """A frame without end and a stream that falls silent end the watch with their error."""
    async with streaming(part, idle_seconds=0.3) as lines:
        with pytest.raises(error):
            await anext(aiter(lines))


async def test_keep_alive_is_on(streaming):
    """The kernel probes the connection of a watch, which itself may be silent for minutes."""
    async with streaming(b"{}\n") as lines:
        connection = lines.ag_frame.f_locals["content"]._protocol
        sock = connection.transport.get_extra_info("socket")
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


def test_messages_hold_no_secrets():
    """What a server says may quote a token; our message does not."""
    token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln"
    body = json.dumps({"kind": "Status", "message": f"token {token} of https://u:p@host is bad"})
    assert token not in str(status_error(401, body.encode()))
    assert "u:p" not in str(status_error(401, body.encode()))


PROXY = "http://proxy:3128"

CASES = [
    ("https://api.example:6443", "", PROXY),
    ("http://api.example", "", "http://plain:3128"),
    ("https://127.0.0.1:6443", "", None),
    ("https://localhost:6443", "", None),
    ("https://[::1]:6443", "", None),
    ("https://api.example:6443", "*", None),
    ("https://api.example:6443", "other, example", None),
    ("https://api.example:6443", ".example", None),
    ("https://api.example:6443", "*.example", None),
    ("https://example:6443", ".example", PROXY),
    ("https://badexample:6443", "example", PROXY),
    ("https://api.example:6443", "api.example:6443", None),
    ("https://api.example:6443", "api.example:443", PROXY),
    ("https://10.1.2.3:6443", "10.0.0.0/8", None),
    ("https://10.1.2.3:6443", "10.1.2.3", None),
    ("https://10.1.2.3:6443", "10.2.0.0/16,no/network", PROXY),
    ("https://[fd00::1]:6443", "fd00::/8", None),
    ("https://[fd00::1]:6443", "[fd00::1]:6443", None),
]


@pytest.mark.parametrize(("host", "none", "proxy"), CASES)
def test_proxy_of_the_environment(monkeypatch, host, none, proxy):
    """As Go reads it: never for what is on this machine, whoever sets HTTP_PROXY."""
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", PROXY)
    monkeypatch.setenv("http_proxy", "http://plain:3128")
    monkeypatch.setenv("NO_PROXY", none)
    assert environment_proxy(host) == proxy

"""Clients of the metrics listener who take what they can get, and read nothing of it."""

import asyncio
import socket
import time

from aiohttp import ClientSession, web
from prometheus_client import Metric
from prometheus_client.registry import Collector

from reporter.daemon.server import ANSWER_SECONDS, MOST, ListenAddress, MetricsPage, Servers
from tests.attacks.attack import Outcome, attack

_CLIENTS = 100
_PLACES = MOST


class _Long(Collector):
    """A page of about two megabytes, and how often it was written."""

    def __init__(self):
        self.written = 0

    def collect(self):
        self.written += 1
        metric = Metric("long", "Help.", "gauge")
        for number in range(30_000):
            metric.add_sample("long", {"subject": f"inferenceset/models/model-{number}"}, 1)
        yield metric


class _Nothing(Collector):
    def collect(self):
        return ()


async def _attacked() -> tuple[int, float, str]:
    long = _Long()
    page = MetricsPage(_Nothing(), long, lambda: "report")
    async with Servers() as servers:
        port = await servers.listen(
            ListenAddress("metrics-bind-address", "127.0.0.1", 0), {"/metrics": page.serve}
        )
        held = []
        for _ in range(_CLIENTS):
            client = socket.create_connection(("127.0.0.1", port))
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            held.append(client)
        await asyncio.sleep(1)
        began = time.monotonic()
        async with (
            ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}/metrics") as answer,
        ):
            await answer.read()
        took = time.monotonic() - began
        for client in held:
            client.close()
        page.close()
        return (
            long.written,
            took,
            f"{answer.status}, Retry-After {answer.headers.get('Retry-After')}",
        )


@attack("a hundred clients who ask and read nothing")
def _(_folder):
    written, took, said = asyncio.run(_attacked())
    figure = f"the page was written {written} time(s); one more client is answered after {took:.2f} s ({said})"
    return Outcome(
        held=written == 1 and said.startswith(("200", "503, Retry-After 1")), figure=figure
    )


async def _all_places_taken() -> tuple[int, float, str]:
    """Take each place of a listener by who waits for an answer, and ask for one more."""

    async def serve(request: web.Request) -> web.Response:
        await asyncio.sleep(3600 if request.query else 0)
        return web.Response(text="ok")

    async with Servers() as servers:
        port = await servers.listen(
            ListenAddress("report-bind-address", "127.0.0.1", 0), {"/": serve}
        )
        held = []
        for _ in range(_PLACES):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /?wait HTTP/1.1\r\nHost: localhost\r\n\r\n")
            held.append(writer)
        # What waits for longer than an answer takes makes room.
        await asyncio.sleep(ANSWER_SECONDS + 0.5)
        began = time.monotonic()
        async with ClientSession() as session, session.get(f"http://127.0.0.1:{port}/") as answer:
            status, server = answer.status, answer.headers.get("Server", "")
        took = time.monotonic() - began
        for writer in held:
            writer.close()
        return status, took, server


@attack("all places of a listener taken by who waits", quick=False)
def _(_folder):
    status, took, _server = asyncio.run(_all_places_taken())
    figure = f"{_PLACES} wait; one more gets {status} after {took:.2f} s"
    return Outcome(held=status == 200 and took < 1, figure=figure)


@attack("which versions the answers name")
def _(_folder):
    async def told() -> set[str]:
        async with Servers() as servers:
            port = await servers.listen(
                ListenAddress("metrics-bind-address", "127.0.0.1", 0), {"/metrics": _fine}
            )
            found = set()
            async with ClientSession() as session:
                for path, method in (("/metrics", "GET"), ("/none", "GET"), ("/metrics", "POST")):
                    url = f"http://127.0.0.1:{port}{path}"
                    async with session.request(method, url) as answer:
                        found.add(answer.headers.get("Server", ""))
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"no HTTP\r\n\r\n")
            found |= {
                line.partition(b":")[2].strip().decode()
                for line in (await reader.read(2000)).splitlines()
                if line.lower().startswith(b"server:")
            }
            writer.close()
            return found

    servers = asyncio.run(told())
    named = [each for each in servers if any(sign.isdigit() for sign in each)]
    return Outcome(held=not named, figure=f"Server: {sorted(servers)}")


async def _fine(_request: web.Request) -> web.Response:
    return web.Response(text="ok")

"""Clients of the metrics listener who take what they can get, and read nothing of it."""

import asyncio
import socket
import time

from aiohttp import ClientSession
from prometheus_client import Metric
from prometheus_client.registry import Collector

from reporter.daemon.server import ListenAddress, MetricsPage, Servers
from tests.attacks.attack import Outcome, attack

_CLIENTS = 100


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

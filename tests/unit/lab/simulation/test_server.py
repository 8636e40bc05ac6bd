"""A simulated pod on the network."""

import asyncio
import socket
import warnings
from collections.abc import AsyncIterator

import pytest

from lab.simulation import Misbehaviour, ModelPod, Phase
from lab.simulation.metrics_page import CONTENT_TYPE
from tests.api_behaviour.api_client import eventually
from tests.unit.lab.simulation.plain_client import get


@pytest.fixture(name="pod")
async def _pod() -> AsyncIterator[ModelPod]:
    async with ModelPod(clock=lambda: 1_780_000_000.0) as pod:
        yield pod


async def test_answer(pod: ModelPod):
    """The page comes with its length and its type."""
    got = await get(pod)
    assert (got.status, got.header("Content-Type")) == (200, CONTENT_TYPE)
    assert got.header("Content-Length") == str(len(got.body))
    assert got.body.decode() == pod.page()
    assert (await get(pod, "/health")).status == 200
    assert (await get(pod, "/none")).status == 404
    assert pod.requests == 1


@pytest.mark.parametrize("phase", [Phase.SHUTTING_DOWN, Phase.LOADING_REFUSED])
@pytest.mark.parametrize("own_port", [True, False])
async def test_refused(phase: Phase, *, own_port: bool):
    """A pod that is down refuses connections, and is back on the same port."""
    listener = None if own_port else socket.create_server(("127.0.0.1", _free_port()))
    async with ModelPod(listener=listener) as pod:
        for _ in range(2):
            pod.become(phase)
            with pytest.raises(ConnectionRefusedError):
                await get(pod)
            pod.become(Phase.SERVING)
            assert (await get(pod)).status == 200


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


async def test_one_client_at_a_time(pod: ModelPod):
    """KAITO's first server speaks HTTP/1.0, and makes others wait for a client that idles."""
    pod.become(Phase.DOWNLOADING)
    reader, writer = await asyncio.open_connection(pod.host, pod.port)
    # The idle client is accepted first because it came first.
    assert (await get(pod, patience=0.2)).ended == "waiting"
    writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
    assert (await reader.readline()).startswith(b"HTTP/1.0 200")
    writer.transport.abort()
    got = await get(pod)
    assert b"kaito_model_download_speed_bytes_per_second 1.5e+08\n" in got.body


async def test_end_leaves_nothing():
    """The end of a pod ends its connections, whatever they were doing."""
    before = asyncio.all_tasks()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        async with ModelPod() as pod:
            clients = []
            for kind in (None, Misbehaviour.HANG, Misbehaviour.ENDLESS_BODY):
                pod.misbehave(kind)
                client = await asyncio.open_connection(pod.host, pod.port)
                client[1].write(b"GET /metrics HTTP/1.1\r\n\r\n" if kind else b"")
                clients.append(client)

            async def both() -> bool:
                return pod.requests == 2

            await eventually(both)
        for _, writer in clients:
            writer.transport.abort()
        with pytest.raises(ConnectionRefusedError):
            await get(pod)
        assert asyncio.all_tasks() == before

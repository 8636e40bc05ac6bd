"""What one tenant stores in a real API server: it costs the daemon little, and others' faults are told."""

import asyncio
import io
import re
import sys
import time
from pathlib import Path

import pytest

from tests.daemon.replica import until

BBR = ("clusterBBRNotReady", "cluster")
MEBIBYTES = 320
"""The chart's limit of memory."""

TREE = f"[{','.join(['[[],{}]'] * 170_000)}]"
"""1.4 MB: etcd takes 1.5 MiB a request."""

DEEP = f"[{','.join(['[' * 9_000 + ']' * 9_000] * 60)}]"
"""Lists in each other; Go reads 10,000 levels."""


def most_memory(replica) -> float:
    """The most MiB that a replica has had."""
    status = Path(f"/proc/{replica.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]  # always there


async def store(stage, workload: str, name: str, content: str) -> None:
    metadata = f'"metadata": {{"name": "{name}", "namespace": "{workload}"}}'
    spec = f'"spec": {{"configPatches": [{{"patch": {{"value": {content}}}}}]}}'
    kind = '"apiVersion": "networking.istio.io/v1alpha3", "kind": "EnvoyFilter"'
    path = f"/apis/networking.istio.io/v1alpha3/namespaces/{workload}/envoyfilters"
    body = io.BytesIO(f"{{{kind}, {metadata}, {spec}}}".encode())
    headers = {"Content-Type": "application/json"}
    async with stage.api.session.post(path, data=body, headers=headers) as answer:
        assert answer.status == 201, await answer.text()


@pytest.fixture(autouse=True)
def _deep():
    """Let what plays the namespaces' controller read what is nested deeply."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(30_000)
    yield
    sys.setrecursionlimit(before)


async def slowest_probe(replica, seconds: float) -> float:
    """How long /healthz waited at most."""
    most, end = 0.0, time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        assert (await replica.get("health-probe", "/healthz"))[0] == 200
        most = max(most, time.monotonic() - began)
        await asyncio.sleep(0.02)
    return most


async def told_soon(stage) -> None:
    await stage.stack.scale("kaito-system", "body-based-router", 0)
    await stage.told(*BBR)
    assert await stage.firing() == {BBR}


async def test_what_a_tenant_stores_fits_the_memory(stage, replica, workload):
    """Twelve objects as large as etcd takes them, empty lists and objects, read at the start and watched."""
    for number in range(6):
        await store(stage, workload, f"early-{number}", TREE)
    daemon = await (await replica()).ready()
    for number in range(6):
        await store(stage, workload, f"late-{number}", TREE)
    await daemon.passes(3)
    assert most_memory(daemon) < MEBIBYTES
    await told_soon(stage)
    assert most_memory(daemon) < MEBIBYTES


@pytest.mark.timeout(300)  # it writes megabytes, for minutes where processors are slow
async def test_deep_objects_do_not_hold_up_the_loop(stage, replica, workload):
    """Ten objects of 9,000 levels, and three more one by one: a probe is answered, a fault is told."""
    for number in range(10):
        await store(stage, workload, f"deep-{number}", DEEP)
    daemon = await replica()
    await daemon.ready()
    probing = asyncio.create_task(slowest_probe(daemon, 6))
    for number in range(3):
        await store(stage, workload, f"more-{number}", DEEP)
        await asyncio.sleep(0.3)
    assert await probing < 1
    await told_soon(stage)
    assert len((await daemon.report())["skipped"]) >= 10
    await until(daemon.leads, "it leads all the while")

"""What a tenant stores in a real API server (`make envtest`), while a daemon watches it."""

import asyncio
import json
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import aiohttp

from reporter.kube.lease import LeaseTimes
from tests.attacks.attack import Outcome, attacks
from tests.bench.api import Api
from tests.bench.servers import real_server
from tests.daemon.replica import Program

_LEASE = (
    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/productionstack-status-reporter"
)
_FILTERS = "/apis/networking.istio.io/v1alpha3/namespaces/models-000/envoyfilters"
_KAITO = "/apis/apps/v1/namespaces/kaito-system/deployments/kaito-workspace"
_LIMIT_MIB = 320
"""The chart's limit of memory."""


def _lists(number: int) -> str:
    """Return a filter of 1.2 MB of empty lists and objects."""
    tree = "[" + ",".join(["[[],{}]"] * 150_000) + "]"
    return _filter(number, tree)


def _levels(number: int) -> str:
    """Return a filter of 1.2 MB with 9,000 levels, which is what the API server lets through."""
    tree = "[" * 4_400 + '{"x":' * 4_400 + json.dumps("x" * 1_150_000) + "}" * 4_400 + "]" * 4_400
    return _filter(number, tree)


def _filter(number: int, tree: str) -> str:
    patch = f'{{"applyTo": "HTTP_FILTER", "patch": {{"value": {{"x": {tree}}}}}}}'
    return (
        '{"apiVersion": "networking.istio.io/v1alpha3", "kind": "EnvoyFilter", '
        f'"metadata": {{"name": "f-{number}"}}, "spec": {{"configPatches": [{patch}]}}}}'
    )


async def _store(api: Api, made: Callable[[int], str], count: int) -> None:
    """Create so many objects, and change each twice."""
    for number in range(count):
        await api.post(_FILTERS, made(number).encode())
    for turn in ("first", "second"):
        for number in range(count):
            await api.patch(f"{_FILTERS}/f-{number}", {"metadata": {"labels": {"turn": turn}}})


async def _attacked(folder: Path, made: Callable[[int], str], count: int) -> Outcome:
    async with real_server(10, folder) as server:
        replica = Program(server.kubeconfig, "replica")
        await replica.start()
        try:
            await replica.ready()
            before = _resident(replica.process.pid)
            seen = asyncio.create_task(_longest(server.api, replica))
            await _store(server.api, made, count)
            began = time.monotonic()
            await server.api.patch(_KAITO, {"spec": {"replicas": 0}})
            await server.api.wait_firing(1, 30, "Deployment/kaito-system/kaito-workspace")
            told = time.monotonic() - began
            seen.cancel()
            slowest, oldest = await seen
            most = _resident(replica.process.pid)
        finally:
            await replica.stop()
    figure = (
        f"{count} stored; memory {before:.0f} MiB before and {most:.0f} MiB at most, "
        f"/healthz within {slowest:.2f} s, the Lease at most {oldest:.1f} s old, another's fault told after {told:.1f} s"
    )
    calm = slowest < 1 and oldest < LeaseTimes().renew_deadline and told < 10
    return Outcome(held=most < _LIMIT_MIB and calm, figure=figure)


async def _longest(api: Api, replica: Program) -> tuple[float, float]:
    """Return how long a probe waited, and how old the Lease got, until it is cancelled."""
    slowest = oldest = 0.0
    url = f"http://127.0.0.1:{replica.ports['health-probe']}/healthz"
    try:
        async with aiohttp.ClientSession() as session:
            while True:
                began = time.monotonic()
                async with session.get(url) as answer:
                    await answer.read()
                slowest = max(slowest, time.monotonic() - began if answer.status == 200 else 99.0)
                renewed = (await api.get(_LEASE))["spec"]["renewTime"]
                oldest = max(oldest, time.time() - datetime.fromisoformat(renewed).timestamp())
                await asyncio.sleep(0.05)
    except asyncio.CancelledError:
        return slowest, oldest


def _resident(pid: int | None) -> float:
    """Return the most MiB that a process had resident so far."""
    (line,) = (
        each
        for each in Path(f"/proc/{pid}/status").read_text().splitlines()
        if each.startswith("VmHWM")
    )
    return int(line.split()[1]) / 1024


@attacks(
    {"ten EnvoyFilters of empty lists": (_lists, 10), "twenty of 8,800 levels": (_levels, 20)},
    quick=False,
)
def _(folder, row):
    return asyncio.run(_attacked(folder, *row))

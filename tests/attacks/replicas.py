"""Two daemons on loopback, with a sandbox for a cluster: while one tenant attacks, the Lease goes on."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import aiohttp

from reporter.kube.lease import LeaseTimes
from tests.attacks.attack import Outcome, attacks
from tests.daemon.replica import Program, until
from tests.daemon.stage import BBR, Stage
from tests.unit.probes.building import document, namespace, pod

_SECONDS = 20.0
_PLACE = "tenant"


@dataclass
class _Seen:
    """What the Lease and the probes were like while it went on."""

    oldest: float = 0.0
    slowest: float = 0.0
    holders: set[str] = field(default_factory=set)


@asynccontextmanager
async def _two(folder: Path) -> AsyncIterator[tuple[Stage, list[Program]]]:
    stage = Stage(folder / "kubeconfig.yaml")
    both = [Program(stage.kubeconfig, each) for each in ("replica-a", "replica-b")]
    await stage.up()
    try:
        stage.sandbox.load([{"apiVersion": "v1", **namespace(_PLACE, managed=True)}])
        await asyncio.gather(*(each.start() for each in both))
        await asyncio.gather(*(each.ready() for each in both))
        await stage.all_ready()
        yield stage, both
    finally:
        await asyncio.gather(*(each.stop() for each in both))
        await stage.close()


async def _watch(stage: Stage, both: list[Program], seen: _Seen) -> None:
    """Note how old the Lease becomes, who holds it, and how long a probe waits."""
    url = "http://127.0.0.1:{}/healthz"
    async with aiohttp.ClientSession() as session:
        while True:
            lease = stage.lease()
            renewed = datetime.fromisoformat(lease["renewTime"]).timestamp()
            seen.oldest = max(seen.oldest, time.time() - renewed)
            seen.holders.add(lease["holderIdentity"])
            for each in both:
                began = time.monotonic()
                async with session.get(url.format(each.ports["health-probe"])) as answer:
                    await answer.read()
                took = time.monotonic() - began
                seen.slowest = max(seen.slowest, took if answer.status == 200 else 99.0)
            await asyncio.sleep(0.1)


async def _message(stage: Stage, _both: list[Program]) -> None:
    """A model whose pods end with a message of forty words, and a new one twice a second."""
    labels = {"inferenceset.kaito.sh/created-by": "s", "kaito.sh/workspace": "s-w"}
    made = {"metadata": {"labels": labels}}
    api = {"apiVersion": "kaito.sh/v1alpha1"}
    replicas = {"spec": {"replicas": 1}}
    stage.sandbox.load([_without_uid(document("InferenceSet", "s", _PLACE, api, replicas))])
    stage.sandbox.load([_without_uid(document("Workspace", "s-w", _PLACE, api, made))])
    words = "  ".join(["abcdefghijklmnop"] * 40)
    for number in range(int(2 * _SECONDS)):
        said = f"{words}  {'A' * 200}{number}"
        status = {
            "name": "main",
            "ready": False,
            "restartCount": 9,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "message": said}},
        }
        body = pod(
            _PLACE, f"p-{number}", "x", {"apiVersion": "v1"}, made,
            {"status": {"containerStatuses": [status]}}, ready=False,
        )  # fmt: skip
        stage.sandbox.load([_without_uid(body)])
        await asyncio.sleep(0.5)


async def _many(stage: Stage, _both: list[Program]) -> None:
    """300 sets with routes, one of which changes twice a second."""
    leads = {"group": "inference.networking.k8s.io", "kind": "InferencePool"}
    for number in range(300):
        name = f"set-{number}"
        spec = {"replicas": 1, "template": {"inference": {"preset": {"name": "x"}}}}
        made = document("InferenceSet", name, _PLACE, {"spec": spec})
        stage.sandbox.create({"apiVersion": "kaito.sh/v1alpha1", **_without_uid(made)})
        rules = [{"backendRefs": [{**leads, "name": f"{name}-inferencepool"}]}]
        route = {"spec": {"parentRefs": [{"name": "gw"}], "rules": rules}}
        made = document("HTTPRoute", f"way-{number}", _PLACE, route)
        stage.sandbox.create({"apiVersion": "gateway.networking.k8s.io/v1", **_without_uid(made)})
    for number in range(int(2 * _SECONDS)):
        change = {"spec": {"hostnames": [f"h{number}.example"]}}
        stage.sandbox.patch(
            "httproutes.gateway.networking.k8s.io", "way-7", change, namespace=_PLACE
        )
        await asyncio.sleep(0.5)


async def _clients(_stage: Stage, both: list[Program]) -> None:
    """140 connections to /metrics of each, which read nothing and come again."""
    held: list[socket.socket] = []
    try:
        for _ in range(int(_SECONDS / 2)):
            for each in both:
                for _ in range(140):
                    client = socket.create_connection(("127.0.0.1", each.ports["metrics"]))
                    client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
                    held.append(client)
            await asyncio.sleep(2)
            while len(held) > 300:
                held.pop(0).close()
    finally:
        for client in held:
            client.close()


def _without_uid(body):
    body["metadata"].pop("uid", None)
    return body


async def _attacked(folder: Path, attack: Callable) -> Outcome:
    async with _two(folder) as (stage, both):
        seen = _Seen()
        watching = asyncio.create_task(_watch(stage, both, seen))
        began = time.monotonic()
        attacking = asyncio.create_task(attack(stage, both))
        await asyncio.sleep(_SECONDS / 2)
        stage.scale_bbr(0)
        scaled = time.monotonic()
        await until(lambda: stage.events(BBR, state="firing"), "another one's fault is told")
        told = time.monotonic() - scaled
        await attacking
        watching.cancel()
        (said,) = await asyncio.gather(watching, return_exceptions=True)
        if not isinstance(said, asyncio.CancelledError):
            raise said
        calm = seen.oldest < LeaseTimes().renew_deadline and seen.slowest < 3
        figure = (
            f"in {time.monotonic() - began:.0f} s {len(seen.holders)} holder(s), the Lease at most "
            f"{seen.oldest:.1f} s old, /healthz within {seen.slowest:.2f} s, another's fault told after {told:.1f} s"
        )
        return Outcome(held=calm and len(seen.holders) == 1 and told < 10, figure=figure)


@attacks(
    {
        "termination messages of forty words": _message,
        "300 sets and routes of one tenant": _many,
        "140 clients of /metrics who read nothing": _clients,
    },
    quick=False,
)
def _(folder, attack):
    return asyncio.run(_attacked(folder, attack))

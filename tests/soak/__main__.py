"""`make soak`: the real daemon scrapes hundreds of pods, of which a tenth misbehave, for minutes.

Fails if its memory grows, if a pod that misbehaves delays another, or if a pass waits for a scrape.
"""

import argparse
import asyncio
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Final

from lab.demo.daemon import program
from lab.demo.story import SELECTOR, ModelPods
from lab.sandbox.controllers import running
from lab.sandbox.objects import Object
from lab.simulation import Misbehaviour, ModelPod
from reporter.catalogue import runtime as t
from tests.bench.cluster import MODEL_PODS, build
from tests.bench.still_pods import StillPod, addresses
from tests.soak.measuring import Record
from tests.soak.verdicts import Soaked, render, rows

_RESYNC_SECONDS: Final = 5
_WINDOW_SECONDS: Final = 30
"""Of all rules, so that memory is as full as it gets when the measurement begins."""

_WARM_UP_SECONDS: Final = 60
_START_SECONDS: Final = 120.0
_FAILED: Final = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak and print; 0 only if every bound is met."""
    options = _parser().parse_args(arguments)
    found = asyncio.run(_soak(options.pods, options.interval, options.minutes * 60))
    sys.stdout.write(f"{render(found)}\n")
    return 0 if all(row.met for row in rows(found)) else _FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--pods", type=int, default=500, help="pods that are scraped (500)")
    parser.add_argument("--interval", type=int, default=2, help="seconds between scrapes (2)")
    parser.add_argument(
        "--minutes", type=float, default=5.0, help="how long, after a minute to warm up (5)"
    )
    return parser


async def _soak(count: int, interval: int, seconds: float) -> Soaked:
    with tempfile.TemporaryDirectory(prefix="status-reporter-soak-") as folder:
        kubeconfig, log = Path(folder, "kubeconfig.yaml"), Path(folder, "daemon.log")
        documents = _documents(count)
        async with (
            running(documents, kubeconfig_path=kubeconfig, controllers=False) as sandbox,
            ModelPods(sandbox, make=StillPod) as simulated,
        ):
            pods = list(simulated.all.values())
            bad = pods[::10]
            _misbehave(bad)
            metrics = _free_port()
            flags = _flags(kubeconfig, simulated.port, metrics, interval)
            async with program(flags, log) as daemon:
                await _scraped(pods, daemon, log)
                _say(f"{len(pods)} pods are scraped, {len(bad)} of them misbehave; warming up")
                await asyncio.sleep(_WARM_UP_SECONDS)
                _say(f"measuring for {seconds:g} s")
                before = [pod.requests for pod in pods]
                record = Record()
                await record.keep(daemon.pid, f"http://127.0.0.1:{metrics}/metrics", seconds)
                scraped = [pod.requests - n for pod, n in zip(pods, before, strict=True)]
    wrong = {id(pod) for pod in bad}
    each = list(zip(pods, scraped, strict=True))
    return Soaked(
        interval=interval,
        resync=_RESYNC_SECONDS,
        good=[n for pod, n in each if id(pod) not in wrong],
        bad=[n for pod, n in each if id(pod) in wrong],
        record=record,
    )


def _documents(count: int) -> Iterator[Object]:
    """Yield a cluster in which so many model pods have addresses where one can listen."""
    free = addresses(count)
    for document in build(-(-count // MODEL_PODS)):
        if document["kind"] == "Pod" and SELECTOR in document["metadata"].get("labels", {}):
            address = next(free, None)
            if address is None:
                continue
            document["status"]["podIP"] = address
            document["status"]["podIPs"] = [{"ip": address}]
        yield document


def _misbehave(pods: Sequence[ModelPod]) -> None:
    for pod, kind in zip(pods, cycle(Misbehaviour), strict=False):
        pod.misbehave(kind, location=pod.url)


def _flags(kubeconfig: Path, port: int, metrics: int, interval: int) -> list[str]:
    windows = ",".join(f"inferenceset{name}={_WINDOW_SECONDS}" for name in t.RUNTIME_NAMES)
    downloads = ",".join(f"inferenceset{each.name}={_WINDOW_SECONDS}" for each in t.DOWNLOADS)
    return [
        f"--kubeconfig={kubeconfig}",
        f"--resync-seconds={_RESYNC_SECONDS}",
        f"--metrics-bind-address=127.0.0.1:{metrics}",
        "--health-probe-bind-address=0",
        "--report-bind-address=0",
        "--log-level=error",
        "--scrape-via=direct",
        f"--scrape-port={port}",
        f"--scrape-interval-seconds={interval}",
        f"--weight-download-window-seconds={_WINDOW_SECONDS}",
        f"--grace={downloads},{windows}",
        f"--runtime-threshold={t.STALLED_IDLE.name}={_WINDOW_SECONDS}",
    ]


async def _scraped(pods: Sequence[ModelPod], daemon: asyncio.subprocess.Process, log: Path) -> None:
    """Wait until every pod was scraped once."""
    async with asyncio.timeout(_START_SECONDS):
        while not all(pod.requests for pod in pods):
            if daemon.returncode is not None:
                raise SystemExit(f"the daemon ended: {_end_of(log)}")
            await asyncio.sleep(0.2)


def _end_of(log: Path) -> str:
    return log.read_text("utf-8", "replace")[-1000:]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

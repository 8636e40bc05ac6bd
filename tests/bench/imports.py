"""`python -m tests.bench.imports`: what the lean import of kubernetes_asyncio saves.

It compares `reporter.kube.library` with the plain `from kubernetes_asyncio import client, config`: in
a fresh process, in one that has the daemon's modules, and in the running daemon beside the sandbox.
"""

import argparse
import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final, TypeVar

from tests.bench.api import Api
from tests.bench.daemon_process import RESYNC_SECONDS
from tests.bench.processes import BenchError, allocator, daemon, sandbox

_SIZES: Final = (10, 1000)
_RUNS: Final = 3
_READY_SECONDS: Final = 120.0
_POLL_SECONDS: Final = 0.1

_PROBE: Final = """\
import time
{before}
began = time.perf_counter()
{imported}
seconds = time.perf_counter() - began
status = open("/proc/self/status").read()
print(seconds * 1e3, int(status.partition("VmRSS:")[2].split()[0]) * 1024 / 1e6)
"""
Found = TypeVar("Found")

_DAEMON: Final = "import reporter.daemon.main, reporter.settings"


@dataclass(frozen=True, slots=True)
class Way:
    """A way to import the library: the statement, and the module that runs the daemon with it."""

    statement: str
    module: str


LEAN: Final = Way("from reporter.kube.library import library; library()", "daemon_process")
WHOLE: Final = Way("from kubernetes_asyncio import client, config", "daemon_whole_library")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 0 unless something could not be measured."""
    options = _parser().parse_args(arguments)
    sys.stdout.write(
        f"{'median of ' + str(options.runs):44}{'lean':>10}{'whole':>10}{'saved':>10}\n"
    )
    try:
        for name, lean, whole in _rows(options.sizes, options.runs):
            sys.stdout.write(f"{name:44}{lean:10.1f}{whole:10.1f}{whole - lean:10.1f}\n")
            sys.stdout.flush()
    except BenchError as error:
        sys.stderr.write(f"bench: {error}\n")
        return 1
    return 0


def _rows(sizes: Sequence[int], runs: int) -> Iterator[tuple[str, float, float]]:
    for where, before in (("alone", ""), ("after the daemon's modules", _DAEMON)):
        lean, whole = (
            [median(row) for row in zip(*found, strict=True)]
            for found in _both(lambda way, before=before: _import(way, before), runs)
        )
        yield f"import {where}, ms", lean[0], whole[0]
        yield "  resident memory, MB", lean[1], whole[1]
    for size in sizes:
        lean, whole = _both(lambda way, size=size: asyncio.run(_resident(way, size)), runs)
        yield f"daemon, {size} InferenceSets, MB", median(lean), median(whole)


def _both(measure: Callable[[Way], Found], runs: int) -> tuple[list[Found], list[Found]]:
    """Take turns, so that what else the machine does falls on both."""
    pairs = [(measure(LEAN), measure(WHOLE)) for _ in range(runs)]
    return [lean for lean, _ in pairs], [whole for _, whole in pairs]


def _import(way: Way, before: str) -> tuple[float, float]:
    code = _PROBE.format(before=before, imported=way.statement)
    output = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | allocator(),
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    milliseconds, megabytes = map(float, output.split())
    return milliseconds, megabytes


async def _resident(way: Way, sets: int) -> float:
    with TemporaryDirectory() as name:
        folder = Path(name)
        kubeconfig = folder / "kubeconfig"
        async with (
            sandbox(sets, kubeconfig) as url,
            Api(url) as api,
            daemon(kubeconfig, folder, module=way.module) as running,
        ):
            try:
                async with asyncio.timeout(_READY_SECONDS):
                    while not await api.ready(running.ready_url):
                        running.check()
                        await asyncio.sleep(_POLL_SECONDS)
            except TimeoutError:
                raise BenchError(f"not ready in {_READY_SECONDS:.0f} s") from None
            # Some passes, after which all that they keep is there.
            await asyncio.sleep(3 * RESYNC_SECONDS)
            return running.memory().resident / 1e6


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.imports", description=__doc__)
    parser.add_argument(
        "--sizes", type=_sizes, default=_SIZES, help="numbers of InferenceSets, comma-separated"
    )
    parser.add_argument("--runs", type=int, default=_RUNS, help="of which the median is told")
    return parser


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


if __name__ == "__main__":
    sys.exit(main())

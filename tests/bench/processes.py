"""The two processes of a measurement: the sandbox and the daemon."""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from image.check.dockerfile import DOCKERFILE, Dockerfile
from tests.bench.as_installed import compile_reporter
from tests.bench.daemon_process import RESYNC_SECONDS

_PROJECT = Path(__file__).parents[2]
_START_SECONDS = 180.0
_END_SECONDS = 30.0


class BenchError(Exception):
    """Something could not be measured."""


@asynccontextmanager
async def sandbox(number: int, kubeconfig: Path, what: str = "inferencesets") -> AsyncIterator[str]:
    """Run the sandbox with so many InferenceSets, or `young` ones, and give its URL."""
    process = await _start("sandbox_process", what, str(number), str(kubeconfig), stdout=PIPE)
    try:
        if process.stdout is None:
            raise BenchError("the sandbox has no output")
        async with asyncio.timeout(_START_SECONDS):
            url = (await process.stdout.readline()).decode().strip()
        if not url:
            raise BenchError("the sandbox did not start")
        yield url
    finally:
        await _end(process)


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident memory in bytes: now, and the most there ever was."""

    resident: int
    peak: int


class Daemon:
    """The running daemon."""

    def __init__(self, process: Process, metrics_port: int, health_port: int, log: Path) -> None:
        self.metrics_url = f"http://127.0.0.1:{metrics_port}/metrics"
        self.ready_url = f"http://127.0.0.1:{health_port}/readyz"
        self.phases: list[float] = []
        self.asked_to_end = False
        self._process = process
        self._log = log

    def check(self) -> None:
        """Raise if it has ended by itself."""
        if self._process.returncode is not None:
            last = self._log.read_text(encoding="utf-8")[-2000:]
            raise BenchError(f"the daemon ended with {self._process.returncode}: {last}")

    def next_phase(self) -> None:
        """Begin the next phase of the loop's measurement."""
        self._process.send_signal(signal.SIGUSR1)

    def pause(self) -> None:
        """Stop the loop's measurement until the next phase."""
        self._process.send_signal(signal.SIGUSR2)

    def stop(self) -> None:
        """Ask it to end."""
        self.asked_to_end = True
        self._process.terminate()

    def memory(self) -> Memory:
        """Return its memory."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        lines = dict(line.split(":", 1) for line in status.splitlines())
        resident, peak = (int(lines[key].split()[0]) * 1024 for key in ("VmRSS", "VmHWM"))
        return Memory(resident, peak)

    def cpu_seconds(self) -> float:
        """Return the processor time that its threads have used; finer than the clock's ticks."""
        found = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        return sum(int(each.read_text(encoding="ascii").split()[0]) for each in found) / 1e9


@asynccontextmanager
async def daemon(
    kubeconfig: Path,
    folder: Path,
    *,
    resync: int = RESYNC_SECONDS,
    name: str = "daemon",
) -> AsyncIterator[Daemon]:
    """Run the daemon, and fill its `phases` when the context is left.

    Args:
        kubeconfig: how it reaches the API server.
        folder: of its log and its numbers.
        resync: seconds between two passes in which nothing happens.
        name: of its files, where there is more than one.

    """
    compile_reporter()
    metrics_port, health_port = _free_port(), _free_port()
    output, log = folder / f"{name}.json", folder / f"{name}.log"
    with log.open("wb") as stderr:
        process = await _start(
            "as_installed",
            f"{__package__}.daemon_process",
            str(kubeconfig),
            str(metrics_port),
            str(health_port),
            str(output),
            str(resync),
            stderr=stderr.fileno(),
            env=os.environ | allocator(),
        )
    running = Daemon(process, metrics_port, health_port, log)
    try:
        yield running
        if not running.asked_to_end:
            running.check()
    finally:
        await _end(process, asked=running.asked_to_end)
    if process.returncode != 0:
        running.check()
    running.phases = msgspec.json.decode(output.read_bytes(), type=list[float])


def allocator() -> dict[str, str]:
    """Return how the image sets up glibc's allocator."""
    variables = Dockerfile.read(_PROJECT / DOCKERFILE).final.variables("ENV")
    return {name: value for name, value in variables.items() if name.startswith("MALLOC_")}


async def _start(
    module: str,
    *arguments: str,
    stdout: int = DEVNULL,
    stderr: int | None = None,
    env: dict[str, str] | None = None,
) -> Process:
    command = (sys.executable, "-m", f"{__package__}.{module}", *arguments)
    return await asyncio.create_subprocess_exec(*command, stdout=stdout, stderr=stderr, env=env)


async def _end(process: Process, *, asked: bool = False) -> None:
    """Wait until it has ended; a second signal would end it before it has written its numbers."""
    if process.returncode is None:
        if not asked:
            process.terminate()
        try:
            async with asyncio.timeout(_END_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port

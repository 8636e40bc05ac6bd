"""The real daemon in a process of its own, beside a task that notices when the loop is blocked.

`python -m tests.bench.daemon_process KUBECONFIG METRICS_PORT HEALTH_PORT OUTPUT RESYNC`; SIGUSR1 begins
the next phase, and until then SIGUSR2 stops all measuring, which costs more than an idle daemon does. The numbers of all
phases are written as JSON when it ends.
"""

import asyncio
import os
import signal
import sys
import time
from asyncio import events
from pathlib import Path
from typing import Final

import msgspec

from reporter.daemon.main import run_daemon
from reporter.setting_types import ScrapeVia
from reporter.stacks.settings import FullDaemonSettings

RESYNC_SECONDS: Final = 3
SELF_CHECK: Final = "BENCH_SELF_CHECK_SECONDS"
"""Name of a variable of the environment: how often a pass is made again from nothing."""

_SLEEP: Final = 0.005
_SCHEDULING: Final = Path("/proc/thread-self/schedstat")


class Phase(msgspec.Struct):
    """How well the event loop kept time during one phase, in seconds.

    Attributes:
        lag: longest that a sleep of 5 ms was late: what a lease renewal would have waited.
        block: the same without the time for which other processes had the processor.
        callback: longest that one callback kept the loop, time not on the processor included.
        callback_cpu: longest that one callback kept the loop, by processor time of its thread.
        callback_name: what that one was.

    """

    lag: float = 0.0
    block: float = 0.0
    callback: float = 0.0
    callback_cpu: float = 0.0
    callback_name: str = ""


class Watchdog:
    """Measures the phases."""

    def __init__(self) -> None:
        self.phases = [Phase()]
        self._run = events.Handle._run
        self._looks = asyncio.Event()

    def next_phase(self) -> None:
        """Begin the next phase."""
        self.phases.append(Phase())
        self.look()

    def look(self) -> None:
        """Time each callback of the loop; the tasks' steps are callbacks too."""
        self._looks.set()
        run = self._run
        watchdog = self

        def timed(handle: events.Handle) -> None:
            wall, cpu = time.perf_counter(), time.thread_time()
            run(handle)
            spent = time.thread_time() - cpu
            phase = watchdog.phases[-1]
            phase.callback = max(phase.callback, time.perf_counter() - wall)
            if spent > phase.callback_cpu:
                phase.callback_cpu, phase.callback_name = spent, _name(handle)

        setattr(events.Handle, "_run", timed)  # noqa: B010 - no type checker lets a method be set

    def look_away(self) -> None:
        """Leave the loop to the daemon alone."""
        self._looks.clear()
        setattr(events.Handle, "_run", self._run)  # noqa: B010 - as above

    async def watch(self) -> None:
        """Sleep again and again, and note how late it was."""
        while True:
            await self._looks.wait()
            began, waited = time.perf_counter(), _waited()
            await asyncio.sleep(_SLEEP)
            late = time.perf_counter() - began - _SLEEP
            phase = self.phases[-1]
            phase.lag = max(phase.lag, late)
            phase.block = max(phase.block, late - (_waited() - waited))


def _waited() -> float:
    """Return the seconds for which this thread could have run and had no processor."""
    try:
        return int(_SCHEDULING.read_text(encoding="ascii").split()[1]) / 1e9
    except OSError:
        return 0.0


def _name(handle: events.Handle) -> str:
    callback = getattr(handle, "_callback", None)
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        return task.get_name()
    # No repr: that of a response which has not begun keeps aiohttp from reading its headers.
    return getattr(callback, "__qualname__", type(callback).__name__)


async def run(kubeconfig: Path, metrics_port: int, health_port: int, resync: int) -> list[Phase]:
    """Run the daemon until SIGTERM."""
    settings = FullDaemonSettings(
        startup_grace_seconds=0,
        scrape_via=ScrapeVia.OFF,
        resync_seconds=resync,
        metrics_bind_address=f"127.0.0.1:{metrics_port}",
        health_probe_bind_address=f"127.0.0.1:{health_port}",
        report_bind_address="0",
        self_check_seconds=int(os.environ.get(SELF_CHECK, "600")),
    )
    watchdog = Watchdog()
    watchdog.look()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, watchdog.next_phase)
    loop.add_signal_handler(signal.SIGUSR2, watchdog.look_away)
    watching = asyncio.create_task(watchdog.watch(), name="watchdog")
    await run_daemon(settings, kubeconfig=kubeconfig)
    watching.cancel()
    return watchdog.phases


if __name__ == "__main__":
    found = asyncio.run(
        run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[5]))
    )
    Path(sys.argv[4]).write_bytes(msgspec.json.encode(found))

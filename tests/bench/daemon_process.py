"""The real daemon in a process of its own, beside a task that notices when the loop is blocked.

`python -m tests.bench.daemon_process KUBECONFIG METRICS_PORT HEALTH_PORT OUTPUT RESYNC`; SIGUSR1 begins
the next phase, and until then SIGUSR2 stops all measuring, which costs more than an idle daemon does.
The numbers of all phases are written as JSON when it ends.
"""

import asyncio
import signal
import sys
import time
from pathlib import Path
from typing import Final

import msgspec

from reporter.daemon.main import run_daemon
from reporter.setting_types import ScrapeVia
from reporter.stacks.settings import FullDaemonSettings

RESYNC_SECONDS: Final = 3
_SLEEP: Final = 0.005
_SCHEDULING: Final = Path("/proc/thread-self/schedstat")


class Watchdog:
    """Measures how late sleeps of 5 ms are.

    Attributes:
        phases: for each phase the longest delay in seconds, without the time for which other
            processes had the processor.

    """

    def __init__(self) -> None:
        self.phases = [0.0]
        self._measures = asyncio.Event()
        self._measures.set()

    def next_phase(self) -> None:
        """Begin the next phase."""
        self.phases.append(0.0)
        self._measures.set()

    def pause(self) -> None:
        """Stop measuring until the next phase."""
        self._measures.clear()

    async def watch(self) -> None:
        """Sleep again and again, and note how late it was."""
        while True:
            await self._measures.wait()
            began, waited = time.perf_counter(), _waited()
            await asyncio.sleep(_SLEEP)
            late = time.perf_counter() - began - _SLEEP
            self.phases[-1] = max(self.phases[-1], late - (_waited() - waited))


def _waited() -> float:
    """Return the seconds for which this thread could have run and had no processor."""
    try:
        return int(_SCHEDULING.read_text(encoding="ascii").split()[1]) / 1e9
    except OSError:
        return 0.0


async def run(kubeconfig: Path, metrics_port: int, health_port: int, resync: int) -> list[float]:
    """Run the daemon until SIGTERM."""
    settings = FullDaemonSettings(
        startup_grace_seconds=0,
        scrape_via=ScrapeVia.OFF,
        resync_seconds=resync,
        metrics_bind_address=f"127.0.0.1:{metrics_port}",
        health_probe_bind_address=f"127.0.0.1:{health_port}",
        report_bind_address="0",
    )
    watchdog = Watchdog()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, watchdog.next_phase)
    loop.add_signal_handler(signal.SIGUSR2, watchdog.pause)
    watching = asyncio.create_task(watchdog.watch(), name="watchdog")
    await run_daemon(settings, kubeconfig=kubeconfig)
    watching.cancel()
    return watchdog.phases


if __name__ == "__main__":
    found = asyncio.run(
        run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[5]))
    )
    Path(sys.argv[4]).write_bytes(msgspec.json.encode(found))

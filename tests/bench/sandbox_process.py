"""The sandbox with a cluster of the size given, in a process of its own.

`python -m tests.bench.sandbox_process SETS KUBECONFIG` prints its URL once it is served.
"""

import asyncio
import signal
import sys
from pathlib import Path

from reporter.sandbox.serve import running
from tests.bench.cluster import build


async def serve(sets: int, kubeconfig: Path) -> None:
    """Serve until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    # Without controllers: nothing may repair what the benchmark breaks.
    async with running(build(sets), kubeconfig_path=kubeconfig, controllers=False) as sandbox:
        sys.stdout.write(f"{sandbox.url}\n")
        sys.stdout.flush()
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), Path(sys.argv[2])))

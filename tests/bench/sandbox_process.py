"""The sandbox with a cluster of the size given, in a process of its own.

`python -m tests.bench.sandbox_process WHAT NUMBER KUBECONFIG` prints its URL once it is served; WHAT
is `inferencesets`, or `young` ones of them.
"""

import asyncio
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from lab.sandbox.controllers import running
from lab.sandbox.objects import Object
from tests.bench.cluster import build, build_young

_BUILDERS: Final[Mapping[str, Callable[[int], Iterable[Object]]]] = {
    "inferencesets": build,
    "young": build_young,
}


async def serve(documents: Iterable[Object], kubeconfig: Path) -> None:
    """Serve until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    # Without controllers: nothing may repair what the benchmark breaks.
    async with running(documents, kubeconfig_path=kubeconfig, controllers=False) as sandbox:
        sys.stdout.write(f"{sandbox.url}\n")
        sys.stdout.flush()
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(serve(_BUILDERS[sys.argv[1]](int(sys.argv[2])), Path(sys.argv[3])))

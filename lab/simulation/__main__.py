"""`python -m lab.simulation`: a simulated vLLM server, as the program of a container.

It understands the port arguments of `vllm serve` and of KServe's server, and ignores all others.
`LOADING_SECONDS` is the time that it loads before it listens.
"""

import argparse
import asyncio
import os
import signal

from lab.simulation.pod_life import Phase
from lab.simulation.server import ModelPod


async def _serve(port: int, loading_seconds: float) -> None:
    """Load, then serve until SIGTERM, which process 1 of a container would otherwise ignore."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    async with ModelPod(host="0.0.0.0", port=port) as pod:  # noqa: S104 - the network is the pod's
        pod.become(Phase.LOADING_REFUSED)
        loop.call_later(loading_seconds, pod.become, Phase.IDLE)
        await stop.wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="vllm", description=__doc__)
    parser.add_argument("--port", "--http_port", type=int, default=8000)
    given, _ = parser.parse_known_args()
    asyncio.run(_serve(given.port, float(os.environ.get("LOADING_SECONDS", "0"))))


if __name__ == "__main__":
    main()

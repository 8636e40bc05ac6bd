"""Simulated pods that cost next to nothing: each serves the page of an idle engine, made once.

`python -m tests.bench.still_pods COUNT HANGING` serves so many, of which the last ones hang, on
addresses of their own and prints their port.
"""

import asyncio
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import cache
from itertools import islice

from lab.simulation import Life, Misbehaviour, ModelPod, Phase, render


class StillPod(ModelPod):
    """A pod whose page does not change."""

    def page(self) -> str:
        """Return the page."""
        return idle_page()


@cache
def idle_page() -> str:
    """Return the page of one engine that served requests and has none now."""
    began = time.time() - 600
    life = Life(began)
    life.advance(began + 500)
    life.become(Phase.IDLE, began + 600)
    return render(life)


def addresses(count: int) -> Iterator[str]:
    """Yield loopback addresses that nothing else uses."""
    every = (f"127.77.{high}.{low}" for high in range(256) for low in range(1, 255))
    return islice(every, count)


async def serve(count: int, hanging: int) -> None:
    """Serve until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with AsyncExitStack() as stack:
        port = 0
        for number, address in enumerate(addresses(count)):
            pod = await stack.enter_async_context(StillPod(host=address, port=port))
            port = pod.port
            if number >= count - hanging:
                pod.misbehave(Misbehaviour.HANG)
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))

"""What is recorded as data for the other tests: pages of an engine at the pace of a daemon."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from reporter.stacks.settings import FullDaemonSettings
from tests.engine.load import Clients, Load
from tests.engine.recording import FOLDER, save
from tests.engine.server import Server
from tests.engine.watching import Watch


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a series.

    Attributes:
        seconds: for which it lasts.
        load: the clients meanwhile.
        hangs: seconds for which the engine's process is stopped after that, while the clients wait.

    """

    seconds: float
    load: Load = field(default_factory=Load)
    hangs: float = 0.0


_FEW = Load(clients=3, think=0.2)
_MANY = Load(clients=26)

SERIES: dict[str, tuple[Part, ...]] = {
    "backlog": (Part(330, _FEW), Part(630, _MANY), Part(330)),
    "preempting": (Part(900, Load(clients=10, think=1.0)),),
    "collapse": (Part(160, _MANY, hangs=340),),
    "steady": (Part(50, _FEW),),
}
"""What is recorded: longer than the windows of the reasons that are held to it."""


async def record(name: str, server: Server, folder: Path = FOLDER) -> Path:
    """Load a server and write the pages that it served meanwhile; return where."""
    settings = FullDaemonSettings()
    period = settings.scrape_period
    times: list[float] = []
    pages: dict[float, bytes] = {}

    def keep(page: bytes) -> None:
        times.append(watch.now())
        pages[round((times[-1] - times[0]) / period) * period] = page

    watch = Watch(server.port, settings, keep)
    async with watch():
        for part in SERIES[name]:
            async with Clients(server.url).asking(part.load):
                await asyncio.sleep(part.seconds)
                if part.hangs:
                    async with server.hung():
                        await asyncio.sleep(part.hangs)
    path = folder / f"vllm-{await server.release()}-{name}.xz"
    save(path, pages)
    return path

"""The process that `memory` measures: `... memory_process FOLDER` prints its steps as JSON.

What it imports it imports step by step, so nothing else stands at its top.
"""

import gc
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

OWN_EVENTS: Final = "own-events.json"
"""The list of them, in the folder with all the others."""

_LIBRARIES: Final = (
    ("asyncio with TLS", ("asyncio", "ssl")),
    ("aiohttp", ("aiohttp", "aiohttp.web")),
    ("pydantic", ("pydantic",)),
    (
        "msgspec, prometheus-client, PyYAML, structlog",
        ("msgspec", "prometheus_client", "yaml", "structlog"),
    ),
)


class Step(NamedTuple):
    """What was done, and how many bytes of resident memory it added."""

    name: str
    added: int


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status has no VmRSS")


def steps(folder: Path) -> Iterator[Step]:
    """Take the steps, and yield each once it is done; what they make stays alive."""
    yield Step("Python", resident())
    for name, work in _work(folder, []):
        before = resident()
        work()
        yield Step(name, resident() - before)


def _work(folder: Path, kept: list[object]) -> Iterator[tuple[str, Callable[[], None]]]:
    for name, modules in _LIBRARIES:
        yield name, lambda modules=modules: kept.extend(map(import_module, modules))
    yield "what is used of kubernetes_asyncio", _library
    yield "the reporter's own modules", lambda: kept.append(import_module("reporter.daemon.main"))
    # What measures is loaded between two steps, so that it does not count.
    from tests.bench.listing import World

    world = World(folder)
    yield "the objects", world.list_all
    yield "the answers of the first pass", world.run_pass
    yield "own Events on record", world.list_own_events


def _library() -> None:
    from reporter.kube.library import library

    library()


if __name__ == "__main__":
    gc.disable()
    found = list(steps(Path(sys.argv[1])))
    import msgspec

    sys.stdout.buffer.write(msgspec.json.encode(found))

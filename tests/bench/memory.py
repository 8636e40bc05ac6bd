"""What the imports of the daemon keep resident, and what Events of ours add.

`python -m tests.bench.as_installed tests.bench.memory` prints it, as where only the product is installed.
Each package is charged with what its modules add themselves, in the order in which they are imported:
what two need is the first one's. Of memory that is mapped from files, processes of one node share most.
"""

import gc
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ExtensionFileLoader, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Final

_MB: Final = 1e6
_MOST: Final = 12
_PASSES: Final = 20
_SETS: Final = 1_000
_STATUS: Final = Path("/proc/self/status")


def main() -> None:
    """Print both."""
    before = resident()["VmRSS"]
    packages = import_daemon().most_common(_MOST)
    now = resident()
    held, later = own_events()
    rows = (
        ("resident after all imports", now["VmRSS"]),
        ("  of it Python before them", before),
        ("  mapped from files", now["RssFile"]),
        *((f"  {package}", cost) for package, cost in packages),
        ("objects for Events of ours", held),
        (f"  added by {_PASSES} more passes", later),
    )
    for name, size in rows:
        sys.stdout.write(f"{name:34}{size / _MB:8.1f} MB\n")


def resident() -> dict[str, int]:
    """Return bytes by the kernel's names: what is resident, and of what kind."""
    lines = (line.split() for line in _STATUS.read_text().splitlines())
    return {each[0].rstrip(":"): int(each[1]) * 1024 for each in lines if each[-1] == "kB"}


def import_daemon() -> Counter[str]:
    """Import what `run` does, and return what the modules of each package added."""
    costs: Counter[str] = Counter()
    inner: list[int] = []

    def timed(
        execute: Callable[[object, ModuleType], None],
    ) -> Callable[[object, ModuleType], None]:
        def run(loader: object, module: ModuleType) -> None:
            before = resident()["VmRSS"]
            inner.append(0)
            try:
                execute(loader, module)
            finally:
                added = resident()["VmRSS"] - before
                costs[module.__name__.partition(".")[0]] += added - inner.pop()
                if inner:
                    inner[-1] += added

        return run

    for loader in (SourceFileLoader, ExtensionFileLoader):
        setattr(loader, "exec_module", timed(loader.exec_module))  # noqa: B010 - no type checker lets a method be set
    for name in ("cli.main", "cli.run", "daemon.main"):
        import_module(f"reporter.{name}")
    import_module("reporter.kube.credentials").library()
    return costs


def own_events() -> tuple[int, int]:
    """Return the bytes that Events on record keep with the pass after, and what more passes add."""
    # Not before: it imports much of the reporter.
    from tests.bench.one_change import ON_RECORD, World

    world = World(_SETS)
    gc.collect()
    tracemalloc.start()
    world.put_on_record(ON_RECORD)
    world.run_pass()
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    for _ in range(_PASSES):
        world.run_pass()
    gc.collect()
    later, _ = tracemalloc.get_traced_memory()
    return held, later - held


if __name__ == "__main__":
    main()

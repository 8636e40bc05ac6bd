"""`python -m tests.bench.memory`: where the memory of the daemon goes, step by step.

A process does what the daemon does before it serves, with the image's settings of the allocator, and
notes after each step how much more memory it has. The daemon has more: connections, buffers, what
its first lists left in the allocator; `make bench ARGS=--moving` shows it as a whole.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from tests.bench.as_installed import compile_reporter
from tests.bench.cluster import build, models
from tests.bench.evaluation import pages_of
from tests.bench.listing import READ
from tests.bench.memory_process import OWN_EVENTS, Step
from tests.bench.own_events import page_of_events
from tests.bench.processes import allocator

_SIZES: Final = (10, 1000, 5000)
_MEGABYTE: Final = 1e6

EVENTS_OF_A_SET: Final = 3
"""About what an hour leaves in which each set broke and recovered."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    options = _parser().parse_args(arguments)
    compile_reporter()
    found = [measure(size) for size in options.sizes]
    header = "".join(f"{f'{size} sets':>12}" for size in options.sizes)
    sys.stdout.write(f"{'MB more after':44}{header}\n")
    for steps in zip(*found, strict=True):
        sys.stdout.write(_line(steps[0].name, [step.added for step in steps]))
    sys.stdout.write(_line("in all", [sum(step.added for step in steps) for steps in found]))
    return 0


def measure(sets: int) -> list[Step]:
    """Return the steps with so many InferenceSets."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        pages = pages_of(build(sets))
        for resource in READ:
            for number, page in enumerate(pages[resource]):
                (folder / f"{resource.crd_name}-{number:04}.json").write_bytes(page)
        (folder / OWN_EVENTS).write_bytes(page_of_events(models(sets), EVENTS_OF_A_SET * sets))
        module = f"{__package__}.memory_process"
        output = subprocess.run(
            [sys.executable, "-m", f"{__package__}.as_installed", module, name],
            env=os.environ | allocator(),
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
    return msgspec.json.decode(output, type=list[Step])


def _line(name: str, added: Sequence[int]) -> str:
    return f"{name:44}{''.join(f'{each / _MEGABYTE:12.1f}' for each in added)}\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.memory", description=__doc__)
    parser.add_argument(
        "--sizes", type=_sizes, default=_SIZES, help="numbers of InferenceSets, comma-separated"
    )
    return parser


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


if __name__ == "__main__":
    sys.exit(main())

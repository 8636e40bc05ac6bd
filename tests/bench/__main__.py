"""`make bench`: what the reporter costs, at several sizes, beside what it should cost at most."""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final

from tests.bench import noise, pages, scraping
from tests.bench.cluster import SETS_PER_NAMESPACE, build
from tests.bench.evaluation import measure
from tests.bench.live import measure_live
from tests.bench.moving import measure_moving
from tests.bench.moving_table import Moving, render_moving
from tests.bench.one_change import measure_one_change
from tests.bench.processes import BenchError
from tests.bench.servers import real_server, sandbox_server
from tests.bench.table import Numbers, lines_of, rows

_SIZES: Final = (10, 100, 1000)
_CHANGES: Final = 30
_CHURN_SECONDS: Final = 60.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 0 unless something could not be measured."""
    options = _parser().parse_args(arguments)
    tell = _Progress()
    try:
        if not (options.real or options.moving):
            _at_rest(options, tell)
        server = real_server if options.real else sandbox_server
        name = "etcd and kube-apiserver" if options.real else "the sandbox"
        moving, loads = [], []
        for run in range(options.runs):
            loads.append(noise.load())
            moving.append(list[Moving]())
            for sets in options.sizes:
                tell(f"{sets} InferenceSets, when things move, run {run + 1}")
                numbers = measure_moving(sets, server, options.churn_seconds, tell=tell)
                moving[-1].append(Moving(sets, asyncio.run(numbers)))
    except BenchError as error:
        sys.stderr.write(f"bench: {error}\n")
        return 1
    tell("done")
    sys.stdout.write(f"\n{render_moving(moving, name, loads)}\n")
    return 0


def _at_rest(options: argparse.Namespace, tell: Callable[[str], None]) -> None:
    """Measure what needs no burst: passes, pages, scraping, single changes."""
    tell("reading pages")
    sys.stdout.write(f"{pages.render(pages.measure())}\n")
    tell("scraping")
    sys.stdout.write(f"{scraping.render(asyncio.run(scraping.measure()))}\n")
    found, loads = [], []
    for run in range(options.runs):
        loads.append(noise.load())
        tell(f"run {run + 1}")
        found.append([_of_size(sets, options.changes, tell) for sets in options.sizes])
    header = [f"{sets} sets" for sets in options.sizes]
    lines = lines_of(header, noise.together([rows(each) for each in found], loads))
    sys.stdout.write("\n".join(["", noise.line_of(loads), *lines, ""]))


def _of_size(sets: int, changes: int, tell: Callable[[str], None]) -> Numbers:
    namespaces = -(-sets // SETS_PER_NAMESPACE)
    tell(f"{sets} InferenceSets in {namespaces} namespace(s): passes")
    passes = measure(build(sets))
    tell("passes after one change")
    one_change = measure_one_change(sets)
    live = asyncio.run(measure_live(sets, changes, tell))
    return Numbers(passes, one_change, live)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "--sizes", type=_sizes, default=_SIZES, help="numbers of InferenceSets, comma-separated"
    )
    parser.add_argument(
        "--runs", type=int, default=3, help="of each figure: its median is shown, least and most"
    )
    parser.add_argument("--changes", type=int, default=_CHANGES, help="changes to time")
    parser.add_argument("--moving", action="store_true", help="only what it costs when things move")
    parser.add_argument(
        "--real",
        action="store_true",
        help="the same against etcd and kube-apiserver (make envtest)",
    )
    parser.add_argument(
        "--churn-seconds", type=float, default=_CHURN_SECONDS, help="how long many objects change"
    )
    return parser


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


class _Progress:
    """Says what is being done, and when since the start."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def __call__(self, what: str) -> None:
        sys.stdout.write(f"{time.monotonic() - self._began:6.1f} s  {what}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

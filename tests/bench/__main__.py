"""`make bench`: what the reporter costs, at several sizes, beside what it should cost at most."""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from tests.bench import noise, pages, scraping
from tests.bench.cluster import SETS_PER_NAMESPACE, build
from tests.bench.daemon_process import SELF_CHECK
from tests.bench.evaluation import measure
from tests.bench.live import measure_live
from tests.bench.moving import measure_moving
from tests.bench.moving_table import Moving, render_moving
from tests.bench.one_change import ChangeTimes, measure_one_change
from tests.bench.processes import BenchError
from tests.bench.servers import real_server, sandbox_server
from tests.bench.table import Numbers, lines_of, one_change_rows, rows

_SIZES: Final = (10, 100, 1000)
_CHANGES: Final = 30
_CHURN_SECONDS: Final = 60.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 0 unless something could not be measured."""
    options = _parser().parse_args(arguments)
    tell = _Progress()
    os.environ[SELF_CHECK] = str(options.self_check_seconds)
    found: dict[str, object] = {}
    try:
        if options.real:
            found["one_change"] = _after_one_change(options.sizes, options.runs, tell)
        elif not options.moving:
            found |= _at_rest(options, tell)
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
    if options.json is not None:
        found["moving"] = moving
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(found)))
    return 0


def _after_one_change(
    sizes: Sequence[int], runs: int, tell: Callable[[str], None]
) -> list[list[ChangeTimes]]:
    """Measure passes after one change, which no API server has a part in."""
    found, loads = [], []
    for run in range(runs):
        loads.append(noise.load())
        tell(f"passes after one change, run {run + 1}")
        found.append([measure_one_change(sets) for sets in sizes])
    table = noise.together([one_change_rows(each) for each in found], loads)
    header = [f"{sets} sets" for sets in sizes]
    lines = [noise.line_of(loads), *lines_of(header, table)]
    sys.stdout.write("\n".join(["", *lines, "", ""]))
    return found


def _at_rest(options: argparse.Namespace, tell: Callable[[str], None]) -> dict[str, object]:
    """Measure what needs no burst: passes, pages, scraping, single changes."""
    tell("reading pages")
    reading = pages.measure()
    sys.stdout.write(f"{pages.render(reading)}\n")
    tell("scraping")
    scraped = asyncio.run(scraping.measure())
    sys.stdout.write(f"{scraping.render(scraped)}\n")
    found, loads = [], []
    for run in range(options.runs):
        loads.append(noise.load())
        tell(f"run {run + 1}")
        found.append([_of_size(sets, options.changes, tell) for sets in options.sizes])
    header = [f"{sets} sets" for sets in options.sizes]
    lines = lines_of(header, noise.together([rows(each) for each in found], loads))
    sys.stdout.write("\n".join(["", noise.line_of(loads), *lines, ""]))
    return {"sizes": found, "page": reading, "scraping": scraped}


def _of_size(sets: int, changes: int, tell: Callable[[str], None]) -> Numbers:
    namespaces = -(-sets // SETS_PER_NAMESPACE)
    tell(f"{sets} InferenceSets in {namespaces} namespace(s): passes")
    passes = measure(build(sets))
    tell("passes after one change")
    one_change = measure_one_change(sets)
    live = asyncio.run(measure_live(sets, changes, tell))
    return Numbers(sets, passes, one_change, live)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "--sizes", type=_sizes, default=_SIZES, help="numbers of InferenceSets, comma-separated"
    )
    parser.add_argument(
        "--runs", type=int, default=3, help="of each figure: its median is shown, least and most"
    )
    parser.add_argument(
        "--changes", type=int, default=_CHANGES, help="changes to time, for each added delay"
    )
    parser.add_argument("--moving", action="store_true", help="only what it costs when things move")
    parser.add_argument(
        "--real",
        action="store_true",
        help="the same against etcd and kube-apiserver (make envtest)",
    )
    parser.add_argument(
        "--churn-seconds", type=float, default=_CHURN_SECONDS, help="how long many objects change"
    )
    parser.add_argument(
        "--self-check-seconds",
        type=int,
        default=600,
        help="how often the daemon makes a pass again from nothing (600, as by default)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there")
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

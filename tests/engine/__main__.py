"""`make engine-check`: a real vLLM on this machine's CPU, under load, as the daemon sees it.

Fails if the reader makes anything else of a page than prometheus-client does, if a reason that has to fire does
not, or if another one does.
"""

import argparse
import asyncio
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.engine import acts, tiny_model
from tests.engine.errors import EngineError
from tests.engine.installing import engine_python, pinned
from tests.engine.play import Played, play
from tests.engine.series import SERIES, record
from tests.engine.server import Server
from tests.engine.watching import Watch


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the acts and print what was told; 0 only if all of it is as it has to be."""
    parser = argparse.ArgumentParser(prog="python -m tests.engine", description=__doc__)
    parser.add_argument(
        "--record",
        choices=SERIES,
        help="record pages at a daemon's pace as data for the other tests, instead; a quarter of an hour or more",
    )
    parser.add_argument("--release", help=f"another release of vLLM than {pinned()}")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        python = engine_python(options.release)
        return asyncio.run(_with_server(python, options.record))
    except EngineError as error:
        sys.stderr.write(f"engine-check: {error}\n")
        return 2


async def _with_server(python: Path, recorded: str | None) -> int:
    with tempfile.TemporaryDirectory(prefix="status-reporter-engine-") as name:
        folder = Path(name)
        model, log = tiny_model.make(folder / "model"), folder / "vllm.log"
        server = Server(python, model, log, flags=acts.FLAGS if recorded is None else ())
        try:
            await server.start()
            if recorded is None:
                return await _check(server)
            _print(f"recorded: {await record(recorded, server)}")
            return 0
        finally:
            await server.stop()


async def _check(server: Server) -> int:
    watch = Watch(server.port, acts.settings())
    async with watch():
        played = await play(acts.ACTS, server, watch, say=_say)
    different = watch.seen.different
    _print(
        f"{watch.seen.pages} pages read; {len(different)} of them not as prometheus-client reads them"
    )
    for each in different[:5]:
        _print(f"  {each}")
    failed = [each for each in played if each.wrong]
    _print(f"{len(played) - len(failed)} acts as they have to be, {len(failed)} not")
    return 1 if failed or different or not watch.seen.pages else 0


def _say(done: Played) -> None:
    outcomes = ", ".join(f"{count} {what}" for what, count in sorted(done.outcomes.items()))
    _print(f"{done.began:6.0f} s  {done.act.name}{f' ({outcomes})' if outcomes else ''}")
    for change in done.changes:
        what = "is over" if change.fires is None else f"fires: {change.fires}"
        _print(f"{change.at:6.0f} s    {change.reason} {what}")
    for wrong in done.wrong:
        _print(f"          WRONG: {wrong}")


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

"""`make fuzz`: bytes from a hostile pod, for a while.

With atheris, where it is installed (the dependency group `fuzz`), guided by coverage; else by
changes to the seeds at random, which a number repeats.
"""

import argparse
import importlib.util
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.fuzz.mutation import mutations

_FAILED: Final = Path("fuzz-failure.bin")


class Target(NamedTuple):
    """What is fuzzed: the check, inputs to begin with, and parts that make interesting ones."""

    check: Callable[[bytes], None]
    seeds: Sequence[bytes]
    tokens: Sequence[bytes]


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz; 1 and the input in a file if a check failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--target", choices=TARGETS, default="pages")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=None, help="repeats a run without atheris")
    options = parser.parse_args(arguments)
    if importlib.util.find_spec("atheris") is not None and options.seed is None:
        return _guided(TARGETS[options.target], options.seconds)
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    return _unguided(TARGETS[options.target](), options.seconds, seed)


def _pages() -> Target:
    from tests.fuzz import pages

    return Target(pages.check, pages.SEEDS, pages.TOKENS)


TARGETS: Final = {"pages": _pages}


def _unguided(target: Target, seconds: int, seed: int) -> int:
    sys.stdout.write(f"seed {seed}, {seconds} s\n")
    end = time.monotonic() + seconds
    count = 0
    for data in mutations(target.seeds, target.tokens, random.Random(seed)):
        if time.monotonic() > end:
            break
        try:
            target.check(data)
        except Exception:
            _FAILED.write_bytes(data)
            sys.stderr.write(f"fuzz: failed after {count} inputs; the input is in {_FAILED}\n")
            raise
        count += 1
    sys.stdout.write(f"{count} inputs, nothing but the documented error came out\n")
    return 0


def _guided(make: Callable[[], Target], seconds: int) -> int:
    import atheris

    with atheris.instrument_imports(include=["reporter"]):
        target = make()
    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(target.seeds):
            (Path(folder) / str(number)).write_bytes(data)
        words = Path(folder).with_suffix(".dict")
        words.write_text("".join(f'"{_quoted(token)}"\n' for token in target.tokens))
        options = [f"-max_total_time={seconds}", f"-dict={words}", "-max_len=200000", "-timeout=20"]
        atheris.Setup([sys.argv[0], folder, *options], target.check)
        atheris.Fuzz()
    return 0


def _quoted(token: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in token)


if __name__ == "__main__":
    sys.exit(main())

"""A wall clock that can be moved while a process runs: libfaketime, built once per machine."""

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from e2e.envtest.binaries import cache
from e2e.envtest.errors import EnvtestError
from locks.pip import WHEELS, command, locked

_PINNED: Final = Path(__file__).with_name("libfaketime.txt")
_BUILD: Final = Path(__file__).with_name("libfaketime-build.txt")
_LIBRARY: Final = Path("libfaketime/vendor/libfaketime/src/libfaketime.so.1")


def environment(clock: Path) -> dict[str, str]:
    """Return the environment that makes a process use the clock in a file.

    Clocks that are never set, which measure leases and back-off, stay real.
    """
    return {
        "LD_PRELOAD": str(_library()),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def set_clock(clock: Path, seconds: int) -> None:
    """Set the clock to so many seconds ahead of the real one."""
    fresh = clock.with_suffix(".fresh")
    fresh.write_text(f"{seconds:+d}")
    fresh.replace(clock)


def _library() -> Path:
    folder = cache() / "libfaketime" / hashlib.sha256(_PINNED.read_bytes()).hexdigest()[:12]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / _LIBRARY).exists():
            _build(folder)
    return folder / _LIBRARY


def _build(folder: Path) -> None:
    print("chaos: building libfaketime, once per machine, some seconds", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        for what in (
            (*locked(_BUILD), WHEELS, "--target", f"{made}/build"),
            (*locked(_PINNED), "--no-build-isolation", "--target", f"{made}/new"),
        ):
            done = subprocess.run(
                command("install", *what), capture_output=True, text=True, check=False,
                env=os.environ | {"MAKEFLAGS": "", "PYTHONPATH": f"{made}/build"},
            )  # fmt: skip
            if done.returncode:
                raise EnvtestError(
                    "libfaketime was not built; a C compiler and make are needed:\n"
                    f"{done.stderr[-2000:]}"
                )
        Path(made, "new").rename(folder)

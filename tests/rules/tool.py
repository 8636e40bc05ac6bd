"""Where promtool comes from.

`PROMTOOL` names one; else the machine's is taken (Debian's package `prometheus` brings it); else it
is built from the Go module beside this file, once per machine and content of that module.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from e2e.envtest import binaries
from e2e.envtest.errors import EnvtestError

MODULE = Path(__file__).parent / "promtool"
PACKAGE = "github.com/prometheus/prometheus/cmd/promtool"


class NoPromtoolError(Exception):
    """There is no promtool, and none could be built; the message says what to do."""


def promtool() -> Path:
    """Return the program, building it where it is missing."""
    named = os.environ.get("PROMTOOL")
    if named:
        found = shutil.which(named)
        if found is None:
            raise NoPromtoolError(f"PROMTOOL={named} is no program: name one, or unset it")
        return Path(found)
    own = shutil.which("promtool")
    return Path(own) if own else _built()


def _built() -> Path:
    content = b"".join((MODULE / name).read_bytes() for name in ("go.mod", "go.sum"))
    folder = binaries.cache() / "promtool" / hashlib.sha256(content).hexdigest()[:12]
    program = folder / "promtool"
    with binaries._only_one(binaries.cache() / "promtool.lock"):
        if not program.exists():
            _build(program)
    return program


def _build(program: Path) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.write("rules: building promtool, once per machine, some minutes\n")
    made = program.with_suffix(".new")
    # It speaks to no service discovery here, whose libraries are most of it.
    flags = ["-trimpath", "-mod=readonly", "-tags", "remove_all_sd", "-ldflags", "-s -w"]
    try:
        done = subprocess.run(
            [binaries._go(), "build", *flags, "-o", made, PACKAGE],
            cwd=MODULE,
            env={**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"},
            capture_output=True,
            text=True,
            check=False,
        )
    except EnvtestError as error:
        raise NoPromtoolError(f"no promtool and no Go to build it: {error}") from None
    if done.returncode:
        raise NoPromtoolError(
            "promtool could not be built; install one (Debian: apt-get install prometheus), or name it "
            f"with PROMTOOL:\n{done.stderr[-2000:]}"
        )
    made.rename(program)

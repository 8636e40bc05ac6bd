"""Programs in Go that tests and checks use: built once per machine and content of the module that pins them."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from e2e.envtest import binaries
from e2e.envtest.errors import EnvtestError


class NotBuiltError(Exception):
    """There is no Go, or the build failed; the message says why."""


def built(module: Path, package: str, flags: Sequence[str] = ()) -> Path:
    """Return a program, building it where it is missing.

    Args:
        module: folder of the Go module that pins it; its name is that of the program.
        package: what is built.
        flags: more arguments for `go build`.

    Raises:
        NotBuiltError: it could not be built.

    """
    content = b"".join((module / name).read_bytes() for name in ("go.mod", "go.sum"))
    folder = binaries.cache() / module.name / hashlib.sha256(content).hexdigest()[:12]
    program = folder / module.name
    with binaries._only_one(binaries.cache() / f"{module.name}.lock"):
        if not program.exists():
            _build(program, module, package, flags=flags)
    return program


def _build(program: Path, module: Path, package: str, *, flags: Sequence[str]) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.write(f"building {program.name}, once per machine, some minutes\n")
    made = program.with_suffix(".new")
    try:
        go = binaries._go()
    except EnvtestError as error:
        raise NotBuiltError(f"no Go to build it: {error}") from None
    done = subprocess.run(
        [
            go,
            "build",
            "-trimpath",
            "-mod=readonly",
            *flags,
            "-ldflags",
            "-s -w",
            "-o",
            made,
            package,
        ],
        cwd=module,
        env={**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise NotBuiltError(f"it could not be built:\n{done.stderr[-2000:]}")
    made.rename(program)

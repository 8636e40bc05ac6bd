"""Programs in Go that tests and checks use: built once per machine and content of the module that pins them."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from e2e.envtest import binaries
from e2e.envtest.commands import EnvtestError


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
    with binaries.only_one(binaries.cache() / f"{module.name}.lock"):
        if not program.exists():
            _build(program, module, package, flags=flags)
    return program


def built_from_copy(module: Path, source: str, *, file: str) -> Path:
    """Return a program of a module that leaves out a file which it embeds: what it serves there is not tested.

    Args:
        module: folder of the Go module that pins the version.
        source: the module that has the program, in `cmd/`.
        file: what is left out, below the folder of that module.

    Raises:
        NotBuiltError: it could not be built.

    """
    name = source.rpartition("/")[2]
    pinned = next(
        line
        for line in (module / "go.mod").read_text().splitlines()
        if source in line and " v" in line
    )
    version = pinned.split()[1]
    program = binaries.cache() / name / version / name
    with (
        binaries.only_one(binaries.cache() / f"{name}.lock"),
        tempfile.TemporaryDirectory() as made,
    ):
        if not program.exists():
            told = _go("mod", "download", "-json", f"{source}@{version}", cwd=Path(made))
            copy = Path(made) / name
            shutil.copytree(json.loads(told)["Dir"], copy, copy_function=shutil.copyfile)
            for each in (copy, *copy.rglob("*/")):
                each.chmod(0o755)
            (copy / file).parent.mkdir(parents=True)
            (copy / file).write_bytes(b"")
            _build(program, copy, f"./cmd/{name}", flags=())
    return program


def _build(program: Path, module: Path, package: str, *, flags: Sequence[str]) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.write(f"building {program.name}, once per machine, some minutes\n")
    made = program.with_suffix(".new")
    build = ("build", "-trimpath", "-mod=readonly", *flags, "-ldflags", "-s -w", "-o", str(made))
    _go(*build, package, cwd=module)
    made.rename(program)


def _go(*arguments: str, cwd: Path) -> str:
    try:
        go = binaries._go()
    except EnvtestError as error:
        raise NotBuiltError(f"no Go to build it: {error}") from None
    done = subprocess.run(
        [go, *arguments],
        cwd=cwd,
        env={**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise NotBuiltError(f"it could not be built:\n{done.stderr[-2000:]}")
    return done.stdout

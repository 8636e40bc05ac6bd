"""`python -m release.trial DIST`: install what was released into an empty environment, and use it.

Libraries come from the package index, as the lock in the folder has them.
"""

import os
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from locks.pip import REQUIREMENTS, locked
from release.build import SUMS
from release.krew import BIN

_DEMO: Final = ("demo", "--fast")
_SECONDS: Final = 600.0
_OURS: Final = ("PYTHON", "STATUS_REPORTER", "VIRTUAL_ENV")
"""Beginnings of the variables that would let the checkout in."""


class TrialError(Exception):
    """Something that was released does not work; the message says what, and what it printed."""


def main() -> int:
    """Try it, and say what was tried."""
    dist = Path(sys.argv[1]).resolve()
    try:
        with TemporaryDirectory() as name:
            folder = Path(name)
            _require("sha256sum", "--check", "--quiet", "--strict", SUMS, cwd=dist)
            program = _installed(dist, folder)
            said = _require(str(program), "--version", cwd=folder)
            told = _require(str(program), *_DEMO, cwd=folder)
            plugin = _require(str(_plugin(dist, folder)), "--explain", "clusterReady", cwd=folder)
    except TrialError as error:
        sys.stderr.write(f"release: {error}\n")
        return 1
    for text in (said, told.splitlines()[-1].lstrip("# "), plugin.splitlines()[0]):
        sys.stdout.write(f"{text.strip()}\n")
    return 0


def _installed(dist: Path, folder: Path) -> Path:
    """Do the two commands of docs/release.md, and return the program."""
    _require(sys.executable, "-m", "venv", "reporter", cwd=folder)
    python = folder / "reporter" / "bin" / "python"
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    _require(str(python), *pip, *locked(dist / REQUIREMENTS), cwd=folder)
    return python.with_name("status-reporter")


def _plugin(dist: Path, folder: Path) -> Path:
    """Unpack the plugin as krew does."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    (archive,) = dist.glob(f"{BIN}-*-linux-{machine}.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder / "krew", filter="data")
    return folder / "krew" / BIN


def _require(*words: str, cwd: Path) -> str:
    """Return what a command printed.

    Raises:
        TrialError: it failed.

    """
    environment = {name: text for name, text in os.environ.items() if not name.startswith(_OURS)}
    done = subprocess.run(  # noqa: S603  # our own words
        words,
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_SECONDS,
        text=True,
        check=False,
    )
    if done.returncode:
        raise TrialError(f"{' '.join(words)}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())

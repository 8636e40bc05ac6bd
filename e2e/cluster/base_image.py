"""A base image without a registry: a minimal Debian 12 with the running Python.

It replaces the image in `Dockerfile.status-reporter`, with Python in `/usr/local` too. It is built
once per machine.
"""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from e2e.cluster.host import run, say
from e2e.envtest.binaries import cache
from image.check.base import copy_python

_SUITE: Final = "bookworm"
_LIBRARIES: Final = (
    "ca-certificates", "libbz2-1.0", "libexpat1", "libffi8", "libgdbm6", "liblzma5", "libncursesw6",
    "libreadline8", "libsqlite3-0", "libssl3", "libuuid1", "netbase", "tzdata",
)  # fmt: skip
"""Libraries that modules of Python are linked with, and the rest of Docker's image."""

_SOURCES: Final = Path("/etc/apt/sources.list.d/debian.sources")


def base_root() -> Path:
    """Return the root file system as a tar file, creating it if it is missing."""
    python = sys.version.split()[0]
    made = cache() / "cluster" / f"base-{_SUITE}-{python}.tar"
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        say(f"making {made.name}; once per machine")
        with tempfile.TemporaryDirectory(dir=made.parent) as folder:
            _make(Path(folder) / "root", Path(folder) / made.name)
            (Path(folder) / made.name).rename(made)
    return made


def _make(root: Path, tar: Path) -> None:
    # The sources of this machine's packages are not for the image.
    sources = [str(_SOURCES)] if _SOURCES.exists() else []
    include = f"--include={','.join(_LIBRARIES)}"
    no_more = '--aptopt=APT::Install-Recommends "false"'
    run(["mmdebstrap", "--variant=minbase", include, no_more, _SUITE, str(root), *sources])
    local = root / "usr" / "local"
    copy_python(local)
    (local / "bin" / "python").symlink_to("python3")
    shutil.rmtree(root / "etc" / "apt" / "sources.list.d", ignore_errors=True)
    run(["ldconfig", "-r", str(root)])
    run(["chroot", str(root), "/usr/local/bin/python", "-m", "ensurepip"])
    run(
        [
            "tar",
            "--create",
            "--numeric-owner",
            "--one-file-system",
            f"--file={tar}",
            f"--directory={root}",
            ".",
        ]
    )

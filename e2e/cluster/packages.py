"""Debian's packages that the cluster needs, and a base image made of some, without a registry."""

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from e2e.envtest.binaries import cache
from e2e.envtest.commands import EnvtestError, run
from image.check.base import copy_python

NEEDED: Final[Mapping[str, str]] = {
    "containerd": "containerd",
    "runc": "runc",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
    "podman": "podman",
    "/usr/share/containers/seccomp.json": "golang-github-containers-common",
    "catatonit": "catatonit",
    "mmdebstrap": "mmdebstrap",
    "/bin/busybox": "busybox-static",
    "iptables": "iptables",
    "conntrack": "conntrack",
    "ip": "iproute2",
    "sysctl": "procps",
    "nsenter": "util-linux",
}
"""Required programs and files, and the packages that have them."""


def _is_there(what: str) -> bool:
    return Path(what).exists() if what.startswith("/") else shutil.which(what) is not None


def install() -> None:
    """Install missing packages, on Debian as root.

    Raises:
        EnvtestError: this is not root, or there is no apt; the message names what is missing.
    """
    wanted = sorted({package for what, package in NEEDED.items() if not _is_there(what)})
    if not wanted:
        return
    if os.geteuid() or not shutil.which("apt-get"):
        raise EnvtestError(f"missing, install them as root: {' '.join(wanted)}")
    say(f"installing {' '.join(wanted)}")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "update", "-q"], env=env)
    run(["apt-get", "install", "-q", "-y", "--no-install-recommends", *wanted], env=env)


_SUITE: Final = "bookworm"
_LIBRARIES: Final = (
    "ca-certificates", "libbz2-1.0", "libexpat1", "libffi8", "libgdbm6", "liblzma5", "libncursesw6",
    "libreadline8", "libsqlite3-0", "libssl3", "libuuid1", "netbase", "tzdata",
)  # fmt: skip
"""Libraries that modules of Python are linked with, and the rest of Docker's image."""

_SOURCES: Final = Path("/etc/apt/sources.list.d/debian.sources")


def base_root() -> Path:
    """Return a minimal Debian 12 with the running Python, as a tar file, made once per machine.

    It replaces the image in `Dockerfile.status-reporter`, with Python in `/usr/local` too.
    """
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
    pack = ["tar", "--create", "--numeric-owner", "--one-file-system"]
    run([*pack, f"--file={tar}", f"--directory={root}", "."])


def say(text: str) -> None:
    print(f"cluster: {text}", file=sys.stderr, flush=True)

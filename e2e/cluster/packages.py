"""Debian's packages that the cluster needs."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from e2e.cluster.host import run, say
from e2e.envtest.errors import EnvtestError

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


def missing() -> list[str]:
    """Return the packages that are not installed."""
    return sorted({package for what, package in NEEDED.items() if not _is_there(what)})


def _is_there(what: str) -> bool:
    return Path(what).exists() if what.startswith("/") else shutil.which(what) is not None


def install() -> None:
    """Install missing packages, on Debian as root.

    Raises:
        EnvtestError: this is not root, or there is no apt; the message names what is missing.
    """
    wanted = missing()
    if not wanted:
        return
    if os.geteuid() or not shutil.which("apt-get"):
        raise EnvtestError(f"missing, install them as root: {' '.join(wanted)}")
    say(f"installing {' '.join(wanted)}")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "update", "-q"], env=env)
    run(["apt-get", "install", "-q", "-y", "--no-install-recommends", *wanted], env=env)

"""The cgroups of the pods, in each hierarchy that this host has (version 1 has one per controller)."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from e2e.cluster.settings import CGROUPS
from e2e.envtest.errors import EnvtestError

_END_SECONDS: Final = 30.0


def _hierarchies() -> Iterator[Path]:
    for line in Path("/proc/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        if kind in ("cgroup", "cgroup2"):
            yield Path(place)


def cgroups() -> list[Path]:
    """Return the existing ones, the innermost first."""
    tops = [top / name for top in _hierarchies() for name in CGROUPS if (top / name).exists()]
    found = [each for top in tops for each in top.rglob("*/")]
    return sorted({*found, *tops}, key=lambda path: len(path.parts), reverse=True)


def make_cgroups(name: str) -> None:
    """Create the cgroup of a node, since the kubelet requires its root to exist."""
    for top in _hierarchies():
        (top / name).mkdir(exist_ok=True)
        for setting in ("cpuset.cpus", "cpuset.mems"):
            if (top / setting).exists():
                (top / name / setting).write_text((top / setting).read_text())


def remove_cgroups() -> None:
    """Remove it with everything below, once the processes in it have ended.

    Raises:
        EnvtestError: a process in it does not end.
    """
    end = time.monotonic() + _END_SECONDS
    while left := cgroups():
        for each in left:
            with contextlib.suppress(OSError):
                each.rmdir()
        if time.monotonic() > end:
            raise EnvtestError(f"processes live on in {left[-1]}")
        time.sleep(0.05)

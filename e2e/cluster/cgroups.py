"""The cgroup of the pods, in each hierarchy that this host has (version 1 has one per controller)."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from e2e.cluster.settings import CGROUP
from e2e.envtest.errors import EnvtestError

_END_SECONDS: Final = 30.0


def _hierarchies() -> Iterator[Path]:
    for line in Path("/proc/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        if kind in ("cgroup", "cgroup2"):
            yield Path(place)


def cgroups() -> list[Path]:
    """Return those that there are, the innermost first."""
    found = [each for top in _hierarchies() for each in (top / CGROUP).rglob("*/")]
    tops = [top / CGROUP for top in _hierarchies() if (top / CGROUP).exists()]
    return sorted({*found, *tops}, key=lambda path: len(path.parts), reverse=True)


def make_cgroups() -> None:
    """Make it, since the kubelet wants its root to be there."""
    for top in _hierarchies():
        (top / CGROUP).mkdir(exist_ok=True)
        _inherit_cpuset(top)


def _inherit_cpuset(top: Path) -> None:
    for name in ("cpuset.cpus", "cpuset.mems"):
        if (top / name).exists():
            (top / CGROUP / name).write_text((top / name).read_text())


def remove_cgroups() -> None:
    """Remove it with all below, once the processes in it have ended.

    Raises:
        EnvtestError: something lives on in it.
    """
    end = time.monotonic() + _END_SECONDS
    while left := cgroups():
        for each in left:
            with contextlib.suppress(OSError):
                each.rmdir()
        if time.monotonic() > end:
            raise EnvtestError(f"processes live on in {left[-1]}")
        time.sleep(0.05)

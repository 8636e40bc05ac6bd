"""The images that the node has: the reporter's, a pause image, and one for workloads."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from e2e.cluster.archive import write_archive
from e2e.cluster.base_image import base_root
from e2e.cluster.host import run
from e2e.cluster.programs import ROOT
from e2e.cluster.settings import PAUSE_IMAGE
from e2e.envtest.binaries import cache
from e2e.envtest.errors import EnvtestError

REPOSITORY: Final = "registry.example/productionstack-status-reporter"
"""Name of the reporter's image, which no registry has."""

BUSYBOX_IMAGE: Final = "registry.example/busybox:1"

_APPLETS: Final = (
    "sh",
    "sleep",
    "cat",
    "head",
    "tail",
    "echo",
    "true",
    "false",
    "dd",
    "httpd",
    "mkdir",
)
_RUN: Final = "/run/status-reporter-podman"
"""Podman takes no path of more than 50 characters."""

_ENDING: Final = (
    "setpriv", "--pdeathsig", "KILL",
    "unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc",
)  # fmt: skip
"""Ends the processes and mounts of a build together with its caller."""

_DOCKERFILE: Final = ROOT / "Dockerfile.status-reporter"
_KEPT_HOURS: Final = 24
"""How long layers of earlier builds are kept."""

_OF_THE_MACHINE: Final = ("/etc/pip.conf", "/etc/ssl/certs")
"""Variables for this machine's package index, which an image lacks."""


@dataclass(frozen=True)
class Podman:
    """Podman with its own storage, so that the machine's is not touched.

    Attributes:
        storage: its folder.
    """

    storage: Path

    @property
    def command(self) -> Sequence[str]:
        """The program, with the flags of every call."""
        return (
            "podman", f"--root={self.storage}", f"--runroot={_RUN}", f"--tmpdir={_RUN}/libpod",
            "--cgroup-manager=cgroupfs",
        )  # fmt: skip

    def __call__(self, *arguments: str) -> str:
        """Run it and return what it printed."""
        return run([*_ENDING, *self.command, *arguments])


def build_reporter() -> Path:
    """Build the reporter's image by `make image`, on the stand-in for its base.

    Podman's storage is kept between runs, so unchanged layers are not built again.

    Returns:
        The archive that `make image-load LOAD_INTO=tar` writes.
    """
    storage = cache() / "cluster" / "podman"
    storage.mkdir(parents=True, exist_ok=True)
    try:
        return _build(Podman(storage))
    finally:
        shutil.rmtree(_RUN, ignore_errors=True)


def _build(engine: Podman) -> Path:
    base = _base_name()
    local = f"localhost/{base}"
    if subprocess.run([*engine.command, "image", "exists", local], check=False).returncode:
        engine(
            "import", "--change", "ENV PATH=/usr/local/bin:/usr/bin:/bin", str(base_root()), local
        )
    mounted = [f"--volume={path}:{path}:ro" for path in _OF_THE_MACHINE if Path(path).exists()]
    limits = ["--ulimit=nofile=1024:1024", "--ulimit=nproc=1000:1000"]
    flags = [f"--build-arg=BASE_IMAGE={local}", "--network=host", *limits, *mounted]
    _make(engine, "image", IMAGE_FLAGS=" ".join(flags))
    _make(engine, "image-load", LOAD_INTO="tar")
    engine("image", "prune", "--force", "--filter", f"until={_KEPT_HOURS}h")
    return ROOT / "build" / "image.tar"


def _base_name() -> str:
    found = re.search(r"^ARG BASE_IMAGE=(\S+)$", _DOCKERFILE.read_text(), re.MULTILINE)
    if found is None:
        raise EnvtestError(f"{_DOCKERFILE.name} names no base image")
    return found[1]


def _make(engine: Podman, target: str, **variables: str) -> None:
    given = {"ENGINE": shlex.join(engine.command), "IMAGE": REPOSITORY, **variables}
    # The settings of a surrounding make are not for this one.
    env = {
        key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))
    }
    # Where the builder keeps the directories of `RUN --mount=type=cache`.
    env["TMPDIR"] = str(engine.storage)
    settings = [f"{name}={value}" for name, value in given.items()]
    run([*_ENDING, "make", target, *settings], cwd=ROOT, env=env)


def small_images(folder: Path) -> Sequence[Path]:
    """Write the images of one program each, and return their archives."""
    pause = write_archive(
        folder / "pause.tar", PAUSE_IMAGE,
        {"pause": _program("catatonit")}, links={}, command=("/pause", "-P"),
    )  # fmt: skip
    busybox = write_archive(
        folder / "busybox.tar", BUSYBOX_IMAGE,
        {"bin/busybox": Path("/bin/busybox")},
        links={f"bin/{applet}": "busybox" for applet in _APPLETS}, command=("/bin/sh",),
    )  # fmt: skip
    return pause, busybox


def _program(name: str) -> Path:
    found = run(["which", name]).strip()
    return Path(found).resolve()

"""The images that the node has: the reporter's, a pause image, and one for workloads.

Images of one static program are archives as `docker save` writes them
(github.com/moby/docker-image-spec, spec.md, "Combined Image JSON + Filesystem Changeset Format").
"""

import hashlib
import io
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from e2e.cluster.packages import base_root
from e2e.cluster.settings import PAUSE_IMAGE, ROOT
from e2e.envtest.binaries import cache
from e2e.envtest.commands import EnvtestError, run

_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def write_archive(
    path: Path,
    name: str,
    files: Mapping[str, Path],
    *,
    links: Mapping[str, str],
    command: Sequence[str],
) -> Path:
    """Write an image and return its path."""
    layer = layer_of({to: of.read_bytes() for to, of in files.items()}, links)
    config = config_of([digest_of(layer)], Entrypoint=list(command), Env=["PATH=/bin"])
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    parts = {
        "layer.tar": layer,
        "config.json": config,
        "manifest.json": json.dumps(manifest).encode(),
    }
    path.write_bytes(_tar([(tarfile.TarInfo(each), text) for each, text in parts.items()]))
    return path


def layer_of(files: Mapping[str, bytes], links: Mapping[str, str]) -> bytes:
    """Return a layer of programs and symbolic links, by their path in the image."""
    return _tar(
        [(_member(to), content) for to, content in files.items()]
        + [(_link(to, target), b"") for to, target in links.items()]
    )


def config_of(layers: Sequence[str], **config: object) -> bytes:
    """Return the configuration of an image whose layers have these digests."""
    return json.dumps(
        {
            "architecture": _ARCHITECTURES[platform.machine()],
            "os": "linux",
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": list(layers)},
        }
    ).encode()


def digest_of(content: bytes) -> str:
    """Return the digest by which a registry identifies a blob."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _member(path: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(path)
    member.mode = 0o755
    return member


def _link(path: str, target: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(path)
    member.type = tarfile.SYMTYPE
    member.linkname = target
    return member


def _tar(members: Sequence[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


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

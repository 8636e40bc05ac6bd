"""The stage `build`, followed on this machine: each instruction as it stands in the Dockerfile."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from image.check.base import copy_python
from image.check.dockerfile import DOCKERFILE, Dockerfile, Run, pairs

COMMIT: Final = "0123456789ab"
ARGUMENTS: Final = {"STATUS_REPORTER_COMMIT": COMMIT, "SOURCE_DATE_EPOCH": "1700000000"}

_NO_NETWORK: Final = ("unshare", "--net")


@dataclass(frozen=True)
class Built:
    """What the stage leaves in its folder.

    Attributes:
        folder: the working directory of the stage.
        arch: what it was built for, as in `linux/<arch>`.
    """

    folder: Path
    arch: str

    @property
    def python(self) -> Path:
        """Python without its build tools; becomes `/usr/local`."""
        return self.folder / "rootfs/usr/local"

    @property
    def installed(self) -> Path:
        """The program and its libraries; laid over `python`."""
        return self.folder / "installed"

    @property
    def builder(self) -> Path:
        """The Python that followed the steps; it has pip and nothing else."""
        return self.folder.with_name(f"{self.folder.name}-python") / "bin/python"

    @property
    def wheel(self) -> Path:
        """The wheel of the program."""
        (wheel,) = (self.folder / "wheels/program").iterdir()
        return wheel


@dataclass(frozen=True)
class Circumstances:
    """What differs from machine to machine and must not matter.

    Attributes:
        environment: variables on top of the stage's own.
        umask: modes that new files do not get.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    umask: int = 0o022


HERE: Final = Circumstances()
ELSEWHERE: Final = Circumstances(
    {"TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7"}, umask=0o077
)


def build(context: Path, folder: Path, arch: str, *, circumstances: Circumstances = HERE) -> Built:
    """Follow the instructions of the stage, one after the other.

    Args:
        context: of the build.
        folder: the stage's working directory; made.
        arch: `amd64` or `arm64`.
        circumstances: of this build.

    Raises:
        subprocess.CalledProcessError: a line failed and has said why.
        ValueError: the stage has an instruction that is not known here.

    """
    folder.mkdir()
    built = Built(folder, arch)
    given = ARGUMENTS | {"TARGETARCH": arch}
    variables = {**os.environ, **circumstances.environment, "PATH": _path_with(built.builder)}
    for keyword, rest in Dockerfile.read().stage("build").instructions:
        match keyword:
            case "ARG":
                name, _, default = rest.partition("=")
                variables[name] = given.get(name, default)
            case "ENV":
                variables.update(pairs(rest))
            case "COPY":
                _copy(rest, context, folder)
            case "RUN":
                subprocess.run(  # noqa: S603  # the Dockerfile's
                    _words(Run.parse(rest)),
                    cwd=folder,
                    env=variables,
                    umask=circumstances.umask,
                    check=True,
                )
            case "WORKDIR":
                pass
            case _:
                raise ValueError(f"{DOCKERFILE}: image.check cannot follow {keyword} {rest}")
    return built


def _path_with(python: Path) -> str:
    """Make an environment that has nothing but pip, and return the PATH that finds it first."""
    subprocess.run([sys.executable, "-m", "venv", python.parents[1]], check=True)  # noqa: S603  # our own words
    return f"{python.parent}:{os.environ['PATH']}"


def _copy(rest: str, context: Path, folder: Path) -> None:
    *sources, target = rest.split(" ")
    if sources[0] == "--from=base":
        copy_python(folder / target / "usr" / "local")
        return
    for source in sources:
        if (context / source).is_dir():
            shutil.copytree(context / source, folder / target, dirs_exist_ok=True)
        else:
            shutil.copy2(context / source, folder / target)


def _words(run: Run) -> tuple[str, ...]:
    isolation = _NO_NETWORK if "--network=none" in run.flags else ()
    return (*isolation, "/bin/sh", "-c", run.command)

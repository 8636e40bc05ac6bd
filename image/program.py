"""The wheel of the program, from the sources in the current folder."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from locks.pip import BUILD_REQUIREMENTS, from_folder, locked, pip

_SOURCES = (
    "LICENSE",
    "README.md",
    "pyproject.toml",
    "reporter",
)


def build_program(commit: str, wheels: Path) -> None:
    """Build the wheel into `program/`, with the build backend that is in `build/`.

    The time in it is `SOURCE_DATE_EPOCH`, which hatchling honours.

    Args:
        commit: what `--version` says the program was built from.
        wheels: the folder of both.

    """
    with TemporaryDirectory() as folder:
        sources = Path(folder)
        copy_sources(sources, commit)
        build_wheel(sources, backend=wheels / "build", to=wheels / "program")


def build_wheel(sources: Path, *, backend: Path, to: Path, target: str = "wheel") -> None:
    """Build the wheel of a project.

    Args:
        sources: the folder of its pyproject.toml.
        backend: the folder of the wheels of the build backend.
        to: where the wheel is put.
        target: `wheel`, or `sdist` for the sources in its place.

    """
    with TemporaryDirectory() as hatchling:
        pip("install", *locked(BUILD_REQUIREMENTS), *from_folder(backend), "--target", hatchling)
        subprocess.run(  # noqa: S603  # our own words
            [
                sys.executable, "-m", "hatchling", "build",
                "--target", target, "--directory", str(to.absolute()),
            ],
            cwd=sources,
            env=os.environ | {"PYTHONPATH": hatchling},
            check=True,
        )  # fmt: skip


def copy_sources(to: Path, commit: str) -> None:
    """Copy what the wheel is made of to a folder, with the commit that `--version` tells."""
    for name in _SOURCES:
        source, copy = Path(name), to / name
        if source.is_dir():
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
    (to / "reporter" / "_build.py").write_text(f"COMMIT = {commit!r}\n", encoding="utf-8")

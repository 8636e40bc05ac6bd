"""pip, run so that neither its resolver nor the machine's settings decide what is installed."""

import subprocess
import sys
from pathlib import Path
from typing import Final

DEVELOPMENT: Final = Path("requirements-dev.lock")
BROWSER: Final = Path("requirements-browser.lock")
SITE: Final = Path("requirements-site.lock")
REQUIREMENTS: Final = Path("requirements.lock")
ASSISTANTS: Final = Path("requirements-mcp.lock")
"""What the extra `mcp` adds to the libraries of the program."""
BUILD_REQUIREMENTS: Final = Path("image/build-requirements.lock")

WHEELS: Final = "--only-binary=:all:"
"""To build from sources would be to resolve what the sources are built with."""


def locked(*locks: Path) -> tuple[str, ...]:
    """Return the flags, for pip and for uv, that take what locks name, and nothing else."""
    return ("--no-deps", "--require-hashes", *(f"--requirement={lock}" for lock in locks))


def sources(*folders: Path) -> tuple[str, ...]:
    """Return the flags that install folders to be worked on, built by what the environment has."""
    editable = (word for folder in folders for word in ("--editable", str(folder)))
    return ("--no-deps", "--no-build-isolation", *editable)


def from_folder(wheels: Path) -> tuple[str | Path, ...]:
    """Return the flags that let pip take wheels from a folder and from nowhere else."""
    return ("--no-index", "--find-links", wheels, "--no-compile")


def command(verb: str, *arguments: str | Path, python: Path | None = None) -> list[str]:
    """Return the words of a command of this Python's pip.

    Args:
        verb: `install` or `download`.
        arguments: more words.
        python: of the environment to install into; without it, the one that runs this.

    """
    into = () if python is None else ("--python", str(python))
    return [
        sys.executable, "-m", "pip", *into, verb, "--disable-pip-version-check", *map(str, arguments),
    ]  # fmt: skip


def pip(verb: str, *arguments: str | Path, python: Path | None = None) -> None:
    """Run a command of pip on wheels alone, without resolving anything.

    Raises:
        subprocess.CalledProcessError: pip failed and has said why.

    """
    words = command(verb, "--quiet", "--no-deps", WHEELS, *arguments, python=python)
    subprocess.run(words, check=True)  # noqa: S603  # our own words

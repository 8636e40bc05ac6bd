"""pip, run so that neither the machine's Python nor its settings decide what is installed."""

import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path("requirements.lock")
BUILD_REQUIREMENTS = Path("image/build-requirements.lock")


def pip(command: str, *arguments: str | Path) -> None:
    """Run a command of pip on wheels alone, without resolving anything.

    Raises:
        subprocess.CalledProcessError: pip failed and has said why.

    """
    words = ("--quiet", "--no-deps", "--only-binary=:all:", *map(str, arguments))
    subprocess.run([sys.executable, "-m", "pip", command, *words], check=True)  # noqa: S603  # our own words


def from_folder(wheels: Path) -> tuple[str | Path, ...]:
    """Return the flags that let pip install from a folder and from nowhere else."""
    return ("--no-index", "--find-links", wheels, "--no-compile")

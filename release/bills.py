"""Bills of materials of both distributions, as CycloneDX JSON: the locked libraries, and who needs whom."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from image import sbom
from image.install import PROGRAM
from locks.pip import REQUIREMENTS, from_folder, locked, pip
from reporter import __version__

LABORATORY = f"{PROGRAM}-lab"


def write_bills(wheels: Path, dist: Path) -> None:
    """Write both into `dist`, which has the wheels of both.

    Args:
        wheels: the folder of the locked libraries' wheels.
        dist: where the bills are put.

    """
    with TemporaryDirectory() as folder:
        python = _environment(Path(folder), wheels)
        bill = sbom.describe(python)
        lock = REQUIREMENTS.read_text(encoding="utf-8")
        _write(dist / f"{PROGRAM}-{__version__}.cdx.json", bill, lock)
        pip("install", PROGRAM, *from_folder(dist), python=python)
        bill = sbom.describe(python, Path("lab/pyproject.toml"))
        _write(
            dist / f"{LABORATORY}-{__version__}.cdx.json",
            bill,
            f"{lock}\n{PROGRAM}=={__version__}\n",
        )


def _write(path: Path, bill: sbom.Bill, lock: str) -> None:
    text = sbom.rendered(bill)
    sbom.validate(text, lock)
    path.write_text(text, encoding="utf-8")


def _environment(folder: Path, wheels: Path) -> Path:
    subprocess.run(  # noqa: S603  # our own words
        [sys.executable, "-m", "venv", "--without-pip", folder], check=True
    )
    python = folder / "bin" / "python"
    pip("install", *locked(REQUIREMENTS), *from_folder(wheels), python=python)
    return python

"""All wheels in one prefix, whole and compiled, and the same bytes whenever and wherever it is done."""

import csv
import os
import shutil
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

from image.fetch import platform_flags
from image.tree import compile_bytecode, normalise, site_packages
from locks.pip import REQUIREMENTS, from_folder, locked, pip

PROGRAM: Final = "productionstack-status-reporter"

_LAUNCHERS: Final = "../../bin/"
"""Where pip's lists of files have the launchers that it put below `--target`."""

_LAUNCHER: Final = """\
#!/usr/local/bin/python3
import sys

from {module} import {function}

sys.exit({function}())
"""


def install_wheels(arch: str, wheels: Path, prefix: Path) -> None:
    """Install the locked wheels and the program into a prefix that becomes `/usr/local`."""
    site = site_packages(prefix)
    target: tuple[str | Path, ...] = (*platform_flags(arch), "--target", site)
    for wanted, folder in ((locked(REQUIREMENTS), "runtime"), ((PROGRAM,), "program")):
        pip("install", *wanted, *from_folder(wheels / folder), *target)
        shutil.rmtree(site / "bin")
    forget_launchers(site)
    _write_launchers(site, prefix / "bin")
    compile_bytecode(prefix)
    normalise(prefix, float(os.environ["SOURCE_DATE_EPOCH"]))


def forget_launchers(site: Path) -> None:
    """Take pip's launchers off each distribution's list of files, which would name what is not there.

    They name the Python that installs, and those of libraries are not wanted.
    """
    for record in site.glob("*.dist-info/RECORD"):
        with record.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.reader(file) if not row[0].startswith(_LAUNCHERS)]
        with record.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


def _write_launchers(site: Path, folder: Path) -> None:
    folder.mkdir()
    (program,) = distributions(name=PROGRAM, path=[str(site)])
    for script in program.entry_points.select(group="console_scripts"):
        launcher = folder / script.name
        launcher.write_text(
            _LAUNCHER.format(module=script.module, function=script.attr), encoding="utf-8"
        )
        launcher.chmod(0o755)

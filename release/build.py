"""`python -m release.build`: all files of a release, from the checkout that is the current folder.

`python -m release` runs it on a copy of the last commit.
"""

import argparse
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from image.fetch import ARCHITECTURES, fetch_wheels
from image.install import PROGRAM
from locks.pip import ASSISTANTS, REQUIREMENTS
from release import bills, charts, krew
from release.distributions import NotReleasedError, build_distributions
from release.image import Wanted, write_image
from reporter import __version__

SUMS = "SHA256SUMS"


def main() -> int:
    """Build into the folder that is named; what fails has said why."""
    parser = argparse.ArgumentParser(prog="python -m release.build", description=__doc__)
    parser.add_argument("--into", type=Path, required=True, help="an empty folder")
    parser.add_argument("--commit", required=True)
    parser.add_argument("--url", required=True)
    parser.add_argument("--image", type=Wanted, required=True)
    parser.add_argument("--engine", default="")
    parser.add_argument("--image-flags", default="")
    given = parser.parse_args()
    os.umask(0o022)
    try:
        _build(given)
    except NotReleasedError as error:
        sys.stderr.write(f"release: {error}\n")
        return 1
    except subprocess.CalledProcessError as error:
        return error.returncode or 1
    return 0


def _build(given: argparse.Namespace) -> None:
    dist: Path = given.into
    with TemporaryDirectory() as folder:
        wheels = {arch: Path(folder) / arch for arch in ARCHITECTURES}
        for arch, place in wheels.items():
            fetch_wheels(arch, place)
        runtime = {arch: place / "runtime" for arch, place in wheels.items()}
        build_distributions(given.commit, backend=wheels[_machine()] / "build", to=dist)
        bills.write_bills(runtime[_machine()], dist)
        krew.write_plugin(runtime, dist, url=given.url)
    charts.package_chart(dist)
    charts.write_alerts(dist / "status-reporter-alerts.yaml")
    charts.write_dashboard(dist / "status-reporter-dashboard.json")
    (dist / REQUIREMENTS.name).write_text(requirements(dist), encoding="utf-8")
    shutil.copyfile(ASSISTANTS, dist / ASSISTANTS.name)
    said = write_image(
        dist / f"{PROGRAM}-{__version__}.oci.tar",
        wanted=given.image,
        engine=given.engine,
        flags=given.image_flags,
        commit=given.commit,
    )
    write_sums(dist)
    sys.stderr.write(f"release: {said}\n")


def _machine() -> str:
    """Return this machine's processor as Docker calls it."""
    return next(each for each, machine in ARCHITECTURES.items() if machine == platform.machine())


def requirements(dist: Path) -> str:
    """Return the lock of what is installed from a release: its wheels, next to it, and the libraries."""
    wheels = "".join(
        f"{name}=={__version__} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"
        for name in (PROGRAM, bills.LABORATORY)
        for wheel in dist.glob(f"{name.replace('-', '_')}-{__version__}-*.whl")
    )
    return f"--find-links .\n{wheels}{REQUIREMENTS.read_text(encoding='utf-8')}"


def write_sums(folder: Path) -> None:
    """Write the checksums of all files of a folder, as `sha256sum --check` reads them."""
    lines = (
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.iterdir())
        if path.name != SUMS
    )
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

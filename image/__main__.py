"""`python -m image STEP`: one step of the image's stage `build`."""

import argparse
import subprocess
import sys
from pathlib import Path

from image.fetch import ARCHITECTURES, fetch_wheels
from image.install import install_wheels
from image.program import build_program
from image.strip import strip_python


def main() -> int:
    """Run one step. A command that fails has said why, and its exit status is that of the step."""
    parser = argparse.ArgumentParser(prog="python -m image", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)

    strip = steps.add_parser("strip", help="take the build tools out of a Python installation")
    strip.add_argument("prefix", type=Path)

    fetch = steps.add_parser("fetch", help="download the locked wheels")
    _add_arch(fetch)
    fetch.add_argument("--to", type=Path, required=True)

    program = steps.add_parser("program", help="build the wheel of the program")
    program.add_argument("--commit", required=True)
    program.add_argument("--wheels", type=Path, required=True)

    install = steps.add_parser("install", help="install all wheels into an empty prefix")
    _add_arch(install)
    install.add_argument("--wheels", type=Path, required=True)
    install.add_argument("--to", type=Path, required=True)

    try:
        _run(parser.parse_args())
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


def _run(given: argparse.Namespace) -> None:
    match given.step:
        case "strip":
            strip_python(given.prefix)
        case "fetch":
            fetch_wheels(given.arch, given.to)
        case "program":
            build_program(given.commit, given.wheels)
        case "install":
            install_wheels(given.arch, given.wheels, given.to)


def _add_arch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--arch", choices=sorted(ARCHITECTURES), required=True, help="as in linux/ARCH"
    )


if __name__ == "__main__":
    sys.exit(main())

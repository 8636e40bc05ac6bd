"""`python -m release`: all files of a release of the last commit, into a folder."""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from release.build import SUMS
from release.image import Wanted

ROOT: Final = Path(__file__).parents[1]
URL: Final = "https://release.invalid/productionstack-status-reporter"
"""Where nobody can download anything: whoever publishes says where."""

ELSEWHERE: Final = {"TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
"""What differs from machine to machine and must not matter."""


def main() -> int:
    """Build once, or twice and compare."""
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    parser.add_argument("--into", type=Path, default=ROOT / "dist", help="the folder (dist)")
    parser.add_argument("--url", default=URL, help="where the files will be downloaded from")
    parser.add_argument("--image", choices=tuple(Wanted), default=Wanted.AUTO)
    parser.add_argument("--engine", default="", help="podman or docker (the one that runs)")
    parser.add_argument("--image-flags", default="", help="more flags of the engine")
    parser.add_argument("--twice", action="store_true", help="build again, elsewhere, and compare")
    given = parser.parse_args()
    into: Path = given.into.resolve()
    if _git("status", "--porcelain", "--untracked-files=no"):
        sys.stderr.write("release: what is not committed is not in it\n")
    # What is committed meanwhile is not in it either.
    commit = _git("rev-parse", "HEAD")
    status = _release(into, given, commit, variables={})
    if status or not given.twice:
        return status or _listed(into)
    with TemporaryDirectory() as folder:
        again = Path(folder) / "another" / "dist"
        status = _release(again, given, commit, variables=ELSEWHERE)
        return status or _compared(into, again)


def _release(
    into: Path, given: argparse.Namespace, commit: str, *, variables: Mapping[str, str]
) -> int:
    """Build what a commit has, in a folder of its own."""
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    with TemporaryDirectory() as folder:
        archive, checkout = Path(folder) / "head.tar", Path(folder) / "checkout"
        _git("archive", "--output", str(archive), commit)
        shutil.unpack_archive(archive, checkout, filter="data")
        environment = os.environ | variables | {
            "PYTHONPATH": str(checkout),
            "SOURCE_DATE_EPOCH": _git("log", "-1", "--format=%ct", commit),
        }  # fmt: skip
        command = [
            sys.executable, "-m", "release.build", "--into", str(into), "--url", given.url,
            "--commit", commit[:12], "--image", given.image,
            "--engine", given.engine, f"--image-flags={given.image_flags}",
        ]  # fmt: skip
        return subprocess.run(  # noqa: S603  # our own words
            command, cwd=checkout, env=environment, stdout=sys.stderr, check=False
        ).returncode


def _listed(folder: Path) -> int:
    sys.stdout.write((folder / SUMS).read_text(encoding="utf-8"))
    return 0


def _compared(one: Path, other: Path) -> int:
    """Return 0 if both have the same files, and say which differ if not."""
    first, second = ((each / SUMS).read_text(encoding="utf-8") for each in (one, other))
    differ = {line.split()[1] for line in set(first.splitlines()) ^ set(second.splitlines())}
    if differ:
        sys.stderr.write(f"release: built twice, not the same: {', '.join(sorted(differ))}\n")
        return 1
    sys.stdout.write(f"{first}built twice: the same {len(first.splitlines())} files\n")
    return 0


def _git(*words: str) -> str:
    done = subprocess.run(  # noqa: S603  # our own words
        ["git", *words],  # noqa: S607  # the machine's
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())

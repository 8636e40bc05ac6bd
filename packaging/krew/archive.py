"""`python packaging/krew/archive.py --uri URI --homepage URL`: the archive of the kubectl plugin, and its krew manifest.

The archive holds the package, the libraries of `requirements.lock`, and a launcher. Libraries are
compiled, so an archive is for the platform and the Python that it is built with.
"""

import argparse
import gzip
import hashlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from reporter import __version__

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
MANIFEST: Final = HERE / "status-reporter.yaml"
BIN: Final = "kubectl-status_reporter"
PYTHON: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def main(argv: Sequence[str] | None = None) -> int:
    """Build both into a folder and say where they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uri", required=True, help="where the archive will be downloaded from")
    parser.add_argument("--homepage", required=True, help="where people read about the plugin")
    parser.add_argument("--into", type=Path, default=ROOT / "build" / "krew", help="the folder")
    options = parser.parse_args(argv)
    options.into.mkdir(parents=True, exist_ok=True)
    arch = _ARCHITECTURES[platform.machine()]
    archive = options.into / f"{BIN}-linux-{arch}.tar.gz"
    with tempfile.TemporaryDirectory() as name:
        build(Path(name))
        pack(Path(name), archive)
    manifest = options.into / MANIFEST.name
    text = filled(
        MANIFEST.read_text(),
        version=__version__,
        uri=options.uri,
        homepage=options.homepage,
        arch=arch,
        sha256=hashlib.sha256(archive.read_bytes()).hexdigest(),
    )
    manifest.write_text(text)
    sys.stdout.write(f"{archive}\n{manifest}\n")
    return 0


def build(folder: Path) -> None:
    """Put package, libraries, launcher and licence into a folder."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    target = ["--no-compile", "--target", str(folder / "lib")]
    lock = ["--require-hashes", "--only-binary", ":all:", "-r", str(ROOT / "requirements.lock")]
    for what in (lock, ["--no-deps", str(ROOT)]):
        subprocess.run([*pip, *target, *what], check=True)  # noqa: S603 - pip, and our own words
        # Scripts for an interpreter of this machine.
        shutil.rmtree(folder / "lib" / "bin", ignore_errors=True)
    for path in folder.rglob("*.dist-info/direct_url.json"):
        path.unlink()  # where the package was built from
    launcher = folder / BIN
    launcher.write_text((HERE / "launcher.sh").read_text().replace("@PYTHON@", PYTHON))
    launcher.chmod(0o755)
    shutil.copy(ROOT / "LICENSE", folder)


def pack(folder: Path, archive: Path) -> None:
    """Pack a folder; the same files give the same bytes."""
    with (
        archive.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            tar.add(path, path.relative_to(folder), filter=_nobodys)


def _nobodys(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.mtime = info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


def filled(text: str, *, version: str, uri: str, homepage: str, arch: str, sha256: str) -> str:
    """Return the manifest with the values of a release instead of its placeholders."""
    _, _, text = text.partition("apiVersion:")
    values = {
        "version": f"v{version}", "uri": uri, "homepage": homepage, "arch": arch, "sha256": f'"{sha256}"',
    }  # fmt: skip
    for key, value in values.items():
        text = re.sub(rf"(?m)^( +(?:- )?{key}: ).*$", lambda match: match[1] + value, text, count=1)  # noqa: B023
    return f"apiVersion:{text}"


if __name__ == "__main__":
    sys.exit(main())

"""The archives of the kubectl plugin, and its manifest for krew.

An archive holds the program, the libraries of `requirements.lock`, and a launcher. Libraries are
compiled, so an archive is for one processor and for the version of Python that it is built with.
"""

import hashlib
import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from image.fetch import ARCHITECTURES, platform_flags
from image.install import PROGRAM, forget_launchers
from locks.pip import REQUIREMENTS, from_folder, locked, pip
from release.archives import pack
from reporter import __version__

HERE: Final = Path("packaging/krew")
MANIFEST: Final = "status-reporter.yaml"
BIN: Final = "kubectl-status_reporter"
PYTHON: Final = f"{sys.version_info.major}.{sys.version_info.minor}"

_PLATFORMS: Final = "  platforms:\n"


@dataclass(frozen=True, slots=True)
class Platform:
    """An archive as the manifest names it."""

    arch: str
    uri: str
    sha256: str


def write_plugin(wheels: dict[str, Path], dist: Path, *, url: str) -> None:
    """Write an archive for each processor, and the manifest of all, into `dist`.

    Args:
        wheels: the folders of the locked libraries' wheels, by processor.
        dist: it has the wheel of the program.
        url: where the files of the release will be downloaded from.

    """
    platforms = []
    for arch in ARCHITECTURES:
        archive = dist / f"{BIN}-{__version__}-linux-{arch}.tar.gz"
        with TemporaryDirectory() as name:
            _fill(Path(name), arch, wheels[arch], dist=dist)
            pack(Path(name), archive)
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        platforms.append(Platform(arch, f"{url}/{archive.name}", digest))
    template = (HERE / MANIFEST).read_text(encoding="utf-8")
    text = filled(template, version=__version__, homepage=url, platforms=platforms)
    (dist / f"krew-{MANIFEST}").write_text(text, encoding="utf-8")


def _fill(folder: Path, arch: str, wheels: Path, *, dist: Path) -> None:
    library = folder / "lib"
    target: tuple[str | Path, ...] = (*platform_flags(arch), "--target", library)
    for wanted, source in ((locked(REQUIREMENTS), wheels), ((PROGRAM,), dist)):
        pip("install", *wanted, *from_folder(source), *target)
        # Launchers for an interpreter of this machine.
        shutil.rmtree(library / "bin", ignore_errors=True)
    forget_launchers(library)
    launcher = folder / BIN
    text = (HERE / "launcher.sh").read_text(encoding="utf-8")
    launcher.write_text(text.replace("@PYTHON@", PYTHON), encoding="utf-8")
    launcher.chmod(0o755)
    shutil.copyfile("LICENSE", folder / "LICENSE")


def filled(text: str, *, version: str, homepage: str, platforms: Iterable[Platform]) -> str:
    """Return the manifest with the values of a release instead of its placeholders."""
    _, _, text = text.partition("apiVersion:")
    head, _, entry = text.partition(_PLATFORMS)
    head = _with(head, {"version": f"v{version}", "homepage": homepage})
    entries = (
        _with(entry, {"arch": each.arch, "uri": each.uri, "sha256": f'"{each.sha256}"'})
        for each in platforms
    )
    return f"apiVersion:{head}{_PLATFORMS}{''.join(entries)}"


def _with(text: str, values: dict[str, str]) -> str:
    for key, value in values.items():
        head, name, rest = re.split(rf"(?m)^( +(?:- )?{key}: ).*$", text, maxsplit=1)
        text = f"{head}{name}{value}{rest}"
    return text

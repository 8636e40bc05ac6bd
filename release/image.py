"""The image as an OCI archive, by podman or docker."""

import os
import re
import shutil
import subprocess
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from release.archives import pack, unpack
from release.distributions import NotReleasedError
from reporter import __version__

IMAGE: Final = "productionstack-status-reporter"
DOCKERFILE: Final = Path("Dockerfile.status-reporter")
_BASE: Final = re.compile(r"^ARG BASE_IMAGE=(\S+)", re.MULTILINE)
_OF_MAKE: Final = ("MAKE", "MFLAGS")
_NAMED: Final = re.compile(r"BASE_IMAGE=(\S+)")


class Wanted(StrEnum):
    """Whether a release has an image.

    Attributes:
        AUTO: if there is an engine and the base image can be had; else it is said and left out.
        REQUIRED: else there is no release.
        OFF: it is left out.

    """

    AUTO = "auto"
    REQUIRED = "required"
    OFF = "off"


def write_image(to: Path, *, wanted: Wanted, engine: str, flags: str, commit: str) -> str:
    """Build the image and write it to `to`; return what was done, in words.

    Args:
        to: the archive.
        wanted: whether it may be left out.
        engine: podman or docker; the first of them that works if empty.
        flags: more of them for the engine, such as another base image.
        commit: what `--version` says the program was built from.

    Raises:
        NotReleasedError: it is required and cannot be built.
        subprocess.CalledProcessError: the engine failed and has said why.

    """
    if wanted is Wanted.OFF:
        return "no image: it was asked not to be built"
    try:
        engine = _engine(engine)
        _require_base(engine, flags)
    except NotReleasedError as error:
        if wanted is Wanted.REQUIRED:
            raise
        return f"no image: {error}"
    with TemporaryDirectory() as folder:
        built = Path(folder) / "image.tar"
        _build(engine, built, flags=flags, commit=commit)
        unpack(built, Path(folder) / "layout")
        pack(Path(folder) / "layout", to)
    return f"image by {engine}"


def _engine(named: str) -> str:
    for engine in [named] if named else ["podman", "docker"]:
        if shutil.which(engine.split()[0]) and _succeeds(*engine.split(), "info"):
            return engine
    raise NotReleasedError(f"no engine: {named or 'neither podman nor docker'} is there and runs")


def _require_base(engine: str, flags: str) -> None:
    """Refuse to begin what cannot end: pulling is the only step that needs a registry."""
    named = _NAMED.search(flags) or _BASE.search(DOCKERFILE.read_text(encoding="utf-8"))
    if named is None:
        raise NotReleasedError(f"{DOCKERFILE} names no base image")
    base = named[1].strip("'\"")
    words = engine.split()
    if not (_succeeds(*words, "image", "inspect", base) or _succeeds(*words, "pull", base)):
        raise NotReleasedError(f"{engine} has no base image {base} and cannot pull it")


def _build(engine: str, to: Path, *, flags: str, commit: str) -> None:
    """Build by `make image`, with times that come from the commit."""
    epoch = os.environ["SOURCE_DATE_EPOCH"]
    given = (f"ENGINE={engine}", f"IMAGE={IMAGE}", f"VERSION={__version__}", f"COMMIT={commit}")
    name = f"{IMAGE}:{__version__}"
    if _is_podman(engine):
        # Layers and configuration get the commit's time instead of the present.
        flags = f"--no-cache --format oci --timestamp {epoch} {flags}"
        _run("make", "--silent", "image", *given, f"IMAGE_FLAGS={flags}")
        _run(
            *engine.split(), "save", "--quiet", "--format", "oci-archive", "--output", str(to), name
        )
        return
    output = f"--no-cache --provenance=false --output type=oci,dest={to},rewrite-timestamp=true"
    given = (f"ENGINE={engine} buildx", *given[1:])
    _run("make", "--silent", "image", *given, f"IMAGE_FLAGS={output} {flags}")


def _is_podman(engine: str) -> bool:
    return Path(engine.split(maxsplit=1)[0]).name.startswith("podman")


def _run(*words: str) -> None:
    # What a make around this one was told is not for this one.
    environment = {key: value for key, value in os.environ.items() if not key.startswith(_OF_MAKE)}
    # What the engine says is no part of the release's own output.
    subprocess.run(words, env=environment, check=True, stdout=2)  # noqa: S603  # our own words


def _succeeds(*words: str) -> bool:
    return subprocess.run(words, check=False, capture_output=True).returncode == 0  # noqa: S603  # our own words

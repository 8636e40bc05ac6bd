"""The one step that needs the network: the locked wheels, checked against their hashes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from locks.pip import BUILD_REQUIREMENTS, REQUIREMENTS, locked, pip

ARCHITECTURES: Final = {"amd64": "x86_64", "arm64": "aarch64"}
"""Names of processors: Docker's, and those that wheels carry."""

_GLIBC_MINORS: Final = range(17, 37)
"""glibc 2.17, the oldest that manylinux wheels are built for today, to 2.36, that of Debian 12."""


def platform_flags(arch: str) -> Iterator[str]:
    """Yield the flags that let pip take wheels for that processor, and no others."""
    machine = ARCHITECTURES[arch]
    for minor in reversed(_GLIBC_MINORS):
        yield f"--platform=manylinux_2_{minor}_{machine}"
    yield f"--platform=manylinux2014_{machine}"


def fetch_wheels(arch: str, folder: Path) -> None:
    """Download the wheels of the image to `runtime/`, and of the build backend to `build/`."""
    runtime, build = locked(REQUIREMENTS), locked(BUILD_REQUIREMENTS)
    pip("download", *runtime, *platform_flags(arch), "--dest", folder / "runtime")
    pip("download", *build, "--dest", folder / "build")

"""A stand-in for the base image: the Python that runs this, laid out as there."""

import shutil
import sys
from pathlib import Path
from typing import Final

_NOT_COPIED: Final = shutil.ignore_patterns("__pycache__", "test", "tests")


def copy_python(to: Path) -> None:
    """Copy the Python that runs this, in the place of the base image's.

    Without the site-packages of the machine and, like the base image, without tests and bytecode.
    """
    base = Path(sys.base_prefix)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    (to / "bin").mkdir(parents=True, exist_ok=True)
    shutil.copy2(base / "bin" / version, to / "bin" / version)
    (to / "bin" / "python3").symlink_to(version)
    shutil.copytree(base / "lib" / version, to / "lib" / version, ignore=_python_without)
    for library in (base / "lib").glob("libpython*.so*"):
        shutil.copy2(library, to / "lib" / library.name, follow_symlinks=False)


def _python_without(folder: str, names: list[str]) -> set[str]:
    unwanted = _NOT_COPIED(folder, names)
    return {*unwanted, *names} if Path(folder).name == "site-packages" else unwanted

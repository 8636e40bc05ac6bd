"""Python as the image ships it: without what builds, installs, edits or draws."""

import shutil
from pathlib import Path
from typing import Final

from image.tree import compile_bytecode, normalise

NOT_SHIPPED: Final = (
    "bin/2to3*",
    "bin/idle*",
    "bin/pip*",
    "bin/pydoc*",
    "bin/python*-config",
    "bin/wheel",
    "include",
    "lib/pkgconfig",
    "lib/python3.*/config-*",
    "lib/python3.*/distutils",
    "lib/python3.*/ensurepip",
    "lib/python3.*/idlelib",
    "lib/python3.*/lib-dynload/_tkinter*",
    "lib/python3.*/lib2to3",
    "lib/python3.*/pydoc_data",
    "lib/python3.*/site-packages/*",
    "lib/python3.*/test",
    "lib/python3.*/tkinter",
    "lib/python3.*/turtledemo",
    "lib/python3.*/venv",
    "share/man",
)
"""Patterns below the prefix of Python."""


def strip_python(prefix: Path) -> None:
    """Delete what is not shipped, and compile the standard library.

    The times are taken from a file of the base image, so that the layer is the same from release to
    release.
    """
    for pattern in NOT_SHIPPED:
        for path in sorted(prefix.glob(pattern)):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
    (library,) = prefix.glob("lib/python3.*/os.py")
    compile_bytecode(prefix)
    normalise(prefix, library.stat().st_mtime)

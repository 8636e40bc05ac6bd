"""Trees of files whose bytes, modes and times do not depend on who makes them, when and where."""

import compileall
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Final

PREFIX: Final = "/usr/local"
"""Where the trees are in the image."""

_EXECUTABLE: Final = 0o111


def site_packages(prefix: Path) -> Path:
    """Return where packages are below a prefix, for the running version of Python."""
    major, minor = sys.version_info[:2]
    return prefix / "lib" / f"python{major}.{minor}" / "site-packages"


def compile_bytecode(prefix: Path) -> None:
    """Compile every module below `lib/` for where it will be.

    The bytecode holds a hash of its source that nobody checks at start: it names no time, and the
    root file system is read-only anyway.

    Raises:
        SyntaxError: a module does not compile.

    """
    compiled = compileall.compile_dir(
        prefix / "lib",
        maxlevels=sys.getrecursionlimit(),
        force=True,
        quiet=1,
        stripdir=str(prefix),
        prependdir=PREFIX,
        invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
    )
    if not compiled:
        raise SyntaxError(f"a module below {prefix} does not compile; see above")


def normalise(prefix: Path, seconds: float) -> None:
    """Give everything one time, and modes that let everybody read and nobody but the owner write."""
    for path in walk(prefix):
        if not path.is_symlink():
            executable = path.is_dir() or path.stat().st_mode & _EXECUTABLE
            path.chmod(0o755 if executable else 0o644)
        os.utime(path, (seconds, seconds), follow_symlinks=False)


def walk(root: Path) -> Iterator[Path]:
    """Yield the root and everything below it, in a fixed order."""
    yield root
    yield from sorted(root.rglob("*"))

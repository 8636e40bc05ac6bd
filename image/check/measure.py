"""Trees of files, told apart and measured."""

import hashlib
import stat
from collections.abc import Mapping
from pathlib import Path

from image.tree import walk


def fingerprints(root: Path) -> dict[str, str]:
    """Return, by path below the root, kind, mode, time and a hash of the content of everything."""
    return {str(path.relative_to(root)): _fingerprint(path) for path in walk(root)}


def _fingerprint(path: Path) -> str:
    entry = path.lstat()
    content = b""
    if path.is_symlink():
        content = str(path.readlink()).encode()
    elif stat.S_ISREG(entry.st_mode):
        content = path.read_bytes()
    return f"{entry.st_mode:o} {entry.st_mtime} {hashlib.sha256(content).hexdigest()}"


def digest(trees: Mapping[str, Mapping[str, str]]) -> str:
    """Return one hash for the fingerprints of several trees."""
    lines = [f"{name} {row}" for name, tree in trees.items() for row in sorted(tree.items())]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def megabytes(root: Path) -> float:
    """Return the size of all files below the root, in units of 10^6 bytes."""
    return sum(path.lstat().st_size for path in walk(root) if path.is_file()) / 1e6

"""One regular expression for many names."""

import re
from collections.abc import Iterable
from typing import TypeAlias

_Tree: TypeAlias = "dict[int, _Tree]"
_END = -1


def any_of(names: Iterable[bytes]) -> bytes:
    """Return a pattern for any of the names, as a tree: what they share is compared once."""
    tree: _Tree = {}
    for name in names:
        branch = tree
        for byte in name:
            branch = branch.setdefault(byte, {})
        branch[_END] = {}
    return _pattern(tree)


def _pattern(tree: _Tree) -> bytes:
    branches = [
        re.escape(bytes([byte])) + _pattern(branch) for byte, branch in tree.items() if byte >= 0
    ]
    if not branches:
        return b""
    return b"(?:" + b"|".join(branches) + (b")?" if _END in tree else b")")

"""`python -m tests.bench.as_installed MODULE ...`: run a module as where only the product is installed.

There all modules are compiled, and nothing of the development environment is loaded: structlog takes
rich and greenlet where it finds them, 4 MB that other tools bring along.
"""

import compileall
import runpy
import sys
from functools import cache
from pathlib import Path
from typing import Final

import reporter

_NOT_INSTALLED: Final = ("greenlet", "rich")


@cache
def compile_reporter() -> None:
    """Compile what was changed since it was; a process may not be allowed to keep what it compiles."""
    compileall.compile_dir(Path(reporter.__file__).parent, quiet=2)


if __name__ == "__main__":
    for name in _NOT_INSTALLED:
        sys.modules[name] = None  # type: ignore[assignment]  # its import fails
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)

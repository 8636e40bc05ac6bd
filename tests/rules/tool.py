"""Where promtool comes from.

`PROMTOOL` names one; else the machine's is taken (Debian's package `prometheus` brings it); else it
is built from the Go module beside this file, once per machine and content of that module.
"""

import os
import shutil
from pathlib import Path

from tests.go_programs import NotBuiltError, built

MODULE = Path(__file__).parent / "promtool"
PACKAGE = "github.com/prometheus/prometheus/cmd/promtool"


class NoPromtoolError(Exception):
    """There is no promtool, and none could be built; the message says what to do."""


def promtool() -> Path:
    """Return the program, building it where it is missing."""
    named = os.environ.get("PROMTOOL")
    if named:
        found = shutil.which(named)
        if found is None:
            raise NoPromtoolError(f"PROMTOOL={named} is no program: name one, or unset it")
        return Path(found)
    own = shutil.which("promtool")
    return Path(own) if own else _built()


def _built() -> Path:
    # It speaks to no service discovery here, whose libraries are most of it.
    try:
        return built(MODULE, PACKAGE, ("-tags", "remove_all_sd"))
    except NotBuiltError as error:
        raise NoPromtoolError(
            f"no promtool; install one (Debian: apt-get install prometheus), or name it with PROMTOOL: {error}"
        ) from None

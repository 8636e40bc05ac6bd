"""Where promtool, amtool and Alertmanager come from.

`PROMTOOL`, `AMTOOL` and `ALERTMANAGER` name them; else the machine's are taken (Debian's packages `prometheus` and
`prometheus-alertmanager` bring them); else each is built from the Go module beside this file, once
per machine and content of that module.
"""

import os
import shutil
from pathlib import Path

from tests.go_programs import NotBuiltError, built, built_from_copy

HERE = Path(__file__).parent


class NoPromtoolError(Exception):
    """There is no promtool or no amtool, and none could be built; the message says what to do."""


def promtool() -> Path:
    """Return the program, building it where it is missing."""
    # It speaks to no service discovery here, whose libraries are most of it.
    return _found(
        "promtool",
        "github.com/prometheus/prometheus/cmd/promtool",
        package="prometheus",
        flags=("-tags", "remove_all_sd"),
    )


def amtool() -> Path:
    """Return the program, building it where it is missing."""
    return _found(
        "amtool", "github.com/prometheus/alertmanager/cmd/amtool", package="prometheus-alertmanager"
    )


def alertmanager() -> Path:
    """Return the program, of the release that amtool is of, building it where it is missing."""
    source = "github.com/prometheus/alertmanager"
    named = os.environ.get("ALERTMANAGER") or shutil.which("alertmanager")
    if named:
        return Path(named)
    try:
        # Its page is made by npm, and not part of the module.
        return built_from_copy(HERE / "amtool", source, file="ui/app/dist/index.html")
    except NotBuiltError as error:
        raise NoPromtoolError(f"no alertmanager; name it with ALERTMANAGER: {error}") from None


def _found(name: str, source: str, *, package: str, flags: tuple[str, ...] = ()) -> Path:
    variable = name.upper()
    named = os.environ.get(variable)
    if named:
        found = shutil.which(named)
        if found is None:
            raise NoPromtoolError(f"{variable}={named} is no program: name one, or unset it")
        return Path(found)
    own = shutil.which(name)
    if own:
        return Path(own)
    try:
        return built(HERE / name, source, flags)
    except NotBuiltError as error:
        raise NoPromtoolError(
            f"no {name}; install one (Debian: apt-get install {package}), or name it with {variable}: {error}"
        ) from None

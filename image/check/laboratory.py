"""The laboratory, a distribution of its own: the image has none of it, and it can be added."""

import os
import subprocess
from pathlib import Path
from typing import Final

from image.check.build import Built
from image.check.container import Container
from image.check.facts import require
from image.program import build_wheel
from image.tree import site_packages
from locks.pip import from_folder, pip

SOURCES: Final = Path("lab")
COMMANDS: Final = ("demo", "sandbox")
HOW_TO_GET_IT: Final = "make setup"

_DISTRIBUTION: Final = "productionstack-status-reporter-lab"
_USAGE_STATUS: Final = 2
_DEMO_SECONDS: Final = 120.0

_PROBE: Final = f"""\
import importlib.metadata, importlib.util
print(importlib.util.find_spec("lab"))
print([d.name for d in importlib.metadata.distributions() if d.name == {_DISTRIBUTION!r}])
"""


def is_left_out(container: Container) -> str:
    """Neither module nor distribution is there, and its commands say in one line how to get it."""
    status, output = container.python(_PROBE)
    require((status, output.splitlines()) == (0, ["None", "[]"]), output)
    for command in COMMANDS:
        status, output = container.run(command)
        said = len(output.splitlines()) == 1 and HOW_TO_GET_IT in output
        require(status == _USAGE_STATUS and said, f"{command}: exit status {status}: {output}")
    return f"{' and '.join(COMMANDS)} say: {HOW_TO_GET_IT}"


def install(built: Built, folder: Path) -> Path:
    """Build the wheel of the laboratory from the checkout, and install it alone into a folder."""
    wheels, site = folder / "wheels", folder / "site-packages"
    build_wheel(SOURCES, backend=built.folder / "wheels/build", to=wheels)
    pip("install", _DISTRIBUTION, *from_folder(wheels), "--target", site)
    return site


def tells_the_demo(built: Built, laboratory: Path) -> str:
    """With its wheel added to the packages of the image, the demo passes outside of the checkout."""
    path = os.pathsep.join(map(str, (site_packages(built.installed), laboratory)))
    ended = subprocess.run(  # noqa: S603  # our own words
        [built.builder, "-m", "reporter", "demo", "--fast"],
        cwd=laboratory,
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_DEMO_SECONDS,
        text=True,
        check=False,
    )
    require(ended.returncode == 0, f"exit status {ended.returncode}: {ended.stdout}")
    return f"demo --fast: {ended.stdout.splitlines()[-1].lstrip('# ')}"

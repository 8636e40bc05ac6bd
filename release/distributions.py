"""Wheels and sources of both distributions; each wheel is built from its sources as they are released."""

import re
import shutil
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from image.program import build_wheel, copy_sources
from release.archives import unpack

_LABORATORY: Final = Path("lab")
_ELSEWHERE: Final = re.compile(
    r"\n\[tool\.hatch\.build\.targets\.wheel\.force-include\]\n(?:.+\n)*", re.MULTILINE
)
_LICENSE: Final = "LICENSE"


class NotReleasedError(Exception):
    """Something cannot be released as it is; the message says what, and what to do."""


def build_distributions(commit: str, *, backend: Path, to: Path) -> None:
    """Build both.

    Args:
        commit: what `--version` says the program was built from.
        backend: the folder of the wheels of the build backend.
        to: where the files are put.

    """
    with TemporaryDirectory() as folder:
        program, laboratory = Path(folder) / "program", Path(folder) / "laboratory"
        program.mkdir()
        copy_sources(program, commit)
        _build(program, backend=backend, to=to)
        _copy_laboratory(laboratory)
        _build(laboratory / _LABORATORY, backend=backend, to=to)


def _build(sources: Path, *, backend: Path, to: Path) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        build_wheel(sources, backend=backend, to=folder / "sdist", target="sdist")
        (sdist,) = (folder / "sdist").iterdir()
        unpack(sdist, folder)
        (unpacked,) = (each for each in folder.iterdir() if each.name != "sdist")
        build_wheel(unpacked, backend=backend, to=to)
        shutil.copy(sdist, to)


def _copy_laboratory(to: Path) -> None:
    """Copy the laboratory with the files that a checkout has elsewhere, as its wheel has them.

    Its pyproject.toml names them by their places in a checkout, which sources that stand alone
    do not have; its version is read from the program's, until the sources tell it themselves.
    """
    shutil.copytree(_LABORATORY, to / "lab", ignore=shutil.ignore_patterns("__pycache__"))
    (to / "reporter").mkdir()
    shutil.copy("reporter/__init__.py", to / "reporter")
    pyproject = to / "lab" / "pyproject.toml"
    text = pyproject.read_text(encoding="utf-8")
    wheel = tomllib.loads(text)["tool"]["hatch"]["build"]["targets"]["wheel"]
    for source, place in wheel["force-include"].items():
        original, copy = _LABORATORY / source, to / "lab" / place
        if original.is_dir():
            shutil.copytree(original, copy)
        else:
            shutil.copyfile(original, copy)
    pyproject.write_text(standing_alone(text), encoding="utf-8")


def standing_alone(text: str) -> str:
    """Return the laboratory's pyproject.toml without what it takes from elsewhere in a checkout.

    Raises:
        NotReleasedError: it is not written as this expects.

    """
    alone, tables = _ELSEWHERE.subn("\n", text)
    alone, lists = re.subn(r"(only-include = \[)", rf'\1"{_LICENSE}", ', alone)
    if (tables, lists) != (1, 1) or '"../' in alone.replace('"../reporter/__init__.py"', ""):
        raise NotReleasedError("lab/pyproject.toml: not in the form that release/ expects")
    return alone

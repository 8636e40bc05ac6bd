"""The files of a dump, wherever they are from."""

import posixpath
import re
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import PurePosixPath
from typing import Final

from reporter.model.text import clean
from reporter.snapshot.inputs.logs import Log, is_log

SUFFIXES: Final = (".yaml", ".yml", ".json")
"""Endings of the files that are read in a folder or an archive; a file named by itself may have any."""

ARCHIVE_SUFFIXES: Final = (".tgz", ".tar.gz", ".tar", ".zip", *(f"{each}.gz" for each in SUFFIXES))
"""Endings of the archives that are read inside of a folder or of another archive."""

NO_FILE: Final = "a pipe or a device, which is not read"

_PAGE: Final = re.compile(r"(?:[^/]+/)?metrics/[^/]+/[^/]+/[^/]+\.prom")


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file of a dump.

    Attributes:
        source: how a message names it: a path, or `<archive>: <path inside of it>`.
        path: where it is in its folder or archive, which tells what it holds in the layouts of
            some tools.
        raw: what it holds.

    """

    source: str
    path: PurePosixPath
    raw: bytes


@dataclass(frozen=True, slots=True)
class PageFile(InputFile):
    """A page of metrics in an archive: `metrics/<namespace>/<pod>/<unix seconds>.prom`."""


@dataclass(frozen=True, slots=True)
class LogFile(InputFile):
    """The end of the log of a container."""

    log: Log


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that should have been read and could not be, and why."""

    source: str
    cause: str


class Use(Enum):
    """What a file is read for, by its name."""

    DOCUMENTS = auto()
    ARCHIVE = auto()
    PAGE = auto()
    LOG = auto()
    NOTHING = auto()


def shown(name: str, path: str) -> str:
    """Return how a message names an entry of an archive, whatever characters its path has."""
    return f"{name}: {path if path.isprintable() else clean(path)}"


def use_of(path: str) -> Use:
    """Tell what an entry of a folder or an archive is read for."""
    # Hidden files are editors' and archivers' leftovers.
    if posixpath.basename(path).startswith("."):
        return Use.NOTHING
    if path.endswith(SUFFIXES):
        return Use.DOCUMENTS
    if path.endswith(ARCHIVE_SUFFIXES):
        return Use.ARCHIVE
    if _PAGE.fullmatch(path):
        return Use.PAGE
    return Use.LOG if is_log(path) else Use.NOTHING

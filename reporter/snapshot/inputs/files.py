"""The files of a dump, wherever they are from, and which of them are logs of containers.

The layouts of logs: `logs/<namespace>/<pod>/<container>.log` and `.previous.log` of a folder made
by hand; `cluster-resources/pods/logs/<namespace>/<pod>/<container>.log` and `-previous.log`
(replicatedhq/troubleshoot, pkg/collect/cluster_resources.go);
`namespaces/<namespace>/pods/<pod>/<container>/<container>/logs/current.log` and `previous.log`
(openshift/oc, pkg/cli/admin/inspect/pod.go); `<namespace>/<pod>/logs.txt` with the logs of all
containers of a pod (`kubectl cluster-info dump --output-directory`).

Of each log its end is kept: an engine of eight workers says why it failed within the last thousand
lines.
"""

import gzip
import posixpath
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import PurePosixPath
from typing import BinaryIO, Final, NamedTuple, Protocol, TypeAlias

from reporter.model.text import clean
from reporter.snapshot.inputs.limits import BrokenArchiveError, Budget

Opener: TypeAlias = Callable[[], BinaryIO]

GZIP: Final = b"\x1f\x8b"
BLOCK: Final = 512


class Readable(Protocol):
    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes, none at the end."""


class CountedStream:
    """Bytes that come out of an archive; they are counted, and their errors are ours."""

    def __init__(self, inner: Readable, name: str, budget: Budget) -> None:
        self._inner = inner
        self._name = name
        self._budget = budget
        self._head = b""

    def peek(self) -> bytes:
        if not self._head:
            self._head = self.read(BLOCK)
        return self._head

    def read(self, size: int, /) -> bytes:
        """Return `size` bytes, fewer only at the end."""
        parts, self._head = [self._head[:size]], self._head[size:]
        left = size - len(parts[0])
        while left > 0 and (part := self._next(left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def _next(self, size: int) -> bytes:
        try:
            part = self._inner.read(min(size, 1024 * 1024))
        except EOFError:
            raise BrokenArchiveError(
                f"{self._name}: the archive is cut off; copy it again"
            ) from None
        except (OSError, zlib.error, ValueError) as error:
            raise BrokenArchiveError(f"{self._name}: the archive is damaged: {error}") from None
        self._budget.spend("unpacked", len(part), self._name)
        return part


def decompressed(file: BinaryIO, name: str, budget: Budget) -> CountedStream:
    """Return what a file of gzip's format decompresses to, or else the file itself."""
    start = file.read(len(GZIP))
    file.seek(0)
    inner = gzip.GzipFile(fileobj=file, mode="rb") if start == GZIP else file
    return CountedStream(inner, name, budget)


MOST_BYTES: Final = 1024 * 1024
MOST_LINES: Final = 1_000
MOST_OF_POD: Final = 16 * MOST_BYTES
"""Most bytes of a file with the logs of all containers of a pod."""

_CHUNK: Final = 1024 * 1024

_SUFFIX: Final = ".log"
_OF_POD: Final = "logs.txt"
_BY_HAND: Final = re.compile(r"logs/([^/]+)/([^/]+)/([^/]+)\.log")
_GATHERED: Final = re.compile(
    r"namespaces/([^/]++)/pods/([^/]++)/([^/]++)/[^/]++/logs/(current|previous)(?:\.insecure)?\.log"
)
_PREVIOUS: Final = (".previous", "-previous")


class Log(NamedTuple):
    namespace: str
    pod: str
    container: str
    previous: bool = False


def is_log(path: str) -> bool:
    return log_of(path) is not None or is_log_of_pod(path)


def is_log_of_pod(path: str) -> bool:
    return PurePosixPath(path).name == _OF_POD


def log_of(path: str) -> Log | None:
    if not path.endswith(_SUFFIX):
        return None
    parts = PurePosixPath(path).parts
    if gathered := _GATHERED.fullmatch("/".join(parts[-8:])):
        namespace, pod, container, run = gathered.groups()
        return Log(namespace, pod, container, run == "previous")
    if not (by_hand := _BY_HAND.fullmatch("/".join(parts[-4:]))):
        return None
    namespace, pod, container = by_hand.groups()
    for ending in _PREVIOUS:
        if container.endswith(ending):
            return Log(namespace, pod, container.removesuffix(ending), previous=True)
    return Log(namespace, pod, container)


def end_of(stream: Readable, path: str) -> bytes:
    most = MOST_OF_POD if is_log_of_pod(path) else MOST_BYTES
    kept = b""
    while part := stream.read(_CHUNK):
        kept = (kept + part)[-most:]
    return kept if is_log_of_pod(path) else last_lines(kept)


def last_lines(raw: bytes) -> bytes:
    raw = raw[-MOST_BYTES:]
    position = len(raw) - raw.endswith(b"\n")
    for _ in range(MOST_LINES):
        position = raw.rfind(b"\n", 0, position)
        if position < 0:
            return raw
    return raw[position + 1 :]


SUFFIXES: Final = (".yaml", ".yml", ".json")
"""Endings of the files that are read in a folder or an archive; a file named by itself may have any."""

ARCHIVE_SUFFIXES: Final = (".tgz", ".tar.gz", ".tar", ".zip", *(f"{each}.gz" for each in SUFFIXES))
"""Endings of the archives that are read inside of a folder or of another archive."""

NO_FILE: Final = "a pipe or a device, which is not read"

_PAGE: Final = re.compile(r"(?:[^/]+/)?metrics/[^/]+/[^/]+/[^/]+\.prom")


@dataclass(frozen=True, slots=True)
class InputFile:
    """`source`: how a message names it: a path, or `<archive>: <path inside of it>`. `path`: where
    it is in its folder or archive, which tells what it holds in the layouts of some tools.
    """

    source: str
    path: PurePosixPath
    raw: bytes


@dataclass(frozen=True, slots=True)
class PageFile(InputFile):
    """A page of metrics in an archive: `metrics/<namespace>/<pod>/<unix seconds>.prom`."""


@dataclass(frozen=True, slots=True)
class LogFile(InputFile):
    log: Log


@dataclass(frozen=True, slots=True)
class LeftOut:
    source: str
    cause: str


class Use(Enum):
    DOCUMENTS = auto()
    ARCHIVE = auto()
    PAGE = auto()
    LOG = auto()
    NOTHING = auto()


def shown(name: str, path: str) -> str:
    return f"{name}: {path if path.isprintable() else clean(path)}"


def use_of(path: str) -> Use:
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

"""The files of a dump, the limits on them, and which of them are container logs.

Layouts of logs: `logs/<namespace>/<pod>/<container>.log` and `.previous.log` in a folder made by
hand; `cluster-resources/pods/logs/<namespace>/<pod>/<container>.log` and `-previous.log`
(replicatedhq/troubleshoot, pkg/collect/cluster_resources.go);
`namespaces/<namespace>/pods/<pod>/<container>/<container>/logs/current.log` and `previous.log`
(openshift/oc, pkg/cli/admin/inspect/pod.go); `<namespace>/<pod>/logs.txt` with the logs of all
containers of a pod (`kubectl cluster-info dump --output-directory`).

Only the end of each log is kept: an engine with eight workers says why it failed within the last
thousand lines.

A dump may come from a stranger, so the amount that is read is limited, whatever the packing.
Nothing is unpacked to disk, and only one file of an archive is in memory at a time.
"""

import gzip
import posixpath
import re
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import PurePosixPath
from typing import BinaryIO, Final, Protocol, TypeAlias

from reporter.model.evidence import ContainerLog
from reporter.model.text import clean
from reporter.yaml_reader.limits import LIMITS

_MIB: Final = 1024 * 1024


class DumpError(Exception):
    """A dump cannot be evaluated; the message tells the user why."""


class BrokenArchiveError(DumpError):
    """An archive is damaged or cut off; if it is inside another one, only its files are lost."""


@dataclass(frozen=True, slots=True)
class InputLimits:
    """Bytes that are read before a dump is refused.

    `unpacked` counts all bytes decompressed from archives, including logs, which are decompressed
    to reach the entries after them. `nested`, `pages`, `logs` (only their ends) and `index` (that
    of a zip, which Python reads at once) are kept in memory. `header` limits a long name in a tar.
    `depth` is how deeply archives may be nested; `.tar.gz` counts as one.
    """

    file: int = LIMITS.size
    documents: int = 2 * LIMITS.size
    unpacked: int = 4096 * _MIB
    entries: int = 200_000
    nested: int = 96 * _MIB
    depth: int = 3
    pages: int = 64 * _MIB
    logs: int = 64 * _MIB
    index: int = 16 * _MIB
    header: int = _MIB
    links: int = 40


INPUT_LIMITS: Final = InputLimits()


_BEYOND: Final = {
    "unpacked": "it unpacks to more than {}; if you trust it, unpack it yourself and name the "
    "folder",
    "entries": "it has more than {} entries; if you trust it, unpack it yourself and name the "
    "folder",
    "documents": "with it the objects exceed {}; name fewer files",
    "pages": "its pages of metrics have more than {}; unpack it yourself",
}


@dataclass(slots=True)
class Budget:
    limits: InputLimits = INPUT_LIMITS
    _spent: Counter[str] = field(default_factory=Counter)

    def spend(self, what: str, size: int, name: str) -> None:
        """Count bytes or entries against a limit; raise DumpError if there are too many."""
        self._spent[what] += size
        most: int = getattr(self.limits, what)
        if self._spent[what] > most:
            shown = most if what == "entries" else _shown(most)
            raise DumpError(f"{name}: {_BEYOND[what].format(shown)}")

    def keep_log(self, size: int) -> bool:
        """Count the kept end of a log; False if it would exceed the limit."""
        self._spent["logs"] += size
        return self._spent["logs"] <= self.limits.logs


def too_large(name: str, most: int) -> str:
    return f"{name}: larger than {_shown(most)}; split it by kind"


def _shown(size: int) -> str:
    return f"{size // _MIB} MiB" if size >= _MIB else f"{size} bytes"


_START: Final = 4096

_MAGIC: Final = (
    (b"\xfd7zXZ\x00", "an xz archive; unpack it (xz -d) and name what comes out"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive; unpack it (zstd -d) and name what comes out"),
    (b"BZh", "a bzip2 archive; unpack it (bunzip2) and name what comes out"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it and name the folder"),
    (b"Rar!", "a rar archive; unpack it and name the folder"),
    (b"\x7fELF", "a program, not a dump"),
    (b"%PDF", "a PDF; ask for the files themselves"),
    (b"\x89PNG", "a picture; ask for the output as text: kubectl get ... -o yaml"),
    (b"\xff\xd8\xff", "a picture; ask for the output as text: kubectl get ... -o yaml"),
    (b"GIF8", "a picture; ask for the output as text: kubectl get ... -o yaml"),
    (b"k8s\x00", "protobuf of the API server; ask for -o yaml or -o json"),
)
"""First bytes of a file, and the message for it."""

_LOG_LINE: Final = (
    r"(?:[IWEF]\d{4} \d\d:\d\d:\d\d|\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d|"
    r"\[\d{4}-\d\d-\d\d|(?:INFO|WARN(?:ING)?|ERROR|DEBUG)\b)"
)

_TEXT: Final = (
    (r"<(?:!doctype html|html)\b",
     "a page of HTML; was it saved from a browser, or did a login page answer?"),
    ((r"(?:NAMESPACE +)?(?:NAME +(?:READY|STATUS|AGE|TYPE|DESIRED|DATA|CLASS|VERSION|CREATED AT)"
      r"|LAST SEEN +TYPE +REASON)\b"),
     "the table that kubectl prints; it needs -o yaml"),
    (r"Name: +\S+\n(?:Namespace|Labels|Priority|Roles): ",
     "the output of kubectl describe; it needs kubectl get ... -o yaml"),
    (r"Error from server|error: |The connection to the server|Unable to connect to the server",
     "an error message of kubectl, not its answer"),
    (r"(?:# (?:HELP|TYPE) |vllm:)\S+",
     "a page of metrics; put it below a dump as metrics/<namespace>/<pod>/<unix seconds>.prom"),
    (_LOG_LINE, "a log; a dump consists of objects: kubectl get ... -o yaml"),
)  # fmt: skip
"""Pattern of a text's beginning, and the message for it."""

_KUBECONFIG: Final = re.compile(
    r"^(?:kind: Config|current-context:.*+|[ \t]++client-key-data:.*+)$", re.MULTILINE
)
_OBJECT: Final = re.compile(rb"""^[ \t{-]*+"?apiVersion"?[ \t]*+:""", re.MULTILINE)
_PATTERNS: Final = tuple(
    (re.compile(rf"\s*+{start}", re.IGNORECASE), what) for start, what in _TEXT
)


_LOOKS: Final = "it looks like "
_EMPTY: Final = "it is empty; did the command that should have written it fail?"


def is_explained(cause: str) -> bool:
    """True if a cause comes from `looks_like`, so that it already says what to do."""
    return cause.startswith((_LOOKS, _EMPTY))


def looks_like(raw: bytes) -> str:
    """Say what a file that is not a dump looks like, and what to do; empty if it may be a dump."""
    if not raw.strip():
        return _EMPTY
    for magic, what in _MAGIC:
        if raw.startswith(magic):
            return f"{_LOOKS}{what}"
    text = raw[:_START].decode("utf-8", "replace")
    if _KUBECONFIG.search(text):
        return (
            f"{_LOOKS}a kubeconfig, which contains credentials: do not send it; to look at its "
            "cluster: status-reporter check --kubeconfig FILE"
        )
    if _OBJECT.search(raw):
        # Objects may follow a warning or a log line of the program that wrote them.
        return ""
    for pattern, what in _PATTERNS:
        if pattern.match(text):
            return f"{_LOOKS}{what}"
    return ""


Opener: TypeAlias = Callable[[], BinaryIO]

GZIP: Final = b"\x1f\x8b"
BLOCK: Final = 512


class Readable(Protocol):
    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes, and none at the end."""


class CountedStream:
    """Bytes out of an archive: counted against the budget, with errors mapped to ours."""

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
        """Return `size` bytes, or fewer at the end."""
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
    """Return the decompressed content of a gzip file, or any other file as it is."""
    start = file.read(len(GZIP))
    file.seek(0)
    inner = gzip.GzipFile(fileobj=file, mode="rb") if start == GZIP else file
    return CountedStream(inner, name, budget)


MOST_BYTES: Final = 1024 * 1024
MOST_LINES: Final = 1_000
MOST_OF_POD: Final = 16 * MOST_BYTES
"""Most bytes of a file with the logs of all containers of a pod."""

_CHUNK: Final = 1024 * 1024

_BY_HAND: Final = re.compile(r"logs/([^/]+)/([^/]+)/([^/]+)\.log")
_GATHERED: Final = re.compile(
    r"namespaces/([^/]++)/pods/([^/]++)/([^/]++)/[^/]++/logs/(current|previous)(?:\.insecure)?\.log"
)
_PREVIOUS: Final = (".previous", "-previous")


def is_log(path: str) -> bool:
    return log_of(path) is not None or is_log_of_pod(path)


def is_log_of_pod(path: str) -> bool:
    return PurePosixPath(path).name == "logs.txt"


def log_of(path: str) -> ContainerLog | None:
    if not path.endswith(".log"):
        return None
    parts = PurePosixPath(path).parts
    if gathered := _GATHERED.fullmatch("/".join(parts[-8:])):
        namespace, pod, container, run = gathered.groups()
        return ContainerLog(namespace, pod, container, run == "previous")
    if not (by_hand := _BY_HAND.fullmatch("/".join(parts[-4:]))):
        return None
    namespace, pod, container = by_hand.groups()
    for ending in _PREVIOUS:
        if container.endswith(ending):
            return ContainerLog(namespace, pod, container.removesuffix(ending), previous=True)
    return ContainerLog(namespace, pod, container)


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
"""Endings of files that are read in a folder or an archive; a file that is named directly may have
any ending."""

ARCHIVE_SUFFIXES: Final = (".tgz", ".tar.gz", ".tar", ".zip", *(f"{each}.gz" for each in SUFFIXES))
"""Endings of archives that are read inside a folder or another archive."""

NO_FILE: Final = "a pipe or a device, which is not read"

_PAGE: Final = re.compile(r"(?:[^/]+/)?metrics/[^/]+/[^/]+/[^/]+\.prom")


@dataclass(frozen=True, slots=True)
class InputFile:
    """`source`: its name in messages: a path, or `<archive>: <path inside>`. `path`: its place in
    the folder or archive, from which the layouts of some tools derive the content.
    """

    source: str
    path: PurePosixPath
    raw: bytes


@dataclass(frozen=True, slots=True)
class PageFile(InputFile):
    """A metrics page in an archive: `metrics/<namespace>/<pod>/<unix seconds>.prom`."""


@dataclass(frozen=True, slots=True)
class LogFile(InputFile):
    log: ContainerLog


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


def left_out(name: str, path: str, cause: str) -> LeftOut:
    return LeftOut(shown(name, path), cause)


def use_of(path: str) -> Use:
    # Hidden files are leftovers of editors and archivers.
    if posixpath.basename(path).startswith("."):
        return Use.NOTHING
    if path.endswith(SUFFIXES):
        return Use.DOCUMENTS
    if path.endswith(ARCHIVE_SUFFIXES):
        return Use.ARCHIVE
    if _PAGE.fullmatch(path):
        return Use.PAGE
    return Use.LOG if is_log(path) else Use.NOTHING

"""How much is read of a dump, whatever it is packed in.

A dump may come from anybody. Nothing of it is unpacked to disk; of an archive, one file at a time is
in memory.

Files that people take for dumps and that are none: what they look like, and what to do.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from reporter.yaml_reader.limits import LIMITS

_MIB: Final = 1024 * 1024


class DumpError(Exception):
    """A dump that cannot be evaluated; the message says why and is meant for the user."""


class BrokenArchiveError(DumpError):
    """An archive that is damaged or cut off; inside of another one it costs only itself."""


@dataclass(frozen=True, slots=True)
class InputLimits:
    """How much is read before a dump is refused.

    Attributes:
        file: most bytes of one file.
        documents: most bytes of all files that hold objects.
        unpacked: most bytes that come out of all archives of a dump, logs included: they have to be
            decompressed to find what is behind them.
        nested: most bytes of an archive inside of an archive, which is held in memory.
        depth: how many archives may be inside of each other; `.tar.gz` counts as one.
        pages: most bytes of all pages of metrics in archives, which are held in memory.
        logs: most bytes of the ends of all logs, which are held in memory; the rest is left out.
        index: most bytes of a zip's central directory, which Python reads at once.
        header: most bytes of a long name or of extended attributes in a tar.
        links: most links that are followed from one to the next.

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


@dataclass(slots=True)
class Budget:
    """What may still be read of the sources of one dump."""

    limits: InputLimits = INPUT_LIMITS
    _unpacked: int = field(init=False)
    _entries: int = field(init=False)
    _documents: int = field(init=False)
    _pages: int = field(init=False)
    _logs: int = field(init=False)

    def __post_init__(self) -> None:
        self._documents = self.limits.documents
        self._unpacked, self._entries = self.limits.unpacked, self.limits.entries
        self._pages, self._logs = self.limits.pages, self.limits.logs

    def unpack(self, size: int, name: str) -> None:
        """Count bytes that came out of an archive.

        Raises:
            DumpError: there are too many.

        """
        self._unpacked -= size
        if self._unpacked < 0:
            most = _shown(self.limits.unpacked)
            raise DumpError(
                f"{name}: it unpacks to more than {most}; if you trust it, unpack it yourself and "
                "name the folder"
            )

    def enter(self, name: str) -> None:
        """Count an entry of an archive.

        Raises:
            DumpError: there are too many.

        """
        self._entries -= 1
        if self._entries < 0:
            raise DumpError(
                f"{name}: it has more than {self.limits.entries} entries; if you trust it, unpack "
                "it yourself and name the folder"
            )

    def keep_document(self, size: int, name: str) -> None:
        """Count a file that holds objects.

        Raises:
            DumpError: there is too much of them.

        """
        self._documents -= size
        if self._documents < 0:
            most = _shown(self.limits.documents)
            raise DumpError(
                f"{name}: with it there are more than {most} of objects; name fewer files"
            )

    def keep_page(self, size: int, name: str) -> None:
        """Count a page of metrics.

        Raises:
            DumpError: there is too much of them.

        """
        self._pages -= size
        if self._pages < 0:
            most = _shown(self.limits.pages)
            raise DumpError(
                f"{name}: its pages of metrics have more than {most}; unpack it yourself"
            )

    def keep_log(self, size: int) -> bool:
        """Count the end of a log; False if there is no room for it."""
        self._logs -= size
        return self._logs >= 0


def too_large(name: str, most: int) -> str:
    """Say that a file is larger than what is read."""
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
"""First bytes, and what is said of a file that has them."""

_LOG_LINE: Final = (
    r"(?:[IWEF]\d{4} \d\d:\d\d:\d\d|\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d|"
    r"\[\d{4}-\d\d-\d\d|(?:INFO|WARN(?:ING)?|ERROR|DEBUG)\b)"
)

_TEXT: Final = (
    (
        r"<(?:!doctype html|html)\b",
        "a page of HTML; was it saved from a browser, or did a login page answer?",
    ),
    (
        r"(?:NAMESPACE +)?NAME +(?:READY|STATUS|AGE|TYPE|DESIRED|DATA|CLASS|VERSION|CREATED AT)\b",
        "the table that kubectl prints; it needs -o yaml",
    ),
    (
        r"(?:NAMESPACE +)?LAST SEEN +TYPE +REASON\b",
        "the table that kubectl prints; it needs -o yaml",
    ),
    (
        r"Name: +\S+\n(?:Namespace|Labels|Priority|Roles): ",
        "the output of kubectl describe; it needs kubectl get ... -o yaml",
    ),
    (
        r"Error from server|error: |The connection to the server|Unable to connect to the server",
        "an error message of kubectl, not its answer",
    ),
    (
        r"(?:# (?:HELP|TYPE) |vllm:)\S+",
        "a page of metrics; put it below a dump as metrics/<namespace>/<pod>/<unix seconds>.prom",
    ),
    (
        _LOG_LINE,
        "a log; a dump holds objects: kubectl get ... -o yaml",
    ),
)
"""How a text begins, and what is said of it."""

_KUBECONFIG: Final = re.compile(
    r"^(?:kind: Config|current-context:.*+|[ \t]++client-key-data:.*+)$", re.MULTILINE
)
_OBJECT: Final = re.compile(rb"""^[ \t{-]*+"?apiVersion"?[ \t]*+:""", re.MULTILINE)
_PATTERNS: Final = tuple(
    (re.compile(rf"\s*+{start}", re.IGNORECASE), what) for start, what in _TEXT
)


_LOOKS: Final = "it looks like "
_EMPTY: Final = "it is empty; did the command that should have written it fail?"


def is_told(cause: str) -> bool:
    """Tell whether a cause says what a file looks like, and with it what to do."""
    return cause.startswith((_LOOKS, _EMPTY))


def looks_like(raw: bytes) -> str:
    """Return what a file looks like that is no dump, and what to do; empty if it may be one."""
    if not raw.strip():
        return _EMPTY
    for magic, what in _MAGIC:
        if raw.startswith(magic):
            return f"{_LOOKS}{what}"
    text = raw[:_START].decode("utf-8", "replace")
    if _KUBECONFIG.search(text):
        return (
            f"{_LOOKS}a kubeconfig, which holds credentials: do not send it; to look at its "
            "cluster: status-reporter check --kubeconfig FILE"
        )
    if _OBJECT.search(raw):
        # Objects may stand behind a warning or a log line of whatever wrote them.
        return ""
    for pattern, what in _PATTERNS:
        if pattern.match(text):
            return f"{_LOOKS}{what}"
    return ""

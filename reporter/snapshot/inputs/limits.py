"""How much is read of a dump, whatever it is packed in.

A dump may come from anybody. Nothing of it is unpacked to disk; of an archive, one file at a time
is in memory.
"""

import re
from collections import Counter
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
    """Bytes that are read before a dump is refused.

    `unpacked` counts all that comes out of archives, logs included: they are decompressed to find
    what is behind them. `nested`, `pages`, `logs` (of which the ends are kept) and `index` (that of
    a zip, which Python reads at once) are held in memory. `header` bounds a long name in a tar.
    `depth` is how many archives may be inside of each other; `.tar.gz` counts as one.
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
    "unpacked": "it unpacks to more than {}; if you trust it, unpack it yourself and name the folder",
    "entries": "it has more than {} entries; if you trust it, unpack it yourself and name the folder",
    "documents": "with it there are more than {} of objects; name fewer files",
    "pages": "its pages of metrics have more than {}; unpack it yourself",
}


@dataclass(slots=True)
class Budget:
    limits: InputLimits = INPUT_LIMITS
    _spent: Counter[str] = field(default_factory=Counter)

    def spend(self, what: str, size: int, name: str) -> None:
        """Count bytes, or entries, of one of the limits; raise DumpError where there are too many."""
        self._spent[what] += size
        most: int = getattr(self.limits, what)
        if self._spent[what] > most:
            shown = most if what == "entries" else _shown(most)
            raise DumpError(f"{name}: {_BEYOND[what].format(shown)}")

    def keep_log(self, size: int) -> bool:
        """Count the end of a log; False if there is no room for it."""
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
"""First bytes, and what is said of a file that has them."""

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
    (_LOG_LINE, "a log; a dump holds objects: kubectl get ... -o yaml"),
)  # fmt: skip
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

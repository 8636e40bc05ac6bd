"""Files that people take for dumps and that are none: what they look like, and what to do."""

import re
from typing import Final

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

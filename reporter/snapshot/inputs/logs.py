"""Logs of containers in a dump: where tools put them, and how much of them is kept.

The layouts: `logs/<namespace>/<pod>/<container>.log` and `.previous.log` of a folder made by hand;
`cluster-resources/pods/logs/<namespace>/<pod>/<container>.log` and `-previous.log` (replicatedhq/troubleshoot,
pkg/collect/cluster_resources.go); `namespaces/<namespace>/pods/<pod>/<container>/<container>/logs/current.log`
and `previous.log` (openshift/oc, pkg/cli/admin/inspect/pod.go); `<namespace>/<pod>/logs.txt` with the
logs of all containers of a pod (`kubectl cluster-info dump --output-directory`).

Of each log its end is kept: an engine of eight workers says why it failed within the last thousand lines.
"""

import re
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from reporter.snapshot.inputs.streams import Readable

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
    """Which log it is; `previous` is that of the run before."""

    namespace: str
    pod: str
    container: str
    previous: bool = False


def is_log(path: str) -> bool:
    """Tell whether an entry may be a log, by its path."""
    return log_of(path) is not None or is_log_of_pod(path)


def is_log_of_pod(path: str) -> bool:
    """Tell whether a file has the logs of all containers of a pod."""
    return PurePosixPath(path).name == _OF_POD


def log_of(path: str) -> Log | None:
    """Return which log a path is of; None if it is of none."""
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
    """Return the end of a log, as much of it as is read."""
    most = MOST_OF_POD if is_log_of_pod(path) else MOST_BYTES
    kept = b""
    while part := stream.read(_CHUNK):
        kept = (kept + part)[-most:]
    return kept if is_log_of_pod(path) else last_lines(kept)


def last_lines(raw: bytes) -> bytes:
    """Return the last lines of a log."""
    raw = raw[-MOST_BYTES:]
    position = len(raw) - raw.endswith(b"\n")
    for _ in range(MOST_LINES):
        position = raw.rfind(b"\n", 0, position)
        if position < 0:
            return raw
    return raw[position + 1 :]

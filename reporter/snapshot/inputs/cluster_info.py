"""`kubectl cluster-info dump` as one stream: lists of objects, and the logs of pods between them.

The form is that of kubernetes/kubernetes, staging/src/k8s.io/kubectl/pkg/cmd/clusterinfo/clusterinfo_dump.go
(v1.30): the lists of each namespace, then for each container a line `==== START logs for container
<c> of pod <ns>/<p> ====`, its log, and a line `==== END logs ... ====`. A log need not end with a line
break, so the second mark may stand behind its last words. With `--output-directory` each list has a
file (`<namespace>/pods.json`), and the logs of a pod are in `<namespace>/<pod>/logs.txt`, between the same marks.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from reporter.snapshot.inputs.files import LogFile
from reporter.snapshot.inputs.logs import Log, last_lines

_MARK: Final = b"==== START logs for container "
_START: Final = re.compile(
    rb"^==== START (logs for container (\S+) of pod ([^\s/]+)/(\S+) ====)\r?\n", re.MULTILINE
)


def without_logs(raw: bytes) -> bytes:
    """Return a stream without the logs of pods; what is no such stream stays as it is.

    A log that was cut off takes the rest with it: nothing in it can be told from a log.
    """
    if _MARK not in raw:
        return raw
    kept: list[bytes] = []
    position = 0
    while start := _START.search(raw, position):
        kept.append(raw[position : start.start()])
        end = raw.find(b"==== END " + start.group(1), start.end())
        if end < 0:
            return b"".join(kept)
        line = raw.find(b"\n", end)
        position = len(raw) if line < 0 else line + 1
    kept.append(raw[position:])
    return b"".join(kept)


def logs_in(source: str, raw: bytes) -> Iterator[LogFile]:
    """Yield the logs that stand between the marks of such a stream."""
    position = 0
    while start := _START.search(raw, position):
        # A mark within a log is its own words.
        end = raw.find(b"==== END " + start.group(1), start.end())
        position = len(raw) if end < 0 else end
        container, namespace, pod = (each.decode("utf-8", "replace") for each in start.groups()[1:])
        said = last_lines(raw[start.end() : position])
        yield LogFile(source, PurePosixPath(source), said, Log(namespace, pod, container))

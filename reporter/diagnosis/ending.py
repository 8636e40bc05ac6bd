"""How a container ended, in plain words: its exit code, and the last thing that it said.

An exit code above 128 is 128 and the signal that ended the process (Kubernetes, "Determine the Reason
for Pod Failure"; POSIX shells). The kubelet keeps the termination message in the pod's status: what
the container wrote to its `terminationMessagePath`, or the end of its log with
`terminationMessagePolicy: FallbackToLogsOnError`.
"""

import re
from typing import Final

from reporter.model.objects.pods import Terminated
from reporter.model.text import clean_lines, cut

_MEANING: Final = {
    125: "the container could not be run",
    126: "its command cannot be executed",
    127: "its command was not found",
    130: "interrupted",
    132: "illegal instruction: built for another processor",
    134: "it aborted itself",
    135: "bus error, often shared memory that is full",
    136: "arithmetic error",
    137: "killed by a probe, a stop past its grace, or for memory",
    139: "crashed with a segmentation fault",
    143: "asked to stop",
}
_OUT_OF_MEMORY: Final = "OOMKilled"
_WORDS_BYTES: Final = 240
_RUNNING: Final = re.compile(
    r"""(?x)
      (?:\d{4}[-/])?\d\d?[-/]\d\d?[T\ ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?
    | \b\d\d:\d\d:\d\d(?:[.,]\d+)?
    | \bpid[=:\ ]\ ?\d+
    """
)
"""What another crash says otherwise: times, process ids. A message is to be stable."""


def exit_words(code: int, reason: str | None = None) -> str:
    """Return an exit code with what it means: `exit code 143: asked to stop`."""
    meaning = _MEANING.get(code, "")
    if reason == _OUT_OF_MEMORY:
        meaning = "killed, out of memory"
    return f"exit code {code}: {meaning}" if meaning else f"exit code {code}"


def last_words(message: str | None) -> str:
    """Return the last line of a termination message, clean, bounded and without running values."""
    lines = clean_lines(message or "")
    if not lines:
        return ""
    said = _RUNNING.sub("", lines[-1])
    return cut(" ".join(said.split()), _WORDS_BYTES)


def ending(ended: Terminated) -> str:
    """Return what follows the name of a container's end: its exit code, and its last words."""
    said = last_words(ended.message)
    return f" ({exit_words(ended.exit_code, ended.reason)})" + (f": {said}" if said else "")

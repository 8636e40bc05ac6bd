"""A pod at fault, with what others said about it, and how its containers ended.

An exit code above 128 is 128 and the signal that ended the process (Kubernetes, "Determine the
Reason for Pod Failure"; POSIX shells). The kubelet keeps the termination message in the pod's
status: what the container wrote to its `terminationMessagePath`, or the end of its log with
`terminationMessagePolicy: FallbackToLogsOnError`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from reporter.diagnosis.texts import Context
from reporter.model.evidence import ForeignEvent, LogCause
from reporter.model.objects import Container, ContainerStatus, Pod
from reporter.model.objects.pods import Terminated
from reporter.model.text import clean, clean_lines, cut
from reporter.snapshot.snapshot import Snapshot

NAME_BYTES = 253
CRASH_LOOP: Final = "CrashLoopBackOff"
_BAD: Final = frozenset({"Error", "OOMKilled", "DeadlineExceeded"})


def statuses(pod: Pod) -> Iterator[ContainerStatus]:
    """Yield the states of all containers of a pod, those of init containers first."""
    yield from pod.status.init_container_statuses or ()
    yield from pod.status.container_statuses or ()


def last_end(status: ContainerStatus) -> Terminated | None:
    """Return how a container ended, now or the last time, or None."""
    now = status.state.terminated if status.state else None
    return now or (status.last_state.terminated if status.last_state else None)


def has_run(pod: Pod) -> bool:
    """Tell whether a container of the pod runs, or ended and was not started again."""
    states = (each.state for each in statuses(pod) if each.state)
    return any(each.running or each.terminated for each in states)


def is_error(ended: Terminated | None) -> bool:
    return ended is not None and (ended.exit_code != 0 or ended.reason in _BAD)


def loops(status: ContainerStatus) -> bool:
    """Tell whether the kubelet waits before it starts a container again that ended too often."""
    waiting = status.state.waiting if status.state else None
    return waiting is not None and waiting.reason == CRASH_LOOP


@dataclass(frozen=True, slots=True)
class Case:
    pod: Pod
    snapshot: Snapshot

    @property
    def node(self) -> str:
        return cut(clean(self.pod.spec.node_name or ""), NAME_BYTES)

    def spec(self, name: str) -> Container | None:
        """Return the container of that name in the pod's spec; init containers count."""
        spec = self.pod.spec
        every = (*(spec.containers or ()), *(spec.init_containers or ()))
        return next((each for each in every if each.name == name), None)

    def words(self, name: str) -> str:
        """Return how messages name a container, with its kind: `init container fetch`."""
        init = any(each.name == name for each in self.pod.status.init_container_statuses or ())
        spec = self.spec(name)
        kind = "sidecar" if spec and spec.restart_policy == "Always" else "init container"
        return f"{kind if init else 'container'} {cut(clean(name), NAME_BYTES)}"

    def place(self, name: str = "") -> Context:
        """Return where texts about the pod, or about a container of it, are said."""
        spec = self.spec(name) if name else None
        limits = (spec.resources.limits if spec and spec.resources else None) or {}
        return Context(
            namespace=self.pod.namespace,
            image=spec.image if spec else "",
            node=self.node,
            container=cut(clean(name), NAME_BYTES),
            limit=cut(clean(f"{limits.get('memory', '')}"), 40),
        )

    @property
    def events(self) -> tuple[ForeignEvent, ...]:
        """The Events of others about the pod, the newest first."""
        return self.snapshot.evidence.events_of("Pod", self.pod)

    def said(self, reason: str, container: str = "") -> Iterator[ForeignEvent]:
        """Yield the Events of a reason, the newest first; of one container where it is named."""
        alone = sum(not each.ready for each in statuses(self.pod)) <= 1
        named = re.compile(rf"\b{re.escape(container)}\b")
        for each in self.events:
            of_it = f"{{{container}}}" in each.field_path or (
                not each.field_path and (alone or named.search(each.message) is not None)
            )
            if each.reason == reason and (not container or of_it):
                yield each

    def log(self, container: str) -> LogCause | None:
        """Return what the log of a container says; None where it was not read."""
        return self.snapshot.evidence.log_of(self.pod.namespace, self.pod.name, container)


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

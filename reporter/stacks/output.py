"""What a stack writes to the objects of its users: a part of each pass, and a writer.

The pass and the daemon carry it without knowing it. So what it remembers, plans and is answered are
plain objects here: only the output itself reads them. It must take None, and anything that is not
its own, as nothing yet.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from prometheus_client import CollectorRegistry

from reporter.kube.client import KubeClient
from reporter.model.finding import Derived, Finding
from reporter.model.instant import Instant
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.settings import DaemonSettings
from reporter.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputScope:
    derived: tuple[Derived, ...]  # the statuses that objects should have, of whatever kind
    snapshot: Snapshot  # what they rest on
    now: Instant
    settings: DaemonSettings
    instance: str
    leading: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    memory: object
    plan: object = None  # what is to be written; None where nothing can be said of that
    findings: tuple[Finding, ...] = ()
    next_in: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterParts:
    """What a writer is made of.

    Attributes:
        changed: called when a new pass is needed although the watches bring nothing.
        outdated: called with a resource that the watch does not bring as it is.

    """

    client: KubeClient
    registry: CollectorRegistry
    may_write: Callable[[], bool]  # asked before each request
    changed: Callable[[], None]
    outdated: Callable[[Resource[KubeObject]], None]


class OutputWriter(Protocol):
    def answers(self) -> object:
        """Return what was made of the last writes, for the next pass."""

    def offer(self, plan: object) -> None:
        """Replace what waits by what a new plan says."""

    def drop(self) -> None:
        """Forget what waits: what it rests on is not to be trusted any more."""

    def forget(self) -> None:
        """Forget what was written too: somebody else may lead by now."""

    def run(self) -> Coroutine[object, object, None]:
        """Write until cancelled."""


class Output(Protocol):
    def decide(self, scope: OutputScope, memory: object, answers: object) -> Decision:
        """Decide what to write. Pure.

        Args:
            scope: what it is decided from.
            memory: what the last pass returned; None before the first.
            answers: what was made of the last writes; None before the first.

        """

    def writer(self, parts: WriterParts) -> OutputWriter:
        """Make what writes it."""

"""What others said about objects at fault: their Events, and what the logs of containers mean.

Neither is watched. Both are read beside the passes, for what is at fault only, or stand in a dump; a
pass takes them as it takes samples. Without them a fault is told all the same, as a symptom.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from reporter.model.subject import ObjectRef


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignEvent:
    """An Event that another component wrote about an object.

    Attributes:
        about: `involvedObject`; it may have a `uid`.
        field_path: the part of it, such as `spec.containers{main}`; empty where none is named.
        type: `Normal` or `Warning`; much of the best evidence is Normal.
        reason: as written.
        component: who wrote it: `reportingComponent`, else `source.component`.
        first: when it was seen first.
        last: when it was seen last; `series.lastObservedTime` counts.

    """

    about: ObjectRef
    field_path: str = ""
    type: str = ""
    reason: str = ""
    message: str = ""
    component: str = ""
    first: datetime | None = None
    last: datetime | None = None
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCause:
    """What the log of a container says by the table of signatures.

    Attributes:
        signature: the row that matched; empty where none did.
        kind: the row's class, such as `gpu-memory`; empty where none matched.
        sentence: what it means, with its values filled in. Where no row matched, empty: raw lines
            never leave the process in a message.
        certain: the line alone is the cause.
        symptom: the line alone is no cause; any other evidence is better.
        values: what the signature extracted, by name.
        read: a log was read; False where there was none to read.
        listens: the address and port that its server says it listens on last, such as `0.0.0.0:8000`;
            empty where it does not say.
        loads: it tells of steps of loading a model.

    """

    signature: str = ""
    kind: str = ""
    sentence: str = ""
    action: str = ""
    certain: bool = False
    symptom: bool = False
    values: Mapping[str, str] = field(default_factory=dict)
    read: bool = True
    listens: str = ""
    loads: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is at hand about objects at fault.

    Attributes:
        events: by namespace, kind and name of the object that they are about; the newest first.
        logs: by namespace, pod and container.
        events_read: namespaces whose Events could be read; None is all of them.

    """

    events: Mapping[tuple[str, str, str], tuple[ForeignEvent, ...]] = field(default_factory=dict)
    logs: Mapping[tuple[str, str, str], LogCause] = field(default_factory=dict)
    events_read: frozenset[str] | None = frozenset()

    def events_about(
        self, namespace: str, kind: str, name: str, *, uid: str = ""
    ) -> tuple[ForeignEvent, ...]:
        """Return the Events about an object, the newest first; none of another object of its name."""
        found = self.events.get((namespace, kind, name), ())
        if not uid:
            return found
        return tuple(each for each in found if each.about.uid in ("", uid))

    def names_of(self, namespace: str, kind: str) -> tuple[str, ...]:
        """Return the names of the objects of a kind that Events of a namespace are about, sorted."""
        found = (name for place, what, name in self.events if (place, what) == (namespace, kind))
        return tuple(sorted(found))

    def reads_events(self, namespace: str) -> bool:
        """Tell whether the Events of a namespace could be read: else that there is none says nothing."""
        return self.events_read is None or namespace in self.events_read

    def log_of(self, namespace: str, pod: str, container: str) -> LogCause | None:
        """Return what the log of a container says; None where it was not read."""
        return self.logs.get((namespace, pod, container))


NO_EVIDENCE = Evidence()

"""What others said about objects at fault: their Events, and what the logs of containers mean.

Neither is watched. Both are read beside the passes, for what is at fault only, or stand in a dump;
a pass takes them as it takes samples. Without them a fault is told all the same, as a symptom.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from reporter.model.objects import KubeObject
from reporter.model.subject import ObjectRef


class ContainerLog(NamedTuple):
    """The log of a container; `previous`: of the run before the present one."""

    namespace: str
    pod: str
    container: str
    previous: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignEvent:
    """An Event that another component wrote about an object.

    `about` may have a `uid`. `field_path` is such as `spec.containers{main}`. Much of the best
    evidence is of type Normal.
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


_COMPARED: Final = 200
"""Characters of a line by which it is found among lines that are cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCause:
    """What the log of a container says by the table of signatures.

    `signature`, `kind` and `sentence` are empty where no row matched. `certain`: the line alone is
    the cause; `symptom`: any other evidence is better. `listens` is the address and port that its
    server says it listens on last, such as `0.0.0.0:8000`. `loads`: it tells of steps of loading a
    model.

    What is masked and stands in no message, as it is for people who may read the log: `lines` are
    its last ones, `failure` is the first that failed, where no row matched.
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
    failure: str = field(default="", compare=False)
    lines: tuple[str, ...] = field(default=(), compare=False)

    @property
    def shown(self) -> tuple[str, ...]:
        """The last lines, after the failure where they do not have it."""
        begin = self.failure[:_COMPARED]
        if not begin or any(begin in each for each in self.lines):
            return self.lines
        return (self.failure, "...", *self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is at hand about objects at fault: Events by namespace, kind and name, the newest first.

    `events_read`: namespaces whose Events could be read; None is all of them.
    """

    events: Mapping[tuple[str, str, str], tuple[ForeignEvent, ...]] = field(default_factory=dict)
    logs: Mapping[tuple[str, str, str], LogCause] = field(default_factory=dict)
    events_read: frozenset[str] | None = frozenset()

    def events_about(
        self, namespace: str, kind: str, name: str, *, uid: str = ""
    ) -> tuple[ForeignEvent, ...]:
        """Return the Events about an object, the newest first; none of another of its name."""
        found = self.events.get((namespace, kind, name), ())
        if not uid:
            return found
        return tuple(each for each in found if each.about.uid in ("", uid))

    def events_of(self, kind: str, obj: KubeObject) -> tuple[ForeignEvent, ...]:
        return self.events_about(obj.namespace, kind, obj.name, uid=obj.metadata.uid)

    def names_of(self, namespace: str, kind: str) -> tuple[str, ...]:
        found = (name for place, what, name in self.events if (place, what) == (namespace, kind))
        return tuple(sorted(found))

    def reads_events(self, namespace: str) -> bool:
        """Tell whether a namespace's Events could be read; if not, their absence says nothing."""
        return self.events_read is None or namespace in self.events_read

    def log_of(self, namespace: str, pod: str, container: str) -> LogCause | None:
        return self.logs.get((namespace, pod, container))


NO_EVIDENCE = Evidence()

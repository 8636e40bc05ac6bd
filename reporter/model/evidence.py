"""Evidence from elsewhere about objects at fault: Events of other components, and container logs.

Neither is watched. Both are read outside the passes, for objects at fault only, or come from a
dump; a pass takes them as it takes samples. Without them a fault is still reported, as a symptom.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from reporter.model.objects import KubeObject
from reporter.model.subject import ObjectRef


class ContainerLog(NamedTuple):
    """The log of a container; `previous`: of its previous run."""

    namespace: str
    pod: str
    container: str
    previous: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignEvent:
    """An Event that another component wrote about an object.

    `about` may have a `uid`. An example of a `field_path` is `spec.containers{main}`. Much of the
    best evidence has type Normal.
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
"""Characters compared to find a line among truncated lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCause:
    """What the table of signatures makes of a container's log.

    `signature`, `kind` and `sentence` are empty if no row matched. `certain`: the line alone proves
    the cause; `symptom`: any other evidence is better; `hint`: no row says what it means.
    `listens` is the last address and port that the server logged as listening, such as
    `0.0.0.0:8000`. `loads`: the log has steps of loading a model. `serves`: it has answers to
    requests for a model's output. `fetches` is a model of a hub if the last of these steps is to
    load it.

    `lines` are the last lines of the log, and `failure` is the first failing line if no row
    matched. Both are masked and stand in no message: they are for people who may read the log.
    """

    signature: str = ""
    kind: str = ""
    sentence: str = ""
    action: str = ""
    certain: bool = False
    symptom: bool = False
    hint: bool = False
    values: Mapping[str, str] = field(default_factory=dict)
    read: bool = True
    listens: str = ""
    loads: bool = False
    serves: bool = False
    fetches: str = ""
    failure: str = field(default="", compare=False)
    lines: tuple[str, ...] = field(default=(), compare=False)

    @property
    def shown(self) -> tuple[str, ...]:
        """The last lines, preceded by the failure unless they contain it."""
        begin = self.failure[:_COMPARED]
        if not begin or any(begin in each for each in self.lines):
            return self.lines
        return (self.failure, "...", *self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The available evidence. `events` are by namespace, kind and name, newest first; `logs` by
    namespace, pod and container.

    `events_read`: namespaces whose Events could be read; None means all.
    """

    events: Mapping[tuple[str, str, str], tuple[ForeignEvent, ...]] = field(default_factory=dict)
    logs: Mapping[tuple[str, str, str], LogCause] = field(default_factory=dict)
    events_read: frozenset[str] | None = frozenset()

    def events_about(
        self, namespace: str, kind: str, name: str, *, uid: str = ""
    ) -> tuple[ForeignEvent, ...]:
        """Return the Events about an object, newest first, without those of a former namesake."""
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
        """Tell whether a namespace's Events could be read; if not, their absence proves nothing."""
        return self.events_read is None or namespace in self.events_read

    def log_of(self, namespace: str, pod: str, container: str) -> LogCause | None:
        return self.logs.get((namespace, pod, container))


NO_EVIDENCE = Evidence()

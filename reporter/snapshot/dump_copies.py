"""The newest copy of each object of a dump, and the time of the dump by the times in its documents.

Loops and folders hold many objects twice. Whoever may write the status of an object of their own
may write any time into it, and the clock of a dump decides how long every fault has lasted.
Kubelets tell of each node at least every five minutes (nodeStatusReportFrequency of
KubeletConfiguration), and of nodes, pods and workloads only the cluster writes the status. So where
nodes tell their heartbeats, a time of another kind counts only if it is not much later than those;
where none does, nothing says which time is the true one, and all count.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from reporter.model.objects import KubeObject
from reporter.model.report import SUPERSEDED, SkippedObject
from reporter.model.resource import Resource
from reporter.snapshot.decode import skipped
from reporter.snapshot.dump_served import Json, part

_UINT64_DIGITS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """One copy of an object.

    `revision` is its resourceVersion and `generation` that of its spec, each -1 where it is not
    known. `newest` is the newest time in it. Of two versions of the API the one with the higher
    `preference` is read.
    """

    content: KubeObject | SkippedObject
    revision: int
    generation: int
    uid: object
    newest: datetime | None
    preference: int
    digest: int

    def follows(self, other: "Copy") -> bool:
        """Tell whether this copy counts, which comes later in the dump.

        The one with the higher resourceVersion is newer: Kubernetes API concepts, "Resource
        versions", says that they can be compared. Of one revision the copy counts that can be read.
        """
        if self.revision != other.revision:
            return self.revision > other.revision
        if self.revision >= 0:
            return self.worth >= other.worth
        if self.uid == other.uid and self.generation != other.generation:
            return self.generation > other.generation
        if self.newest and other.newest and self.newest != other.newest:
            return self.newest > other.newest
        return True

    @property
    def worth(self) -> tuple[bool, int]:
        return not isinstance(self.content, SkippedObject), self.preference

    def differs(self, other: "Copy") -> bool:
        """Tell whether the two may say different things: one revision in two versions does not."""
        if self.revision >= 0:
            return self.revision != other.revision
        return self.digest != other.digest


def copy_of(
    value: Json,
    content: KubeObject | SkippedObject,
    newest: datetime | None,
    *,
    preference: int,
    digest: int,
) -> Copy:
    generation = part(value, "metadata", "generation")
    return Copy(
        content=content,
        revision=_number(part(value, "metadata", "resourceVersion")),
        generation=generation if isinstance(generation, int) else -1,
        uid=part(value, "metadata", "uid"),
        newest=newest,
        preference=preference,
        digest=digest,
    )


@dataclass(slots=True)
class Copies:
    _kept: dict[Resource[KubeObject], dict[tuple[str, str], Copy]] = field(default_factory=dict)
    _superseded: dict[tuple[Resource[KubeObject], str, str], int] = field(default_factory=dict)

    def add(self, resource: Resource[KubeObject], copy: Copy) -> None:
        """Keep a copy that comes later in the dump, or the one that it is older than."""
        copies = self._kept.setdefault(resource, {})
        key = (copy.content.namespace, copy.content.name)
        other = copies.get(key)
        if other is not None and copy.differs(other):
            place = (resource, *key)
            self._superseded[place] = self._superseded.get(place, 0) + 1
        if other is None or copy.follows(other):
            copies[key] = copy

    def objects(self) -> Iterator[tuple[Resource[KubeObject], dict[tuple[str, str], KubeObject]]]:
        for resource, copies in self._kept.items():
            contents = ((key, copy.content) for key, copy in copies.items())
            kept = {key: each for key, each in contents if not isinstance(each, SkippedObject)}
            yield resource, kept

    def malformed(self) -> Iterator[SkippedObject]:
        for copies in self._kept.values():
            for copy in copies.values():
                if isinstance(copy.content, SkippedObject):
                    yield copy.content

    def superseded(self) -> Iterator[SkippedObject]:
        for resource, namespace, name in self._superseded:
            yield skipped(resource, namespace, name, cause=SUPERSEDED)


def _number(text: object) -> int:
    if not isinstance(text, str) or not text.isdecimal() or len(text) > _UINT64_DIGITS:
        return -1
    return int(text)


_FIELDS: Final = frozenset({
    "creationTimestamp", "lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime",
    "lastProbeTime", "startTime", "startedAt", "finishedAt", "firstTimestamp",
    "lastTimestamp", "eventTime", "lastObservedTime", "time", "acquireTime", "renewTime",
})  # fmt: skip
"""Fields that hold a past time; others, such as `expiresAt`, may lie in the future."""


_OF_THE_CLUSTER: Final = frozenset(
    {"Node", "Pod", "Namespace", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"}
)
_GROUPS: Final = frozenset({"", "apps", "batch"})
_LATER: Final = timedelta(minutes=10)
"""How much later than the cluster's newest time another one may be: twice the time between heartbeats."""


@dataclass(slots=True)
class DumpClock:
    """What the objects of a dump say of its time."""

    _newest: datetime | None = None
    _others: set[datetime] = field(default_factory=set)
    _heartbeats: bool = False

    def note(self, value: Mapping[str, object], group: str = "", kind: str = "") -> datetime | None:
        newest = max(_times(value), default=None)
        metadata = value.get("metadata")
        created = metadata.get("creationTimestamp") if isinstance(metadata, dict) else None
        told = [created] if isinstance(created, str) else []
        own = [each for each in map(_moment, told) if each]
        if kind in _OF_THE_CLUSTER and group in _GROUPS:
            status = value.get("status")
            own += _times(status)
            self._heartbeats |= kind == "Node" and _has_heartbeat(status)
        if newest is not None:
            self._others.add(newest)
        self._newest = max([*own, *([self._newest] if self._newest else [])], default=None)
        return newest

    def time(self) -> datetime | None:
        if not self._heartbeats or self._newest is None:
            return max(self._others, default=None)
        latest = self._newest + _LATER
        return max((each for each in self._others if each <= latest), default=self._newest)


def _has_heartbeat(status: object) -> bool:
    conditions = status.get("conditions") if isinstance(status, dict) else None
    each = conditions if isinstance(conditions, list) else []
    return any(isinstance(one, dict) and "lastHeartbeatTime" in one for one in each)


def _times(document: object) -> Iterator[datetime]:
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(each for each in value if isinstance(each, (dict, list)))
        elif isinstance(value, dict):
            for key, each in value.items():
                if isinstance(each, (dict, list)):
                    waiting.append(each)
                elif key in _FIELDS and isinstance(each, str) and (moment := _moment(each)):
                    yield moment


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None

"""The times that stand in the documents of a dump, and which of them is the time of the dump.

Whoever may write the status of an object of their own may write any time into it, and the clock of a dump
decides how long every fault has lasted. Kubelets tell of each node at least every five minutes
(nodeStatusReportFrequency of KubeletConfiguration), and of nodes, pods and workloads only the cluster writes
the status. So where nodes tell their heartbeats, a time of another kind counts only if it is not much later
than those; where none does, nothing says which time is the true one, and all count.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

_FIELDS: Final = frozenset(
    {
        "creationTimestamp", "lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime",
        "lastProbeTime", "startTime", "startedAt", "finishedAt", "firstTimestamp",
        "lastTimestamp", "eventTime", "lastObservedTime", "time", "acquireTime", "renewTime",
    }
)  # fmt: skip
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
        """Take an object; return the newest time that stands in it, None if there is none."""
        newest = newest_time(value)
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
        """Return the time of the dump, None if none stands in it."""
        if not self._heartbeats or self._newest is None:
            return max(self._others, default=None)
        latest = self._newest + _LATER
        return max((each for each in self._others if each <= latest), default=self._newest)


def _has_heartbeat(status: object) -> bool:
    conditions = status.get("conditions") if isinstance(status, dict) else None
    each = conditions if isinstance(conditions, list) else []
    return any(isinstance(one, dict) and "lastHeartbeatTime" in one for one in each)


def newest_time(document: object) -> datetime | None:
    """Return the newest past time that stands anywhere in a document, None if there is none."""
    return max(_times(document), default=None)


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

"""Judge what the reporter reported: pure functions over records. An empty result is good.

The records are the faults of the cluster, and each version of our Events.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from e2e.envtest.audit import Request

WARNING = "Warning"
LIVE = frozenset({"firing", "stale"})


class Key(NamedTuple):
    """The identity of an Event: its reason and its subject."""

    reason: str
    subject: str

    def __str__(self) -> str:
        return f"{self.reason} of {self.subject}"


@dataclass(frozen=True)
class Truth:
    """A fault that the cluster really had; times in seconds since the epoch.

    Attributes:
        key: what must be reported about it.
        since: when it began.
        until: when it ended.
        undone: it ended because the cluster was restored to before it, its Event included.
    """

    key: Key
    since: float = -math.inf
    until: float = math.inf
    undone: bool = False

    def holds(self, at: float) -> bool:
        return self.since <= at < self.until

    @property
    def lasts(self) -> bool:
        return math.isinf(self.until)


@dataclass(frozen=True)
class Version:
    """One version of one of our Events.

    Attributes:
        at: when an admin's watch received it, in seconds since the epoch.
        message: of the Event.
        history: increases when the cluster is restored to an earlier state.
        name: of the Event.
        uid: of the object; different after it was deleted and created again.
        key: reason and subject.
        involved: kind and name of the involvedObject.
        type: `Warning` or `Normal`.
        state: `firing`, `stale`, `over`; empty once the object is gone.
        count: how often it was reported.
    """

    at: float
    name: str
    uid: str
    key: Key
    type: str
    state: str
    count: int = 1
    involved: str = ""
    message: str = ""
    history: int = 0

    @property
    def gone(self) -> bool:
        return not self.state

    @property
    def live(self) -> bool:
        """Tell whether it reports a current fault."""
        return self.type == WARNING and self.state in LIVE


IN_FLIGHT_SECONDS: Final = 3.0
"""A write that was decided before a change of the cluster may arrive this much later."""

_BOTH: Final = 2
_SUCCESS: Final = range(200, 300)
_EVENTS: Final = "events"
_LEASES: Final = "leases.coordination.k8s.io"


def untrue(
    versions: Iterable[Version], truths: Collection[Truth], allowed: Collection[str] = ()
) -> list[str]:
    """Return false reports: Warnings, recoveries and Readys.

    Args:
        versions: the record, the oldest first.
        truths: the real faults.
        allowed: reasons that may be reported without a fault of the cluster.
    """
    found: list[str] = []
    for before, version in _steps(versions):
        if version.gone:
            continue
        was_live = before is not None and before.live
        key = version.key
        own = [each for each in truths if each.key == key]
        if version.type != WARNING:
            of_subject = [each for each in truths if each.key.subject == key.subject]
            if before is None and _held(version, of_subject) == _BOTH:
                found.append(f"{key} was told while it was not so")
        elif version.live and not was_live:
            if key.reason not in allowed and not _held(version, own):
                found.append(f"{key} was told and was not so")
        elif was_live and not version.live and _held(version, own) == _BOTH:
            found.append(f"{key} was told to be over and was not")
    return found


def _held(version: Version, truths: Iterable[Truth]) -> int:
    """Return at how many of two times a fault held: now, and when what comes now was decided."""
    times = (version.at, version.at - IN_FLIGHT_SECONDS)
    return max((sum(map(each.holds, times)) for each in truths), default=0)


def lost(versions: Iterable[Version], truths: Iterable[Truth]) -> list[str]:
    """Return what should have been reported by the end of the record and was not.

    A fault that lasts has a firing Event, and nothing else has one. The subject of a fault that
    ended was reported ready since, unless it has another fault.
    """
    truths = tuple(truths)
    newest = {(version.name, version.uid): version for version in versions}
    present = [version for version in newest.values() if not version.gone]
    lasting = {truth.key for truth in truths if truth.lasts}
    firing = {version.key for version in present if version.state == "firing"}
    still = {version.key for version in present if version.live}
    found = [f"{key} is not told" for key in sorted(lasting - firing)]
    found += [f"{key} is not told to be over" for key in sorted(still - lasting)]
    found += [
        f"{truth.key.subject} is not told to be ready again"
        for truth in truths
        if not truth.lasts and not truth.undone and not _ready_since(truth, present, truths)
    ]
    return found


def _ready_since(truth: Truth, present: Iterable[Version], truths: Iterable[Truth]) -> bool:
    subject = truth.key.subject
    if any(each.lasts and each.key.subject == subject for each in truths):
        return True
    return any(
        version.type != WARNING and version.key.subject == subject and version.at >= truth.until
        for version in present
    )


def told_at(versions: Sequence[Version], truths: Collection[Truth], since: float) -> float | None:
    """Return the first moment, `since` at the earliest, when nothing was lost, or None."""
    for index, version in enumerate(versions):
        if version.at > since and not lost(versions[:index], truths):
            return max(since, versions[index - 1].at if index else since)
    if lost(versions, truths):
        return None
    return max(since, versions[-1].at if versions else since)


def doubled(versions: Iterable[Version]) -> list[str]:
    """Return Events that repeat what another one reports already, and decreasing counts."""
    found: list[str] = []
    standing: dict[tuple[Key, str], Version] = {}
    for before, version in _steps(versions):
        place = version.key, version.involved
        if before is None:
            other = standing.get(place)
            if other is not None and other.name != version.name and not other.gone:
                found.append(f"{version.key}: {version.name} beside {other.name}")
        elif (
            before.history == version.history
            and not before.gone
            and not version.gone
            and version.count < before.count
        ):
            found.append(f"{version.name}: count went from {before.count} to {version.count}")
        if version.type != WARNING and before is None:
            # A Ready ends the Warnings of a subject: each may come again, as another episode.
            _close(standing, version.key.subject)
        if version.type == WARNING:
            _close(standing, version.key.subject, normal=True)
        standing[place] = version
    return found


def _close(standing: dict[tuple[Key, str], Version], subject: str, *, normal: bool = False) -> None:
    """Forget the Warnings of a subject that are over, or its Ready."""
    for place, version in tuple(standing.items()):
        over = version.type != WARNING if normal else not version.live
        if version.key.subject == subject and over:
            del standing[place]


def late_writes(requests: Iterable[Request]) -> list[Request]:
    """Return writes of Events that succeeded after another replica had written in its own term.

    A term begins with a replica's first successful write of the Lease after another one's.
    """
    holder = ""
    has_written = False
    found: list[Request] = []
    for request in requests:
        if not request.pod or not request.writes or request.code not in _SUCCESS:
            continue
        if request.resource == _LEASES and request.pod != holder:
            holder, has_written = request.pod, False
        elif request.resource == _EVENTS and request.pod == holder:
            has_written = True
        elif request.resource == _EVENTS and has_written:
            found.append(request)
    return found


def writers(requests: Iterable[Request]) -> list[str]:
    """Return the replicas that wrote Events, each once for each time it took over."""
    pods: list[str] = []
    for request in requests:
        wrote = request.pod and request.writes and request.code in _SUCCESS
        if wrote and request.resource == _EVENTS and pods[-1:] != [request.pod]:
            pods.append(request.pod)
    return pods


def _steps(versions: Iterable[Version]) -> Iterator[tuple[Version | None, Version]]:
    """Yield each version with the previous one of the same Event, None if there is none."""
    newest: dict[str, Version] = {}
    for version in versions:
        before = newest.get(version.name)
        yield (None if before is None or before.gone else before), version
        newest[version.name] = version

"""The input of the judges: faults of the cluster, and each version of our Events."""

import math
from dataclasses import dataclass
from typing import NamedTuple

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
        """Tell whether it was present at a moment."""
        return self.since <= at < self.until

    @property
    def lasts(self) -> bool:
        """Tell whether it is still present."""
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
        """Tell whether the object does not exist any more."""
        return not self.state

    @property
    def live(self) -> bool:
        """Tell whether it reports a current fault."""
        return self.type == WARNING and self.state in LIVE

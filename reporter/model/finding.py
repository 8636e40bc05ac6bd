"""What probes return: findings, evidence of readiness, and statuses derived for others' objects."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from reporter.model.instant import rfc3339
from reporter.model.subject import ObjectRef, Subject

Document: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Derived:
    """The status that one object should have, in the shape of the object's own API.

    A condition without `lastTransitionTime` has changed since the status on record was written.
    """

    object: ObjectRef
    status: Document

    def dated(self, now: datetime) -> "Derived":
        """Return the same with `now` as the time of each condition that has changed."""
        conditions = self.status.get("conditions")
        if not isinstance(conditions, list):
            return self
        stamp = {"lastTransitionTime": rfc3339(now)}
        filled = [{**stamp, **each} for each in conditions]
        return Derived(self.object, {**self.status, "conditions": filled})


class Sureness(StrEnum):
    """How sure a cause is.

    `CERTAIN`: an object says so. `LIKELY`: worked out, or read from a log; the message says
    "probably". `UNKNOWN`: only the symptom is known.
    """

    CERTAIN = "certain"
    LIKELY = "likely"
    UNKNOWN = "unknown"


class Fails(StrEnum):
    """In which way what is at fault fails, which decides what shows something of it.

    `ZERO`: somebody asked for no replica. `REFUSED`: its pods are not made. `UNSCHEDULED`: its pod
    has no node. `WAITING`: no container of its pod has run. `CRASHING`: one ended and was started
    again. `UNREADY`: it runs, or did once.
    """

    OTHERWISE = "otherwise"
    ZERO = "zero"
    REFUSED = "refused"
    UNSCHEDULED = "unscheduled"
    WAITING = "waiting"
    CRASHING = "crashing"
    UNREADY = "unready"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The cause of a pod's fault.

    `code` is stable and short, such as `gpu-size`. `cause` is one clean line without the pod's own
    name and running values: `it asks for 4 nvidia.com/gpu, no node has more than 2`; `brief` is for
    places without room. `object` is what must be mended, None where that is the pod's own workload;
    `missing`: it does not exist. `shared`: other pods have the same cause at the same object (a
    node, a claim, a quota, an image), so that it is told there once.
    """

    code: str
    cause: str
    brief: str
    action: str = ""
    _: KW_ONLY
    object: ObjectRef | None = None
    sureness: Sureness = Sureness.CERTAIN
    signature: str = ""
    shared: bool = False
    missing: bool = False

    @property
    def told(self) -> str:
        """The cause as a message has it: one that is worked out or read from a log is probable."""
        worded = self.sureness is not Sureness.LIKELY or "probably" in self.cause
        return self.cause if worded else f"probably {self.cause}"


class FindingKey(NamedTuple):
    reason: str
    subject: Subject
    involved: ObjectRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault of one object.

    Several findings may share a key; the resolution merges them, names the worst and counts the
    others.

    `involved` is the cluster-scoped object that the Event refers to; `related` is the precise
    object at fault, and tells faults under one key apart. `message` is one clean line without ages
    and running values; `cause` is the same in a few words, for `(also: <reason>: <cause>)`. Larger
    `severity` is worse. `uids` are those of both objects: references compare without them, but a
    finding about a recreated object is another one.

    When it began: `transition` is when the condition whose *status* is the fault took that status,
    and None where only its reason or text is. `created` is the creation of the object at fault, or
    when what the fault follows from last changed. Nothing is older than `no_older_than`.

    When it fires: `exempt` at once; after `budget` seconds, which it may legitimately last also
    where graces are off; `sustains` continues an episode of the same object, never starts one;
    `lingers` belongs to what ends only when the object is well or gone, as with a pod's containers.
    `passing`: it is at a step of its recovery, and what was told of the same object before says
    more.

    What explains it: `governs` keeps the status that downstream reasons read from being written, so
    it holds and suppresses them; `independent` is neither held nor suppressed. `lost_node` is the
    node that it rests on; `rests_on` the reason and name of another cause, which tells it.
    `by_spec`: no status, however old, can make it untrue.

    What hangs on it: `down`: nothing of what is at fault works. `unneeded`: nothing uses it, apart
    from what it comes with. `sole_place` is the namespace of all that needs what is missing.
    `about` is the part of the object that the words are about; words about another part do not
    stay.
    """

    reason: str
    subject: Subject
    involved: ObjectRef
    related: ObjectRef
    message: str
    cause: str
    severity: int = 0
    transition: datetime | None = None
    created: datetime | None = None
    exempt: bool = False
    budget: timedelta | None = None
    governs: bool = False
    independent: bool = False
    sustains: bool = False
    lingers: bool = False
    lost_node: str = ""
    rests_on: tuple[str, str] | None = None
    passing: bool = False
    about: str = ""
    down: bool = False
    unneeded: bool = False
    sole_place: str = ""
    no_older_than: datetime | None = None
    by_spec: bool = False
    diagnosis: Diagnosis | None = None
    fails: Fails = Fails.OTHERWISE
    uids: tuple[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "uids", (self.involved.uid, self.related.uid))

    @property
    def key(self) -> FindingKey:
        return FindingKey(self.reason, self.subject, self.involved)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyEvidence:
    """Positive evidence that a subject works; absence of faults is not enough.

    `uids` are those of `involved` and `related`, as in a `Finding`.
    """

    reason: str
    subject: Subject
    involved: ObjectRef
    related: ObjectRef
    message: str
    uids: tuple[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "uids", (self.involved.uid, self.related.uid))


Entrance: TypeAlias = tuple[str, str]
"""Namespace and name of a Gateway that requests come through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingEvidence:
    """How much of a subject works, by what its Ready rests on.

    `reached`: requests find their way to it through its own endpoint picker and route. `entrances`
    are the Gateways that they come through; `closed` those of a namespace that let nothing through.
    """

    subject: Subject
    wanted: int
    serving: int
    reached: bool = True
    entrances: frozenset[Entrance] = frozenset()
    closed: frozenset[Entrance] = frozenset()


@dataclass(frozen=True, slots=True)
class KnownSubject:
    """A subject that exists and is not being deleted.

    `created` decides whether it is younger than an Event's lifetime; None for the cluster.
    """

    subject: Subject
    created: datetime | None = None


Undecided: TypeAlias = Mapping[ObjectRef, frozenset[str]]
"""Reasons that cannot be judged for a pod now; the uid of its reference tells it from another."""


@dataclass(frozen=True, slots=True, order=True)
class Unjudged:
    """A subject, or a reason, that a probe failed on: our own fault, of which others must not
    suffer.

    `cause` has no word of the object's. `reason` is what alone cannot be judged; empty: all about
    the subject.
    """

    about: Subject
    cause: str
    reason: str = ""
    probe: str = ""

    def __str__(self) -> str:
        return f"{self.reason} (probe: {self.probe})" if self.reason else str(self.about)

    def covers(self, subject: Subject) -> bool:
        if self.reason:
            return False
        return subject == self.about


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All that the probes say about one snapshot.

    A fault that fires for what is `undecided` goes on, and none begins.
    """

    findings: tuple[Finding, ...]
    ready: tuple[ReadyEvidence, ...]
    subjects: tuple[KnownSubject, ...]
    undecided: Undecided = field(default_factory=dict)
    derived: tuple[Derived, ...] = ()
    unjudged: tuple[Unjudged, ...] = ()
    serving: tuple[ServingEvidence, ...] = ()

    def leaves_open(self, subject: Subject) -> bool:
        return any(each.covers(subject) for each in self.unjudged)

    @property
    def open_reasons(self) -> frozenset[str]:
        return frozenset(each.reason for each in self.unjudged if each.reason)


EpisodeKey: TypeAlias = tuple[FindingKey, datetime]
"""What is at fault, and since when: its last lines are read once."""

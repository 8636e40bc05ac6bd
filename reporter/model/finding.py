"""One probe's statement about one object in one snapshot.

What is wrong with a pod, in one sentence: the cause, not where it hurts.

A container that ended before its time, whose last lines say more than its status.

A status that this program computes for somebody else's object.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from reporter.model.instant import rfc3339
from reporter.model.subject import ObjectRef, Subject

Document: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Derived:
    """The status that one object should have.

    Attributes:
        status: in the shape of the object's own API. A condition without `lastTransitionTime` has
            changed since the status on record was written; `dated` fills in when.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The cause of a pod's fault.

    Attributes:
        code: what kind of cause it is, stable and short, such as `gpu-size` or `image-tag`.
        cause: one clean line in words, without the pod's own name, no running values:
            `it asks for 4 nvidia.com/gpu, no node has more than 2`.
        brief: the same in a few words, for places where there is no room for more.
        object: what must be mended, None where that is the pod's own workload.
        action: what to do, as an imperative sentence; empty where nothing more can be said.
        signature: the row of the table of log signatures that matched; empty where none did.
        shared: other pods have the same cause at the same object (a node, a claim, a queue, a
            Secret, a quota, an image, a webhook), so that it is told there once.
        missing: `object` does not exist.

    """

    code: str
    cause: str
    brief: str
    object: ObjectRef | None = None
    action: str = ""
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
    """What findings are merged by: one Event is written for each key and episode."""

    reason: str
    subject: Subject
    involved: ObjectRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault of one object.

    Several findings may share a key; the resolution merges them, names the worst and counts the
    others.

    Attributes:
        involved: the cluster-scoped object that the Event refers to.
        related: the precise object at fault; also tells faults under one key apart.
        message: one clean line that names the subject and the object; no ages, no running values.
        cause: the same in a few words, for `(also: <reason>: <cause>)`.
        severity: larger is worse; among equals the first `related` in name order counts as worst.
        transition: when the condition whose *status* is the fault took that status; None where
            only its reason or text is the fault, or where there is no condition.
        created: creation time of the object at fault, None if it does not exist; or when what the fault
            follows from last changed, where that is known and since when it lasts is not.
        exempt: fires at once, whatever the grace.
        budget: time this fault may legitimately last; unlike a grace it stays when graces are off.
        governs: the fault keeps the status that downstream reasons read from being written, so
            it holds and suppresses them.
        independent: not explained by an upstream: neither held nor suppressed.
        sustains: continues an episode that already fires for the same object, never starts one.
        lingers: belongs to what ends only when the object is well or gone, such as the faults of a
            pod's containers: once one fired, any that follows it continues it, also one within its
            own grace or budget.
        lost_node: the node that it rests on and that does not work for it; empty if none is.
        rests_on: reason and name of the cause where this is told, as others suffer from the same object
            and it is no node; None where this one tells it.
        passing: it is at a step of its recovery, or waits to fail again: what was told of the same
            object before says more, and stays for a while.
        about: the part of the object that the words are about, such as a container. Words about
            another part do not stay; empty where only an equal severity decides that.
        down: nothing of what is at fault works, so that whatever passes through it is hit.
        unneeded: nothing in the cluster uses what is at fault, besides what it comes with.
        sole_place: the namespace of all that needs what is missing; empty where others need it, or it
            was there before.
        by_spec: follows from what objects ask for and which objects exist, so that no status, however
            old, can make it untrue.
        diagnosis: why a pod that it is about does not do what it should, where that is known.
        started: a container of that pod has run, so that there is a log of it.
        uids: of `involved` and `related`. References compare without them, and so do keys; a finding
            about a recreated object is another one, for its Event refers to that object.

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
    by_spec: bool = False
    diagnosis: Diagnosis | None = None
    started: bool = True
    uids: tuple[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "uids", (self.involved.uid, self.related.uid))

    @property
    def key(self) -> FindingKey:
        """What this finding is merged by."""
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
    """How much of a subject works, by what its Ready rests on; there is none where that is unknown.

    Attributes:
        reached: whether requests find their way to them through what is the subject's own: its
            endpoint picker and its route.
        entrances: the Gateways that its requests come through.
        closed: Gateways of a namespace that let nothing through, as they have no ready data plane.

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
    """A subject, or a reason, that a probe failed on: our own fault, of which others must not suffer.

    Attributes:
        cause: what failed and where, without a word of the object's.
        reason: what alone cannot be judged, of whatever subject; empty: all about the subject.
        probe: which of the probes of that reason failed.

    """

    about: Subject
    cause: str
    reason: str = ""
    probe: str = ""

    def __str__(self) -> str:
        return f"{self.reason} (probe: {self.probe})" if self.reason else str(self.about)

    def covers(self, subject: Subject) -> bool:
        """Tell whether nothing is known about a subject for this."""
        if self.reason:
            return False
        return subject == self.about


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All that the probes say about one snapshot.

    Attributes:
        ready: positive evidence that subjects work.
        undecided: what cannot be told of a pod now: a fault of it that fires goes on, and none
            begins.
        unjudged: what nothing is known about, as a probe failed.

    """

    findings: tuple[Finding, ...]
    ready: tuple[ReadyEvidence, ...]
    subjects: tuple[KnownSubject, ...]
    undecided: Undecided = field(default_factory=dict)
    derived: tuple[Derived, ...] = ()
    unjudged: tuple[Unjudged, ...] = ()
    serving: tuple[ServingEvidence, ...] = ()

    def leaves_open(self, subject: Subject) -> bool:
        """Tell whether a subject could not be judged, so that its silence says nothing."""
        return any(each.covers(subject) for each in self.unjudged)

    @property
    def open_reasons(self) -> frozenset[str]:
        """The reasons that could not be judged, so that their silence says nothing."""
        return frozenset(each.reason for each in self.unjudged if each.reason)


EpisodeKey: TypeAlias = tuple[FindingKey, datetime]
"""What is at fault, and since when: its last lines are read once."""


@dataclass(frozen=True, slots=True)
class Crash:
    """A container whose log is worth reading.

    `previous` says that it runs or waits again, so that what it said stands in the log of the run before.
    """

    namespace: str
    pod: str
    container: str
    previous: bool

    @property
    def log(self) -> tuple[str, str, str]:
        """What its log is named by."""
        return self.namespace, self.pod, self.container

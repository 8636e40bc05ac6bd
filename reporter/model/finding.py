"""Results of probes: findings, evidence of readiness, and statuses derived for other objects."""

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
    """The status that an object should have, in the schema of its own API.

    A condition without `lastTransitionTime` has changed since the recorded status was written.
    """

    object: ObjectRef
    status: Document

    def dated(self, now: datetime) -> "Derived":
        """Return a copy with `now` as the transition time of each changed condition."""
        conditions = self.status.get("conditions")
        if not isinstance(conditions, list):
            return self
        stamp = {"lastTransitionTime": rfc3339(now)}
        filled = [{**stamp, **each} for each in conditions]
        return Derived(self.object, {**self.status, "conditions": filled})


class Sureness(StrEnum):
    """How sure a cause is.

    `CERTAIN`: an object states it. `LIKELY`: inferred, or read from a log; the message says
    "probably". `UNKNOWN`: only the symptom is known.
    """

    CERTAIN = "certain"
    LIKELY = "likely"
    UNKNOWN = "unknown"


class Fails(StrEnum):
    """The failure mode of an object, which decides what commands help.

    `ZERO`: it is scaled to zero. `REFUSED`: its pods are not created. `UNSCHEDULED`: its pod has no
    node. `WAITING`: no container of its pod has run. `CRASHING`: a container ended and was
    restarted. `UNREADY`: it runs, or did once.
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
    name and without changing values: `it asks for 4 nvidia.com/gpu, no node has more than 2`;
    `brief` is its short form. `object` is the object to repair, None if that is the pod's own
    workload; `missing`: it does not exist. `shared`: other pods have the same cause at the same
    object (a node, a claim, a quota, an image), so it is reported once, there.
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
    def sentence(self) -> str:
        """The cause as worded in messages, with "probably" if it is only likely."""
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
    object at fault, and distinguishes faults under one key. `message` is one clean line without
    ages or changing values; `cause` is its short form, for `(also: <reason>: <cause>)`. Larger
    `severity` is worse. `uids` are those of both objects: references compare without uids, but a
    finding about a recreated object is a different one.

    Its start: `transition` is when the condition whose *status* is the fault took that status, None
    if only the condition's reason or text is the fault. `created` is when the object at fault was
    created, or when the source of the fault last changed. Nothing is older than `no_older_than`.

    When it fires: at once if `exempt`; after `budget`, the time it may legitimately last, even
    where graces are off. `sustains`: it continues an episode of the same object and never starts
    one. `lingers`: it ends only when the object is well or gone, as with a pod's containers.
    `passing`: it is a step of a recovery, and the earlier message about the object says more.

    What explains it: `governs`: it prevents the status that downstream reasons read from being
    written, so it holds and suppresses them. `independent`: it is neither held nor suppressed.
    `lost_node` is the node that it depends on; `rests_on` is the reason and name of another cause,
    which reports it. `by_spec`: no status, however old, can make it untrue.

    What depends on it: `down`: nothing of the object at fault works. `unneeded`: nothing uses it,
    apart from what it comes with. `sole_place` is the one namespace where everything is that needs
    the missing part. `about` is the part of the object that the message describes; a message about
    another part is not kept.
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
    """Positive evidence that a subject works; the absence of faults is not enough.

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
    """How many replicas of a subject work, from the same objects as its Ready.

    `reached`: requests reach it through its own endpoint picker and route. `entrances` are the
    Gateways that they come through; `closed` are a namespace's Gateways that let nothing through.
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

    `created` tells whether it is younger than an Event's lifetime; None for the cluster.
    """

    subject: Subject
    created: datetime | None = None


InconclusiveReasons: TypeAlias = Mapping[ObjectRef, frozenset[str]]
"""Reasons that cannot be judged now, by pod; the reference has the pod's uid."""


@dataclass(frozen=True, slots=True, order=True)
class Unjudged:
    """A subject or reason on which a probe failed: a bug of ours, which must not affect others.

    `cause` quotes nothing from the object. `reason` is the only reason that cannot be judged; empty
    means all reasons of the subject.
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
    """All results of the probes for one snapshot.

    An `inconclusive` fault that fires continues; a new one does not start.
    """

    findings: tuple[Finding, ...]
    ready: tuple[ReadyEvidence, ...]
    subjects: tuple[KnownSubject, ...]
    inconclusive: InconclusiveReasons = field(default_factory=dict)
    derived: tuple[Derived, ...] = ()
    unjudged: tuple[Unjudged, ...] = ()
    serving: tuple[ServingEvidence, ...] = ()

    def leaves_open(self, subject: Subject) -> bool:
        return any(each.covers(subject) for each in self.unjudged)

    @property
    def open_reasons(self) -> frozenset[str]:
        return frozenset(each.reason for each in self.unjudged if each.reason)


EpisodeKey: TypeAlias = tuple[FindingKey, datetime]
"""A finding and its start; the last lines of a log are read once for each."""

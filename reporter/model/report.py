"""The result of a pass, which every sink renders."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from reporter.model.catalogue import Catalogue
from reporter.model.derived import Derived
from reporter.model.finding import FindingKey
from reporter.model.reason import EventType
from reporter.model.subject import Layer, ObjectRef, Subject


class Disposition(StrEnum):
    """What became of a finding; every finding has exactly one."""

    FIRING = "firing"
    PENDING = "pending"
    HELD = "held"
    SUPPRESSED = "suppressed"
    SECONDARY = "secondary"
    CLEARING = "clearing"
    MUTED = "muted"


@dataclass(frozen=True, slots=True)
class Mute:
    """Reasons that somebody does not want to be told.

    Attributes:
        object: carries the annotation; what is muted is its own, or below it.
        reasons: names of the catalogue, sorted.
        until: when it ends; None until the annotation is taken away.

    """

    object: ObjectRef
    reasons: tuple[str, ...]
    until: datetime | None = None


@dataclass(frozen=True, slots=True, order=True)
class MuteFault:
    """What is wrong with a mute annotation, in words."""

    object: ObjectRef
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedFinding:
    """The merged faults of one key with their disposition.

    Attributes:
        message: exactly what the Event says, suffixes included, at most 1,024 bytes.
        cause: the worst fault in a few words.
        stale: something the reason reads is unknown now; the disposition is the last one known.
        since: start of the episode.
        fires_at: when it fires or its hold ends at the earliest; None where neither runs.
        by: reasons that hold, suppress or outrank it, sorted.
        mutes: what mutes it. Of one that fires: what mutes others of its faults, of which its
            message does not speak.
        primary: the one to look at first for its subject.

    """

    reason: str
    layer: Layer
    type: EventType
    subject: Subject
    involved: ObjectRef
    related: ObjectRef
    disposition: Disposition
    message: str
    cause: str
    since: datetime
    fires_at: datetime | None = None
    by: tuple[str, ...] = ()
    mutes: tuple[Mute, ...] = ()
    primary: bool = False
    stale: bool = False

    @property
    def key(self) -> FindingKey:
        """What the faults were merged by."""
        return FindingKey(self.reason, self.subject, self.involved)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadySubject:
    """A subject that is ready by the rules.

    `due` says that its Event is to be written: see design 5.7. `episode` tells one recovery from
    the next; two replicas that see the same records derive the same.
    """

    reason: str
    layer: Layer
    subject: Subject
    involved: ObjectRef
    related: ObjectRef
    message: str
    due: bool
    episode: str


@dataclass(frozen=True, slots=True, order=True)
class UnknownResource:
    """A resource that could not be read, and why."""

    resource: str
    cause: str


@dataclass(frozen=True, slots=True, order=True)
class SkippedObject:
    """An object that was left out because it is malformed, and what is wrong with it."""

    resource: str
    namespace: str
    name: str
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything one pass decided. Lists are sorted; the same input gives the same report.

    `catalogue` says what the reasons mean. `subjects` are those that exist; one that is neither
    ready nor in a finding has no verdict.
    `mutes` are those that count now, also where they mute nothing; `mute_faults` says which annotations are wrong.
    """

    catalogue: Catalogue
    now: datetime
    findings: tuple[ResolvedFinding, ...]
    ready: tuple[ReadySubject, ...]
    unknown: tuple[UnknownResource, ...]
    skipped: tuple[SkippedObject, ...]
    derived: tuple[Derived, ...] = ()
    subjects: tuple[Subject, ...] = ()
    mutes: tuple[Mute, ...] = ()
    mute_faults: tuple[MuteFault, ...] = ()

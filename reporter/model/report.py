"""The result of a pass, which every sink renders."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Final

import msgspec

from reporter.model.catalogue import Catalogue
from reporter.model.finding import Derived, Diagnosis, FindingKey
from reporter.model.instant import rfc3339
from reporter.model.reason import EventType
from reporter.model.subject import Layer, ObjectRef, Subject
from reporter.model.text import clean

OBJECT: Final = "object"
"""Value of `SpecChange.field` for a change of the object as a whole."""

REMOVED: Final = "removed"
"""Value of `SpecChange.after` for a deleted object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecChange:
    """A change of an object's desired state: a fact, not a proof that it caused anything.

    All texts are clean, short, and without credentials. `at` is when the change was seen if no
    field manager dates it. `by` is the field manager and the subresource that it wrote. `field`,
    such as `spec.replicas`, is empty if only the last writer is known.
    """

    object: ObjectRef
    at: datetime
    by: str = ""
    field: str = ""
    before: str = ""
    after: str = ""

    @property
    def what(self) -> str:
        if self.field == OBJECT:
            return self.after
        if not self.field:
            return "last written"
        values = f"{self.before} to {self.after}" if self.before or self.after else "changed"
        return f"{self.field} {values}"

    def __str__(self) -> str:
        """Return what was changed, by whom, and the time of day in UTC."""
        by = f" by {self.by}" if self.by else ""
        return f"{self.what}{by} at {rfc3339(self.at).partition('T')[2]}"

    def seen_from(self, other: ObjectRef) -> str:
        return str(self) if self.object == other else f"{self.object} {self}"


_LISTED: Final = 20

BLIND: Final = "clusterStatusUnknown"
"""The reason for things that the reporter cannot see."""


class Disposition(StrEnum):
    """What became of a finding; every finding has exactly one."""

    FIRING = "firing"
    PENDING = "pending"
    HELD = "held"
    SUPPRESSED = "suppressed"
    SECONDARY = "secondary"
    CLEARING = "clearing"
    MUTED = "muted"


class ServingState(StrEnum):
    SERVING = "serving"
    DEGRADED = "degraded"
    NOT_SERVING = "not-serving"
    IDLE = "idle"
    UNKNOWN = "unknown"

    @property
    def word(self) -> str:
        return self.value.replace("-", " ")

    @property
    def is_impaired(self) -> bool:
        return self is ServingState.NOT_SERVING or self is ServingState.DEGRADED


WORST_FIRST: Final = (
    ServingState.NOT_SERVING, ServingState.DEGRADED, ServingState.UNKNOWN, ServingState.SERVING,
    ServingState.IDLE,
)  # fmt: skip
"""The order in which states are listed; unknown comes before the healthy ones."""


class Severity(StrEnum):
    """How urgent a finding is: critical if a model does not serve, info for a Normal Event."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class SubjectState:
    """The state of a subject. `since` is None if the state was there at the first look and nothing
    dates it. `cause` is the reason of the first cause that affects it.
    """

    subject: Subject
    state: ServingState
    since: datetime | None = None
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Impact:
    """The models that a cause explains, or that depend on the object at fault, counted by state.

    `otherwise`: how many more do not serve, for other causes. `hit` lists the affected models by
    name, those that do not serve first.
    """

    not_serving: int = 0
    degraded: int = 0
    namespaces: int = 0
    otherwise: int = 0
    hit: tuple[Subject, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Mute:
    """Reasons that a user has muted.

    `object` has the annotation, which mutes faults of the object and of what is below it. `until`
    None: until the annotation is removed.
    """

    object: ObjectRef
    reasons: tuple[str, ...]
    until: datetime | None = None


@dataclass(frozen=True, slots=True, order=True)
class MuteFault:
    object: ObjectRef
    text: str


class ResolvedFinding(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The merged faults of one key with their disposition.

    `message` is exactly the Event's message, suffixes included. `stale`: a resource that the reason
    reads is unknown now; the disposition is the last known one. `since` is the start of the
    episode; if the start was neither seen nor written in the object (`age_known` is false), a
    single pass takes the fault to be as old as it needs to be to fire, but not older than
    `not_before`. `fires_at` is the earliest time at which it fires or its hold ends. `by` are the
    reasons that hold, suppress or outrank it. `rests_on` are the causes that its faults depend on,
    such as a lost node. `mutes` of a firing finding mute some of its faults, which the message
    leaves out. `primary`: the one to look at first for its subject. `impact` is None unless it is a
    cause. `changes` came shortly before it began, the one in the message first. `last_lines` are
    the container's last lines before it crashed, clean and short.
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
    rests_on: tuple[tuple[str, str], ...] = ()
    mutes: tuple[Mute, ...] = ()
    primary: bool = False
    stale: bool = False
    age_known: bool = True
    not_before: datetime | None = None
    impact: Impact | None = None
    commands: tuple[str, ...] = ()
    changes: tuple[SpecChange, ...] = ()
    diagnosis: Diagnosis | None = None
    last_lines: tuple[str, ...] = ()

    @property
    def is_blind(self) -> bool:
        """Whether it reports what the reporter cannot see, which is not a fault of the stack."""
        return self.reason == BLIND

    @property
    def fires(self) -> bool:
        return self.disposition is Disposition.FIRING

    @property
    def is_cause(self) -> bool:
        return self.fires and self.type is EventType.WARNING and not self.is_blind

    @property
    def severity(self) -> Severity:
        if self.type is EventType.NORMAL:
            return Severity.INFO
        stops = self.impact is not None and self.impact.not_serving > 0
        return Severity.CRITICAL if stops else Severity.WARNING

    @property
    def key(self) -> FindingKey:
        return FindingKey(self.reason, self.subject, self.involved)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadySubject:
    """A subject that is ready by the rules.

    `due`: its Event is to be written. `episode` distinguishes one recovery from the next; two
    replicas that see the same records derive the same. `state` is degraded, for example, if the
    subject serves in spite of a fault.
    """

    reason: str
    layer: Layer
    subject: Subject
    involved: ObjectRef
    related: ObjectRef
    message: str
    due: bool
    episode: str
    state: ServingState = ServingState.SERVING

    @property
    def caveat(self) -> str:
        """The state to add to `ready`; empty if the subject simply serves."""
        plain = self.state in {ServingState.SERVING, ServingState.UNKNOWN}
        return "" if plain else self.state.word


@dataclass(frozen=True, slots=True, order=True)
class UnknownResource:
    resource: str
    cause: str


NOT_IN_DUMP: Final = "not in the dump"
"""Cause of a resource that is unknown because the dump does not contain it."""

SUPERSEDED: Final = "superseded by a newer copy"
"""Cause of an older copy of an object that a dump has more than once; it is not malformed."""


@dataclass(frozen=True, slots=True, order=True)
class SkippedObject:
    """An object that was left out, usually because it is malformed.

    Names that could not be read are empty; `labels` are then None.
    """

    resource: str
    namespace: str
    name: str
    cause: str
    labels: dict[str, str] | None = field(default=None, compare=False)


def skipped_line(skipped: SkippedObject) -> str:
    place = "/".join(part for part in (skipped.namespace, skipped.name) if part)
    named = " ".join(part for part in (skipped.resource, place) if part)
    return clean(f"{named}: {skipped.cause}")


def skipped_lines(skipped: Iterable[SkippedObject]) -> tuple[str, ...]:
    """Return a line for each of the first skipped objects, and the number of the others."""
    lines = [skipped_line(each) for each in skipped]
    more = len(lines) - _LISTED
    return (*lines[:_LISTED], *([f"and {more} more"] if more > 0 else []))


@dataclass(frozen=True, slots=True)
class Outside:
    """Objects of a stack that are not judged, so that silence about them is not taken for health.

    `judged` says which objects of the kind are. `is_model`: one of them serves a model, about which
    the report is silent.
    """

    kind: str
    count: int
    first: str
    judged: str
    is_model: bool = False

    def __str__(self) -> str:
        many = "" if self.count == 1 else f" and {self.count - 1} more"
        why = f"only those {self.judged} are" if self.judged else f"nothing judges {self.kind}s"
        runs = ", with the image of an engine" if self.is_model else ""
        return f"Not judged: {self.kind} {self.first}{many}{runs}; {why}."


@dataclass(frozen=True, kw_only=True)
class Report:
    """Everything one pass decided. Lists are sorted; the same input gives the same report.

    `findings` has the causes first: by layer, impact, chain, age.

    `catalogue` defines the reasons. `subjects` are those that exist; a subject that is neither
    ready nor in a finding has no verdict. `mutes` are in effect now, even if they mute nothing;
    `mute_faults` are wrong annotations. `outside` are objects of a stack's kind that the stack does
    not judge. `states` has one entry per subject.
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
    outside: tuple[Outside, ...] = ()
    states: tuple[SubjectState, ...] = ()

    @cached_property
    def state_of(self) -> Mapping[Subject, SubjectState]:
        return {each.subject: each for each in self.states}

"""The result of a pass, which every sink renders."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Final

from reporter.model.catalogue import Catalogue
from reporter.model.finding import Derived, Diagnosis, FindingKey
from reporter.model.instant import rfc3339
from reporter.model.reason import EventType
from reporter.model.subject import Layer, ObjectRef, Subject
from reporter.model.text import clean

OBJECT: Final = "object"
"""In place of a field: the object itself."""

REMOVED: Final = "removed"
"""What an object became that is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecChange:
    """A change of what is wanted of an object: a fact, and no proof that it is the cause of
    anything.

    All texts are clean, short, and without credentials. `at` of what nobody signed is when it was
    seen. `by` is the field manager, and the subresource that it wrote. `field`, such as
    `spec.replicas`, is empty where only who wrote last is known.
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
        """Return what was changed, by whom and at what time of day, in UTC."""
        by = f" by {self.by}" if self.by else ""
        return f"{self.what}{by} at {rfc3339(self.at).partition('T')[2]}"

    def seen_from(self, other: ObjectRef) -> str:
        return str(self) if self.object == other else f"{self.object} {self}"


_LISTED: Final = 20

BLIND: Final = "clusterStatusUnknown"
"""The reason of what the reporter cannot see."""


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
"""The order in which states are told; what is not known comes before what is well."""


class Severity(StrEnum):
    """How soon somebody has to look: at once where a model does not serve; never at a notice."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class SubjectState:
    """`since` is None where the state was found at the first look and nothing tells when it began.

    `cause` is the reason of the first cause that hits it.
    """

    subject: Subject
    state: ServingState
    since: datetime | None = None
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Impact:
    """The deployments of models that a cause explains, or that rest on what is at fault, by state.

    `otherwise`: how many more do not serve, for other causes. `hit` has the other two groups by
    name, those that do not serve in front.
    """

    not_serving: int = 0
    degraded: int = 0
    namespaces: int = 0
    otherwise: int = 0
    hit: tuple[Subject, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Mute:
    """Reasons that somebody does not want to be told.

    `object` carries the annotation; what is muted is its own, or below it. `until` None: until it
    is taken away.
    """

    object: ObjectRef
    reasons: tuple[str, ...]
    until: datetime | None = None


@dataclass(frozen=True, slots=True, order=True)
class MuteFault:
    object: ObjectRef
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedFinding:
    """The merged faults of one key with their disposition.

    `message` is exactly what the Event says, suffixes included. `stale`: something the reason reads
    is unknown now; the disposition is the last one known. `since` starts the episode; where it was
    neither seen nor stands in the object (`age_known`), one look counts it as long there as it
    needs to fire, but no older than `not_before`. `fires_at` is when it fires or its hold ends at
    the earliest. `by` are reasons that hold, suppress or outrank it. `rests_on` has the causes that
    its single faults rest on, such as a lost node. `mutes` of one that fires mute others of its
    faults, of which its message does not speak. `primary`: the one to look at first for its
    subject. `impact` is None of what is no cause. `changes` came shortly before it began, the one
    that the message tells in front. `last_lines` is what the container said before it crashed,
    clean and short.
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
        """Whether it says what the reporter cannot see, which is no cause of the stack."""
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

    `due` says that its Event is to be written. `episode` tells one recovery from
    the next; two replicas that see the same records derive the same. `state` says whether it serves
    with a fault all the same.
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
        """What `ready` alone would hide; empty where it serves and nothing is wrong."""
        plain = self.state in {ServingState.SERVING, ServingState.UNKNOWN}
        return "" if plain else self.state.word


@dataclass(frozen=True, slots=True, order=True)
class UnknownResource:
    resource: str
    cause: str


NOT_IN_DUMP: Final = "not in the dump"
"""Cause of a resource that is unknown because nobody put it into the dump."""

SUPERSEDED: Final = "superseded by a newer copy"
"""Cause of an older copy of an object that a dump holds more than once; it is not malformed."""


@dataclass(frozen=True, slots=True, order=True)
class SkippedObject:
    """An object that was left out, and why: mostly because it is malformed.

    What could be read of its names is there. `labels` are None if they could not be.
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
    """Return a line for each of the first that were left out, and how many more there are."""
    lines = [skipped_line(each) for each in skipped]
    more = len(lines) - _LISTED
    return (*lines[:_LISTED], *([f"and {more} more"] if more > 0 else []))


@dataclass(frozen=True, slots=True)
class Outside:
    """Objects of a stack that nobody judges, so that silence about them is not taken for health.

    `judged` says which ones are. `is_model`: somebody serves a model of which nothing is said.
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

    In `findings` the causes come first: by layer, by whom they hit, by chain, by age.

    `catalogue` says what the reasons mean. `subjects` are those that exist; one that is neither
    ready nor in a finding has no verdict. `mutes` are those that count now, also where they mute
    nothing; `mute_faults` says which annotations are wrong. `outside` are objects that no stack
    judges although they are of its kind. `states` has one line for each subject.
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

"""What one pass hands to the next. Immutable; an empty one starts a process.

Steps among it are not taken again while what they are made of is the same. Most passes follow a
change that changes no answer, or one of thousands; to sort, to count and to compare all subjects
again costs more than all that is then said. So a pass remembers of a few steps what they were given
and what came out, and hands that to the next one. An evaluation whose parts are the same has the
very objects of the one before (`reporter.probes.reuse`), so that comparing is cheap. It is a matter
of speed only: a step follows from what it is given, and from nothing else.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TypeAlias, TypeVar, cast

from reporter.model.finding import Finding, FindingKey, KnownSubject, ReadyEvidence
from reporter.model.report import Disposition, Mute, ReadySubject, ResolvedFinding, SubjectState
from reporter.model.subject import ObjectRef, Subject
from reporter.resolution.records import Record
from reporter.resolution.seen_changes import SeenChanges

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class TakenStep:
    given: tuple[object, ...]
    value: object


class Steps:
    """Takes the steps of one pass, unless the pass before has taken the same."""

    def __init__(self, before: Mapping[str, TakenStep] = MappingProxyType({})) -> None:
        self._before = before
        self.taken: dict[str, TakenStep] = {}
        """Those of this pass, for the next one."""

    def take(
        self,
        name: str,
        given: tuple[object, ...],
        step: Callable[[], ValueT],
        *,
        lasts: Callable[[ValueT], bool] = lambda _: True,
    ) -> ValueT:
        """Return what a step comes to, which is made of what is `given`, and of nothing else.

        `lasts`: whether what came out stays the same while the time goes on.
        """
        known = self._before.get(name)
        if known is not None and known.given == given:
            # With what it is given now: the next pass may be given the very same, which is seen at
            # once.
            self.taken[name] = TakenStep(given, known.value)
            return cast("ValueT", known.value)
        value = step()
        if lasts(value):
            self.taken[name] = TakenStep(given, value)
        return value


UpstreamKey: TypeAlias = tuple[str, str]
"""A reason that can suppress others, and the CRD or Node it is about, if any."""

Writing: TypeAlias = tuple[str, datetime]
"""An Event of ours by its name, and when it was last written."""

FaultKey: TypeAlias = tuple[ObjectRef, bool]
"""The object at fault, and whether the fault has a budget.

Time within a budget is no fault yet, so it is no part of the grace of an error that follows it.
"""


def fault_key(finding: Finding) -> FaultKey:
    return (finding.related, finding.budget is not None)


@dataclass(frozen=True, slots=True)
class FaultMemory:
    """One fault of an episode.

    `since` is the time of day it began, `first_seen` and `last_seen` lie on the boot clock, and so
    does `began_seen`: when each present start of a budget was first seen.
    `ripe` stays set once its grace has passed; `told` says that it was while its episode fired, so
    that it may go on. `uid` tells an object from a later one of the same
    name. `finding` is what it said last, None where only an Event on record tells of it.
    `passing_since` is since when it says what it said before a passing state, on the boot clock.
    """

    since: datetime
    first_seen: timedelta
    last_seen: timedelta
    ripe: bool
    told: bool
    uid: str
    finding: Finding | None
    began_seen: Mapping[datetime, timedelta]
    passing_since: timedelta | None = None

    @property
    def exempt(self) -> bool:
        return self.finding is not None and self.finding.exempt

    def is_of(self, ref: ObjectRef) -> bool:
        """Tell whether this is about `ref` and not about an earlier object of that name."""
        return not self.uid or not ref.uid or self.uid == ref.uid


@dataclass(frozen=True, slots=True)
class Episode:
    """A key from when it was first seen until its recovery has lasted.

    `since` is fixed when it fires, for the Event's name contains it. `last_seen` is when a fault of
    it that is past its grace was seen last, and `stale_since` since when it is stale, both on the
    boot clock. It has `fired` also if only a mute kept it from that. One that has not is remembered
    for a while after it is gone, without being `listed`. `shown` is its last form in a report.
    `exempt`: a fault that fires at once is among those seen last.
    """

    since: datetime
    last_seen: timedelta
    fired: bool
    listed: bool
    shown: ResolvedFinding
    faults: Mapping[FaultKey, FaultMemory]
    exempt: bool = False
    stale_since: timedelta | None = None

    @property
    def active(self) -> bool:
        """Whether it fired, openly, outranked or muted, when it was last looked at."""
        return self.shown.disposition in (
            Disposition.FIRING,
            Disposition.SECONDARY,
            Disposition.CLEARING,
            Disposition.MUTED,
        )

    @property
    def muted(self) -> bool:
        return self.shown.disposition is Disposition.MUTED


@dataclass(frozen=True, slots=True)
class StandingReady:
    """A subject that is ready and was told so: nothing is decided again until something changes.

    `own` are all its Events on record, `told` those that need no answer.
    """

    evidence: ReadyEvidence
    known: KnownSubject
    own: Sequence[Record]
    told: frozenset[Writing]
    ready: ReadySubject

    def holds(
        self,
        evidence: ReadyEvidence,
        known: KnownSubject,
        told: frozenset[Writing] | None,
        *,
        own: Sequence[Record],
    ) -> bool:
        """Tell whether it rests on the same; what the probes said is the same object then."""
        same = self.evidence is evidence and self.known is known and self.told is told
        return same and self.own == own


@dataclass(frozen=True, slots=True)
class Primary:
    """The cause of a subject to look at first.

    `behind_since` is since when others are in front of it, on the boot clock.
    """

    key: FindingKey
    behind_since: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """State between passes; grace survives a failover because standbys keep one too.

    `episodes` are seen, clearing, stale, or gone for less than it takes to recover. Those `ended`
    are over; the record may not say so yet, and they are not taken up again from it. `governing`
    and `released` are those of `Upstreams`. `told` are the records that a subject had when it was
    found ready without a Ready being due; none of them calls for another. A mute that counted goes
    on while its object cannot be read. `judged` is when a pass last looked that could see all that
    a reason reads: what is older and was not at fault then has been seen without the fault.
    `standing` and `steps` are a matter of speed only.
    """

    episodes: Mapping[FindingKey, Episode] = field(default_factory=dict)
    ended: Mapping[tuple[FindingKey, datetime], timedelta] = field(default_factory=dict)
    governing: frozenset[UpstreamKey] = frozenset()
    released: Mapping[UpstreamKey, timedelta] = field(default_factory=dict)
    told: Mapping[Subject, frozenset[Writing]] = field(default_factory=dict)
    standing: Mapping[Subject, StandingReady] = field(default_factory=dict)
    steps: Mapping[str, TakenStep] = field(default_factory=dict)
    mutes: tuple[Mute, ...] = ()
    judged: Mapping[str, datetime] = field(default_factory=dict)
    states: Mapping[Subject, SubjectState] = field(default_factory=dict)
    changes: SeenChanges = field(default_factory=SeenChanges)
    primaries: Mapping[Subject, Primary] = field(default_factory=dict)

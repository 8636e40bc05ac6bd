"""The state that one pass hands to the next. Immutable; a process starts with an empty one.

It includes a cache of steps. Most passes follow a change that affects no result, or one of
thousands; sorting, counting and comparing all subjects again would cost more than the rest of the
pass. So a few steps keep their inputs and results for the next pass. An evaluation with equal parts
has the very objects of the one before (`reporter.probes.reuse`), so comparisons are cheap. The
cache only affects speed: a step depends on its inputs and nothing else.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TypeAlias, TypeVar, cast

import msgspec

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
    """Runs the steps of one pass, or takes the results of the last pass for equal inputs."""

    def __init__(self, before: Mapping[str, TakenStep] = MappingProxyType({})) -> None:
        self._before = before
        self.taken: dict[str, TakenStep] = {}
        """The steps of this pass, for the next one."""

    def take(
        self,
        name: str,
        given: tuple[object, ...],
        step: Callable[[], ValueT],
        *,
        lasts: Callable[[ValueT], bool] = lambda _: True,
    ) -> ValueT:
        """Return the result of a step, which depends on `given` and nothing else.

        `lasts` tells whether a result stays valid as time goes on.
        """
        known = self._before.get(name)
        if known is not None and known.given == given:
            # Keep the new inputs: the next pass may have the same objects, which compare faster.
            self.taken[name] = TakenStep(given, known.value)
            return cast("ValueT", known.value)
        value = step()
        if lasts(value):
            self.taken[name] = TakenStep(given, value)
        return value


UpstreamKey: TypeAlias = tuple[str, str]
"""A reason that can suppress others, and the one CRD, Node or shared object it is about, if any."""

Writing: TypeAlias = tuple[str, datetime]
"""The name of one of our Events, and when it was last written."""

FaultKey: TypeAlias = tuple[ObjectRef, bool]
"""The object at fault, and whether the fault has a budget.

Time within a budget is not a fault yet, so it does not count for the grace of a later error.
"""


def fault_key(finding: Finding) -> FaultKey:
    return (finding.related, finding.budget is not None)


class FaultMemory(msgspec.Struct, frozen=True, gc=False):
    """One fault of an episode.

    `since` is the time of day when it began. `first_seen`, `last_seen` and `began_seen` (when each
    current start of a budget was first seen) are on the boot clock. `ripe` stays set once its grace
    has passed; `fired`: it was ripe while its episode fired, so it may be continued. `uid`
    distinguishes an object from a later one of the same name. `finding` has its last message, None
    if it is known only from a recorded Event. `passing_since` is when the current passing state
    began, on the boot clock.
    """

    since: datetime
    first_seen: timedelta
    last_seen: timedelta
    ripe: bool
    fired: bool
    uid: str
    finding: Finding | None
    began_seen: Mapping[datetime, timedelta]
    passing_since: timedelta | None = None

    @property
    def exempt(self) -> bool:
        return self.finding is not None and self.finding.exempt

    def is_of(self, ref: ObjectRef) -> bool:
        """Tell whether this is about `ref` and not about another object of that name."""
        return not self.uid or not ref.uid or self.uid == ref.uid


class Episode(msgspec.Struct, frozen=True, gc=False):
    """The time of one key from when it was first seen until its recovery has lasted.

    `since` is fixed when it fires, since the Event's name contains it. `last_seen` is when one of
    its ripe faults was last seen, `stale_since` when it became stale, both on the boot clock.
    `fired` is also set if only a mute prevented it from firing. An episode that has not fired is
    remembered for a while after it is gone, without being `listed`. `shown` is its line in the last
    report. `exempt`: an exempt fault is among those seen last.
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
        """Whether it was firing, secondary, clearing or muted in its last report."""
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
class CachedReady:
    """The decision about a subject whose Ready was reported, valid until something changes.

    `own` are all its recorded Events, `answered` those that need no Ready in answer.
    """

    evidence: ReadyEvidence
    known: KnownSubject
    own: Sequence[Record]
    answered: frozenset[Writing]
    ready: ReadySubject

    def holds(
        self,
        evidence: ReadyEvidence,
        known: KnownSubject,
        answered: frozenset[Writing] | None,
        *,
        own: Sequence[Record],
    ) -> bool:
        """Tell whether the inputs are the same; equal results of probes are the same objects."""
        same = self.evidence is evidence and self.known is known and self.answered is answered
        return same and self.own == own


@dataclass(frozen=True, slots=True)
class Primary:
    """The cause of a subject to look at first.

    `behind_since` is when other causes came to be ordered before it, on the boot clock.
    """

    key: FindingKey
    behind_since: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """State between passes; graces survive a failover because standbys keep a memory too.

    `episodes` are seen, clearing, stale, or gone for less than the recovery time. Those in `ended`
    are over and are not taken up again from a record that may not say so yet. `governing` and
    `released` are those of `Upstreams`. `answered` are the records that a subject had when it was
    found ready without a Ready being due; none of them needs another Ready. `mutes` stay in effect
    while their objects cannot be read. `judged` is when a pass last could read everything that a
    reason reads: an object that is older and was not at fault then was seen without the fault.
    `cached_ready` and `steps` only affect speed.
    """

    episodes: Mapping[FindingKey, Episode] = field(default_factory=dict)
    ended: Mapping[tuple[FindingKey, datetime], timedelta] = field(default_factory=dict)
    governing: frozenset[UpstreamKey] = frozenset()
    released: Mapping[UpstreamKey, timedelta] = field(default_factory=dict)
    answered: Mapping[Subject, frozenset[Writing]] = field(default_factory=dict)
    cached_ready: Mapping[Subject, CachedReady] = field(default_factory=dict)
    steps: Mapping[str, TakenStep] = field(default_factory=dict)
    mutes: tuple[Mute, ...] = ()
    judged: Mapping[str, datetime] = field(default_factory=dict)
    states: Mapping[Subject, SubjectState] = field(default_factory=dict)
    changes: SeenChanges = field(default_factory=SeenChanges)
    primaries: Mapping[Subject, Primary] = field(default_factory=dict)

"""The state of a pass between the rules: its inputs, and the decisions so far."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias

import msgspec

from reporter.catalogue.reasons import CLUSTER_NODE
from reporter.model.catalogue import Catalogue
from reporter.model.finding import (
    Evaluation,
    Finding,
    FindingKey,
    InconclusiveReasons,
    KnownSubject,
)
from reporter.model.instant import Instant
from reporter.model.reason import Reason
from reporter.model.report import Disposition, Mute, ResolvedFinding
from reporter.model.subject import ObjectRef, Subject
from reporter.resolution.grace import Fault, Handed, SinglePass, severity_key
from reporter.resolution.memory import Episode, Memory, Steps, UpstreamKey
from reporter.resolution.mutes import Mutes
from reporter.resolution.records import Records
from reporter.resolution.seen_changes import SeenChanges
from reporter.resolution.unknown import skipped_subjects
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """The faults of one key seen now, the worst first, and the decisions about them so far.

    `disposition` is None until a rule decides it. `reported` are the faults that the message is
    about: those that no upstream explains and no mute covers. `clears_at` is when a reported fault
    has recovered, if only muted ones are seen.
    """

    key: FindingKey
    reason: Reason
    faults: tuple[Fault, ...]
    episode: Episode | None
    disposition: Disposition | None = None
    by: tuple[str, ...] = ()
    holds_until: timedelta | None = None
    clears_at: timedelta | None = None
    reported: tuple[Fault, ...] = ()
    mutes: tuple[Mute, ...] = ()

    @property
    def ripe(self) -> tuple[Fault, ...]:
        """The faults whose grace has passed."""
        return tuple(fault for fault in self.faults if fault.ripe)

    @property
    def sole_place(self) -> str:
        """The only namespace that needs the part at fault, or an empty string."""
        places = {each.says.sole_place for each in self.faults}
        return places.pop() if len(places) == 1 else ""

    @property
    def was_active(self) -> bool:
        """Whether it was firing, secondary, clearing or muted in the last pass."""
        return self.episode is not None and self.episode.active

    @property
    def was_reported(self) -> bool:
        """Whether it was firing or clearing in the last pass."""
        shown = (Disposition.FIRING, Disposition.CLEARING)
        return self.episode is not None and self.episode.shown.disposition in shown

    @property
    def under_an_episode(self) -> bool:
        """Whether the key fired before, and all faults seen now are in their grace."""
        return not self.ripe and self.episode is not None and self.episode.fired

    @property
    def worst(self) -> Fault:
        return (self.reported or self.ripe or self.faults)[0]

    @property
    def rests_on(self) -> tuple[UpstreamKey, ...]:
        """The causes that its faults depend on: nodes at fault and shared objects; sorted."""
        found = (rests_on(each.says) for each in self.faults)
        return tuple(sorted({each for each in found if each is not None}))

    def since(self, now: Instant) -> datetime:
        """Return the start of the episode, which is fixed once it has fired.

        If all of its faults were muted and another one is reported now, that one starts it.
        """
        if self.ripe:
            was_muted = self.episode is not None and self.episode.muted
            is_muted = self.disposition is Disposition.MUTED
            unmuted = self.reported if self.mutes and not is_muted else ()
            if self.episode is not None and self.episode.fired and not (unmuted and was_muted):
                return self.episode.since
            return min(fault.since for fault in unmuted or self.ripe)
        first = min(self.faults, key=lambda fault: (fault.remaining, fault.since))
        return min(first.since, now.wall)

    def age_known(self, now: Instant) -> bool:
        """Tell whether the start of the episode was seen or recorded, not assumed."""
        if self.episode is not None and self.episode.fired:
            return True
        since = self.since(now)
        return any(fault.age_known for fault in self.faults if fault.since == since)


def rests_on(finding: Finding) -> UpstreamKey | None:
    """Return the cause that a fault depends on, or None."""
    return (CLUSTER_NODE, finding.lost_node) if finding.lost_node else finding.rests_on


def worst_first(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Sort faults by severity, then by object, independently of the order of any list."""
    return tuple(sorted(faults, key=lambda fault: (severity_key(fault.says), fault.clock)))


def sustaining(
    inconclusive: InconclusiveReasons, episodes: Mapping[FindingKey, Episode]
) -> Iterator[Finding]:
    """Yield a finding for each remembered fault of a pod that cannot be judged now.

    Such a fault neither begins nor ends: the finding continues it if it fires. The finding has the
    uid of the current pod, so that a fault ends with the pod that had it.
    """
    known: dict[ObjectRef, set[FindingKey]] = defaultdict(set)
    for key, episode in episodes.items():
        for related, _ in episode.faults:
            known[related].add(key)
    for pod, reasons in inconclusive.items():
        for key in known.get(pod, ()):
            if key.reason in reasons:
                shown = episodes[key].shown
                yield Finding(
                    reason=key.reason,
                    subject=key.subject,
                    involved=key.involved,
                    related=pod,
                    message=shown.message,
                    cause=shown.cause,
                    sustains=True,
                )


@dataclass(frozen=True, slots=True)
class Absence:
    """What became of the episodes that are not seen.

    Episodes in `kept` continue; those in `stale` cannot be judged. `ended` are over: recovered,
    gone with their subject, or stale for too long.
    """

    kept: Mapping[FindingKey, Episode] = field(default_factory=dict)
    stale: frozenset[FindingKey] = frozenset()
    ended: frozenset[FindingKey] = frozenset()
    wake_in: timedelta | None = None

    @property
    def listed(self) -> dict[FindingKey, ResolvedFinding]:
        return {key: each.shown for key, each in self.kept.items() if each.listed}

    @property
    def outranking(self) -> tuple[FindingKey, ...]:
        """The keys that still outrank others of their subject."""
        return tuple(
            key for key, each in self.kept.items() if each.active and each.listed and not each.muted
        )


@dataclass(frozen=True, slots=True)
class Upstreams:
    """The upstreams: those in `firing` suppress, those in `pending` hold.

    Those in `released` hold until the given time of the boot clock. Those in `governing` will hold
    for a while once they are gone.
    """

    firing: frozenset[UpstreamKey] = frozenset()
    pending: frozenset[UpstreamKey] = frozenset()
    released: Mapping[UpstreamKey, timedelta] = field(default_factory=dict)
    governing: frozenset[UpstreamKey] = frozenset()

    @property
    def waiting(self) -> AbstractSet[UpstreamKey]:
        return self.pending | self.released.keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class PassState:
    """One pass between two rules. Immutable: each rule returns a new state.

    `memory` is from the last pass, with the episodes taken up from our recorded Events.
    `candidates` has the faults that are seen, one candidate per key. `undercurrents` have faults in
    grace of keys whose earlier fault is clearing, so the report does not list them.
    """

    evaluation: Evaluation
    snapshot: Snapshot
    now: Instant
    settings: EvaluationSettings
    single_pass: SinglePass | None
    memory: Memory
    records: Records
    handed: Handed = field(default_factory=dict)
    candidates: tuple[Candidate, ...] = ()
    undercurrents: tuple[Candidate, ...] = ()
    absence: Absence = field(default_factory=Absence)
    upstreams: Upstreams = field(default_factory=Upstreams)
    mutes: Mutes = field(default_factory=Mutes)
    changes: SeenChanges = field(default_factory=SeenChanges)
    steps: Steps = field(default_factory=Steps, compare=False)
    known: Mapping[Subject, KnownSubject] = field(default_factory=dict)

    @property
    def catalogue(self) -> Catalogue:
        return self.settings.catalogue

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """The subjects that exist, sorted, including malformed ones."""
        judged, skipped = self.evaluation.subjects, skipped_subjects(self.snapshot)
        return self.steps.take(
            "subjects",
            (judged, skipped),
            lambda: tuple(sorted(skipped.union(each.subject for each in judged))),
        )


Rule: TypeAlias = Callable[[PassState], PassState]

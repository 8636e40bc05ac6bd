"""A pass on its way through the rules: what it was given, and what has been decided so far."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeAlias

from reporter.model.catalogue import Catalogue
from reporter.model.finding import Evaluation, FindingKey
from reporter.model.instant import Instant
from reporter.model.report import ResolvedFinding
from reporter.model.subject import Subject
from reporter.resolution.candidate import Candidate
from reporter.resolution.grace import OneLook
from reporter.resolution.handing_on import Handed
from reporter.resolution.memory import Episode, Memory, UpstreamKey
from reporter.resolution.mutes import Mutes
from reporter.resolution.records import Records
from reporter.resolution.seen_changes import SeenChanges
from reporter.resolution.steps import Steps
from reporter.resolution.unknown import skipped_subjects
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Absence:
    """What became of the episodes that are not seen.

    Those `kept` go on in some way, of which the `stale` cannot be judged. `ended` are over: recovered,
    forgotten with their subject, or stale too long.
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
        """Those that still outrank others of their subject."""
        return tuple(
            key for key, each in self.kept.items() if each.active and each.listed and not each.muted
        )


@dataclass(frozen=True, slots=True)
class Upstreams:
    """Everything that can suppress: what is `firing` suppresses, what is `pending` holds.

    So does what is `released`, until the given instant of the boot clock. `governing` are those that
    hold for a while once they are gone.
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
    """One pass between two rules. Each rule returns another one and leaves this as it is.

    `memory` is of the pass before, with what is taken up from our Events on record. `candidates` are the
    faults that are seen, one for each key. `undercurrents` are those of a key whose earlier fault is
    clearing: faults in grace, which the report does not list next to it.
    """

    evaluation: Evaluation
    snapshot: Snapshot
    now: Instant
    settings: EvaluationSettings
    one_look: OneLook | None
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

    @property
    def catalogue(self) -> Catalogue:
        return self.settings.catalogue

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """The subjects that exist, in their order; those too of which nothing else is known."""
        judged, skipped = self.evaluation.subjects, skipped_subjects(self.snapshot)
        return self.steps.take(
            "subjects",
            (judged, skipped),
            lambda: tuple(sorted(skipped.union(each.subject for each in judged))),
        )


Rule: TypeAlias = Callable[[PassState], PassState]

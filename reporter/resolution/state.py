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

    Attributes:
        kept: those that go on in some way, with what is to be remembered of them.
        stale: those that cannot be judged.
        ended: those that are over: recovered, forgotten with their subject, or stale too long.

    """

    kept: Mapping[FindingKey, Episode] = field(default_factory=dict)
    stale: frozenset[FindingKey] = frozenset()
    ended: frozenset[FindingKey] = frozenset()
    wake_in: timedelta | None = None

    @property
    def listed(self) -> dict[FindingKey, ResolvedFinding]:
        """Those that the report lists."""
        return {key: each.shown for key, each in self.kept.items() if each.listed}

    @property
    def outranking(self) -> tuple[FindingKey, ...]:
        """Those that still outrank others of their subject."""
        return tuple(
            key for key, each in self.kept.items() if each.active and each.listed and not each.muted
        )


@dataclass(frozen=True, slots=True)
class Upstreams:
    """State of everything that can suppress.

    Attributes:
        firing: those that suppress.
        pending: those that hold.
        released: those that hold until the given instant of the boot clock.
        governing: those that hold for a while once they are gone.

    """

    firing: frozenset[UpstreamKey] = frozenset()
    pending: frozenset[UpstreamKey] = frozenset()
    released: Mapping[UpstreamKey, timedelta] = field(default_factory=dict)
    governing: frozenset[UpstreamKey] = frozenset()

    @property
    def waiting(self) -> AbstractSet[UpstreamKey]:
        """Those that hold."""
        return self.pending | self.released.keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class PassState:
    """One pass between two rules. Each rule returns another one and leaves this as it is.

    Attributes:
        memory: of the pass before, with what is taken up from our Events on record.
        handed: since when faults last by what another process handed on.
        candidates: the faults that are seen, one for each key.
        undercurrents: candidates of a key whose earlier fault is clearing: faults in grace, which
            the report does not list next to it.
        absence: what became of the episodes that are not seen.
        steps: takes those that seldom come to something else.

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
        """The reasons that there are."""
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

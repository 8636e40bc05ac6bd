"""Rule 6, and what becomes of a finding that no probe yields any more."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from reporter.model.catalogue import Catalogue
from reporter.model.finding import Evaluation, FindingKey
from reporter.model.instant import Instant
from reporter.model.reason import Reason
from reporter.model.report import Disposition, ResolvedFinding
from reporter.model.subject import CLUSTER, Subject
from reporter.resolution.grace import recovery_time
from reporter.resolution.hold import upstream_key
from reporter.resolution.memory import Episode, FaultMemory, Memory
from reporter.resolution.records import Record, RecordState
from reporter.resolution.unknown import confirmed, existence_known, verdict_unknown
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot

STALE_LIFETIME = timedelta(hours=1)
"""How long a finding is kept that cannot be judged any more (design 3)."""


@dataclass(frozen=True, slots=True)
class Absence:
    """What became of the episodes that are not seen.

    Attributes:
        kept: those that go on in some way, with what is to be remembered of them.
        stale: those that cannot be judged.
        ended: those that are over: recovered, forgotten with their subject, or stale too long.
        wake_in: time until one of them changes by itself.

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


def take_up(
    records: Iterable[Record],
    memory: Memory,
    evaluation: Evaluation,
    snapshot: Snapshot,
    now: Instant,
    catalogue: Catalogue,
) -> Memory:
    """Return the memory with the episodes that our Events on record say are firing, or muted.

    So a restart, a standby that takes over and a leader that lost its memory go on with the same
    episode, also of a subject that cannot be read now. An upstream taken up counts as having
    suppressed, so that its symptoms stay held for a while if it is found recovered.

    A replica that saw an episode begin a moment sooner or later than the one that wrote it takes
    over the start on record, the earliest if there are several: the Event's name contains it.
    """
    created = {each.subject: each.created for each in evaluation.subjects}
    episodes = dict(memory.episodes)
    governing = set(memory.governing)
    agreed: set[FindingKey] = set()
    for record in sorted(records, key=lambda each: each.since):
        key = record.key
        if not record.goes_on or (key, record.since) in memory.ended or key.reason not in catalogue:
            continue
        born = created.get(key.subject)
        if key.subject not in created and _is_gone(
            key.subject, evaluation, snapshot, catalogue=catalogue
        ):
            continue
        if born is not None and record.written < born:
            continue
        known = memory.episodes.get(key)
        if known is not None and known.fired:
            if record.live and key not in agreed:
                episodes[key] = _begun(known, record.since)
                agreed.add(key)
            continue
        episodes[key] = _from_record(record, known, now, catalogue[key.reason])
        if key.reason in catalogue.upstream_reasons:
            governing.add(upstream_key(key))
    return replace(memory, episodes=episodes, governing=frozenset(governing))


def _begun(episode: Episode, since: datetime) -> Episode:
    if episode.since == since:
        return episode
    return replace(episode, since=since, shown=replace(episode.shown, since=since))


def _from_record(record: Record, known: Episode | None, now: Instant, reason: Reason) -> Episode:
    key, related = record.key, record.related
    fault = FaultMemory(
        since=record.since,
        first_seen=now.boot_of(record.since),
        last_seen=now.boot,
        ripe=True,
        uid=related.uid,
        finding=None,
        began_seen=now.boot,
    )
    return Episode(
        since=record.since,
        last_seen=now.boot,  # it was refreshed some time ago, and may have been seen since
        fired=True,
        listed=True,
        shown=ResolvedFinding(
            reason=key.reason,
            layer=reason.layer,
            type=reason.type,
            subject=key.subject,
            involved=key.involved,
            related=related,
            disposition=Disposition.MUTED if record.muted else Disposition.FIRING,
            message=record.event.message,
            cause="",
            since=record.since,
            stale=record.state is RecordState.STALE,
        ),
        # The Event does not say whether its fault has a budget.
        faults={
            **(known.faults if known else {}),
            (related, False): fault,
            (related, True): fault,
        },
    )


def look_for_absence(
    unseen: Mapping[FindingKey, Episode],
    evaluation: Evaluation,
    snapshot: Snapshot,
    now: Instant,
    settings: EvaluationSettings,
) -> Absence:
    """Decide what becomes of each episode of which no ripe fault is seen."""
    subjects = {each.subject for each in evaluation.subjects} | {CLUSTER}
    unjudged = evaluation.open_reasons
    kept: dict[FindingKey, Episode] = {}
    stale: set[FindingKey] = set()
    ended: set[FindingKey] = set()
    changes: list[timedelta] = []
    for key, episode in unseen.items():
        gone = key.subject not in subjects
        if gone and _is_gone(key.subject, evaluation, snapshot, catalogue=settings.catalogue):
            ended.add(key)
            continue
        at_fault = (related for related, _ in episode.faults)
        unknown = verdict_unknown(key, at_fault, snapshot, settings.catalogue)
        if gone or unknown or key.reason in unjudged:
            stale.add(key)
            after = _as_stale(episode, now)
            ends = (after.stale_since or now.boot) + STALE_LIFETIME
        elif not confirmed(key.reason, snapshot, settings.catalogue):
            kept[key] = episode
            continue
        else:
            after = as_clearing(episode)
            ends = episode.last_seen + recovery_time(key.reason, settings, exempt=episode.exempt)
        if ends > now.boot:
            kept[key] = after
            changes.append(ends - now.boot)
        else:
            ended.add(key)
    return Absence(kept, frozenset(stale), frozenset(ended), min(changes, default=None))


def _is_gone(
    subject: Subject, evaluation: Evaluation, snapshot: Snapshot, *, catalogue: Catalogue
) -> bool:
    """Tell of a subject that is not among the known ones whether that is because it is gone."""
    return existence_known(subject, snapshot, catalogue) and not evaluation.leaves_open(subject)


def _as_stale(episode: Episode, now: Instant) -> Episode:
    since = now.boot if episode.stale_since is None else episode.stale_since
    shown = replace(episode.shown, stale=True, fires_at=None)
    return replace(episode, stale_since=since, shown=shown)


def as_clearing(episode: Episode) -> Episode:
    """Return the episode clearing if it fires, else remembered without being listed.

    A muted one stays listed as muted: its subject is no better for that.

    One that never fired is remembered too: a pod that is ready and not ready by turns would else
    begin its grace anew with each turn.
    """
    shown = replace(episode.shown, stale=False, fires_at=None)
    if shown.disposition in (Disposition.FIRING, Disposition.CLEARING):
        shown = replace(shown, disposition=Disposition.CLEARING, primary=False, by=())
        return replace(episode, shown=shown, listed=True, stale_since=None)
    if episode.muted:
        return replace(episode, shown=shown, listed=True, stale_since=None)
    return replace(episode, shown=shown, listed=False, stale_since=None)

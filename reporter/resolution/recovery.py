"""Rule 6: when a fault that is not seen any more is over.

A probe that yields nothing may mean four things: the fault is gone for good; it is gone for a
moment, as in a crash loop; its object is gone; or the reporter cannot look. Prometheus treats all
alike: the alert is resolved at the first evaluation without it, and a series that is not scraped
any more disappears. `keep_firing_for` delays that by a fixed time, whatever the cause, and does
nothing for pending alerts: `for` starts again after a single miss, so a pod that is ready and not
ready by turns is never reported. Here:

- An episode that fired is clearing for a while. If it is seen again, it continues as the same
  episode, with the same Event. Ending at once fails: each turn of a crash loop would have its own.
- That while is the shorter of its own grace and the global one. With its own grace only, a reason
  that takes five minutes to fire would take as long to clear, and delay Ready.
- An episode that never fired is remembered for as long, unlisted, so its grace continues.
- The while starts when a ripe fault of the key was last seen. Counting every fault fails: pods of a
  rollout, one after the other in their grace, would keep an old episode alive for ever.
- An episode that cannot be judged is stale: it stays as it is, neither recovers nor starts again,
  and ends silently after an hour. While data is only unconfirmed, nothing changes at all.
- An episode ends at once with its subject, if it is certain that the subject is gone.

The memory of a process is not enough for this: a restart must neither report a fault twice nor
leave the Event of a fault open that has ended meanwhile. Our recorded Events are the second memory,
so nothing else has to be stored or migrated, or can disagree with them. They only say what fired
and since when; anything else is assumed so that nothing is withdrawn (see `_from_record` and
`hold.py`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta

from msgspec import structs

from reporter.model.catalogue import Catalogue
from reporter.model.finding import FindingKey, KnownSubject
from reporter.model.instant import Instant
from reporter.model.reason import Reason
from reporter.model.report import Disposition, ResolvedFinding
from reporter.model.subject import Subject
from reporter.resolution.grace import recovery_time
from reporter.resolution.hold import upstream_key
from reporter.resolution.memory import Episode, FaultMemory, Memory
from reporter.resolution.records import Record, Records, RecordState
from reporter.resolution.state import Absence, Candidate, PassState
from reporter.resolution.unknown import confirmed, existence_known, verdict_unknown

REFRESHED_WITHIN = timedelta(minutes=15)
"""A firing Event is refreshed at least every 10 min, however many fire (`events/plan.py`)."""

STALE_LIFETIME = timedelta(hours=1)
"""How long a finding is kept that can no longer be judged."""


def take_up(
    records: Records,
    memory: Memory,
    subjects: Mapping[Subject, KnownSubject],
    *,
    now: Instant,
    catalogue: Catalogue,
) -> Memory:
    """Return the memory with the episodes that our recorded Events show as firing or muted.

    So a restarted process, a standby that takes over, and a leader that lost its memory continue
    the same episode, even if its subject cannot be read now. An upstream that is taken up counts as
    having suppressed, so its symptoms stay held for a while if it is found to have recovered.

    A replica that saw an episode begin a moment before or after the writer did takes over the
    recorded start, the earliest if there are several: the Event's name contains it.
    """
    episodes = dict(memory.episodes)
    governing = set(memory.governing)
    agreed: set[FindingKey] = set()
    for record in records.going_on:
        key = record.key
        if (key, record.since) in memory.ended or key.reason not in catalogue:
            continue
        about = subjects.get(key.subject)
        if about is not None and about.created is not None and record.written < about.created:
            continue
        known = memory.episodes.get(key)
        if known is not None and known.fired:
            if record.live and key not in agreed:
                if known.since != record.since or known.shown.since != record.since:
                    shown = structs.replace(known.shown, since=record.since)
                    episodes[key] = structs.replace(known, since=record.since, shown=shown)
                agreed.add(key)
            continue
        episodes[key] = _from_record(record, known, now, reason=catalogue[key.reason])
        if key.reason in catalogue.upstream_reasons:
            governing.add(upstream_key(key))
    return replace(memory, episodes=episodes, governing=frozenset(governing))


def _from_record(record: Record, known: Episode | None, now: Instant, *, reason: Reason) -> Episode:
    key, related = record.key, record.related
    fault = FaultMemory(
        since=record.since,
        first_seen=now.boot_of(record.since),
        last_seen=now.boot,
        ripe=True,
        fired=True,
        uid=related.uid,
        finding=None,
        began_seen={},
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
        faults={**(known.faults if known else {}), (related, False): fault, (related, True): fault},
    )


def look_for_absence(state: PassState) -> PassState:
    """Decide what becomes of each episode without a visible ripe fault.

    Faults in grace under such a key become candidates of their own once the earlier fault is over.
    """
    merged = state.candidates
    candidates = tuple(each for each in merged if not each.under_an_episode)
    seen = {each.key for each in candidates}
    unseen = {key: episode for key, episode in state.memory.episodes.items() if key not in seen}
    memory = state.memory
    if state.single_pass is None:
        absence = _absence(unseen, state)
    else:  # a single pass sees nothing recover
        kept = {} if state.single_pass.metrics else _reported_from_metrics(unseen, state)
        absence = Absence(kept, stale=frozenset(kept))
        memory = replace(memory, governing=frozenset())
    undercurrents, surfaced = _beneath(merged, absence)
    return replace(
        state,
        memory=memory,
        candidates=candidates + surfaced,
        undercurrents=undercurrents,
        absence=absence,
    )


def _reported_from_metrics(
    unseen: Mapping[FindingKey, Episode], state: PassState
) -> dict[FindingKey, Episode]:
    """Return the episodes that a daemon reports from metrics of pods, which this pass did not read.

    Calling such a model ready would contradict the daemon. An Event that was not refreshed for long
    is from a daemon that is gone, and says nothing about the present.
    """
    fresh = {
        each.key for each in state.records if state.now.wall - each.written <= REFRESHED_WITHIN
    }
    return {
        key: _as_stale(episode, state.now.boot)
        for key, episode in unseen.items()
        if key in fresh
        and key.subject in state.known
        and state.catalogue[key.reason].window_seconds is not None
    }


def _absence(unseen: Mapping[FindingKey, Episode], state: PassState) -> Absence:
    evaluation, snapshot, now = state.evaluation, state.snapshot, state.now
    unjudged = evaluation.open_reasons
    kept: dict[FindingKey, Episode] = {}
    stale: set[FindingKey] = set()
    ended: set[FindingKey] = set()
    wakes: list[timedelta] = []
    for key, episode in unseen.items():
        gone = key.subject not in state.known
        if (
            gone
            and existence_known(key.subject, snapshot, state.catalogue)
            and not evaluation.leaves_open(key.subject)
        ):
            ended.add(key)
            continue
        at_fault = (related for related, _ in episode.faults)
        unknown = verdict_unknown(key, at_fault, snapshot, catalogue=state.catalogue)
        if gone or unknown or key.reason in unjudged:
            stale.add(key)
            since = now.boot if episode.stale_since is None else episode.stale_since
            after = _as_stale(episode, since)
            ends = since + STALE_LIFETIME
        elif not confirmed(key.reason, snapshot, state.catalogue):
            kept[key] = episode
            continue
        else:
            after = as_clearing(episode)
            wait = recovery_time(key.reason, state.settings, exempt=episode.exempt)
            ends = episode.last_seen + wait
        if ends > now.boot:
            kept[key] = after
            wakes.append(ends - now.boot)
        else:
            ended.add(key)
    return Absence(kept, frozenset(stale), frozenset(ended), min(wakes, default=None))


def _beneath(
    merged: Iterable[Candidate], absence: Absence
) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    """Split faults in grace under a key that fired: hidden by the earlier fault, or independent.

    While the earlier fault is clearing, it takes the key's one line in the report. Once it is over,
    the younger fault gets an episode of its own.
    """
    listed = absence.listed
    beneath = [each for each in merged if each.under_an_episode]
    hidden = tuple(each for each in beneath if each.key in listed)
    surfaced = tuple(
        each if each.key in absence.kept else structs.replace(each, episode=None)
        for each in beneath
        if each.key not in listed
    )
    return hidden, surfaced


def _as_stale(episode: Episode, since: timedelta) -> Episode:
    shown = structs.replace(episode.shown, stale=True, fires_at=None)
    return structs.replace(episode, stale_since=since, shown=shown)


def as_clearing(episode: Episode) -> Episode:
    """Return the episode as clearing if it fired, else as remembered and unlisted.

    A muted episode stays listed as muted: the mute does not make its subject ready. An episode that
    never fired is remembered because a pod that is ready and not ready by turns would otherwise
    start its grace again with each turn.
    """
    shown = structs.replace(episode.shown, stale=False)
    clears = shown.disposition in (Disposition.FIRING, Disposition.CLEARING)
    if clears:
        shown = structs.replace(shown, disposition=Disposition.CLEARING, primary=False)
    return structs.replace(episode, shown=shown, listed=clears or episode.muted, stale_since=None)

"""Rule 4: a fault that would be told, were it not for an annotation, is muted."""

from dataclasses import replace
from datetime import timedelta
from typing import Final

from reporter.model.report import Disposition
from reporter.resolution.candidate import Candidate
from reporter.resolution.grace import recovery_time
from reporter.resolution.memory import Episode
from reporter.resolution.mutes import Mutes, find_mutes
from reporter.resolution.state import PassState

_TOLD: Final = frozenset({Disposition.FIRING, Disposition.CLEARING})
_HEARD: Final = _TOLD | {Disposition.SECONDARY}


def mute(state: PassState) -> PassState:
    """Mute what would be told, and what is clearing or stale, as the annotations say."""
    mutes = find_mutes(
        state.snapshot, state.memory.mutes, state.now.wall, catalogue=state.catalogue
    )
    kept = {key: _unseen(episode, mutes) for key, episode in state.absence.kept.items()}
    return replace(
        state,
        candidates=tuple(_seen(each, mutes, state) for each in state.candidates),
        absence=replace(state.absence, kept=kept),
        mutes=mutes,
    )


def _seen(candidate: Candidate, mutes: Mutes, state: PassState) -> Candidate:
    """Return the candidate without the faults that are muted; as muted where no other is left.

    One that is pending, held or suppressed stays so: nothing would be told of it anyway. Who
    suppresses has been decided before, for a cause that is muted is known, and its symptoms are
    no news. It outranks nothing, for priority is an order and no explanation.

    Where another fault of the key was told and is gone, the key is clearing until that one has
    recovered: a pod that comes and goes next to a muted one must not end its Event each time.
    """
    if candidate.disposition is not None:
        return candidate
    by_fault = [(fault, mutes.of(fault.says)) for fault in candidate.told]
    found = tuple(dict.fromkeys(each for _, those in by_fault for each in those))
    told = tuple(fault for fault, those in by_fault if not those)
    if told:
        return replace(candidate, told=told, mutes=found)
    clears_at = _clears_at(candidate, mutes, state)
    if clears_at is not None and state.now.boot < clears_at:
        return replace(
            candidate, disposition=Disposition.CLEARING, mutes=found, clears_at=clears_at
        )
    return replace(candidate, disposition=Disposition.MUTED, mutes=found)


def _clears_at(candidate: Candidate, mutes: Mutes, state: PassState) -> timedelta | None:
    """Return when the fault that was told has recovered; None if it is muted, or none was told."""
    episode = candidate.episode
    if episode is None or episode.shown.disposition not in _TOLD or mutes.of(episode.shown):
        return None
    wait = recovery_time(candidate.key.reason, state.settings, exempt=episode.exempt)
    return episode.last_seen + wait


def _unseen(episode: Episode, mutes: Mutes) -> Episode:
    """Return an episode that is clearing or stale, as muted where all of its faults are."""
    shown = episode.shown
    if not episode.listed or shown.disposition not in _HEARD:
        return episode
    by_fault = [mutes.of(each.finding or shown) for each in episode.faults.values() if each.ripe]
    if not by_fault or not all(by_fault):
        return episode
    found = tuple(dict.fromkeys(each for those in by_fault for each in those))
    shown = replace(shown, disposition=Disposition.MUTED, mutes=found, by=())
    return replace(episode, shown=shown)

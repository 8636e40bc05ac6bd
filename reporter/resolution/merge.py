"""Rules 1 and 2 for a whole pass: one candidate for each key, and which of them are pending."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from reporter.model.catalogue import Catalogue
from reporter.model.finding import Finding, FindingKey
from reporter.model.report import Disposition
from reporter.model.subject import Subject
from reporter.resolution.candidate import Candidate, sustaining, worst_first
from reporter.resolution.grace import Fault, place_in_time, severity_key, sustained
from reporter.resolution.handing_on import since_of
from reporter.resolution.memory import Episode, FaultKey, fault_key
from reporter.resolution.state import PassState
from reporter.resolution.unknown import confirmed
from reporter.snapshot.snapshot import Snapshot


def merge_findings(state: PassState) -> PassState:
    """Make a candidate of all findings of one key."""
    catalogue, known = state.catalogue, state.memory.episodes
    groups: dict[FindingKey, list[Finding]] = defaultdict(list)
    for finding in (*state.evaluation.findings, *sustaining(state.evaluation.undecided, known)):
        groups[finding.key].append(finding)
    candidates: list[Candidate] = []
    created = _subjects_created(state)
    for key, found in groups.items():
        episode = known.get(key)
        faults = _faults(found, episode, state, subject_created=created.get(key.subject))
        if faults:
            candidates.append(Candidate(key, catalogue[key.reason], worst_first(faults), episode))
    return replace(state, candidates=tuple(candidates))


def _subjects_created(state: PassState) -> Mapping[Subject, datetime | None]:
    """Return when each subject was made, for one look; passes see for themselves what begins."""
    if state.one_look is None:
        return {}
    return {each.subject: each.created for each in state.evaluation.subjects}


def _faults(
    findings: Iterable[Finding],
    episode: Episode | None,
    state: PassState,
    *,
    subject_created: datetime | None,
) -> list[Fault]:
    """Return the faults of a key: one for each clock, or the earlier one that it continues."""
    remembered = episode.faults if episode else {}
    clocks: dict[FaultKey, list[Finding]] = defaultdict(list)
    sustaining: list[Finding] = []
    for finding in sorted(findings, key=severity_key):
        if finding.sustains:
            sustaining.append(finding)
        else:
            clocks[fault_key(finding)].append(finding)
    faults = {
        clock: place_in_time(
            group,
            remembered.get(clock),
            state.now,
            settings=state.settings,
            one_look=state.one_look,
            subject_created=subject_created,
            judged=state.memory.judged.get(group[0].reason),
            handed=since_of(state.handed, group[0].key, (group[0].related, clock[1])),
        )
        for clock, group in clocks.items()
    }
    if episode is not None:
        _go_on(faults, sustaining, episode)
    return list(faults.values())


def _go_on(faults: dict[FaultKey, Fault], sustaining: Iterable[Finding], episode: Episode) -> None:
    """Let what fired go on where a young fault of its object, or one in doubt, continues it.

    Not where another fault of the object is ripe: that one is told, and the young one has its time.
    """
    ripe = {related for (related, _), fault in faults.items() if fault.ripe}
    for clock, fault in list(faults.items()):
        if clock[0] in ripe:
            continue
        earlier = sustained(fault.finding, episode.faults, fault.next_in)
        if earlier is not None and (earlier.clock == clock or earlier.clock not in faults):
            faults[earlier.clock] = earlier
    for finding in sustaining if episode.active else ():
        earlier = None if finding.related in ripe else sustained(finding, episode.faults)
        if earlier is not None:
            faults.setdefault(earlier.clock, earlier)


def mark_pending(state: PassState) -> PassState:
    """Mark the candidates that are in grace, or that may not start to fire yet."""
    snapshot, catalogue = state.snapshot, state.catalogue
    return replace(
        state, candidates=tuple(_in_time(each, snapshot, catalogue) for each in state.candidates)
    )


def _in_time(candidate: Candidate, snapshot: Snapshot, catalogue: Catalogue) -> Candidate:
    waits = not candidate.was_active and not confirmed(candidate.key.reason, snapshot, catalogue)
    if not candidate.ripe or waits:
        return replace(candidate, disposition=Disposition.PENDING)
    return candidate

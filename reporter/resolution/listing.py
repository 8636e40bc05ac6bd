"""What the rules decided, as the lines of the report."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from reporter.model.instant import Instant
from reporter.model.report import Disposition, ResolvedFinding, SpecChange
from reporter.model.subject import Subject
from reporter.resolution.candidate import Candidate
from reporter.resolution.grace import ZERO
from reporter.resolution.looking import finding_commands
from reporter.resolution.message import compose, suppression_suffixes
from reporter.resolution.recent_changes import changes_before
from reporter.resolution.recovery import as_clearing
from reporter.resolution.state import PassState


def list_findings(state: PassState) -> tuple[ResolvedFinding, ...]:
    """Return every candidate, and every episode that goes on unseen, by subject and priority.

    What the reporter cannot see comes last: it is no cause of the stack.
    """
    catalogue = state.catalogue
    suffixes = suppression_suffixes(state.candidates, catalogue)
    by_subject: dict[Subject, list[Candidate]] = defaultdict(list)
    for candidate in state.candidates:
        by_subject[candidate.key.subject].append(candidate)
    findings = list(state.absence.listed.values())
    for group in by_subject.values():
        group.sort(key=lambda each: (catalogue.priority(each.key.reason), each.key))
        for candidate in group:
            if candidate.disposition is Disposition.CLEARING and candidate.episode is not None:
                shown = as_clearing(candidate.episode).shown
                findings.append(replace(shown, mutes=candidate.mutes))
                continue
            before = changes_before(candidate, state)
            message = compose(candidate, group, suffixes, changes=before)
            findings.append(_line(candidate, message, state, changes=before))
    return tuple(
        sorted(
            findings,
            key=lambda each: (
                each.is_blind,
                each.subject,
                catalogue.rank(each.reason),
                each.key,
            ),
        )
    )


def _line(
    candidate: Candidate, message: str, state: PassState, *, changes: tuple[SpecChange, ...]
) -> ResolvedFinding:
    now, reason = state.now, candidate.reason
    worst = candidate.worst.says
    wait = _fires_in(candidate, now)
    return ResolvedFinding(
        reason=reason.name,
        layer=reason.layer,
        type=reason.type,
        subject=candidate.key.subject,
        involved=worst.involved,
        related=worst.related,
        disposition=candidate.disposition or Disposition.FIRING,
        message=message,
        cause=worst.cause,
        since=candidate.since(now),
        fires_at=None if wait is None else now.wall + wait,
        by=candidate.by,
        nodes=candidate.nodes,
        mutes=candidate.mutes,
        age_known=candidate.age_known(now),
        commands=finding_commands(candidate, state.catalogue),
        changes=changes,
        diagnosis=worst.diagnosis,
    )


def _fires_in(candidate: Candidate, now: Instant) -> timedelta | None:
    """Return how long until it fires or its hold ends at the earliest, None where nothing tells."""
    held = candidate.holds_until - now.boot if candidate.holds_until is not None else None
    if candidate.disposition is Disposition.HELD:
        return held
    if not candidate.ripe:
        if candidate.by and held is None:
            return None  # what it waits for tells no time
        return min(
            fault.remaining if fault.finding.independent else max(fault.remaining, held or ZERO)
            for fault in candidate.faults
        )
    return None


def changes(state: PassState) -> Iterator[timedelta]:
    """Yield the times after which something changes without the cluster changing."""
    for candidate in (*state.candidates, *state.undercurrents):
        for fault in candidate.faults:
            if fault.next_in is not None:
                yield fault.next_in
        if candidate.clears_at is not None:
            yield candidate.clears_at - state.now.boot
    for until in state.upstreams.released.values():
        yield until - state.now.boot
    if state.absence.wake_in is not None:
        yield state.absence.wake_in
    if state.mutes.next_in is not None:
        yield state.mutes.next_in

"""Compose messages (the worst fault, the number of others, and what else it explains), and turn
what the rules decided into the lines of the report.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta

from msgspec import structs

from reporter.catalogue.reasons import CLUSTER_SHARED
from reporter.model.catalogue import Catalogue
from reporter.model.instant import Instant
from reporter.model.report import Disposition, ResolvedFinding, SpecChange
from reporter.model.subject import Subject
from reporter.model.text import MESSAGE_BYTES, clean, cut, with_suffix
from reporter.resolution.grace import ZERO
from reporter.resolution.hold import explainers, upstream_key
from reporter.resolution.memory import UpstreamKey
from reporter.resolution.ready import finding_commands
from reporter.resolution.recent_changes import changes_before
from reporter.resolution.recovery import as_clearing
from reporter.resolution.state import Candidate, PassState

_ALSO_NAMED = 4
_CAUSE_BYTES = 80

_ADDED = re.compile(
    r"\((?=suppressing downstream|also: |node \S{1,253} also explains)", re.IGNORECASE
)
"""Starts of our additions; in foreign text, another kind of bracket replaces theirs."""

SUPPRESSING = " (suppressing downstream reasons: "
"""Start of the last suffix of a message."""


def compose(
    candidate: Candidate,
    others: Sequence[Candidate],
    suppressed: Mapping[UpstreamKey, str],
    *,
    changes: Sequence[SpecChange] = (),
) -> str:
    """Return the message of a candidate, at most 1,024 bytes.

    `others` are the candidates of the same subject, by priority. A long message is cut, its
    suffixes are not. The first of the `changes` follows the cause if there is room for it.
    """
    suffix, change = _more(candidate), ""
    if candidate.disposition is Disposition.FIRING:
        suffix += _of_one_node(candidate, others) + _also(candidate, others)
        suffix += suppressed.get(upstream_key(candidate.key), "")
        if changes:
            change = f" ({changes[0].seen_from(candidate.worst.says.related)})"
    base = _ADDED.sub("[", clean(candidate.worst.says.message))
    if len(f"{base}{change}{suffix}".encode("utf-8", "replace")) <= MESSAGE_BYTES:
        base += change
    return with_suffix(base, suffix, MESSAGE_BYTES)


def _more(candidate: Candidate) -> str:
    others = (candidate.reported or candidate.ripe or candidate.faults)[1:]
    if not others:
        return ""
    # Each of these is a cause of its own that is reported nowhere else.
    named = candidate.key.reason == CLUSTER_SHARED
    causes = [cut(clean(each.says.cause), _CAUSE_BYTES) for each in others] if named else []
    return f" (and {len(others)} more{f': {_first_of(causes)}' if named else ''})"


def _also(candidate: Candidate, others: Iterable[Candidate]) -> str:
    outranked = sorted(
        f"{other.key.reason}: {cut(clean(other.worst.says.cause), _CAUSE_BYTES)}"
        for other in others
        if other.disposition is Disposition.SECONDARY and candidate.key.reason in other.by
    )
    return f" (also: {_first_of(outranked)})" if outranked else ""


def _of_one_node(candidate: Candidate, others: Iterable[Candidate]) -> str:
    """Return a suffix for the first of several causes that depend on the same lost node."""
    node = candidate.worst.says.lost_node
    if not node:
        return ""
    resting = [
        other
        for other in others
        if other.disposition is Disposition.FIRING and other.worst.says.lost_node == node
    ]
    if len(resting) == 1 or resting[0] is not candidate:
        return ""
    return f" (node {node} also explains: {_first_of([each.key.reason for each in resting[1:]])})"


def _first_of(names: list[str]) -> str:
    named = names[:_ALSO_NAMED]
    if len(names) > _ALSO_NAMED:
        named.append(f"{len(names) - _ALSO_NAMED} more")
    return ", ".join(named)


def suppression_suffixes(
    candidates: Iterable[Candidate], catalogue: Catalogue
) -> dict[UpstreamKey, str]:
    """Return, per upstream, the suffix that says what it suppresses in this pass.

    All reasons of a table row are named once one of them is suppressed. A node or shared object has
    no such row, as it explains single faults, so only what it suppresses is named. The count is of
    namespaces, without the cluster.
    """
    places: dict[UpstreamKey, set[str]] = defaultdict(set)
    hit: dict[UpstreamKey, set[str]] = defaultdict(set)
    for candidate in candidates:
        if candidate.disposition is Disposition.SUPPRESSED:
            reason, place = candidate.key.reason, candidate.key.subject.namespace
            for upstream in explainers(
                reason, candidate.by, catalogue, rests_on=candidate.rests_on
            ):
                hit[upstream].add(reason)
                if place:
                    places[upstream].add(place)
    names = {key: set(reasons) for key, reasons in hit.items()}
    for row in catalogue.suppression:
        if not hit.get(row.key, set()).isdisjoint(row.downstream):
            names[row.key].update(row.downstream)
    where = {key: f" in {len(of)} namespace(s)" for key, of in places.items() if of}
    return {
        key: f"{SUPPRESSING}{', '.join(sorted(named))}{where.get(key, '')})"
        for key, named in names.items()
    }


def list_findings(state: PassState) -> tuple[ResolvedFinding, ...]:
    """Return every candidate, and every episode that continues unseen, by subject and priority.

    Findings about what the reporter cannot see come last: they are not faults of the stack.
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
                findings.append(structs.replace(shown, mutes=candidate.mutes))
            else:
                findings.append(_line(candidate, group, suffixes, state=state))
    findings.sort(
        key=lambda each: (each.is_blind, each.subject, catalogue.rank(each.reason), each.key)
    )
    return tuple(findings)


def _line(
    candidate: Candidate,
    others: Sequence[Candidate],
    suppressed: Mapping[UpstreamKey, str],
    *,
    state: PassState,
) -> ResolvedFinding:
    now, reason, worst = state.now, candidate.reason, candidate.worst.says
    wait, is_known = _fires_in(candidate, now), candidate.age_known(now)
    changes = changes_before(candidate, state)
    # If nothing dates a fault, the age of its object limits how old it can be.
    made = None if is_known else worst.created or worst.no_older_than
    return ResolvedFinding(
        reason=reason.name,
        layer=reason.layer,
        type=reason.type,
        subject=candidate.key.subject,
        involved=worst.involved,
        related=worst.related,
        disposition=candidate.disposition or Disposition.FIRING,
        message=compose(candidate, others, suppressed, changes=changes),
        cause=worst.cause,
        since=candidate.since(now),
        fires_at=None if wait is None else now.wall + wait,
        by=candidate.by,
        rests_on=candidate.rests_on,
        mutes=candidate.mutes,
        age_known=is_known,
        not_before=made if made and made < now.wall else None,
        commands=finding_commands(candidate, state),
        changes=changes,
        diagnosis=worst.diagnosis,
    )


def _fires_in(candidate: Candidate, now: Instant) -> timedelta | None:
    """Return the time until it fires or its hold ends at the earliest, None if unknown."""
    held = candidate.holds_until - now.boot if candidate.holds_until is not None else None
    if candidate.disposition is Disposition.HELD:
        return held
    if candidate.ripe or (candidate.by and held is None):  # its upstream has no time
        return None
    return min(
        fault.remaining if fault.finding.independent else max(fault.remaining, held or ZERO)
        for fault in candidate.faults
    )


def changes(state: PassState, primary_in: timedelta | None) -> Iterator[timedelta]:
    """Yield the times until something changes although the cluster does not."""
    for candidate in (*state.candidates, *state.undercurrents):
        yield from (each.next_in for each in candidate.faults if each.next_in is not None)
        if candidate.clears_at is not None:
            yield candidate.clears_at - state.now.boot
    yield from (until - state.now.boot for until in state.upstreams.released.values())
    wakes = (state.absence.wake_in, state.mutes.next_in, primary_in)
    yield from (each for each in wakes if each is not None)

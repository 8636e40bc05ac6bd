"""Rule 3: a cause is told before its symptoms, and instead of them.

A controller that is down leaves dozens of objects in a state that looks like as many faults.
Alertmanager's inhibition mutes a target while a source fires, and that is not enough: while the
cause is still in its grace the symptom is told first; and once the cause is over the symptoms are
told at once, although the controller that is back has not looked at its objects yet. So an upstream
goes through three states here:

- pending: it holds. Only what does not fire yet is held. To take back what was told would close an
  Event and write it again each time that a component restarts for a few seconds.
- firing, and clearing as well: it suppresses, also what fired before. To let go of the symptoms
  while it is clearing would tell them each time that the component comes and goes.
- released, for a grace after it recovered: it holds again, until statuses have been rewritten.

What a finding is held or suppressed by is part of it, and the cause's message names the reasons
that it hides.

Not every fault of an upstream stops work: `governs` says whether it does, and one that merely
lacks a replica suppresses nothing. Not every fault of a downstream reason is explained either: a
pod that was Ready does not need the node provisioner any more. Such a fault is `independent`, and
a candidate that has one is told with it alone; to suppress by key would hide it.

What is known of an upstream may be less than its state. One that nobody can read now neither
suppresses nor holds, for nothing is known of it; if it turns out to have recovered, it holds from
then on. One that is known from our Event alone only holds: the Event does not say whether it
governs, and what fires must not be taken back on a guess.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from reporter.catalogue.reasons import CLUSTER_NODE
from reporter.model.catalogue import Catalogue
from reporter.model.finding import FindingKey
from reporter.model.reason import SuppressionRow
from reporter.model.report import Disposition
from reporter.resolution.candidate import Candidate
from reporter.resolution.grace import global_grace
from reporter.resolution.memory import Episode, UpstreamKey
from reporter.resolution.state import PassState, Upstreams


def upstream_key(key: FindingKey) -> UpstreamKey:
    """Return what the rows of the suppression table are matched with."""
    of_one = key.involved.kind in {"CustomResourceDefinition", "Node"}
    return (key.reason, key.involved.name if of_one else "")


def hold_and_suppress(state: PassState) -> PassState:
    """Suppress and hold the candidates that an upstream explains, or may soon explain."""
    upstreams, catalogue = _survey(state), state.catalogue
    judged = (_judge(each, upstreams, catalogue) for each in state.candidates)
    return replace(state, candidates=tuple(judged), upstreams=upstreams)


def explainers(
    reason: str, by: Container[str], catalogue: Catalogue, *, nodes: Iterable[str]
) -> set[UpstreamKey]:
    """Return which upstreams a finding of a reason waits for, given its `by` and `nodes`."""
    rows = catalogue.upstreams_of(reason)
    found = {_key(row) for row in rows if row.upstream in by and row.upstream != CLUSTER_NODE}
    return found | {(CLUSTER_NODE, each) for each in nodes if CLUSTER_NODE in by}


def _survey(state: PassState) -> Upstreams:
    """Return which upstreams suppress and hold in this pass.

    An upstream that is clearing still suppresses: its episode goes on, and a component that comes
    and goes must not let the symptoms through in between. One that is known from its Event only,
    which does not say whether it governs, holds instead. An unknown one does neither; should it
    be found recovered once it is known, it holds then.
    """
    governing, boot = state.memory.governing, state.now.boot
    firing: set[UpstreamKey] = set()
    pending: set[UpstreamKey] = set()
    recorded: set[UpstreamKey] = set()
    unknown = {upstream_key(key) for key in state.absence.stale}
    can_suppress = state.catalogue.upstream_reasons
    for candidate in (*state.candidates, *state.undercurrents):
        if candidate.key.reason not in can_suppress:
            continue
        waits = candidate.disposition is Disposition.PENDING
        if not waits and any(fault.says.governs for fault in candidate.ripe):
            firing.add(upstream_key(candidate.key))
        elif any(fault.says.governs for fault in candidate.faults):
            pending.add(upstream_key(candidate.key))
    for key, episode in state.absence.kept.items():
        if key in state.absence.stale:
            continue
        if upstream_key(key) in governing:
            (recorded if _is_recorded(episode) else firing).add(upstream_key(key))
        elif not episode.active and _governs(episode):
            pending.add(upstream_key(key))
    length = max(global_grace(state.settings), timedelta(seconds=1))
    released = {key: until for key, until in state.memory.released.items() if boot < until}
    for upstream in governing - firing - recorded - unknown:
        released[upstream] = boot + length
    return Upstreams(
        firing=frozenset(firing),
        pending=frozenset(pending | recorded),
        released=released,
        governing=frozenset(firing | recorded | (governing & unknown)),
    )


def _is_recorded(episode: Episode) -> bool:
    return all(fault.finding is None for fault in episode.faults.values())


def _governs(episode: Episode) -> bool:
    return any(fault.finding and fault.finding.governs for fault in episode.faults.values())


def _judge(candidate: Candidate, upstreams: Upstreams, catalogue: Catalogue) -> Candidate:
    """Return the candidate suppressed, held, or untouched.

    One that may not start to fire because its data is unconfirmed is suppressed and held the same.
    """
    rows = catalogue.upstreams_of(candidate.key.reason)
    if not candidate.ripe:
        return _wait_for_hold(candidate, upstreams, rows)
    by = _matching(rows, upstreams.firing)
    if by:
        return _leave(candidate, Disposition.SUPPRESSED, by)
    if candidate.was_active:
        return candidate
    by, until = _holders(rows, upstreams)
    if by:
        return _leave(candidate, Disposition.HELD, by, until=until)
    return candidate


def _leave(
    candidate: Candidate,
    disposition: Disposition,
    by: tuple[str, ...],
    *,
    until: timedelta | None = None,
) -> Candidate:
    """Return the candidate without the faults that an upstream explains, if others remain."""
    independent = tuple(fault for fault in candidate.ripe if fault.says.independent)
    if independent:
        return replace(candidate, told=independent)
    return replace(candidate, disposition=disposition, by=by, holds_until=until)


def _wait_for_hold(
    candidate: Candidate, upstreams: Upstreams, rows: Sequence[SuppressionRow]
) -> Candidate:
    """Return a pending candidate that knows what it waits for besides its grace.

    Behind an upstream that fires it is never told, and behind one that is pending it is held next.
    """
    by, until = _holders(rows, upstreams)
    if any(fault.says.independent for fault in candidate.faults):
        return replace(candidate, holds_until=until)
    if firing := _matching(rows, upstreams.firing):
        return replace(candidate, by=firing)
    return replace(candidate, by=() if candidate.was_active else by, holds_until=until)


def _holders(
    rows: Sequence[SuppressionRow], upstreams: Upstreams
) -> tuple[tuple[str, ...], timedelta | None]:
    by = _matching(rows, upstreams.pending | upstreams.released.keys())
    if any(_key(row) in upstreams.pending for row in rows):
        return by, None
    ends = (upstreams.released[_key(row)] for row in rows if _key(row) in upstreams.released)
    return by, max(ends, default=None)


def _matching(rows: Iterable[SuppressionRow], upstreams: Container[UpstreamKey]) -> tuple[str, ...]:
    return tuple(sorted(dict.fromkeys(row.upstream for row in rows if _key(row) in upstreams)))


def _key(row: SuppressionRow) -> UpstreamKey:
    return (row.upstream, row.crd)

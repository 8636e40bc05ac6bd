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

Not every fault of an upstream stops work: `governs` says whether it does, and one that only
lacks a replica suppresses nothing. Not every fault of a downstream reason is explained either: a
pod that was Ready does not need the node provisioner any more. Such a fault is `independent`, and
a candidate that has one is told with it alone; to suppress by key would hide it.

What is known of an upstream may be less than its state. One that nobody can read now neither
suppresses nor holds, for nothing is known of it; if it turns out to have recovered, it holds from
then on. One that is known from our Event alone only holds: the Event does not say whether it
governs, and what fires must not be taken back on a guess.

What is on a node at fault, or waits for it, is explained by the node. One lost node, or one Secret
that several models wait for, would else be told once for each part and each model that needs it.
Unlike a controller, it explains single faults: those that rest on it, or are about it. So which
fault it is decides, and not only which reason; a candidate with another fault is told with that
one.

While the node is seen at fault, what is seen of a fault now says whether it rests on it: a pod that
was made again elsewhere does not. A node that is back leaves its pods not Ready for a while, and
nothing in them speaks of it any more. So until the node is recovered and released, the faults that
rested on it still do. What such a fault outranks stays behind it (rule 5).

Last, between the faults of one pod: one of them explains others.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import timedelta
from typing import Final

from reporter.catalogue.reasons import CLUSTER_NODE, CLUSTER_SHARED
from reporter.catalogue.resources import NODES
from reporter.model.catalogue import Catalogue
from reporter.model.finding import FindingKey
from reporter.model.report import Disposition
from reporter.model.subject import ObjectRef
from reporter.resolution.grace import Fault, global_grace
from reporter.resolution.memory import UpstreamKey
from reporter.resolution.state import Candidate, PassState, Upstreams, rests_on

OF_FAULTS: Final = frozenset({CLUSTER_NODE, CLUSTER_SHARED})
"""Reasons of causes that explain single faults, not all of a reason: those that rest on them."""


def upstream_key(key: FindingKey) -> UpstreamKey:
    """Return what the rows of the suppression table are matched with."""
    if key.reason == CLUSTER_SHARED:
        return (key.reason, str(key.involved))
    of_one = key.involved.kind in {"CustomResourceDefinition", "Node"}
    return (key.reason, key.involved.name if of_one else "")


def hold_and_suppress(state: PassState) -> PassState:
    """Suppress and hold the candidates that an upstream explains, or may soon explain."""
    upstreams, catalogue = _survey(state), state.catalogue
    judged = (_judge(each, upstreams, catalogue) for each in state.candidates)
    return replace(state, candidates=tuple(judged), upstreams=upstreams)


def explainers(
    reason: str, by: Container[str], catalogue: Catalogue, *, rests_on: Iterable[UpstreamKey]
) -> set[UpstreamKey]:
    """Return which upstreams a finding of a reason waits for, given its `by` and `rests_on`."""
    rows = catalogue.upstreams_of(reason)
    found = {row.key for row in rows if row.upstream in by and row.upstream not in OF_FAULTS}
    return found | {each for each in rests_on if each[0] in by}


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
        found = [fault.finding for fault in episode.faults.values()]
        if upstream_key(key) in governing:
            (firing if any(found) else recorded).add(upstream_key(key))
        elif not episode.active and any(each and each.governs for each in found):
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


def _judge(candidate: Candidate, upstreams: Upstreams, catalogue: Catalogue) -> Candidate:
    """Return the candidate suppressed, held, with the faults that nothing explains, or untouched.

    One that may not start to fire because its data is unconfirmed is suppressed and held the same.
    A pending one knows what it waits for apart from its grace: behind an upstream that fires it is
    never told, and behind one that is pending it is held next.
    """
    keys = {row.key for row in catalogue.upstreams_of(candidate.key.reason)}
    firing, holding = _names(keys & upstreams.firing), _names(keys & upstreams.waiting)
    until = _until(keys, upstreams)
    independent = tuple(
        fault for fault in candidate.ripe or candidate.faults if fault.says.independent
    )
    if not candidate.ripe:
        if firing and not independent:
            return replace(candidate, by=firing)
        by = () if independent or candidate.was_active else holding
        return replace(candidate, by=by, holds_until=until)
    if not firing and (candidate.was_active or not holding):
        return candidate
    if independent:
        return replace(candidate, told=independent)
    if firing:
        return replace(candidate, disposition=Disposition.SUPPRESSED, by=firing)
    return replace(candidate, disposition=Disposition.HELD, by=holding, holds_until=until)


def _names(upstreams: Iterable[UpstreamKey]) -> tuple[str, ...]:
    return tuple(sorted({reason for reason, _ in upstreams}))


def _until(keys: AbstractSet[UpstreamKey], upstreams: Upstreams) -> timedelta | None:
    """Return when the last of these upstreams lets go; None while one is pending."""
    if not keys.isdisjoint(upstreams.pending):
        return None
    return max(
        (upstreams.released[each] for each in keys & upstreams.released.keys()), default=None
    )


def suppress_by_nodes(state: PassState) -> PassState:
    """Suppress and hold what a node, or what several share, explains, or may soon."""
    explained = {
        name
        for row in state.catalogue.suppression
        if row.upstream in OF_FAULTS
        for name in row.downstream
    }
    upstreams = state.upstreams
    seen = {upstream_key(each.key) for each in (*state.candidates, *state.undercurrents)}
    known = {each for each in upstreams.firing | upstreams.waiting if each[0] in OF_FAULTS}
    judged = (
        _judge_node(_still_resting(each, known - seen), upstreams)
        if each.key.reason in explained
        else each
        for each in state.candidates
    )
    return replace(state, candidates=tuple(judged))


def _still_resting(candidate: Candidate, unseen: AbstractSet[UpstreamKey]) -> Candidate:
    """Return the candidate with its faults resting on the nodes that they rested on before."""
    episode = candidate.episode
    if episode is None or not unseen:
        return candidate

    def rest(fault: Fault) -> Fault:
        before = episode.faults.get(fault.clock)
        if before is None or before.finding is None or rests_on(fault.says) is not None:
            return fault
        earlier = before.finding
        if rests_on(earlier) not in unseen or not before.is_of(fault.finding.related):
            return fault
        says = replace(fault.says, lost_node=earlier.lost_node, rests_on=earlier.rests_on)
        return replace(fault, says=says)

    faults, told = (tuple(map(rest, each)) for each in (candidate.faults, candidate.told))
    return replace(candidate, faults=faults, told=told)


def _judge_node(candidate: Candidate, upstreams: Upstreams) -> Candidate:
    """Return the candidate suppressed, held, or without the faults that a node suppresses.

    A pending one says what it waits for where all of its faults do.
    """
    if candidate.disposition in {Disposition.SUPPRESSED, Disposition.HELD}:
        return candidate
    faults = candidate.told or candidate.ripe or candidate.faults
    rest = tuple(each for each in faults if _cause_of(each) not in upstreams.firing)
    causes = {cause for each in rest or faults if (cause := _cause_of(each)) is not None}
    by, until = _names(causes), _until(causes, upstreams) if rest else None
    held = not candidate.was_active and all(_cause_of(each) in upstreams.waiting for each in rest)
    if not candidate.ripe:
        if rest and not held:
            return candidate
        if rest and candidate.by:  # the other one may tell no time, or let go later
            until = until and candidate.holds_until and max(until, candidate.holds_until)
        return replace(candidate, by=tuple(sorted({*candidate.by, *by})), holds_until=until)
    if not rest or held:
        disposition = Disposition.HELD if rest else Disposition.SUPPRESSED
        return replace(candidate, disposition=disposition, by=by, holds_until=until)
    return candidate if len(rest) == len(faults) else replace(candidate, told=rest)


def _cause_of(fault: Fault) -> UpstreamKey | None:
    """Return the cause that a fault rests on, or the node that it is about, if any."""
    about = fault.says.related
    of_node = (CLUSTER_NODE, about.name) if about.kind == NODES.kind else None
    return rests_on(fault.says) or of_node


def suppress_within_pods(state: PassState) -> PassState:
    """Take from the candidates the faults that another fault of the same pod explains.

    Where all of its faults are explained, a candidate is suppressed. A fault explains others
    also while it is itself explained, and while it is clearing: the numbers are no better then.
    """
    can_explain = {row.upstream for row in state.catalogue.pod_suppression}
    pods: dict[str, set[ObjectRef]] = defaultdict(set)
    for candidate in state.candidates:
        reason = candidate.key.reason
        if reason in can_explain and candidate.disposition is not Disposition.PENDING:
            pods[reason].update(fault.says.related for fault in candidate.ripe)
    for key, episode in state.absence.kept.items():
        if key.reason in can_explain and episode.active:
            ripe = (pod for (pod, _), fault in episode.faults.items() if fault.ripe)
            pods[key.reason].update(ripe)
    judged = (_explained(each, pods, state.catalogue) for each in state.candidates)
    return replace(state, candidates=tuple(judged))


def _explained(
    candidate: Candidate, pods: Mapping[str, AbstractSet[ObjectRef]], catalogue: Catalogue
) -> Candidate:
    if candidate.disposition is not None:
        return candidate
    upstreams = [row.upstream for row in catalogue.pod_upstreams_of(candidate.key.reason)]
    faults = [
        (fault, {each for each in upstreams if fault.says.related in pods.get(each, ())})
        for fault in candidate.told or candidate.ripe
    ]
    if told := tuple(fault for fault, causes in faults if not causes):
        return replace(candidate, told=told)
    by = {each for _, causes in faults for each in causes}
    return replace(candidate, disposition=Disposition.SUPPRESSED, by=tuple(sorted(by)))

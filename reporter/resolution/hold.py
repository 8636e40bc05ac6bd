"""Rule 3: report a cause before its symptoms, and instead of them.

A controller that is down leaves dozens of objects in a state that looks like as many faults.
Alertmanager's inhibition mutes a target while a source fires. That is not enough: while the cause
is still in its grace, the symptom would be reported first; and once the cause is over, the symptoms
would be reported at once, although the controller has not looked at its objects yet. So an upstream
goes through three states here:

- pending: it holds downstream findings that do not fire yet. It does not withdraw those that fire:
  each restart of a component for a few seconds would close an Event and write it again.
- firing or clearing: it suppresses, even findings that fired before. Releasing the symptoms while
  it is clearing would report them each time that the component comes and goes.
- released, for a grace after its recovery: it holds again, until statuses have been rewritten.

A finding names what holds or suppresses it, and the cause's message names the reasons that it
hides.

Not every fault of an upstream stops work: `governs` says whether it does; a missing replica
suppresses nothing. Not every fault of a downstream reason is explained either: a pod that was Ready
does not need the node provisioner any more. Such a fault is `independent`. A candidate with an
independent fault is reported with that fault only; suppression by key would hide it.

An upstream may be only partly known. One that cannot be read now neither suppresses nor holds; if
it turns out to have recovered, it holds from then on. One that is known from our Event only holds:
the Event does not say whether it governs, and a firing finding must not be withdrawn on a guess.

A node at fault explains the faults of pods that are on it or wait for it. Otherwise one lost node,
or one Secret that several models wait for, would be reported once for each part and each model that
needs it. Unlike a controller, a node or a shared object explains single faults: those that depend
on it or are about it. So the fault decides, not the reason alone; a candidate with other faults is
reported with those.

While the node is seen at fault, the current fault shows whether it depends on the node: a pod that
was recreated elsewhere does not. When the node is back, its pods are not Ready for a while, and
nothing in them refers to the node any more. So faults that depended on the node still do until the
node has recovered and is released. Reasons that such a fault outranks stay outranked (rule 5).

Finally, one fault of a pod may explain others of the same pod.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import timedelta
from typing import Final

from msgspec import structs

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
"""Reasons of causes that explain the faults that depend on them, not all faults of a reason."""


def upstream_key(key: FindingKey) -> UpstreamKey:
    """Return the key that is matched with rows of the suppression table."""
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
    """Return the upstreams that a finding waits for, given its reason, `by` and `rests_on`."""
    rows = catalogue.upstreams_of(reason)
    found = {row.key for row in rows if row.upstream in by and row.upstream not in OF_FAULTS}
    return found | {each for each in rests_on if each[0] in by}


def _survey(state: PassState) -> Upstreams:
    """Return the upstreams that suppress and hold in this pass.

    An upstream that is clearing still suppresses: its episode continues, and a component that comes
    and goes must not let symptoms through in between. An upstream known from its Event only holds,
    as the Event does not say whether it governs. An unknown upstream does neither; if it is found
    to have recovered once it is known, it holds from then on.
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
    """Return the candidate suppressed, held, reduced to independent faults, or unchanged.

    This includes candidates that may not start to fire because their data is unconfirmed. A pending
    candidate gets a `by` too: behind a firing upstream it will not be reported, and behind a
    pending one it will be held next.
    """
    keys = {row.key for row in catalogue.upstreams_of(candidate.key.reason)}
    firing, holding = _names(keys & upstreams.firing), _names(keys & upstreams.waiting)
    until = _until(keys, upstreams)
    independent = tuple(
        fault for fault in candidate.ripe or candidate.faults if fault.says.independent
    )
    if not candidate.ripe:
        if firing and not independent:
            return structs.replace(candidate, by=firing)
        by = () if independent or candidate.was_active else holding
        return structs.replace(candidate, by=by, holds_until=until)
    if not firing and (candidate.was_active or not holding):
        return candidate
    if independent:
        return structs.replace(candidate, reported=independent)
    if firing:
        return structs.replace(candidate, disposition=Disposition.SUPPRESSED, by=firing)
    return structs.replace(candidate, disposition=Disposition.HELD, by=holding, holds_until=until)


def _names(upstreams: Iterable[UpstreamKey]) -> tuple[str, ...]:
    return tuple(sorted({reason for reason, _ in upstreams}))


def _until(keys: AbstractSet[UpstreamKey], upstreams: Upstreams) -> timedelta | None:
    """Return when the last of these upstreams is released; None while one is pending."""
    if not keys.isdisjoint(upstreams.pending):
        return None
    return max(
        (upstreams.released[each] for each in keys & upstreams.released.keys()), default=None
    )


def suppress_by_nodes(state: PassState) -> PassState:
    """Suppress and hold what a node or a shared object explains, or may soon explain."""
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
    """Return the candidate with its faults still depending on the causes of the last pass."""
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
        return structs.replace(fault, says=says)

    faults, reported = (tuple(map(rest, each)) for each in (candidate.faults, candidate.reported))
    return structs.replace(candidate, faults=faults, reported=reported)


def _judge_node(candidate: Candidate, upstreams: Upstreams) -> Candidate:
    """Return the candidate suppressed, held, or without the faults that a node suppresses.

    A pending candidate gets a `by` if all of its faults wait for a cause.
    """
    if candidate.disposition in {Disposition.SUPPRESSED, Disposition.HELD}:
        return candidate
    faults = candidate.reported or candidate.ripe or candidate.faults
    rest = tuple(each for each in faults if _cause_of(each) not in upstreams.firing)
    causes = {cause for each in rest or faults if (cause := _cause_of(each)) is not None}
    by, until = _names(causes), _until(causes, upstreams) if rest else None
    held = not candidate.was_active and all(_cause_of(each) in upstreams.waiting for each in rest)
    if not candidate.ripe:
        if rest and not held:
            return candidate
        if rest and candidate.by:  # the other upstream may have no time, or a later one
            until = until and candidate.holds_until and max(until, candidate.holds_until)
        return structs.replace(candidate, by=tuple(sorted({*candidate.by, *by})), holds_until=until)
    if not rest or held:
        disposition = Disposition.HELD if rest else Disposition.SUPPRESSED
        return structs.replace(candidate, disposition=disposition, by=by, holds_until=until)
    return candidate if len(rest) == len(faults) else structs.replace(candidate, reported=rest)


def _cause_of(fault: Fault) -> UpstreamKey | None:
    """Return the cause that a fault depends on, or the node that it is about, if any."""
    about = fault.says.related
    of_node = (CLUSTER_NODE, about.name) if about.kind == NODES.kind else None
    return rests_on(fault.says) or of_node


def suppress_within_pods(state: PassState) -> PassState:
    """Remove faults that another fault of the same pod explains.

    A candidate without remaining faults is suppressed. A fault explains others even while it is
    itself explained or is clearing: the metrics are no better then.
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
        for fault in candidate.reported or candidate.ripe
    ]
    if reported := tuple(fault for fault, causes in faults if not causes):
        return structs.replace(candidate, reported=reported)
    by = {each for _, causes in faults for each in causes}
    return structs.replace(candidate, disposition=Disposition.SUPPRESSED, by=tuple(sorted(by)))

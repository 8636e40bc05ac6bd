"""The way of requests, namespace by namespace, so that one sees where they stop. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reporter.model.catalogue import Catalogue
from reporter.model.finding import FindingKey
from reporter.model.reason import EventType
from reporter.model.report import Disposition, Report, ResolvedFinding, ServingState
from reporter.model.subject import (
    CLUSTER,
    CLUSTER_KIND,
    NAMESPACE_KIND,
    Layer,
    RequestStage,
    Subject,
)
from reporter.model.text import clean
from reporter.sinks.page.view import (
    DEGRADED,
    FIRING,
    MUTED,
    PENDING,
    READY,
    SUPPRESSED,
    UNKNOWN,
    Lane,
    Link,
    Mark,
    PathView,
    Station,
    mark_of,
)

EVERYWHERE: Final = "All namespaces"

_ABOVE: Final = frozenset({CLUSTER_KIND, NAMESPACE_KIND})
_PRESENT: Final = frozenset({Disposition.FIRING, Disposition.SECONDARY, Disposition.MUTED})
_SEEN: Final = _PRESENT | {Disposition.SUPPRESSED}
_SERVES: Final = frozenset({ServingState.SERVING, ServingState.DEGRADED})
_WORST_FIRST: Final = (FIRING, DEGRADED, SUPPRESSED, PENDING, MUTED)

_States = Mapping[Subject, ServingState]


@dataclass(frozen=True, slots=True)
class _Fault:
    """What one finding means for the requests that pass its stage."""

    stage: RequestStage
    finding: ResolvedFinding
    mark: Mark
    stopped: int


def path_of(report: Report, ids: Mapping[FindingKey, str]) -> PathView:
    """Return the shared parts, and a lane for each namespace with a fault on the way."""
    states = {each.subject: each.state for each in report.states}
    faults: dict[str, list[_Fault]] = defaultdict(list)
    for finding in report.findings:
        fault = _fault(finding, report.catalogue, states)
        if fault is not None:
            faults[finding.subject.namespace].append(fault)
    ready = {each.subject for each in report.ready}
    subjects: dict[str, list[Subject]] = defaultdict(list)
    for subject in {*report.subjects, *states, *ready}:
        if subject.namespace:
            subjects[subject.namespace].append(subject)
    lanes = [
        _lane(name, each, subjects.get(name, ()), states=states, ready=ready, ids=ids)
        for name, each in sorted(faults.items())
    ]
    well = sorted(clean(each) for each in subjects.keys() - faults.keys())
    shared = tuple(
        Link(ids[each.key], mark_of(each), each.reason)
        for each in report.findings
        if each.layer is Layer.CLUSTER and _is_fault(each)
    )
    return PathView(
        shared=shared,
        shared_mark=_shared(shared, is_ready=CLUSTER in ready),
        lanes=tuple(sorted(lanes, key=lambda lane: (lane.rank, -lane.stopped, lane.name))),
        well=tuple(well),
    )


def _is_fault(finding: ResolvedFinding) -> bool:
    return finding.type is EventType.WARNING and not finding.is_blind


def _shared(shared: Sequence[Link], *, is_ready: bool) -> Mark:
    worst = min((each.mark for each in shared), key=lambda mark: mark.rank, default=None)
    return worst or (READY if is_ready else UNKNOWN)


def _fault(finding: ResolvedFinding, catalogue: Catalogue, states: _States) -> _Fault | None:
    """Return what a finding means for requests, None where none pass what it is about."""
    stage = catalogue[finding.reason].way if finding.reason in catalogue else None
    if stage is None or not _is_fault(finding):
        return None
    stopped = _stopped(finding, states)
    return _Fault(stage, finding, _mark(finding, states, stopped=stopped), stopped)


def _stopped(finding: ResolvedFinding, states: _States) -> int:
    """Return how many models do not serve where the fault is seen and may be why."""
    if finding.disposition not in _SEEN:
        return 0
    if finding.subject.kind not in _ABOVE:
        return int(states.get(finding.subject) is ServingState.NOT_SERVING)
    return finding.impact.not_serving if finding.impact else 0


def _mark(finding: ResolvedFinding, states: _States, *, stopped: int) -> Mark:
    if finding.disposition is Disposition.MUTED:
        return MUTED
    if stopped:
        return FIRING
    if finding.disposition is Disposition.SUPPRESSED:
        return SUPPRESSED
    if finding.disposition not in _PRESENT:
        return PENDING
    return DEGRADED if finding.subject in states else FIRING


def _lane(
    namespace: str,
    faults: Iterable[_Fault],
    subjects: Sequence[Subject],
    *,
    states: _States,
    ready: set[Subject],
    ids: Mapping[FindingKey, str],
) -> Lane:
    at: dict[RequestStage, list[_Fault]] = defaultdict(list)
    for each in faults:
        at[each.stage].append(each)
    models = [each for each in subjects if each.kind not in _ABOVE]
    wanted = [each for each in models if states.get(each) is not ServingState.IDLE]
    entered = [each for each in subjects if each.kind in _ABOVE]
    works = {
        # Who serves is reached.
        stage: bool(wanted) and all(states.get(each) in _SERVES for each in wanted)
        for stage in RequestStage
    } | {RequestStage.GATEWAY: bool(entered) and ready.issuperset(entered)}
    stations = tuple(
        _station(stage, at[stage], len(wanted), ids=ids)
        if at[stage]
        else Station(stage.value, *_QUIET[works[stage]])
        for stage in RequestStage
    )
    findings = [each.finding for found in at.values() for each in found]
    name = clean(namespace) or EVERYWHERE
    told = {text for each in findings for text in (each.reason, clean(str(each.subject)))}
    return Lane(
        name=name,
        stations=stations,
        serving=_serving(wanted, states, idle=len(models) - len(wanted)),
        rank=min(each.mark.rank for each in stations),
        stopped=max(_stopped_by(found) for found in at.values()),
        words=" ".join((name, *sorted(told))),
    )


_QUIET: Final = {True: (READY, "works"), False: (UNKNOWN, "no fault known")}


def _station(
    stage: RequestStage, faults: Sequence[_Fault], models: int, *, ids: Mapping[FindingKey, str]
) -> Station:
    mark = next(each for each in _WORST_FIRST if any(each is fault.mark for fault in faults))
    worst = [each for each in faults if each.mark is mark]
    return Station(stage.value, mark, _said(mark, worst, models), ids[worst[0].finding.key])


def _stopped_by(faults: Sequence[_Fault]) -> int:
    """Return how many models the faults of a stage stop: those of a Gateway stop the same ones."""
    shared = max((each.stopped for each in faults if not _of_model(each)), default=0)
    models = {each.finding.subject for each in faults if _of_model(each) and each.stopped}
    return max(shared, len(models))


def _said(mark: Mark, faults: Sequence[_Fault], models: int) -> str:
    count = len({each.finding.subject for each in faults})
    stopped = _stopped_by(faults)
    of = f" of {models}" if models > 1 else ""
    if mark is FIRING and stopped:
        behind = all(each.finding.disposition is Disposition.SUPPRESSED for each in faults)
        # That they do not serve is known, that it is for this fault is not.
        return f"{stopped}{of} not serving{', behind another cause' if behind else ''}"
    if mark is FIRING:
        return "at fault"
    if mark is DEGRADED:
        return f"{count}{of} degraded" if _of_model(faults[0]) else "degraded"
    if mark is SUPPRESSED:
        return f"{count} behind another cause"
    return f"{count} {mark.word}"


def _of_model(fault: _Fault) -> bool:
    return fault.finding.subject.kind not in _ABOVE


def _serving(models: Sequence[Subject], states: _States, *, idle: int) -> str:
    """Return how many models serve, of those that should; nothing where no model is known."""
    if not models:
        return f"{idle} idle" if idle else ""
    counts = Counter(states.get(each, ServingState.UNKNOWN) for each in models)
    serve = counts[ServingState.SERVING] + counts[ServingState.DEGRADED]
    also = [
        f", {counts[each]} {each.word}"
        for each in (ServingState.DEGRADED, ServingState.UNKNOWN)
        if counts[each]
    ]
    return "".join((f"{serve} of {len(models)} serve", *also))

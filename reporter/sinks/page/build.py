"""From a report to what the page shows, with the way of requests by namespace, so that one sees where they stop. Pure."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from reporter.catalogue.render import facts
from reporter.catalogue.resources import NAMESPACES
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
from reporter.model.text import clean, cut
from reporter.resolution.hold import explainers, upstream_key
from reporter.resolution.message import SUPPRESSING
from reporter.sinks.page.episodes import EpisodeHistory, strip_of
from reporter.sinks.page.overview import Branch, grow, layers_of
from reporter.sinks.page.view import (
    DEGRADED,
    FIRING,
    MUTED,
    NOTICE,
    PENDING,
    READY,
    SUPPRESSED,
    UNKNOWN,
    Explained,
    Explanation,
    FindingView,
    Lane,
    LayerView,
    Link,
    Mark,
    PageView,
    PathView,
    ReportOrigin,
    Station,
    mark_of,
)
from reporter.sinks.words import (
    NO_VERDICT,
    action_of,
    change_lines,
    impact_line,
    is_blind,
    is_cause,
    is_notice,
    models_text,
    mute_place,
    verdict,
    where_muted,
    without_changes,
)
from reporter.sinks.words import relation as relation_of

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


_CAUSE_BYTES: Final = 300


def page_view(report: Report, about: ReportOrigin, history: EpisodeHistory) -> PageView:
    """Return what the page shows of a report; the same input gives the same page."""
    branches = grow(report.findings, report.catalogue)
    ids = {each.key: finding_id(each.key) for each in report.findings}
    layers = layers_of(report, ids)
    blind = bool(report.unknown or about.lost or any(map(is_blind, report.findings)))
    marks = _marks(layers, blind=blind)
    return PageView(
        at=report.now,
        about=replace(about, notes=(*map(str, report.outside), *about.notes)),
        verdict=_verdict(report, blind=blind),
        mark=min(marks, key=lambda mark: mark.rank, default=UNKNOWN),
        rest=_rest(marks),
        models=models_text(report),
        causes=_findings(branches, is_cause, report),
        notices=_findings(branches, is_notice, report),
        not_seen=_findings(branches, is_blind, report),
        others=tuple(
            sorted(_findings(branches, _is_quiet, report), key=lambda each: each.mark.rank)
        ),
        path=path_of(report, ids),
        layers=layers,
        strip=strip_of(report.now, history, finding_id, catalogue=report.catalogue),
        unknown=tuple((each.resource, clean(each.cause)) for each in sorted(report.unknown)),
        skipped=tuple(
            (
                clean(" ".join(filter(None, (each.resource, _place(each.namespace, each.name))))),
                clean(each.cause),
            )
            for each in sorted(report.skipped)
        ),
        mutes=tuple(
            (mute_place(each), ", ".join(each.reasons))
            for each in sorted(report.mutes, key=lambda mute: mute.object.kind != NAMESPACES.kind)
        ),
        mute_faults=tuple(
            (clean(str(each.object)), clean(each.text)) for each in report.mute_faults
        ),
        reasons=_explanations(report),
    )


def finding_id(key: FindingKey) -> str:
    """Return the id of a finding's element: of its key, so that it outlives changes of the rest."""
    return "f-" + sha256(repr(key).encode()).hexdigest()[:12]


def subject_text(subject: Subject) -> str:
    """Return how a subject is written."""
    return clean(str(subject))


def _place(namespace: str, name: str) -> str:
    return "/".join(part for part in (namespace, name) if part)


def _is_quiet(finding: ResolvedFinding) -> bool:
    return finding.disposition is not Disposition.FIRING and not is_blind(finding)


def _findings(
    branches: Iterable[Branch], wanted: Callable[[ResolvedFinding], bool], report: Report
) -> tuple[FindingView, ...]:
    return tuple(_finding(each, report) for each in branches if wanted(each.finding))


def _verdict(report: Report, *, blind: bool) -> str:
    said = verdict(report)
    doubtful = blind and not any(map(is_cause, report.findings)) and NO_VERDICT not in said
    return f"{said}{', but not everything is known' if doubtful else ''}"


def _marks(layers: Iterable[LayerView], *, blind: bool) -> Counter[Mark]:
    """Return how many findings are in which state, and how many subjects ready or without verdict.

    What cannot be read is without verdict too, but cannot be counted: a page without a fault looks
    well only if everything is known and something is ready.
    """
    marks: Counter[Mark] = Counter()
    for layer in layers:
        marks.update(dict(layer.counts))
    if blind:
        marks[UNKNOWN] += 0
    return marks


def _rest(marks: Counter[Mark]) -> str:
    quiet = sorted(set(marks) - {FIRING, NOTICE}, key=lambda mark: mark.rank)
    return ", ".join(f"{marks[mark]} {mark.word}" for mark in quiet if marks[mark])


def _finding(branch: Branch, report: Report) -> FindingView:
    finding, catalogue = branch.finding, report.catalogue
    known = finding.reason in catalogue
    relation = where_muted(finding)
    if finding.by:
        relation = relation_of(finding)
    elif finding.disposition is Disposition.CLEARING:
        # Its cause is the last one seen.
        relation = "not seen any more"
    return FindingView(
        id=finding_id(finding.key),
        reason=finding.reason,
        mark=mark_of(finding),
        subject=subject_text(finding.subject),
        message=_message(finding),
        cause=cut(clean(finding.message if finding.by else finding.cause), _CAUSE_BYTES),
        since=finding.since,
        age_known=finding.age_known,
        not_before=finding.not_before,
        fires_at=finding.fires_at,
        relation=relation,
        stale=finding.stale,
        means=catalogue[finding.reason].summary if known else "",
        to_do=action_of(finding, catalogue),
        object=clean(str(finding.related)),
        commands=finding.commands,
        explained=_explained(finding, report),
        below=tuple(_finding(each, report) for each in branch.below),
        # The line has no room for what kind of text it is, and its place tells.
        impact=impact_line(finding, report).partition(": ")[2],
        changes=change_lines(finding),
        last_words=finding.last_lines,
    )


def _message(finding: ResolvedFinding) -> str:
    """Return what the Event says but for what the page says next to it: what else is explained."""
    said = clean(without_changes(finding))
    return said.partition(SUPPRESSING)[0] if finding.is_cause else said


def _explained(finding: ResolvedFinding, report: Report) -> Explained:
    """Count what a cause suppresses as its message does, and what waits for it."""
    if not finding.is_cause:
        return Explained()
    upstream, catalogue = upstream_key(finding.key), report.catalogue
    behind = [
        each
        for each in report.findings
        if each.by
        and upstream in explainers(each.reason, each.by, catalogue, rests_on=each.rests_on)
    ]
    suppressed = [each for each in behind if each.disposition is Disposition.SUPPRESSED]
    places = {each.subject.namespace for each in suppressed} - {""}
    waiting = {Disposition.HELD, Disposition.PENDING}
    return Explained(
        len(suppressed), len(places), sum(each.disposition in waiting for each in behind)
    )


def _explanations(report: Report) -> tuple[Explanation, ...]:
    catalogue = report.catalogue
    named = {each.reason for each in report.findings}
    return tuple(
        Explanation(each.name, tuple(facts(each, catalogue)))
        for each in catalogue
        if each.name in named
    )

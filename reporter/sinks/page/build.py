"""Builds the view of the page from a report, with the request path of each namespace. Pure."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from reporter.catalogue.render import facts
from reporter.catalogue.resources import NAMESPACES
from reporter.model.finding import FindingKey
from reporter.model.reason import EventType
from reporter.model.report import Disposition, Report, ResolvedFinding, ServingState, SkippedObject
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
from reporter.sinks import words
from reporter.sinks.history import EpisodeHistory
from reporter.sinks.page import view
from reporter.sinks.page.overview import Branch, grow, layers_of, strip_of

EVERYWHERE: Final = "All namespaces"

_ABOVE: Final = frozenset({CLUSTER_KIND, NAMESPACE_KIND})
_PRESENT: Final = frozenset({Disposition.FIRING, Disposition.SECONDARY, Disposition.MUTED})
_SERVES: Final = frozenset({ServingState.SERVING, ServingState.DEGRADED})
_WORST_FIRST: Final = (view.FIRING, view.DEGRADED, view.SUPPRESSED, view.PENDING, view.MUTED)

_States = Mapping[Subject, ServingState]


@dataclass(frozen=True, slots=True)
class _Fault:
    """The effect of a finding on the requests that pass its stage.

    `stopped` is the number of models that do not serve, possibly because of it.
    """

    stage: RequestStage
    finding: ResolvedFinding
    mark: view.Mark
    stopped: int

    @property
    def of_model(self) -> bool:
        return self.finding.subject.kind not in _ABOVE


def path_of(report: Report, ids: Mapping[FindingKey, str]) -> view.PathView:
    states = {each.subject: each.state for each in report.states}
    faults: dict[str, list[_Fault]] = defaultdict(list)
    for finding in filter(_is_fault, report.findings):
        stage = report.catalogue[finding.reason].way if finding.reason in report.catalogue else None
        if stage is not None:
            mark, stopped = _mark_on_path(finding, states)
            faults[finding.subject.namespace].append(_Fault(stage, finding, mark, stopped))
    ready = {each.subject for each in report.ready}
    subjects: dict[str, list[Subject]] = defaultdict(list)
    for subject in {*report.subjects, *states, *ready}:
        if subject.namespace:
            subjects[subject.namespace].append(subject)
    lanes = [
        _lane(name, each, subjects.get(name, ()), states=states, ready=ready, ids=ids)
        for name, each in sorted(faults.items())
    ]
    shared = tuple(
        view.Link(
            ids[each.key],
            view.mark_of(each),
            each.reason,
            cut(words.in_one_line(each), _LINE_BYTES),
        )
        for each in report.findings
        if each.layer is Layer.CLUSTER and _is_fault(each)
    )
    return view.PathView(
        shared=shared,
        shared_mark=min(
            (each.mark for each in shared),
            key=_rank,
            default=view.READY if CLUSTER in ready else view.UNKNOWN,
        ),
        lanes=tuple(sorted(lanes, key=lambda lane: (lane.rank, -lane.stopped, lane.name))),
        well=tuple(sorted(clean(each) for each in subjects.keys() - faults.keys())),
    )


def _is_fault(finding: ResolvedFinding) -> bool:
    return finding.type is EventType.WARNING and not finding.is_blind


def _rank(mark: view.Mark) -> int:
    return mark.rank


def _mark_on_path(finding: ResolvedFinding, states: _States) -> tuple[view.Mark, int]:
    """Return how a fault looks on the request path, and how many models it stops."""
    stopped, is_seen = 0, finding.disposition in _PRESENT
    if is_seen or finding.disposition is Disposition.SUPPRESSED:
        if finding.subject.kind not in _ABOVE:
            stopped = int(states.get(finding.subject) is ServingState.NOT_SERVING)
        elif finding.impact:
            stopped = finding.impact.not_serving
    if finding.disposition is Disposition.MUTED:
        return view.MUTED, stopped
    if stopped:
        return view.FIRING, stopped
    if finding.disposition is Disposition.SUPPRESSED:
        return view.SUPPRESSED, stopped
    if not is_seen:
        return view.PENDING, stopped
    return view.DEGRADED if finding.subject in states else view.FIRING, stopped


def _lane(
    namespace: str,
    faults: Iterable[_Fault],
    subjects: Sequence[Subject],
    *,
    states: _States,
    ready: set[Subject],
    ids: Mapping[FindingKey, str],
) -> view.Lane:
    at: dict[RequestStage, list[_Fault]] = defaultdict(list)
    for each in faults:
        at[each.stage].append(each)
    models = [each for each in subjects if each.kind not in _ABOVE]
    wanted = [each for each in models if states.get(each) is not ServingState.IDLE]
    entered = [each for each in subjects if each.kind in _ABOVE]
    works = {
        # Requests reach a model that serves.
        stage: bool(wanted) and all(states.get(each) in _SERVES for each in wanted)
        for stage in RequestStage
    } | {RequestStage.GATEWAY: bool(entered) and ready.issuperset(entered)}
    behind = _behind(at, wanted)
    stations = tuple(
        _station(stage, at[stage], len(wanted), ids=ids, behind=stage in behind)
        if at[stage]
        else view.Station(stage.value, *_QUIET[works[stage]], behind=stage in behind)
        for stage in RequestStage
    )
    findings = [each.finding for found in at.values() for each in found]
    name = clean(namespace) or EVERYWHERE
    texts = {text for each in findings for text in (each.reason, clean(str(each.subject)))}
    return view.Lane(
        name=name,
        stations=stations,
        serving=_serving(wanted, states, idle=len(models) - len(wanted)),
        rank=min(each.mark.rank for each in stations),
        stopped=max(_stopped_by(found) for found in at.values()),
        words=" ".join((name, *sorted(texts))),
    )


def _behind(
    at: Mapping[RequestStage, Sequence[_Fault]], models: Sequence[Subject]
) -> set[RequestStage]:
    """Return the stages that no request reaches: all models at fault there stop at earlier ones."""
    stopped: set[Subject] = set()
    behind: set[RequestStage] = set()
    for stage in RequestStage:
        found = at.get(stage, ())
        faults = [each for each in found if each.stopped] or found
        subjects = [each.finding.subject for each in faults]
        if stopped and (stopped.issuperset(models) or (subjects and stopped.issuperset(subjects))):
            behind.add(stage)
        for each in faults:
            if each.stopped and each.of_model:
                stopped.add(each.finding.subject)
            elif models and each.stopped >= len(models):
                stopped.update(models)
    return behind


_QUIET: Final = {True: (view.READY, "works"), False: (view.UNKNOWN, "no fault known")}


def _station(
    stage: RequestStage,
    faults: Sequence[_Fault],
    models: int,
    *,
    ids: Mapping[FindingKey, str],
    behind: bool,
) -> view.Station:
    mark = next(each for each in _WORST_FIRST if any(each is fault.mark for fault in faults))
    worst = [each for each in faults if each.mark is mark]
    text, id_ = _station_text(mark, worst, models), ids[worst[0].finding.key]
    return view.Station(stage.value, mark, text, id_, behind=behind)


def _stopped_by(faults: Sequence[_Fault]) -> int:
    """Return how many models the faults of a stage stop; shared faults stop the same models."""
    shared = max((each.stopped for each in faults if not each.of_model), default=0)
    models = {each.finding.subject for each in faults if each.of_model and each.stopped}
    return max(shared, len(models))


def _station_text(mark: view.Mark, faults: Sequence[_Fault], models: int) -> str:
    count = len({each.finding.subject for each in faults})
    stopped = _stopped_by(faults)
    of = f" of {models}" if models > 1 else ""
    if mark is view.FIRING and stopped:
        behind = all(each.finding.disposition is Disposition.SUPPRESSED for each in faults)
        # They do not serve, but not necessarily because of this fault.
        return f"{stopped}{of} not serving{', behind another cause' if behind else ''}"
    if mark is view.FIRING:
        return "at fault"
    if mark is view.DEGRADED:
        return f"{count}{of} degraded" if faults[0].of_model else "degraded"
    if mark is view.SUPPRESSED:
        return f"{count} behind another cause"
    return f"{count} {mark.word}"


def _serving(models: Sequence[Subject], states: _States, *, idle: int) -> str:
    """Return how many of the models that should serve do; empty if there is no model."""
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
_LINE_BYTES: Final = 120


def page_view(report: Report, about: view.ReportOrigin, history: EpisodeHistory) -> view.PageView:
    branches = grow(words.by_impact(report.findings), report.catalogue)
    ids = {each.key: finding_id(each.key) for each in report.findings}
    layers = layers_of(report, ids)
    blind = bool(report.unknown or about.lost or any(each.is_blind for each in report.findings))
    verdict = words.verdict(report)
    doubtful = blind and not any(each.is_cause for each in report.findings)
    if doubtful and words.NO_VERDICT not in verdict:
        verdict += ", but not everything is known"
    marks: Counter[view.Mark] = Counter()
    for layer in layers:
        marks.update(dict(layer.counts))
    if blind:
        # Resources that cannot be read have no verdict either, and cannot be counted.
        marks[view.UNKNOWN] += 0

    def views(wanted: Callable[[ResolvedFinding], bool]) -> tuple[view.FindingView, ...]:
        return tuple(_finding(each, report) for each in branches if wanted(each.finding))

    named = {each.reason for each in report.findings}
    quiet = sorted(set(marks) - {view.FIRING, view.NOTICE}, key=_rank)
    others = views(lambda each: not each.fires and not each.is_blind)
    return view.PageView(
        at=report.now,
        about=replace(about, notes=(*map(str, report.outside), *about.notes)),
        verdict=verdict,
        mark=min(marks, key=_rank, default=view.UNKNOWN),
        rest=", ".join(f"{marks[mark]} {mark.word}" for mark in quiet if marks[mark]),
        models=words.models_text(report),
        causes=views(lambda each: each.is_cause),
        notices=views(words.is_notice),
        not_seen=views(lambda each: each.is_blind),
        others=tuple(sorted(others, key=lambda each: each.mark.rank)),
        path=path_of(report, ids),
        layers=layers,
        strip=strip_of(report.now, history, finding_id, catalogue=report.catalogue),
        unknown=tuple((each.resource, clean(each.cause)) for each in sorted(report.unknown)),
        skipped=tuple(map(_skipped, sorted(report.skipped))),
        mutes=tuple(
            (words.mute_place(each), ", ".join(each.reasons))
            for each in sorted(report.mutes, key=lambda mute: mute.object.kind != NAMESPACES.kind)
        ),
        mute_faults=tuple(
            (clean(str(each.object)), clean(each.text)) for each in report.mute_faults
        ),
        reasons=tuple(
            view.Explanation(each.name, tuple(facts(each, report.catalogue)))
            for each in report.catalogue
            if each.name in named
        ),
    )


def finding_id(key: FindingKey) -> str:
    """Return the id of a finding's element; it depends on the key alone, so that it is stable."""
    return "f-" + sha256(repr(key).encode()).hexdigest()[:12]


def _skipped(skipped: SkippedObject) -> tuple[str, str]:
    place = "/".join(filter(None, (skipped.namespace, skipped.name)))
    return clean(" ".join(filter(None, (skipped.resource, place)))), clean(skipped.cause)


def _finding(branch: Branch, report: Report) -> view.FindingView:
    finding, catalogue = branch.finding, report.catalogue
    relation = words.where_muted(finding)
    if finding.by:
        relation = words.relation(finding)
    elif finding.disposition is Disposition.CLEARING:
        # `cause` is the last one that was seen.
        relation = "not seen any more"
    message = clean(words.without_changes(finding))
    if finding.is_cause:
        # The page shows what a cause explains next to its message.
        message = message.partition(SUPPRESSING)[0]
    below = tuple(_finding(each, report) for each in branch.below)
    stale = "stale: what it depends on cannot be read now" if finding.stale else ""
    hit = finding.impact.hit if finding.impact and finding.layer is not Layer.DEPLOYMENT else ()
    return view.FindingView(
        finding=finding,
        id=finding_id(finding.key),
        mark=view.mark_of(finding),
        subject=clean(str(finding.subject)),
        message=message,
        cause=cut(clean(finding.message if finding.by else finding.cause), _CAUSE_BYTES),
        relation=relation,
        brief=" · ".join(filter(None, (_explained(finding, below, report), relation, stale))),
        means=catalogue[finding.reason].summary if finding.reason in catalogue else "",
        to_do=words.action_of(finding, catalogue),
        object=clean(str(finding.related)),
        below=below,
        # Without its label, for which the line has no room.
        impact=words.impact_line(finding, report).partition(": ")[2],
        hits=tuple(clean(str(each)) for each in hit),
        changes=words.change_lines(finding),
    )


def _explained(finding: ResolvedFinding, below: Sequence[view.FindingView], report: Report) -> str:
    """Return how many findings a cause suppresses, as its message counts them, and how many wait
    for it.
    """
    marks = Counter(each.mark for each in below)
    behind: list[ResolvedFinding] = []
    if finding.is_cause:
        upstream, catalogue = upstream_key(finding.key), report.catalogue
        behind = [
            each
            for each in report.findings
            if each.by
            and upstream in explainers(each.reason, each.by, catalogue, rests_on=each.rests_on)
        ]
    suppressed = [each for each in behind if each.disposition is Disposition.SUPPRESSED]
    places = len({each.subject.namespace for each in suppressed} - {""})
    waiting = sum(each.disposition in {Disposition.HELD, Disposition.PENDING} for each in behind)
    parts: list[str] = []
    if explained := len(suppressed) or marks[view.SUPPRESSED]:
        where = f" in {places} namespace(s)" if places else ""
        parts.append(f"explains {explained} other{'' if explained == 1 else 's'}{where}")
    if waiting := waiting or marks[view.HELD] + marks[view.PENDING]:
        parts.append(f"{waiting} wait{'s' if waiting == 1 else ''} for it")
    if outranked := marks[view.SECONDARY]:
        parts.append(f"{outranked} outranked")
    return ", ".join(parts)

"""Builds the view of the page from a report. Pure.

The request path of each namespace, tiles of the subjects of each layer, the tree of findings, and
the strip of the last day.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from operator import attrgetter
from typing import Final, TypeAlias

from reporter.catalogue.render import facts
from reporter.catalogue.resources import NAMESPACES
from reporter.model.catalogue import Catalogue
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
    SubjectKind,
)
from reporter.model.text import clean, cut
from reporter.resolution.hold import explainers, upstream_key
from reporter.resolution.message import SUPPRESSING
from reporter.sinks import words
from reporter.sinks.history import KEPT, EpisodeHistory, SeenEpisode, when
from reporter.sinks.page import view

EVERYWHERE: Final = "All namespaces"

_ABOVE: Final = frozenset({CLUSTER_KIND, NAMESPACE_KIND})
_PRESENT: Final = frozenset({Disposition.FIRING, Disposition.SECONDARY, Disposition.MUTED})
_SERVES: Final = frozenset({ServingState.SERVING, ServingState.DEGRADED})
_CAUSE_BYTES: Final = 300
_LINE_BYTES: Final = 120
_RANK: Final = attrgetter("rank")
_WORST_FIRST: Final = (view.FIRING, view.DEGRADED, view.SUPPRESSED, view.PENDING, view.MUTED)

_States = Mapping[Subject, ServingState]
_Places: TypeAlias = Mapping[tuple[str, Subject], Sequence[ResolvedFinding]]
"""Findings by reason and subject."""

_ByMark = Counter[view.Mark]


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


def _path_of(report: Report, ids: Mapping[FindingKey, str]) -> view.PathView:
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
        _link(each, ids, words.in_one_line(each))
        for each in report.findings
        if each.layer is Layer.CLUSTER and _is_fault(each)
    )
    quiet = view.READY if CLUSTER in ready else view.UNKNOWN
    return view.PathView(
        shared=shared,
        shared_mark=min((each.mark for each in shared), key=_RANK, default=quiet),
        lanes=tuple(sorted(lanes, key=lambda lane: (lane.rank, -lane.stopped, lane.name))),
        well=tuple(sorted(clean(each) for each in subjects.keys() - faults.keys())),
    )


def _link(finding: ResolvedFinding, ids: Mapping[FindingKey, str], text: str) -> view.Link:
    line = cut(text, _LINE_BYTES)
    return view.Link(ids[finding.key], view.mark_of(finding), finding.reason, line)


def _is_fault(finding: ResolvedFinding) -> bool:
    return finding.type is EventType.WARNING and not finding.is_blind


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
    behind = _behind(at, wanted)
    # Requests reach a model that serves.
    reached = bool(wanted) and all(states.get(each) in _SERVES for each in wanted)

    def station(stage: RequestStage) -> view.Station:
        is_behind, found = stage in behind, at.get(stage)
        if not found:
            works = reached
            if stage is RequestStage.GATEWAY:
                works = bool(entered) and ready.issuperset(entered)
            quiet = (view.READY, "works") if works else (view.UNKNOWN, "no fault known")
            return view.Station(stage.value, *quiet, behind=is_behind)
        mark = next(each for each in _WORST_FIRST if any(each is fault.mark for fault in found))
        worst = [each for each in found if each.mark is mark]
        text, id_ = _station_text(mark, worst, len(wanted)), ids[worst[0].finding.key]
        return view.Station(stage.value, mark, text, id_, behind=is_behind)

    stations = tuple(map(station, RequestStage))
    name = clean(namespace) or EVERYWHERE
    findings = [each.finding for found in at.values() for each in found]
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


_TITLES: Final = {
    Layer.CLUSTER: "Cluster",
    Layer.HARNESS: "Model harness",
    Layer.DEPLOYMENT: "Model deployments",
}
_PLAIN: Final = {"", str(ServingState.IDLE)}
"""Caveats of a ready subject that is listed by its name alone."""


def layers_of(report: Report, ids: Mapping[FindingKey, str]) -> tuple[view.LayerView, ...]:
    """Return every layer, even without subjects; `ids` are those of the findings' elements."""
    findings: dict[Subject, list[ResolvedFinding]] = defaultdict(list)
    for finding in report.findings:
        findings[finding.subject].append(finding)
    ready = {each.subject: each.caveat for each in report.ready}
    subjects: dict[SubjectKind, list[Subject]] = defaultdict(list)
    for subject in sorted({*findings, *ready, *report.subjects}):
        subjects[subject.kind].append(subject)
    groups: dict[Layer, dict[SubjectKind, str]] = {
        Layer.CLUSTER: {CLUSTER_KIND: "Shared control plane"},
        Layer.HARNESS: {NAMESPACE_KIND: "Namespaces"},
        Layer.DEPLOYMENT: {
            each.subject_kind: f"{each.kind}s of {stack.project}"
            for stack in report.catalogue.stacks
            for each in stack.subjects
            if each.subject_kind is not None
        },
    }
    layers: list[view.LayerView] = []
    for layer, kinds in groups.items():
        drawn = tuple(
            _group(f"group-{kind}", title, subjects[kind], findings, ready=ready, ids=ids)
            for kind, title in kinds.items()
            if subjects[kind]
        )
        counts: _ByMark = sum((Counter(dict(each.counts)) for each in drawn), Counter())
        layers.append(view.LayerView(f"layer-{layer}", _TITLES[layer], drawn, _sorted(counts)))
    return tuple(layers)


def _group(  # noqa: PLR0917 - its title before what it is made of
    id_: str,
    title: str,
    subjects: Iterable[Subject],
    findings: Mapping[Subject, Sequence[ResolvedFinding]],
    *,
    ready: Mapping[Subject, str],
    ids: Mapping[FindingKey, str],
) -> view.SubjectGroup:
    tiles: list[view.Tile] = []
    well: list[tuple[str, str]] = []
    counts: _ByMark = Counter()
    for subject in subjects:
        of_subject = findings.get(subject, ())
        counts.update(map(view.mark_of, of_subject))
        if subject in ready:
            counts[view.READY] += 1
        elif not of_subject:
            counts[view.UNKNOWN] += 1
        if ready.get(subject) in _PLAIN and not of_subject:
            well.append((clean(subject.namespace), _name(subject)))
        else:
            links = [_link(each, ids, clean(each.cause)) for each in of_subject]
            tiles.append(_tile(subject, links, ready.get(subject)))
    tiles.sort(key=lambda tile: (tile.mark.rank, tile.namespace, tile.name))
    return view.SubjectGroup(id_, title, tuple(tiles), tuple(well), _sorted(counts))


def _tile(subject: Subject, links: Iterable[view.Link], ready: str | None) -> view.Tile:
    lines = tuple(sorted(links, key=lambda line: (line.mark.rank, line.reason, line.id)))
    return view.Tile(
        id="t-" + sha256(repr(subject).encode()).hexdigest()[:12],
        mark=lines[0].mark if lines else view.UNKNOWN if ready is None else view.READY,
        name=_name(subject),
        namespace=clean(subject.namespace) if subject.name else "",
        ready=ready is not None,
        lines=lines,
        caveat=ready or "",
    )


def _name(subject: Subject) -> str:
    return clean(subject.name or subject.namespace or str(subject))


def _sorted(counts: _ByMark) -> tuple[tuple[view.Mark, int], ...]:
    return tuple(sorted(counts.items(), key=lambda item: item[0].rank))


@dataclass(frozen=True, slots=True)
class _Branch:
    """A finding, and the findings that it suppresses, holds or outranks."""

    finding: ResolvedFinding
    below: tuple["_Branch", ...] = ()


def _grow(findings: Iterable[ResolvedFinding], catalogue: Catalogue) -> tuple[_Branch, ...]:
    """Return the findings as trees, each finding once; causes come first, in the given order.

    A finding with several upstreams hangs below the first of them in the catalogue's order.
    """

    def order(finding: ResolvedFinding) -> tuple[bool, int, object]:
        return not finding.fires, catalogue.rank(finding.reason), finding.key

    listed = tuple(findings)
    ordered = [each for each in listed if each.is_cause]
    ordered += sorted((each for each in listed if not each.is_cause), key=order)
    places: dict[tuple[str, Subject], list[ResolvedFinding]] = defaultdict(list)
    for finding in ordered:
        places[finding.reason, finding.subject].append(finding)
    above: dict[int, ResolvedFinding] = {}
    below: dict[int, list[ResolvedFinding]] = defaultdict(list)
    for finding in ordered:
        upstream = step = _upstream(finding, places, catalogue)
        while step is not None and step is not finding:
            step = above.get(id(step))
        if upstream is not None and step is None:  # otherwise it would be a cycle
            above[id(finding)] = upstream
            below[id(upstream)].append(finding)

    def branch(finding: ResolvedFinding) -> _Branch:
        return _Branch(finding, tuple(map(branch, below[id(finding)])))

    return tuple(branch(each) for each in ordered if id(each) not in above)


def _upstream(
    finding: ResolvedFinding, places: _Places, catalogue: Catalogue
) -> ResolvedFinding | None:
    subject = finding.subject
    governing = dict.fromkeys((CLUSTER, Subject.of_namespace(subject.namespace), subject))
    for name in sorted(finding.by, key=catalogue.rank):
        upstreams = [each for place in governing for each in places.get((name, place), ())]
        if upstreams:
            return min(upstreams, key=lambda each: _distance(each, finding))
    return None


def _distance(upstream: ResolvedFinding, finding: ResolvedFinding) -> tuple[bool, bool, bool]:
    of_other = upstream.subject != finding.subject
    return of_other, upstream.related != finding.related, not upstream.fires


_WHOLE: Final = int(KEPT.total_seconds())


def _strip_of(
    now: datetime,
    history: EpisodeHistory,
    catalogue: Catalogue,
) -> view.Strip:
    """Return the day up to `now`: ongoing episodes, then the last to end, then muted ones."""
    by_finding: dict[str, list[SeenEpisode]] = defaultdict(list)
    for episode in (*history.over, *history.going_on.values()):
        by_finding[finding_id(episode.key)].append(episode)
    ordered = sorted(by_finding.items(), key=lambda item: _order(item[1][-1], now, catalogue))
    rows = tuple(_strip_row(id_, episodes, now) for id_, episodes in ordered)
    return view.Strip(now - KEPT, now, history.counts_from, rows, recorded=history.recorded)


def _order(
    episode: SeenEpisode, now: datetime, catalogue: Catalogue
) -> tuple[bool, bool, float, int, object]:
    over = episode.ended is not None
    ago = (now - episode.ended).total_seconds() if episode.ended else 0.0
    return episode.is_muted, over, ago, catalogue.rank(episode.key.reason), episode.key


def _strip_row(id_: str, episodes: Sequence[SeenEpisode], now: datetime) -> view.StripRow:
    newest = episodes[-1]
    drawn = tuple(_strip_episode(each, now) for each in episodes)
    subject = clean(str(newest.key.subject))
    return view.StripRow(id_, view.mark_of(newest), newest.key.reason, subject, drawn)


def _strip_episode(episode: SeenEpisode, now: datetime) -> view.ToldEpisode:
    words = when(
        episode.began,
        episode.ended,
        now,
        muted=episode.is_muted,
        about=episode.about,
        age_known=episode.last is None or episode.last.age_known,
    )

    def seconds(moment: datetime) -> int:
        return min(_WHOLE, max(0, int((moment - (now - KEPT)).total_seconds())))

    begin, end = seconds(episode.began), seconds(episode.ended or now)
    return view.ToldEpisode(episode.id, words, begin, end, episode.ended is None)


def page_view(report: Report, about: view.ReportOrigin, history: EpisodeHistory) -> view.PageView:
    branches = _grow(words.by_impact(report.findings), report.catalogue)
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
    quiet = sorted(set(marks) - {view.FIRING, view.NOTICE}, key=_RANK)
    others = views(lambda each: not each.fires and not each.is_blind)
    return view.PageView(
        at=report.now,
        about=replace(about, notes=(*map(str, report.outside), *about.notes)),
        verdict=verdict,
        mark=min(marks, key=_RANK, default=view.UNKNOWN),
        rest=", ".join(f"{marks[mark]} {mark.word}" for mark in quiet if marks[mark]),
        models=words.models_text(report),
        causes=views(lambda each: each.is_cause),
        notices=views(words.is_notice),
        not_seen=views(lambda each: each.is_blind),
        others=tuple(sorted(others, key=lambda each: each.mark.rank)),
        path=_path_of(report, ids),
        layers=layers,
        strip=_strip_of(report.now, history, report.catalogue),
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


def _finding(branch: _Branch, report: Report) -> view.FindingView:
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

"""Tiles of the subjects of each layer, the tree of findings, and the strip of the last day."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Final, TypeAlias

from reporter.model.catalogue import Catalogue
from reporter.model.finding import FindingKey
from reporter.model.report import Report, ResolvedFinding, ServingState
from reporter.model.subject import (
    CLUSTER,
    CLUSTER_KIND,
    NAMESPACE_KIND,
    Layer,
    Subject,
    SubjectKind,
)
from reporter.model.text import clean, cut
from reporter.sinks.history import KEPT, EpisodeHistory, SeenEpisode, when
from reporter.sinks.page import view

_LINE_BYTES: Final = 120

_TITLES: Final = {
    Layer.CLUSTER: "Cluster",
    Layer.HARNESS: "Model harness",
    Layer.DEPLOYMENT: "Model deployments",
}
_PLAIN: Final = {"", str(ServingState.IDLE)}
"""Caveats of a ready subject that is listed by its name alone."""

_ByMark = Counter[view.Mark]


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
        pairs = [
            _layer_group(kind, name, subjects[kind], findings=findings, ready=ready, ids=ids)
            for kind, name in kinds.items()
            if subjects[kind]
        ]
        counts: _ByMark = sum((each for _, each in pairs), Counter())
        drawn = tuple(group for group, _ in pairs)
        layers.append(view.LayerView(f"layer-{layer}", _TITLES[layer], drawn, _sorted(counts)))
    return tuple(layers)


def _layer_group(
    kind: SubjectKind,
    title: str,
    subjects: Iterable[Subject],
    *,
    findings: Mapping[Subject, Sequence[ResolvedFinding]],
    ready: Mapping[Subject, str],
    ids: Mapping[FindingKey, str],
) -> tuple[view.SubjectGroup, _ByMark]:
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
            tiles.append(_layer_tile(subject, of_subject, ids, ready=ready.get(subject)))
    tiles.sort(key=lambda tile: (tile.mark.rank, tile.namespace, tile.name))
    return view.SubjectGroup(
        f"group-{kind}", title, tuple(tiles), tuple(well), _sorted(counts)
    ), counts


def _layer_tile(
    subject: Subject,
    findings: Iterable[ResolvedFinding],
    ids: Mapping[FindingKey, str],
    *,
    ready: str | None,
) -> view.Tile:
    lines = sorted(
        (
            view.Link(
                ids[each.key], view.mark_of(each), each.reason, cut(clean(each.cause), _LINE_BYTES)
            )
            for each in findings
        ),
        key=lambda line: (line.mark.rank, line.reason, line.id),
    )
    mark = lines[0].mark if lines else view.UNKNOWN if ready is None else view.READY
    namespace = clean(subject.namespace) if subject.name else ""
    id_ = "t-" + sha256(repr(subject).encode()).hexdigest()[:12]
    return view.Tile(
        id=id_,
        mark=mark,
        name=_name(subject),
        namespace=namespace,
        ready=ready is not None,
        lines=tuple(lines),
        caveat=ready or "",
    )


def _name(subject: Subject) -> str:
    return clean(subject.name or subject.namespace or str(subject))


def _sorted(counts: _ByMark) -> tuple[tuple[view.Mark, int], ...]:
    return tuple(sorted(counts.items(), key=lambda item: item[0].rank))


_Places: TypeAlias = Mapping[tuple[str, Subject], Sequence[ResolvedFinding]]
"""Findings by reason and subject."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A finding, and the findings that it suppresses, holds or outranks."""

    finding: ResolvedFinding
    below: tuple["Branch", ...] = ()


def grow(findings: Iterable[ResolvedFinding], catalogue: Catalogue) -> tuple[Branch, ...]:
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

    def branch(finding: ResolvedFinding) -> Branch:
        return Branch(finding, tuple(map(branch, below[id(finding)])))

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


def strip_of(
    now: datetime,
    history: EpisodeHistory,
    id_of: Callable[[FindingKey], str],
    *,
    catalogue: Catalogue,
) -> view.Strip:
    """Return the day up to `now`: ongoing episodes, then the last to end, then muted ones."""
    by_finding: dict[str, list[SeenEpisode]] = defaultdict(list)
    for episode in (*history.over, *history.going_on.values()):
        by_finding[id_of(episode.key)].append(episode)
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

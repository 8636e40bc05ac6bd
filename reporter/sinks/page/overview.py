"""The subjects of each layer as HTML: tiles, the worst first, and the names of the ready ones.

The stack from top to bottom: layers, kinds of subjects, subjects as tiles. Pure.

Which finding hangs below which: by the reasons that the report names in `by`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, TypeAlias

from reporter.model.catalogue import Catalogue
from reporter.model.finding import FindingKey
from reporter.model.report import Disposition, Report, ResolvedFinding, ServingState
from reporter.model.subject import (
    CLUSTER,
    CLUSTER_KIND,
    NAMESPACE_KIND,
    Layer,
    Subject,
    SubjectKind,
)
from reporter.model.text import clean
from reporter.sinks.page.findings import MANY
from reporter.sinks.page.markup import (
    LINES,
    NAMES,
    Bounds,
    Child,
    Markup,
    breakable,
    element,
    join,
    shape,
)
from reporter.sinks.page.view import (
    DEGRADED,
    READY,
    UNKNOWN,
    LayerView,
    Link,
    Mark,
    SubjectGroup,
    Tile,
    mark_of,
)


def layer(view: LayerView, bounds: Bounds) -> Markup:
    """Return a layer with its subjects as tiles."""
    groups = [_group(each, bounds) for each in view.groups]
    return element(
        "section",
        element("h3", view.title, id=f"{view.id}-title"),
        *(groups or [element("p", "No subjects.", class_="quiet")]),
        id=view.id,
        class_="layer",
        aria_labelledby=f"{view.id}-title",
        tabindex="-1",
    )


def _told(counts: tuple[tuple[Mark, int], ...]) -> Markup:
    text = ", ".join(f"{count} {mark.word}" for mark, count in counts) or "no subjects"
    return element("span", text, class_="counts")


def _group(group: SubjectGroup, bounds: Bounds) -> Markup:
    title = join((group.title, " ", _told(group.counts)))
    return element(
        "section",
        element("h4", title, id=f"{group.id}-title"),
        *_tiles(group, bounds),
        _ready(group, bounds),
        id=group.id,
        aria_labelledby=f"{group.id}-title",
    )


def _tiles(group: SubjectGroup, bounds: Bounds) -> tuple[Child, ...]:
    if not group.tiles:
        return ()
    shown = bounds.first(group.tiles, LINES)
    class_ = "tiles many" if len(shown) > MANY else "tiles"
    return element("ul", *map(_tile, shown), class_=class_), bounds.rest(group.tiles, LINES)


def _tile(tile: Tile) -> Markup:
    lines = list(map(_line, tile.lines))
    if not lines and not tile.ready:
        lines.append(element("li", shape(tile.mark), element("span", tile.mark.word)))
    if tile.ready:
        word = f"{READY.word}, {tile.caveat}" if tile.caveat else READY.word
        mark = DEGRADED if tile.caveat == DEGRADED.word else READY
        lines.append(element("li", shape(mark), element("span", word)))
    return element(
        "li",
        element("p", element("b", tile.name), " ", element("span", tile.namespace), class_="name"),
        element("ul", *lines),
        id=tile.id,
        data_words=f"{tile.namespace}/{tile.name}",
        class_=f"tile is-{tile.mark.name}",
    )


def _line(line: Link) -> Markup:
    link = element("a", breakable(line.reason), href=f"#{line.id}")
    return element("li", shape(line.mark), element("span", line.mark.word, " ", link))


def _ready(group: SubjectGroup, bounds: Bounds) -> Markup | None:
    if not group.ready:
        return None
    names = [
        element(
            "li",
            element("b", name),
            " ",
            element("span", namespace) if namespace != name else None,
            data_words=f"{namespace}/{name}",
        )
        for namespace, name in bounds.first(group.ready, NAMES)
    ]
    count = str(len(group.ready))
    return element(
        "details",
        element("summary", shape(READY), element("span", element("b", count), " ready")),
        element("ul", *names, class_="names"),
        bounds.rest(group.ready, NAMES),
        id=f"{group.id}-ready",
        open=(len(group.ready) == 1 and not group.tiles) or bool(bounds.query),
    )


LAYERS: Final = (
    (Layer.CLUSTER, "Cluster", "the shared control plane"),
    (Layer.HARNESS, "Model harness", "the entrance of each workload namespace"),
    (Layer.DEPLOYMENT, "Model deployments", "the models, by stack"),
)
"""Layer, its title, and what it is."""

_UPPER_LAYERS: Final = {
    CLUSTER_KIND: (Layer.CLUSTER, "Shared control plane"),
    NAMESPACE_KIND: (Layer.HARNESS, "Namespaces"),
}
"""Of each kind of subject above the stacks, its layer and the title of its group."""

_PLAIN: Final = {"", str(ServingState.IDLE)}
"""What a subject may be that is listed as ready by its name alone."""

_ByMark = Counter[Mark]


def layers_of(report: Report, ids: Mapping[FindingKey, str]) -> tuple[LayerView, ...]:
    """Return every layer, those without subjects too; `ids` are of the findings' elements."""
    findings: dict[Subject, list[ResolvedFinding]] = defaultdict(list)
    for finding in report.findings:
        findings[finding.subject].append(finding)
    ready = {each.subject: each.caveat for each in report.ready}
    subjects: dict[SubjectKind, list[Subject]] = defaultdict(list)
    for subject in sorted({*findings, *ready, *report.subjects}):
        subjects[subject.kind].append(subject)
    groups = _groups(report.catalogue)
    layers: list[LayerView] = []
    for layer, title, _ in LAYERS:
        pairs = [
            _layer_group(kind, name, subjects[kind], findings=findings, ready=ready, ids=ids)
            for kind, (of, name) in groups.items()
            if of is layer and subjects[kind]
        ]
        counts: _ByMark = sum((each for _, each in pairs), Counter())
        layers.append(
            LayerView(f"layer-{layer}", title, tuple(group for group, _ in pairs), _sorted(counts))
        )
    return tuple(layers)


def _groups(catalogue: Catalogue) -> dict[SubjectKind, tuple[Layer, str]]:
    """Return the layer and the title of each kind of subject."""
    groups = dict(_UPPER_LAYERS)
    for stack in catalogue.stacks:
        for each in stack.subjects:
            if each.subject_kind is not None:
                groups[each.subject_kind] = (Layer.DEPLOYMENT, f"{each.kind}s of {stack.project}")
    return groups


def _layer_group(
    kind: SubjectKind,
    title: str,
    subjects: Iterable[Subject],
    *,
    findings: Mapping[Subject, Sequence[ResolvedFinding]],
    ready: Mapping[Subject, str],
    ids: Mapping[FindingKey, str],
) -> tuple[SubjectGroup, _ByMark]:
    tiles: list[Tile] = []
    well: list[tuple[str, str]] = []
    counts: _ByMark = Counter()
    for subject in subjects:
        of_subject = findings.get(subject, ())
        counts.update(map(mark_of, of_subject))
        if subject in ready:
            counts[READY] += 1
        elif not of_subject:
            counts[UNKNOWN] += 1
        if ready.get(subject) in _PLAIN and not of_subject:
            well.append((clean(subject.namespace), _name(subject)))
        else:
            tiles.append(_layer_tile(subject, of_subject, ids, ready=ready.get(subject)))
    tiles.sort(key=lambda tile: (tile.mark.rank, tile.namespace, tile.name))
    return SubjectGroup(f"group-{kind}", title, tuple(tiles), tuple(well), _sorted(counts)), counts


def _layer_tile(
    subject: Subject,
    findings: Iterable[ResolvedFinding],
    ids: Mapping[FindingKey, str],
    *,
    ready: str | None,
) -> Tile:
    lines = sorted(
        (Link(ids[each.key], mark_of(each), each.reason) for each in findings),
        key=lambda line: (line.mark.rank, line.reason, line.id),
    )
    mark = lines[0].mark if lines else UNKNOWN if ready is None else READY
    namespace = clean(subject.namespace) if subject.name else ""
    id_ = "t-" + sha256(repr(subject).encode()).hexdigest()[:12]
    return Tile(
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


def _sorted(counts: _ByMark) -> tuple[tuple[Mark, int], ...]:
    return tuple(sorted(counts.items(), key=lambda item: item[0].rank))


_Places: TypeAlias = Mapping[tuple[str, Subject], Sequence[ResolvedFinding]]
"""Findings by reason and subject."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A finding, and those that are suppressed, held or outranked by it."""

    finding: ResolvedFinding
    below: tuple["Branch", ...] = ()

    def walk(self) -> Iterator["Branch"]:
        """Yield this branch and all below it."""
        yield self
        for each in self.below:
            yield from each.walk()


def grow(findings: Iterable[ResolvedFinding], catalogue: Catalogue) -> tuple[Branch, ...]:
    """Return every finding once: those with nothing above them, the causes first, as they come.

    A finding with several upstreams hangs below the one that comes first in the catalogue.
    """
    listed = tuple(findings)
    rest = (each for each in listed if not each.is_cause)
    ordered = [each for each in listed if each.is_cause]
    ordered += sorted(rest, key=lambda each: _order(each, catalogue))
    places: dict[tuple[str, Subject], list[ResolvedFinding]] = defaultdict(list)
    for finding in ordered:
        places[finding.reason, finding.subject].append(finding)
    above: dict[int, ResolvedFinding] = {}
    for finding in ordered:
        upstream = _upstream(finding, places, catalogue)
        if upstream is not None and not _is_below(upstream, finding, above):
            above[id(finding)] = upstream
    below: dict[int, list[ResolvedFinding]] = defaultdict(list)
    for finding in ordered:
        if id(finding) in above:
            below[id(above[id(finding)])].append(finding)
    return tuple(_branch(each, below) for each in ordered if id(each) not in above)


def _is_below(
    finding: ResolvedFinding, other: ResolvedFinding, above: dict[int, ResolvedFinding]
) -> bool:
    step: ResolvedFinding | None = finding
    while step is not None and step is not other:
        step = above.get(id(step))
    return step is other


def _order(finding: ResolvedFinding, catalogue: Catalogue) -> tuple[bool, int, object]:
    fires = finding.disposition is Disposition.FIRING
    return not fires, catalogue.rank(finding.reason), finding.key


def _branch(finding: ResolvedFinding, below: dict[int, list[ResolvedFinding]]) -> Branch:
    return Branch(finding, tuple(_branch(each, below) for each in below[id(finding)]))


def _upstream(
    finding: ResolvedFinding, places: _Places, catalogue: Catalogue
) -> ResolvedFinding | None:
    subject = finding.subject
    governing = dict.fromkeys((CLUSTER, Subject.of_namespace(subject.namespace), subject))
    for name in sorted(finding.by, key=catalogue.rank):
        upstreams = [each for place in governing for each in places.get((name, place), ())]
        found = min(upstreams, key=lambda each: _distance(each, finding), default=None)
        if found is not None:
            return found
    return None


def _distance(upstream: ResolvedFinding, finding: ResolvedFinding) -> tuple[bool, bool, bool]:
    return (
        upstream.subject != finding.subject,
        upstream.related != finding.related,
        upstream.disposition is not Disposition.FIRING,
    )

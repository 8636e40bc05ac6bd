"""The stack from top to bottom: layers, kinds of subjects, subjects as tiles. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final

from reporter.model.catalogue import Catalogue
from reporter.model.finding import FindingKey
from reporter.model.report import Report, ResolvedFinding, ServingState
from reporter.model.subject import CLUSTER_KIND, NAMESPACE_KIND, Layer, Subject, SubjectKind
from reporter.model.text import clean
from reporter.sinks.page.marks import READY, UNKNOWN, Mark, mark_of
from reporter.sinks.page.view import LayerView, Link, SubjectGroup, Tile

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
            _group(kind, name, subjects[kind], findings=findings, ready=ready, ids=ids)
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


def _group(
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
            tiles.append(_tile(subject, of_subject, ids, ready=ready.get(subject)))
    tiles.sort(key=lambda tile: (tile.mark.rank, tile.namespace, tile.name))
    return SubjectGroup(f"group-{kind}", title, tuple(tiles), tuple(well), _sorted(counts)), counts


def _tile(
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

"""The page with only what a text is found in, in every part of it. Pure."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from reporter.sinks.page.view import (
    FindingView,
    LayerView,
    PageView,
    PathView,
    StripRow,
    SubjectGroup,
    Tile,
)

LONGEST: Final = 200
"""Most characters of a query; the rest is left out."""

_Pairs = tuple[tuple[str, str], ...]


def filtered(view: PageView, query: str) -> PageView:
    """Return the page with only that in which `query` is found.

    Case does not count. A cause stays if the text is found in what it explains. The verdict and the
    counts at the top stay those of the whole cluster.
    """
    query = query.strip()[:LONGEST]
    if not query:
        return view
    wanted = query.casefold()
    layers = tuple(
        replace(layer, groups=tuple(_group(group, wanted) for group in layer.groups))
        for layer in view.layers
    )
    causes = _findings(wanted, view.causes)
    narrowed = replace(
        view,
        query=query,
        causes=causes,
        notices=_findings(wanted, view.notices),
        not_seen=_findings(wanted, view.not_seen),
        others=_findings(wanted, view.others),
        path=_path(view.path, wanted, _namespaces(layers)),
        layers=layers,
        strip=replace(
            view.strip, rows=tuple(each for each in view.strip.rows if _in_row(wanted, each))
        ),
        unknown=_pairs(wanted, view.unknown),
        skipped=_pairs(wanted, view.skipped),
        mutes=_pairs(wanted, view.mutes),
        mute_faults=_pairs(wanted, view.mute_faults),
    )
    named = set(_reasons((*causes, *narrowed.notices, *narrowed.not_seen, *narrowed.others)))
    reasons = tuple(each for each in view.reasons if each.reason in named)
    found = f"{len(causes)} of {_counted(len(view.causes), 'cause')}, {_subjects(layers)}."
    return replace(narrowed, reasons=reasons, found=found)


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _subjects(layers: Iterable[LayerView]) -> str:
    count = sum(len(group.tiles) + len(group.ready) for each in layers for group in each.groups)
    return _counted(count, "subject")


def _namespaces(layers: Iterable[LayerView]) -> set[str]:
    """Return where the subjects are that were found."""
    groups = [group for layer in layers for group in layer.groups]
    tiles = {each.namespace for group in groups for each in group.tiles}
    return tiles | {namespace for group in groups for namespace, _ in group.ready}


def _path(path: PathView, wanted: str, namespaces: set[str]) -> PathView:
    return replace(
        path,
        lanes=tuple(
            each
            for each in path.lanes
            if wanted in each.words.casefold() or each.name in namespaces
        ),
        well=tuple(each for each in path.well if wanted in each.casefold() or each in namespaces),
    )


def _group(group: SubjectGroup, wanted: str) -> SubjectGroup:
    ready = tuple(pair for pair in group.ready if wanted in "/".join(pair).casefold())
    return replace(
        group, tiles=tuple(each for each in group.tiles if _in_tile(wanted, each)), ready=ready
    )


def _findings(wanted: str, findings: Iterable[FindingView]) -> tuple[FindingView, ...]:
    return tuple(each for each in findings if _in_finding(wanted, each))


def _pairs(wanted: str, pairs: _Pairs) -> _Pairs:
    return tuple(each for each in pairs if any(wanted in text.casefold() for text in each))


def _reasons(findings: Iterable[FindingView]) -> Iterable[str]:
    for each in findings:
        yield each.reason
        yield from _reasons(each.below)


def _in_finding(wanted: str, finding: FindingView) -> bool:
    texts = (finding.reason, finding.subject, finding.message, finding.object, finding.mark.word)
    return any(wanted in text.casefold() for text in texts) or any(
        _in_finding(wanted, each) for each in finding.below
    )


def _in_tile(wanted: str, tile: Tile) -> bool:
    lines = (text for line in tile.lines for text in (line.reason, line.mark.word))
    texts = (f"{tile.namespace}/{tile.name}", tile.mark.word, tile.caveat, *lines)
    return any(wanted in text.casefold() for text in texts)


def _in_row(wanted: str, row: StripRow) -> bool:
    return any(wanted in text.casefold() for text in (row.reason, row.subject))

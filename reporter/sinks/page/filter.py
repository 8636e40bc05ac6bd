"""The page with only what a text is found in, in every part of it. Pure."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from reporter.sinks.page.view import FindingView, LayerView, PageView, PathView, SubjectGroup, Tile
from reporter.sinks.words import counted

LONGEST: Final = 200
"""Most characters of a query; the rest is left out."""

_Pairs = tuple[tuple[str, str], ...]


def filtered(view: PageView, query: str) -> PageView:
    """A cause stays if the text is found in what it explains. The verdict and the counts at the top
    stay those of the whole cluster.
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
            view.strip,
            rows=tuple(each for each in view.strip.rows if _in(wanted, each.reason, each.subject)),
        ),
        unknown=_pairs(wanted, view.unknown),
        skipped=_pairs(wanted, view.skipped),
        mutes=_pairs(wanted, view.mutes),
        mute_faults=_pairs(wanted, view.mute_faults),
    )
    named = set(_reasons((*causes, *narrowed.notices, *narrowed.not_seen, *narrowed.others)))
    reasons = tuple(each for each in view.reasons if each.reason in named)
    count = sum(len(group.tiles) + len(group.ready) for each in layers for group in each.groups)
    found = f"{len(causes)} of {counted(len(view.causes), 'cause')}, {counted(count, 'subject')}."
    return replace(narrowed, reasons=reasons, found=found)


def _in(wanted: str, *texts: str) -> bool:
    return any(wanted in text.casefold() for text in texts)


def _namespaces(layers: Iterable[LayerView]) -> set[str]:
    groups = [group for layer in layers for group in layer.groups]
    tiles = {each.namespace for group in groups for each in group.tiles}
    return tiles | {namespace for group in groups for namespace, _ in group.ready}


def _path(path: PathView, wanted: str, namespaces: set[str]) -> PathView:
    return replace(
        path,
        lanes=tuple(
            each for each in path.lanes if _in(wanted, each.words) or each.name in namespaces
        ),
        well=tuple(each for each in path.well if _in(wanted, each) or each in namespaces),
    )


def _group(group: SubjectGroup, wanted: str) -> SubjectGroup:
    return replace(
        group,
        tiles=tuple(each for each in group.tiles if _in_tile(wanted, each)),
        ready=tuple(pair for pair in group.ready if _in(wanted, "/".join(pair))),
    )


def _findings(wanted: str, findings: Iterable[FindingView]) -> tuple[FindingView, ...]:
    return tuple(each for each in findings if _in_finding(wanted, each))


def _pairs(wanted: str, pairs: _Pairs) -> _Pairs:
    return tuple(each for each in pairs if _in(wanted, *each))


def _reasons(findings: Iterable[FindingView]) -> Iterable[str]:
    for each in findings:
        yield each.reason
        yield from _reasons(each.below)


def _in_finding(wanted: str, finding: FindingView) -> bool:
    texts = (finding.reason, finding.subject, finding.message, finding.object, finding.mark.word)
    return _in(wanted, *texts) or any(_in_finding(wanted, each) for each in finding.below)


def _in_tile(wanted: str, tile: Tile) -> bool:
    lines = (text for line in tile.lines for text in (line.reason, line.mark.word))
    return _in(wanted, f"{tile.namespace}/{tile.name}", tile.mark.word, tile.caveat, *lines)

"""The page with only what a text is found in: what the script does while one types. Pure."""

from dataclasses import replace
from typing import Final

from reporter.sinks.page.view import FindingView, PageView, SubjectGroup, Tile

LONGEST: Final = 200
"""Most characters of a query; the rest is left out."""


def filtered(view: PageView, query: str) -> PageView:
    """Return the page with only the causes, tiles and names in which `query` is found.

    Case does not count. A cause stays if the text is found in what it explains.
    """
    query = query.strip()[:LONGEST]
    if not query:
        return view
    wanted = query.casefold()
    layers = tuple(
        replace(layer, groups=tuple(_group(group, wanted) for group in layer.groups))
        for layer in view.layers
    )
    return replace(
        view,
        query=query,
        causes=tuple(each for each in view.causes if _in_finding(wanted, each)),
        notices=tuple(each for each in view.notices if _in_finding(wanted, each)),
        others=tuple(each for each in view.others if _in_finding(wanted, each)),
        layers=layers,
    )


def _group(group: SubjectGroup, wanted: str) -> SubjectGroup:
    ready = tuple(pair for pair in group.ready if wanted in "/".join(pair).casefold())
    return replace(
        group, tiles=tuple(each for each in group.tiles if _in_tile(wanted, each)), ready=ready
    )


def _in_finding(wanted: str, finding: FindingView) -> bool:
    texts = (finding.reason, finding.subject, finding.message, finding.object, finding.mark.word)
    return any(wanted in text.casefold() for text in texts) or any(
        _in_finding(wanted, each) for each in finding.below
    )


def _in_tile(wanted: str, tile: Tile) -> bool:
    lines = (text for line in tile.lines for text in (line.reason, line.mark.word))
    texts = (f"{tile.namespace}/{tile.name}", tile.mark.word, tile.caveat, *lines)
    return any(wanted in text.casefold() for text in texts)

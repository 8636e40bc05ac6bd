"""Declarations that lead back to themselves: places that rest on each other, and suppression."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from reporter.catalogue.custom.problems import Problem
from reporter.model.catalogue import Catalogue
from reporter.model.custom import CustomComponent

_Next = Mapping[str, Sequence[str]]


def circles_of_places(
    components: Sequence[CustomComponent], catalogue: Catalogue
) -> Iterator[tuple[int, Problem]]:
    """Yield each entry whose place is told by itself, by way of others."""
    del catalogue  # the places of its reasons are told by themselves
    anchors = {each.reason: (each.before or each.after,) for each in components}
    for entry, each in enumerate(components, 1):
        key = "before" if each.before else "after"
        anchor = each.before or each.after
        way = _way(anchor, each.reason, anchors) if anchor != each.reason else ()
        if way:
            yield entry, Problem(key, anchor, "places that form no circle", _round(each, way))


def circles_of_suppression(
    components: Sequence[CustomComponent], catalogue: Catalogue
) -> Iterator[tuple[int, Problem]]:
    """Yield each entry that suppresses itself, by way of others."""
    rows: dict[str, list[str]] = defaultdict(list)
    for row in catalogue.suppression:
        rows[row.upstream] += row.downstream
    for each in components:
        rows[each.reason] += each.suppresses
    for entry, each in enumerate(components, 1):
        for name in each.suppresses:
            way = _way(name, each.reason, rows) if name != each.reason else ()
            if way:
                allowed = "reasons that do not suppress it in turn"
                yield entry, Problem("suppresses", name, allowed, _round(each, way))


def _round(component: CustomComponent, way: Sequence[str]) -> str:
    return " -> ".join((component.reason, *way))


def _way(start: str, end: str, following: _Next) -> tuple[str, ...]:
    """Return the steps from one name to another, both included; none if there is no way."""
    ways: list[tuple[str, ...]] = [(start,)]
    seen = {start}
    for way in ways:
        if way[-1] == end:
            return way
        for name in following.get(way[-1], ()):
            if name and name not in seen:
                seen.add(name)
                ways.append((*way, name))
    return ()

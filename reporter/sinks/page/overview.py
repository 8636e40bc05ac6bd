"""The layers and the last hour as HTML."""

from typing import Final

from reporter.model.instant import rfc3339
from reporter.sinks.page.episodes import KEPT
from reporter.sinks.page.findings import MANY
from reporter.sinks.page.marks import READY, Mark
from reporter.sinks.page.markup import Markup, breakable, element, join
from reporter.sinks.page.symbols import shape
from reporter.sinks.page.view import LayerView, Link, Strip, StripRow, SubjectGroup, Tile

_HOUR: Final = int(KEPT.total_seconds())
_LEAST: Final = 24
"""Least width of a bar in seconds of the strip: what is shorter could not be seen."""


def overview(layers: tuple[LayerView, ...]) -> Markup:
    """Return a link to each layer with the states of its subjects."""
    items = [
        element(
            "li",
            element(
                "a",
                shape(layer.counts[0][0]) if layer.counts else None,
                element("span", element("b", layer.title), " ", _told(layer.counts)),
                href=f"#{layer.id}",
            ),
        )
        for layer in layers
    ]
    return element("nav", element("ol", *items), aria_label="Layers", class_="overview")


def layer(view: LayerView) -> Markup:
    """Return a layer with its subjects as tiles."""
    groups = [_group(each) for each in view.groups]
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


def _group(group: SubjectGroup) -> Markup:
    title = join((group.title, " ", _told(group.counts)))
    return element(
        "section",
        element("h4", title, id=f"{group.id}-title"),
        element("ul", *map(_tile, group.tiles), class_=_tiles_class(group))
        if group.tiles
        else None,
        _ready(group),
        id=group.id,
        aria_labelledby=f"{group.id}-title",
    )


def _tiles_class(group: SubjectGroup) -> str:
    return "tiles many" if len(group.tiles) > MANY else "tiles"


def _tile(tile: Tile) -> Markup:
    lines = list(map(_line, tile.lines))
    if not lines and not tile.ready:
        lines.append(element("li", shape(tile.mark), element("span", tile.mark.word)))
    if tile.ready:
        word = f"{READY.word}, {tile.caveat}" if tile.caveat else READY.word
        lines.append(element("li", shape(READY), element("span", word)))
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


def _ready(group: SubjectGroup) -> Markup | None:
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
        for namespace, name in group.ready
    ]
    return element(
        "details",
        element("summary", shape(READY), element("span", element("b", str(len(names))), " ready")),
        element("ul", *names, class_="names"),
        id=f"{group.id}-ready",
        open=len(names) == 1 and not group.tiles,
    )


def hour(strip: Strip) -> Markup:
    """Return the strip of the last hour: for each reason and subject a line of bars, and words."""
    counted = _counted(strip)
    if not strip.rows:
        return element("p", f"No episodes. {counted}", class_="quiet lead")
    more = f" {strip.more} more are not drawn." if strip.more else ""
    return join(
        (
            element("p", f"{counted}{more} Times are UTC.", class_="quiet lead"),
            element(
                "div", _axis(strip), element("ul", *map(_strip_row, strip.rows)), class_="strip"
            ),
        )
    )


def _counted(strip: Strip) -> str:
    """Say what is known of episodes that are over."""
    events = "from Events on record, whose last refresh counts as the end"
    if strip.counts_from is None and strip.recorded:
        return f"Ended episodes are known {events}."
    if strip.counts_from is None:
        return "Only what fires now is known: no earlier passes, and no Events could be read."
    since = f"Ended episodes were seen since {rfc3339(strip.counts_from)}"
    return (
        f"{since}; those that had ended by then are known {events}."
        if strip.recorded
        else f"{since}."
    )


def _axis(strip: Strip) -> Markup:
    middle = strip.begin + (strip.end - strip.begin) / 2
    times = (strip.begin, middle, strip.end)
    marks = [element("span", f"{each:%H:%M}") for each in times]
    return element("p", *marks, class_="axis", aria_hidden="true")


def _strip_row(row: StripRow) -> Markup:
    bars = [
        element(
            "rect",
            x=min(span.begin, _HOUR - _LEAST),
            y=0,
            width=max(_LEAST, span.end - span.begin),
            height=8,
            class_="open" if span.open else "over",
        )
        for span in row.spans
    ]
    drawn = element(
        "svg",
        *bars,
        viewBox=f"0 0 {_HOUR} 8",
        preserveAspectRatio="none",
        class_=f"bars is-{row.mark.name}",
        aria_hidden="true",
    )
    return element(
        "li",
        element(
            "p",
            element("b", breakable(row.reason)),
            " ",
            element("span", row.subject),
            class_="label",
        ),
        drawn,
        element("p", row.told, class_="told"),
        id=f"{row.id}-hour",
    )

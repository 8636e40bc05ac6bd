"""The subjects of each layer as HTML: tiles, the worst first, and the names of the ready ones."""

from reporter.sinks.page.bounds import LINES, NAMES, Bounds
from reporter.sinks.page.findings import MANY
from reporter.sinks.page.marks import DEGRADED, READY, Mark
from reporter.sinks.page.markup import Child, Markup, breakable, element, join
from reporter.sinks.page.symbols import shape
from reporter.sinks.page.view import LayerView, Link, SubjectGroup, Tile


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

"""The way of requests as HTML: plain lists, so that it is also read aloud in its order."""

from typing import Final

from reporter.sinks.page.markup import LANES, Bounds, Markup, breakable, element, shape
from reporter.sinks.page.view import FIRING, Lane, PathView, Station

_NAMED: Final = 8
"""Most namespaces that are named where nothing is wrong."""


def title(view: PathView) -> str:
    """Return what the picture is about."""
    stops = any(each.mark is FIRING for lane in view.lanes for each in lane.stations)
    return "Where requests stop" if stops else "The way of requests"


def picture(view: PathView, bounds: Bounds) -> tuple[Markup | None, ...]:
    """Return the shared parts, and below them a lane for each namespace with a fault."""
    lanes = [_lane(each) for each in bounds.first(view.lanes, LANES)]
    return (
        _shared(view),
        element("ol", *lanes, class_="lanes") if lanes else None,
        bounds.rest(view.lanes, LANES),
        _well(view.well, after=bool(lanes)),
    )


def _shared(view: PathView) -> Markup:
    faults = [
        element(
            "li",
            shape(each.mark),
            element(
                "span",
                each.mark.word,
                " ",
                element("a", breakable(each.reason), href=f"#{each.id}"),
            ),
        )
        for each in view.shared
    ]
    word = "all that is needed works" if view.shared_mark.name == "ready" else view.shared_mark.word
    rest = [element("li", shape(view.shared_mark), element("span", word))]
    return element(
        "div",
        element("h3", "Shared parts"),
        element("ul", *(faults or rest)),
        class_=f"shared is-{view.shared_mark.name}",
    )


def _lane(lane: Lane) -> Markup:
    name = element("h3", lane.name)
    told = element("p", lane.serving, class_="serving") if lane.serving else None
    stations = element("ol", *map(_station, lane.stations), class_="stations")
    return element("li", name, told, stations, data_words=lane.words, class_="lane")


def _station(station: Station) -> Markup:
    text = element("span", station.text, class_="said")
    said = element("a", text, href=f"#{station.id}") if station.id else text
    return element(
        "li",
        shape(station.mark),
        element("span", element("b", station.title), " ", said),
        class_=f"station is-{station.mark.name}",
    )


def _well(names: tuple[str, ...], *, after: bool) -> Markup | None:
    if not names:
        return None
    named = ", ".join(names[:_NAMED])
    more = len(names) - _NAMED
    listed = f"{named} and {more} more" if more > 0 else named
    others = " other" if after else ""
    count = f"{len(names)}{others} namespace{'' if len(names) == 1 else 's'}"
    return element("p", f"No fault is known in {count}: {listed}.", class_="quiet lead")

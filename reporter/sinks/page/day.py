"""The last day as HTML: for each reason and subject a line of bars, and words."""

from typing import Final

from reporter.model.instant import rfc3339
from reporter.sinks.page.bounds import ROWS, Bounds
from reporter.sinks.page.episodes import KEPT
from reporter.sinks.page.markup import Markup, breakable, element, join
from reporter.sinks.page.view import Strip, StripRow

_WHOLE: Final = int(KEPT.total_seconds())
_LEAST: Final = _WHOLE // 150
"""Least width of a bar in seconds of the strip: what is shorter could not be seen."""

_TICKS: Final = 4
"""Parts that the axis has."""


def day(strip: Strip, bounds: Bounds) -> Markup:
    """Return the strip of the last day, and what is known of the time before the first pass."""
    counted = _counted(strip)
    if not strip.rows:
        return element("p", f"No episodes. {counted}", class_="quiet lead")
    rows = strip.rows[:ROWS] if bounds.cut else strip.rows
    more = len(strip.rows) - len(rows)
    left_out = f" {more} more are not drawn." if more else ""
    drawn = element("div", _axis(strip), element("ul", *map(_row, rows)), class_="strip")
    return join((element("p", f"{counted}{left_out} Times are UTC.", class_="quiet lead"), drawn))


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
    step = (strip.end - strip.begin) / _TICKS
    times = (strip.begin + step * each for each in range(_TICKS + 1))
    marks = [
        element("time", f"{each:%H:%M}", datetime=rfc3339(each), class_="clock") for each in times
    ]
    return element("p", *marks, class_="axis", aria_hidden="true")


def _row(row: StripRow) -> Markup:
    bars = [
        element(
            "rect",
            x=min(span.begin, _WHOLE - _LEAST),
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
        viewBox=f"0 0 {_WHOLE} 8",
        preserveAspectRatio="none",
        class_=f"bars is-{row.mark.name}",
        aria_hidden="true",
    )
    label = element(
        "p", element("b", breakable(row.reason)), " ", element("span", row.subject), class_="label"
    )
    told = element("p", row.told, class_="told")
    return element("li", label, drawn, told, id=f"{row.id}-day")

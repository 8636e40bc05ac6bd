"""The last day as HTML: for each reason and subject a line of bars, and words."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from reporter.model.catalogue import Catalogue
from reporter.model.finding import FindingKey
from reporter.model.instant import rfc3339
from reporter.model.text import clean
from reporter.sinks.history import KEPT, EpisodeHistory, SeenEpisode, when
from reporter.sinks.page.markup import ROWS, Bounds, Markup, breakable, element, join, lead
from reporter.sinks.page.view import Strip, StripRow, ToldEpisode, mark_of

_WHOLE: Final = int(KEPT.total_seconds())
_LEAST: Final = _WHOLE // 150
"""Least width of a bar in seconds of the strip: what is shorter could not be seen."""

_TICKS: Final = 4
"""Parts that the axis has."""

EPISODES_TOLD: Final = 5
"""Most episodes of one reason and subject that are told, unless all are asked for."""


def day(strip: Strip, bounds: Bounds) -> Markup:
    counted = _counted(strip)
    if not strip.rows:
        return lead(f"No episodes. {counted}")
    rows = bounds.first(strip.rows, ROWS)
    more = len(strip.rows) - len(rows)
    left_out = f" {more} more are not drawn." if more else ""
    drawn = element(
        "div", _axis(strip), element("ul", *(_row(each, bounds) for each in rows)), class_="strip"
    )
    return join((lead(f"{counted}{left_out} Times are UTC."), drawn))


def _counted(strip: Strip) -> str:
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


def _row(row: StripRow, bounds: Bounds) -> Markup:
    bars = [
        element(
            "rect",
            x=min(each.begin, _WHOLE - _LEAST),
            y=0,
            width=max(_LEAST, each.end - each.begin),
            height=8,
            class_="open" if each.goes_on else "over",
        )
        for each in row.episodes
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
    count = len(row.episodes)
    shown = row.episodes[-EPISODES_TOLD:] if bounds.cut else row.episodes
    parts: list[Markup | str] = []
    for each in shown:
        parts += [", ", element("a", each.words, id=each.id, href=f"#{each.id}")]
    parts[0] = f"{count} episodes, the last of them, " if len(shown) < count else ""
    return element("li", label, drawn, element("p", *parts, class_="told"), id=f"{row.id}-day")


def strip_of(
    now: datetime,
    history: EpisodeHistory,
    id_of: Callable[[FindingKey], str],
    *,
    catalogue: Catalogue,
) -> Strip:
    """Return the day that ends `now`: what goes on, then what ended last, then what is muted."""
    by_finding: dict[str, list[SeenEpisode]] = defaultdict(list)
    for episode in (*history.over, *history.going_on.values()):
        by_finding[id_of(episode.key)].append(episode)
    ordered = sorted(by_finding.items(), key=lambda item: _order(item[1][-1], now, catalogue))
    rows = tuple(_strip_row(id_, episodes, now) for id_, episodes in ordered)
    return Strip(now - KEPT, now, history.counts_from, rows, recorded=history.recorded)


def _order(
    episode: SeenEpisode, now: datetime, catalogue: Catalogue
) -> tuple[bool, bool, float, int, object]:
    over = episode.ended is not None
    ago = (now - episode.ended).total_seconds() if episode.ended else 0.0
    return episode.is_muted, over, ago, catalogue.rank(episode.key.reason), episode.key


def _strip_row(id_: str, episodes: Sequence[SeenEpisode], now: datetime) -> StripRow:
    newest = episodes[-1]
    told = tuple(_told(each, now) for each in episodes)
    subject = clean(str(newest.key.subject))
    return StripRow(id_, mark_of(newest), newest.key.reason, subject, told)


def _told(episode: SeenEpisode, now: datetime) -> ToldEpisode:
    words = when(
        episode.began,
        episode.ended,
        now,
        muted=episode.is_muted,
        about=episode.about,
        age_known=episode.last is None or episode.last.age_known,
    )

    def seconds(moment: datetime) -> int:
        return min(_WHOLE, max(0, int((moment - (now - KEPT)).total_seconds())))

    begin, end = seconds(episode.began), seconds(episode.ended or now)
    return ToldEpisode(episode.id, words, begin, end, episode.ended is None)

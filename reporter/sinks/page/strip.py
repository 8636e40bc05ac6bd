"""The last day of episodes. Pure."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from reporter.model.catalogue import Catalogue
from reporter.model.finding import FindingKey
from reporter.model.text import clean
from reporter.sinks.age import age
from reporter.sinks.page.episodes import KEPT, EpisodeHistory, SeenEpisode
from reporter.sinks.page.marks import MUTED
from reporter.sinks.page.view import Span, Strip, StripRow

_SPANS_TOLD: Final = 5


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
    rows = tuple(_row(id_, episodes, now) for id_, episodes in ordered)
    return Strip(now - KEPT, now, history.counts_from, rows, recorded=history.recorded)


def _order(
    episode: SeenEpisode, now: datetime, catalogue: Catalogue
) -> tuple[bool, bool, float, int, object]:
    over = episode.ended is not None
    ago = (now - episode.ended).total_seconds() if episode.ended else 0.0
    return _is_muted(episode), over, ago, catalogue.rank(episode.key.reason), episode.key


def _is_muted(episode: SeenEpisode) -> bool:
    return episode.ended is None and episode.mark is MUTED


def _row(id_: str, episodes: Sequence[SeenEpisode], now: datetime) -> StripRow:
    newest = episodes[-1]
    told = [_told(each, now) for each in episodes[-_SPANS_TOLD:]]
    if len(episodes) > _SPANS_TOLD:
        told.insert(0, f"{len(episodes)} episodes, the last of them")
    return StripRow(
        id=id_,
        mark=newest.mark,
        reason=newest.key.reason,
        subject=clean(str(newest.key.subject)),
        spans=tuple(_span(each, now) for each in episodes),
        told=", ".join(told),
    )


def _span(episode: SeenEpisode, now: datetime) -> Span:
    left = now - KEPT
    whole = int(KEPT.total_seconds())

    def seconds(moment: datetime) -> int:
        return min(whole, max(0, int((moment - left).total_seconds())))

    return Span(seconds(episode.began), seconds(episode.ended or now), episode.ended is None)


def _told(episode: SeenEpisode, now: datetime) -> str:
    began = episode.began.astimezone(UTC)
    form = "%H:%M:%S" if now - began < KEPT / 2 else "%Y-%m-%d %H:%M"
    if episode.ended is None:
        muted = ", muted" if _is_muted(episode) else ""
        return f"since {began.strftime(form)} ({age(now - began)}){muted}"
    ended = episode.ended.astimezone(UTC)
    about = "about " if episode.about else ""
    return f"{began.strftime(form)} to {about}{ended:%H:%M:%S} ({age(ended - began)})"

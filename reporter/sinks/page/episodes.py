"""The last day: for each reason and subject a line of bars, and words."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from reporter.model.catalogue import Catalogue
from reporter.model.finding import FindingKey
from reporter.model.text import clean
from reporter.sinks.history import KEPT, EpisodeHistory, SeenEpisode, when
from reporter.sinks.page.view import Strip, StripRow, ToldEpisode, mark_of

_WHOLE: Final = int(KEPT.total_seconds())


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

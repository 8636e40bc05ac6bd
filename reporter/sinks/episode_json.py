"""Episodes as JSON: what fired lately, since when, and until when."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from reporter.model.finding import FindingKey
from reporter.model.instant import rfc3339
from reporter.model.text import unseen_escaped
from reporter.resolution.records import Record
from reporter.sinks.page.episodes import EpisodeHistory
from reporter.sinks.report_json import API_VERSION, ReportDocument, reference

LISTED: Final = 1000
"""Most episodes that are listed: those that go on come first, then those that ended last."""


def history_json(history: EpisodeHistory, now: datetime) -> bytes:
    """Return what a daemon has seen and what our Events tell, as `/api/v1/history` serves it."""
    episodes = [
        episode(each.key, each.began, each.ended, about=each.about)
        for each in (*history.going_on.values(), *history.over)
    ]
    return (
        unseen_escaped(json.dumps(_document(episodes, now), indent=2, ensure_ascii=False)).encode()
        + b"\n"
    )


def recorded_history(records: Iterable[Record], now: datetime) -> ReportDocument:
    """Return what our Events on record tell, where no daemon is asked."""
    episodes = [
        episode(each.key, each.since, None if each.goes_on else each.written, about=True)
        for each in records
    ]
    return _document(episodes, now)


def episode(
    key: FindingKey, began: datetime, ended: datetime | None, *, about: bool
) -> ReportDocument:
    """Return one episode; `about` says that its end is when it was last told, not when it ended."""
    return {
        "reason": key.reason,
        "subject": str(key.subject),
        "involvedObject": reference(key.involved),
        "began": rfc3339(began),
        "ended": rfc3339(ended) if ended else None,
        "about": about and ended is not None,
    }


def _document(episodes: list[ReportDocument], now: datetime) -> ReportDocument:
    newest = sorted(episodes, key=_order, reverse=True)
    return {
        "apiVersion": API_VERSION,
        "kind": "History",
        "now": rfc3339(now),
        "episodes": newest[:LISTED],
        "moreEpisodes": max(0, len(newest) - LISTED),
    }


def _order(document: ReportDocument) -> tuple[bool, str, str, str]:
    """What goes on comes first, then what ended or began last."""
    ended = document["ended"]
    names = f"{document['reason']} {document['subject']}"
    return ended is None, str(ended or document["began"]), str(document["began"]), names

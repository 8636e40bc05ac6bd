"""Moments and ages as HTML; the script keeps ages up to date and adds local times."""

from datetime import datetime

from reporter.model.instant import rfc3339
from reporter.sinks.page.markup import Markup, element, join
from reporter.sinks.words import age


def moment(at: datetime) -> Markup:
    """Return a moment in UTC, with room for the same in the reader's own time.

    Only a script knows that time: without one the room stays empty.
    """
    exact = rfc3339(at)
    return join((element("time", exact, datetime=exact), element("span", class_="local")))


def since(at: datetime, now: datetime) -> Markup:
    """Return how long ago a moment was, kept up to date by the script."""
    return _counted(at, age(now - at), "since")


def until(at: datetime, now: datetime) -> Markup:
    """Return how long it is until a moment, kept up to date by the script."""
    return _counted(at, age(max(at, now) - now), "until")


def _counted(at: datetime, text: str, relation: str) -> Markup:
    exact = rfc3339(at)
    return element("time", text, datetime=exact, title=exact, data_relation=relation)

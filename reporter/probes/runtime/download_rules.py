"""Rules about a pod that loads its weights, by the two download gauges of KAITO."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Final

from reporter.catalogue import runtime as t
from reporter.metrics.looks.look import Look
from reporter.metrics.looks.window import History
from reporter.probes.runtime.rule import (
    CLEAR,
    NO_PAGE,
    NOT_COVERED,
    Answer,
    Found,
    PodRule,
    Undecided,
    minutes,
)
from reporter.settings import EvaluationSettings

_MB: Final = 1_000_000
_UNKNOWN: Final = -1
"""KAITO's value for the time that is left while the size of the download is not known."""

_YOUNG: Final = timedelta(minutes=5)
"""A pod younger than this may not have begun to download."""

_NOT_BEGUN: Final = Undecided("it is not known whether a download has begun")


def download_slow(
    history: History, looks: tuple[Look, ...], settings: EvaluationSettings
) -> Answer:
    """Judge whether a download stays below the speed that it should have.

    Nothing left to download is never slow, whatever the speed says, for that number is frozen
    then; nor is a download that ends within the window, or one of which nothing ever arrived: the
    page of a pod that streams its weights looks so.
    """
    seconds = settings.window_seconds(t.DOWNLOAD_SLOW)
    threshold = settings.weight_download_min_mbps * _MB
    if history.newest.failure is not None:
        return NO_PAGE
    pages = _this_start(looks)
    if any(look.speed is None or look.speed >= threshold or not _loads(look) for look in pages):
        return CLEAR
    if any(look.remaining is None or 0 <= look.remaining <= seconds for look in pages):
        return CLEAR
    if not any(look.speed for look in _this_start(history.looks)):
        return CLEAR
    if not history.covers(pages, timedelta(seconds=seconds)):
        return NOT_COVERED
    fastest = max(look.speed or 0.0 for look in pages)
    return Found(
        f"{fastest / _MB:.1f} MB/s",
        f"has downloaded its weights at {fastest / _MB:.1f} MB/s at most for {minutes(seconds)}, "
        f"below {settings.weight_download_min_mbps:g} MB/s",
        -round(fastest),
    )


def download_stalled(
    history: History, looks: tuple[Look, ...], settings: EvaluationSettings
) -> Answer:
    """Judge whether nothing arrives while it is not known how much is left."""
    length = timedelta(seconds=settings.window_seconds(t.DOWNLOAD_STALLED))
    newest = history.newest
    if newest.failure is not None:
        return NO_PAGE
    pages = _this_start(looks)
    if any(not _loads(look) or look.speed != 0 or look.remaining != _UNKNOWN for look in pages):
        return CLEAR
    if not history.covers(pages, length):
        return NOT_COVERED
    created = newest.target.created
    old = created is not None and newest.at.wall - created > _YOUNG
    if not old and not any(look.speed for look in _this_start(history.looks)):
        return _NOT_BEGUN
    return Found(
        "download stalled", f"has downloaded nothing for {minutes(length.total_seconds())}"
    )


DOWNLOAD_RULES: Final[Mapping[str, PodRule]] = {
    t.DOWNLOAD_SLOW: download_slow,
    t.DOWNLOAD_STALLED: download_stalled,
}


def _this_start(looks: Sequence[Look]) -> tuple[Look, ...]:
    """Return the pages since a container started the last time: each start is a new download."""
    begins = max(
        (
            n
            for n, (before, after) in enumerate(pairwise(looks), 1)
            if after.target.containers != before.target.containers
        ),
        default=0,
    )
    return tuple(look for look in looks[begins:] if look.failure is None)


def _loads(look: Look) -> bool:
    return not look.known and not look.target.ready

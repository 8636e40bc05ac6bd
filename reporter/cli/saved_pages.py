"""Pages that somebody saved with a dump: `metrics/<namespace>/<pod>/<unix seconds>.prom`."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path, PurePath
from statistics import median
from typing import Final

from reporter.metrics.looks.look import look_at
from reporter.metrics.looks.samples import NONE, Judged, Samples
from reporter.metrics.looks.target import Failure, PodName, Scrape, Target
from reporter.metrics.looks.window import History
from reporter.metrics.pages.page import UnreadablePage
from reporter.metrics.pages.reader import PageLimits
from reporter.metrics.pages.reading import read_page
from reporter.model.instant import Instant
from reporter.model.report import SkippedObject
from reporter.probes.runtime.judge import FORGOTTEN_AFTER, judge, longest_window, objectives
from reporter.settings import EvaluationSettings
from reporter.snapshot.documents import PageFile

FOLDER: Final = "metrics"
RESOURCE: Final = "pods/metrics"
"""What the report calls a page that was left out."""

_SECONDS: Final = re.compile(r"[0-9]{1,11}")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SHORTEST_PERIOD: Final = 15.0


@dataclass(frozen=True, slots=True)
class SavedPage:
    """A page, and when it was fetched; without `content` it is in the file at `path`."""

    pod: PodName
    at: datetime
    path: PurePath
    content: bytes | None = None


def find_pages(
    folders: Iterable[Path], packed: Iterable[PageFile] = ()
) -> tuple[list[SavedPage], list[SkippedObject]]:
    """Return the pages of a dump, the oldest first, and the misnamed files.

    Args:
        folders: folders of the dump.
        packed: pages that were in archives.

    """
    found: list[tuple[PurePath, bytes | None]] = [(each.path, each.raw) for each in packed]
    found += [
        (path, None) for folder in folders for path in sorted((folder / FOLDER).glob("*/*/*.prom"))
    ]
    pages: list[SavedPage] = []
    skipped: list[SkippedObject] = []
    for path, content in found:
        namespace, pod = path.parts[-3:-1]
        if _SECONDS.fullmatch(path.stem):
            at = _EPOCH + timedelta(seconds=int(path.stem))
            pages.append(SavedPage((namespace, pod), at, path, content))
        else:
            cause = f"{path.name}: not named <unix seconds>.prom"
            skipped.append(SkippedObject(RESOURCE, namespace, pod, cause))
    return sorted(pages, key=lambda page: (page.at, page.path)), skipped


def read_saved(
    pages: Sequence[SavedPage],
    targets: Iterable[Target],
    now: datetime,
    *,
    settings: EvaluationSettings,
) -> Samples:
    """Return what the pages say up to a moment, judged as those of a daemon.

    A pod counts as it is in the dump for all of its pages. Pages of pods that the dump does not
    have say nothing, nor do those of a pod whose newest page is so old that a daemon would have
    forgotten it.
    """
    by_pod: dict[PodName, list[SavedPage]] = defaultdict(list)
    for page in pages:
        if page.at <= now:
            by_pod[page.pod].append(page)
    forgotten = now - FORGOTTEN_AFTER * longest_window(settings)
    judged = {
        target.pod: _judged(target, found, settings)
        for target in targets
        if (found := by_pod.get(target.pod)) and found[-1].at >= forgotten
    }
    return Samples(scraping=True, pods=judged) if judged else NONE


def _judged(target: Target, pages: Sequence[SavedPage], settings: EvaluationSettings) -> Judged:
    history = History(timedelta(seconds=_period(pages)))
    keep, wanted = longest_window(settings), objectives(settings)
    for page in pages:
        scrape = _scrape(page, settings)
        history = history.seen(look_at(target, scrape, wanted), keep)
    return Judged(history, judge(history, None, settings))


def _period(pages: Sequence[SavedPage]) -> float:
    """Return how often somebody fetched the page: there is no setting to tell."""
    gaps = list(_gaps(pages))
    return max(_SHORTEST_PERIOD, median(gaps)) if gaps else _SHORTEST_PERIOD


def _gaps(pages: Sequence[SavedPage]) -> Iterator[float]:
    for before, after in pairwise(pages):
        yield (after.at - before.at).total_seconds()


def _body(page: SavedPage, most: int) -> bytes:
    if page.content is not None:
        return page.content
    with Path(page.path).open("rb") as file:
        return file.read(most + 1)


def _scrape(page: SavedPage, settings: EvaluationSettings) -> Scrape:
    most = settings.scrape_max_bytes
    at = Instant(page.at, page.at - _EPOCH)
    try:
        body = _body(page, most)
        if len(body) > most:
            return Scrape(at=at, failure=Failure.TOO_LARGE)
        return Scrape(at=at, page=read_page(body, PageLimits(series=settings.scrape_max_series)))
    except UnreadablePage as error:
        return Scrape(at=at, failure=Failure.UNREADABLE, detail=str(error))
    except OSError as error:
        return Scrape(at=at, failure=Failure.UNREADABLE, detail=error.strerror or "")

"""Pages of metrics in a dump, several of each pod so that they make a window, and its logs.

A page is at `metrics/<namespace>/<pod>/<unix seconds>.prom`. Only logs that may say why a pod does
not run are read.
"""

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path, PurePath
from statistics import median
from typing import Final

from reporter.catalogue.resources import PODS
from reporter.diagnosis.logs import read_log
from reporter.diagnosis.signatures import Signature
from reporter.diagnosis.wanted_evidence import together, wanted_logs
from reporter.kube.client import KubeClient
from reporter.metrics.pages.reader import UnreadablePage
from reporter.metrics.pages.reading import read_page
from reporter.metrics.samples.sample import Failure, PodName, Scrape, Target, sample_of
from reporter.metrics.samples.window import NONE, History, Judged, PodSamples
from reporter.metrics.scraping.attempt import LIMITS, MOST_AT_ONCE, ProxiedFetch
from reporter.metrics.scraping.targets import ScrapeFailed
from reporter.model.evidence import LogCause
from reporter.model.instant import Instant
from reporter.model.report import SkippedObject
from reporter.probes.runtime.judge import FORGOTTEN_AFTER, judge, longest_window, objectives
from reporter.settings import DaemonSettings, EvaluationSettings
from reporter.snapshot.inputs.files import INPUT_LIMITS, LogFile, PageFile
from reporter.snapshot.outputs.archive import Member
from reporter.snapshot.outputs.masking import Redaction
from reporter.snapshot.snapshot import Snapshot

FOLDER: Final = "metrics"
RESOURCE: Final = "pods/metrics"
"""Resource name in the report of pages that were left out."""

_SECONDS: Final = re.compile(r"[0-9]{1,11}")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SHORTEST_PERIOD: Final = 15.0


@dataclass(frozen=True, slots=True)
class SavedPage:
    """A page and its time; without `content` it is in the file at `path`."""

    pod: PodName
    at: datetime
    path: PurePath
    content: bytes | None = None


def find_pages(
    folders: Iterable[Path], packed: Iterable[PageFile] = ()
) -> tuple[list[SavedPage], list[SkippedObject]]:
    """Return the pages of a dump, the oldest first, and the misnamed files."""
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
) -> PodSamples:
    """Return the samples of the pages up to `now`, judged as by a daemon.

    All pages of a pod are judged with the pod as it is in the dump. Pages of pods that the dump
    lacks are ignored, as are those of a pod whose newest page is so old that a daemon would have
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
    return PodSamples(scraping=True, pods=judged) if judged else NONE


def _judged(target: Target, pages: Sequence[SavedPage], settings: EvaluationSettings) -> Judged:
    # The period follows from the pages, as no setting has it.
    gaps = [(after.at - before.at).total_seconds() for before, after in pairwise(pages)]
    period = max(_SHORTEST_PERIOD, median(gaps)) if gaps else _SHORTEST_PERIOD
    history = History(timedelta(seconds=period))
    keep, wanted = longest_window(settings), objectives(settings)
    for page in pages:
        history = history.with_sample(sample_of(target, _scrape(page), wanted), keep)
    return Judged(history, judge(history, None, settings))


def _scrape(page: SavedPage) -> Scrape:
    most = LIMITS.bytes
    at = Instant(page.at, page.at - _EPOCH)
    try:
        body = page.content
        if body is None:
            with Path(page.path).open("rb") as file:
                body = file.read(most + 1)
        if len(body) > most:
            return Scrape(at=at, failure=Failure.TOO_LARGE)
        return Scrape(at=at, page=read_page(body))
    except UnreadablePage as error:
        return Scrape(at=at, failure=Failure.UNREADABLE, detail=str(error))
    except OSError as error:
        return Scrape(at=at, failure=Failure.UNREADABLE, detail=error.strerror or "")


PERIOD_SECONDS: Final = 15.0
_LABEL: Final = re.compile(rb'(?<==")((?:[^"\\\n]|\\.)*)(?=")')


@dataclass(frozen=True, slots=True)
class DumpedPage:
    namespace: str
    pod: str
    seconds: int
    raw: bytes


async def scrape(
    client: KubeClient, targets: tuple[Target, ...], settings: DaemonSettings, *, seconds: float
) -> list[DumpedPage]:
    """Fetch the pages of pods through the API server repeatedly for `seconds`.

    A page that cannot be fetched is left out: without it nothing is judged, so nothing is wrong.
    """
    fetch = ProxiedFetch(client, settings.scrape_port)
    slots = asyncio.Semaphore(MOST_AT_ONCE)
    pages: list[DumpedPage] = []

    async def one(target: Target) -> None:
        async with slots:
            try:
                raw = await fetch(target)
            except ScrapeFailed:
                return
        pages.append(DumpedPage(target.namespace, target.name, int(time.time()), raw))

    end = time.monotonic() + seconds
    while sum(len(each.raw) for each in pages) < INPUT_LIMITS.pages:
        began = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            for target in targets:
                tasks.create_task(one(target))
        wait = began + PERIOD_SECONDS - time.monotonic()
        if time.monotonic() + wait > end:
            break
        await asyncio.sleep(max(0.0, wait))
    return pages


def learn_pages(redaction: Redaction, pages: list[DumpedPage]) -> None:
    for page in pages:
        for value in _LABEL.findall(page.raw):
            redaction.learn_text(value.decode("utf-8", "replace"))


def members_of_pages(pages: list[DumpedPage], redaction: Redaction | None) -> list[Member]:
    def other(match: re.Match[bytes]) -> bytes:
        text = match[0].decode("utf-8", "replace")
        return (redaction.text(text) if redaction else text).encode()

    name: Callable[[str], str] = redaction.text if redaction else str
    return [
        Member(
            f"metrics/{name(each.namespace)}/{name(each.pod)}/{each.seconds}.prom",
            _LABEL.sub(other, each.raw) if redaction else each.raw,
        )
        for each in sorted(pages, key=lambda page: (page.namespace, page.pod, page.seconds))
    ]


def with_logs(
    snapshot: Snapshot, logs: Iterable[LogFile], signatures: Sequence[Signature]
) -> Snapshot:
    saved: dict[tuple[str, str, str], dict[bool, bytes]] = defaultdict(dict)
    for each in logs:
        saved[each.log[:3]][each.log.previous] = each.raw
    if not saved:
        return snapshot
    causes: dict[tuple[str, str, str], LogCause] = {}
    for pod in snapshot[PODS]:
        for wanted in wanted_logs(pod):
            key = (pod.namespace, pod.name, wanted.container)
            runs = saved.get(key, {})
            # While a container waits, `kubectl logs` without -p prints the log of its last run.
            texts = [runs[each] for each in wanted.runs if each in runs] or list(runs.values())
            if texts:
                causes[key] = together(
                    read_log(each.decode("utf-8", "replace"), signatures).cause for each in texts
                )
    return replace(snapshot, evidence=replace(snapshot.evidence, logs=causes))

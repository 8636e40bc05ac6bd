"""The engine as the daemon sees it: the daemon's own scraper, reader and rules, and what they told when."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from reporter.catalogue import runtime as t
from reporter.catalogue.suppression import pod_rows_of
from reporter.daemon.pod_scraping import CONCURRENCY, SampleStore
from reporter.metrics.pages.reader import PageLimits
from reporter.metrics.pages.reading import Page, read_page
from reporter.metrics.samples.sample import ContainerRun, Scrape, Target
from reporter.metrics.samples.window import PodVerdict
from reporter.metrics.scraping.attempt import Attempts, DirectFetch
from reporter.metrics.scraping.scraper import Scraper
from reporter.model.subject import Subject
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from reporter.stacks.settings import FullDaemonSettings
from tests.unit.metrics.pages.reading import all_names, ours, theirs

OLD = datetime.now(UTC) - timedelta(days=1)
POD = Target(
    namespace="engine-check", name="vllm-0", uid="vllm-0", address="127.0.0.1", node="here",
    subject=Subject(INFERENCESET_KIND, "engine-check", "tiny"), created=OLD, ready=True, ready_since=OLD,
    containers=(ContainerRun("main", 0, OLD),),
)  # fmt: skip
_SUPPRESSION = pod_rows_of(INFERENCESET_KIND, "")


@dataclass(frozen=True, slots=True)
class Change:
    """A reason that fires, with its text, or does not any more."""

    at: float
    reason: str
    fires: str | None = None


@dataclass
class Seen:
    """What was seen since the start.

    Attributes:
        pages: that were read.
        different: what the reader and prometheus-client made otherwise of a page.
        told: the reasons that fire, without those that another one explains.
        changes: when that changed.
        newest: page.

    """

    pages: int = 0
    different: list[str] = field(default_factory=list)
    told: frozenset[str] = frozenset()
    changes: list[Change] = field(default_factory=list)
    newest: bytes = b""


class Watch:
    """Scrapes the engine as long as it is entered.

    Args:
        port: where the engine serves.
        settings: periods, windows, thresholds.
        keep: is given each page.

    """

    def __init__(
        self,
        port: int,
        settings: FullDaemonSettings,
        keep: Callable[[bytes], None] = lambda _: None,
    ) -> None:
        self._port = port
        self._settings = settings
        self._keep = keep
        self._store = SampleStore(settings, timedelta(seconds=settings.scrape_period), lambda: None)
        self._start = time.monotonic()
        self._due = asyncio.Event()
        self._pod = POD
        self._last: dict[str, float] = {}
        self._clearing = {_named(each): settings.window_seconds(each) for each in t.ROWS}
        self.seen = Seen()

    def now(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self._start

    def pod(self, *, ready: bool, restarts: int) -> None:
        """Tell what the kubelet would write about the pod."""
        run = ContainerRun("main", restarts, datetime.now(UTC) if restarts else OLD)
        self._pod = replace(POD, ready=ready, containers=(run,))
        self._due.set()

    def __call__(self) -> AbstractAsyncContextManager[None]:
        """Watch while entered."""
        return self._watching()

    @asynccontextmanager
    async def _watching(self) -> AsyncIterator[None]:
        async with DirectFetch(self._port) as fetch:
            with Attempts(fetch, self._read) as attempts:
                scraper = Scraper(
                    attempts, self._find, self._tell, period=self._settings.scrape_period,
                    concurrency=CONCURRENCY, targets_due=self._due, observer=_Unobserved(),
                )  # fmt: skip
                running = asyncio.create_task(scraper.run())
                try:
                    yield
                finally:
                    running.cancel()
                    await asyncio.wait([running])
                    self._store.close()

    def _read(self, body: bytes) -> Page:
        """Read a page as the daemon does, and hold each of its values to prometheus-client."""
        page = read_page(body, PageLimits(clock=time.thread_time))
        names = all_names(body)
        read, expected = set(ours(body, *names)), set(theirs(body, *names))
        if read != expected or not expected:
            self.seen.different.append(str(sorted(read ^ expected)[:3]))
        self.seen.pages += 1
        self.seen.newest = body
        self._keep(body)
        return page

    async def _find(self) -> tuple[Target, ...]:
        return (self._pod,)

    async def _tell(self, target: Target, scrape: Scrape) -> None:
        await self._store.scraped_aside(target, scrape)
        judged = self._store.judged(target.pod)
        if judged is not None:
            self._note(judged.verdict)

    def _note(self, verdict: PodVerdict) -> None:
        texts = {_named(each): fault.text for each, fault in verdict.faults.items()}
        # A pass keeps what fires and cannot be judged; it knows nothing of a pod that is not in service.
        inconclusive = set(map(_named, verdict.inconclusive)) & self.seen.told
        active = (texts.keys() | inconclusive) if verdict.in_service else set()
        told = frozenset(self._unexplained(active))
        now = self.now()
        begun = (Change(now, each, texts.get(each, "")) for each in sorted(told - self.seen.told))
        ended = (Change(now, each) for each in sorted(self.seen.told - told))
        self.seen.changes += [*begun, *ended]
        self.seen.told = told

    def _unexplained(self, active: AbstractSet[str]) -> Iterator[str]:
        """Yield what no other fault explains; one that is over does for as long as it is clearing."""
        now = self.now()
        self._last |= dict.fromkeys(active, now)
        explains = {each for each, last in self._last.items() if now - last <= self._clearing[each]}
        for reason in active:
            rows = (row for row in _SUPPRESSION if row.upstream in explains)
            if not any(reason in row.downstream for row in rows):
                yield reason


def _named(reason: str) -> str:
    return t.of_kind(reason, INFERENCESET_KIND)


class _Unobserved:
    def following(self, targets: int) -> None: ...
    def scraped(self, scrape: Scrape) -> None: ...
    def skipped(self, cause: str) -> None: ...

"""What is known of the pods that are scraped; kept up to date by the scraper, read by the passes."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Final

import structlog

from reporter.catalogue.resources import PODS
from reporter.metrics.looks.look import look_at
from reporter.metrics.looks.samples import Judged, PodVerdict, Samples
from reporter.metrics.looks.target import PodName, Scrape, Target
from reporter.metrics.looks.window import ALL_BYTES, POD_BYTES, History, weighed, within
from reporter.metrics.scraping.scraper import FairSlots
from reporter.probes.runtime.judge import judge, longest_window, objectives
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot

_SPARE: Final = 0.9
"""So much is kept when not all fits, so that it need not be done again at once."""

_log = structlog.get_logger("scraper")


class SampleStore:
    """Judges a pod after each scrape, and asks for a pass if the verdict is another.

    Args:
        settings: windows and thresholds.
        period: from one scrape of a pod to the next.
        due: asks for a pass.
        gave_up: is told how many looks were given up because they took too much memory.

    """

    def __init__(
        self,
        settings: EvaluationSettings,
        period: timedelta,
        due: Callable[[], None],
        *,
        gave_up: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._settings = settings
        self._period = period
        self._due = due
        self._keep = longest_window(settings)
        self._objectives = objectives(settings)
        self._gave_up = gave_up
        self._pods: dict[PodName, Judged] = {}
        self._bytes = 0
        # One thread, as Python runs one at a time anyhow.
        self._judging = ThreadPoolExecutor(1, thread_name_prefix="looks")
        self._turns = FairSlots(1)

    def scraped(self, target: Target, scrape: Scrape) -> None:
        """Take in the result of a scrape."""
        self._take(target.pod, self._judge(target, scrape))

    async def scraped_aside(self, target: Target, scrape: Scrape) -> None:
        """Take in the result of a scrape, and judge it off the event loop, which renews the Lease."""
        loop = asyncio.get_running_loop()
        async with self._turns.of(target.namespace):
            judged = await loop.run_in_executor(self._judging, self._judge, target, scrape)
        self._take(target.pod, judged)

    def close(self) -> None:
        """Judge nothing more."""
        self._judging.shutdown(wait=False, cancel_futures=True)

    def _judge(self, target: Target, scrape: Scrape) -> Judged:
        known = self._pods.get(target.pod)
        history = known.history if known else History(self._period)
        history = history.seen(look_at(target, scrape, self._objectives), self._keep)
        history = within(weighed(history), POD_BYTES)
        before = known.verdict if known else None
        verdict = judge(history, before, self._settings)
        # The same object tells the probes that nothing has changed.
        return Judged(history, before if before is not None and verdict == before else verdict)

    def _take(self, pod: PodName, judged: Judged) -> None:
        known = self._pods.get(pod)
        before = known.verdict if known else None
        self._put(pod, judged)
        if self._bytes > ALL_BYTES:
            self._give_up()
        if before is None or _tells_more(before, judged.verdict):
            self._due()

    def _put(self, pod: PodName, judged: Judged) -> None:
        known = self._pods.get(pod)
        self._bytes += judged.history.bytes - (known.history.bytes if known else 0)
        given_up = judged.history.given_up - (known.history.given_up if known else 0)
        if given_up > 0:
            self._gave_up(given_up)
            if known is None or not known.history.given_up:
                _log.warning("looks_given_up", namespace=pod[0], pod=pod[1])
        self._pods[pod] = judged

    def _give_up(self) -> None:
        """Halve the largest histories until all fit: who takes the most gives up first."""
        largest = sorted(self._pods, key=lambda pod: -self._pods[pod].history.bytes)
        for pod in largest:
            if self._bytes <= ALL_BYTES * _SPARE:
                return
            known = self._pods[pod]
            kept = within(known.history, known.history.bytes // 2)
            self._put(pod, replace(known, history=kept))

    def judged(self, pod: PodName) -> Judged | None:
        """Return what is known of a pod."""
        return self._pods.get(pod)

    def samples(self, snapshot: Snapshot) -> Samples:
        """Return what is known of the pods of a snapshot, and forget all others."""
        if snapshot.known(PODS):
            pods = snapshot[PODS]
            for name in [name for name in self._pods if pods.get(*name) is None]:
                self._bytes -= self._pods.pop(name).history.bytes
        return Samples(scraping=True, pods=dict(self._pods))


def _tells_more(before: PodVerdict, after: PodVerdict) -> bool:
    """Tell whether a pass would decide otherwise: reasons why nothing can be said change often."""
    return (before.faults, before.undecided, before.failing, before.in_service) != (
        after.faults, after.undecided, after.failing, after.in_service
    )  # fmt: skip

"""What is known of the pods that are scraped; kept up to date by the scraper, read by the passes."""

from collections.abc import Callable
from datetime import timedelta

from reporter.catalogue.resources import PODS
from reporter.metrics.looks.history import History
from reporter.metrics.looks.look_of_page import look_at
from reporter.metrics.looks.samples import Judged, PodVerdict, Samples
from reporter.metrics.looks.scrape import PodName, Scrape
from reporter.metrics.looks.target import Target
from reporter.probes.runtime.judge import judge, longest_window, objectives
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot


class SampleStore:
    """Judges a pod after each scrape, and asks for a pass if the verdict is another.

    Args:
        settings: windows and thresholds.
        period: from one scrape of a pod to the next.
        due: asks for a pass.

    """

    def __init__(
        self, settings: EvaluationSettings, period: timedelta, due: Callable[[], None]
    ) -> None:
        self._settings = settings
        self._period = period
        self._due = due
        self._keep = longest_window(settings)
        self._objectives = objectives(settings)
        self._pods: dict[PodName, Judged] = {}

    def scraped(self, target: Target, scrape: Scrape) -> None:
        """Take in the result of a scrape."""
        known = self._pods.get(target.pod)
        history = known.history if known else History(self._period)
        history = history.seen(look_at(target, scrape, self._objectives), self._keep)
        before = known.verdict if known else None
        verdict = judge(history, before, self._settings)
        if verdict == before:
            # The same object tells the probes that nothing has changed.
            self._pods[target.pod] = Judged(history, before)
            return
        self._pods[target.pod] = Judged(history, verdict)
        if before is None or _tells_more(before, verdict):
            self._due()

    def judged(self, pod: PodName) -> Judged | None:
        """Return what is known of a pod."""
        return self._pods.get(pod)

    def samples(self, snapshot: Snapshot) -> Samples:
        """Return what is known of the pods of a snapshot, and forget all others."""
        if snapshot.known(PODS):
            pods = snapshot[PODS]
            for name in [name for name in self._pods if pods.get(*name) is None]:
                del self._pods[name]
        return Samples(scraping=True, pods=dict(self._pods))


def _tells_more(before: PodVerdict, after: PodVerdict) -> bool:
    """Tell whether a pass would decide otherwise: reasons why nothing can be said change often."""
    return (before.faults, before.undecided, before.failing, before.in_service) != (
        after.faults, after.undecided, after.failing, after.in_service
    )  # fmt: skip

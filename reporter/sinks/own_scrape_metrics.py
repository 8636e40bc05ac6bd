"""How scraping goes, as Prometheus metrics."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from reporter.metrics.looks.target import Failure, Scrape

OK: Final = "ok"
_BUCKETS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SKIPPED: Final = ("busy", "late", "paused", "closed")


class ScrapeMetrics:
    """Is told of everything by the scraper."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Make the metrics in a registry, each with every label it can have."""
        self._scrapes = Counter(
            "status_reporter_scrapes_total",
            "Scrapes of pods by what came of them.",
            ["outcome"],
            registry=registry,
        )
        self._seconds = Histogram(
            "status_reporter_scrape_duration_seconds",
            "Time of one scrape.",
            buckets=_BUCKETS,
            registry=registry,
        )
        self._targets = Gauge(
            "status_reporter_scrape_targets", "Pods that are scraped.", registry=registry
        )
        self._refused = Gauge(
            "status_reporter_scrape_addresses_refused",
            "Pods that are not scraped because no pod should have their address.",
            registry=registry,
        )
        self._skips = Counter(
            "status_reporter_scrapes_skipped_total",
            "Turns of pods that were left out.",
            ["cause"],
            registry=registry,
        )
        self._bad_lines = Counter(
            "status_reporter_scrape_bad_lines_total",
            "Lines of pages that were dropped.",
            registry=registry,
        )
        self._given_up = Counter(
            "status_reporter_scrape_looks_given_up_total",
            "Looks at pods that were given up because they took too much memory.",
            registry=registry,
        )
        for outcome in (OK, *map(_outcome, Failure)):
            self._scrapes.labels(outcome)
        for cause in _SKIPPED:
            self._skips.labels(cause)

    def following(self, targets: int) -> None:
        """Note how many pods there are to scrape."""
        self._targets.set(targets)

    def refusing(self, pods: int) -> None:
        """Note how many pods are not scraped because of their addresses."""
        self._refused.set(pods)

    def scraped(self, scrape: Scrape) -> None:
        """Note what came of a scrape."""
        self._scrapes.labels(_outcome(scrape.failure) if scrape.failure else OK).inc()
        self._seconds.observe(scrape.seconds)
        if scrape.page is not None:
            self._bad_lines.inc(scrape.page.reading.bad + scrape.page.reading.oversized)

    def gave_up(self, looks: int) -> None:
        """Count looks that were given up because they took too much memory."""
        self._given_up.inc(looks)

    def skipped(self, cause: str) -> None:
        """Count a turn left out."""
        self._skips.labels(cause).inc()


def _outcome(failure: Failure) -> str:
    return failure.name.lower()

"""The report, the daemon's own state and how scraping goes, as Prometheus metrics."""

from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Final, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from reporter.kube.live import WatchHealth
from reporter.metrics.looks.target import Failure, Scrape
from reporter.model.report import Disposition, Report
from reporter.sinks.events.plan import Purpose
from reporter.sinks.mirror.plan import MirrorPurpose

_PASS_BUCKETS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_DELAY_BUCKETS: Final = (1, 2.5, 5, 15, 30, 60, 65, 75, 90, 120, 180, 300, 600, 900, 1800, 3600)
"""Graces and budgets are part of a delay, so it is the steps right above them that tell."""


class SelfCheckResult(StrEnum):
    SAME = "same"
    DIFFERENT = "different"
    FAILED = "failed"


class Live(Protocol):
    """What is asked when metrics are collected; `gauges` are the values of `GAUGES`."""

    def report(self) -> Report | None: ...

    def watches(self) -> Iterable[WatchHealth]: ...

    def gauges(self) -> Mapping[str, float]: ...


GAUGES: Final = {
    "leader": "1 while this replica holds the lease.",
    "events_waiting": "Events that wait to be written.",
    "mirrors_waiting": "Mirrors that wait to be written.",
    "alerts_waiting": "Alerts that are due and not sent.",
    "mirror_namespaces_refusing": "Namespaces that refused the last mirror written there.",
    "clock_offset_seconds": "How far the API server's clock is ahead of ours.",
}


class Metrics:
    """What the daemon counts; `now` is the API server's time, which episodes are dated in."""

    def __init__(
        self, version: str, commit: str, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._now = now
        self.registry = registry = CollectorRegistry()
        build = Info("status_reporter_build", "Version of the reporter.", registry=registry)
        build.info({"version": version, "commit": commit})
        counter = partial(Counter, registry=registry)
        self._pass_seconds = Histogram(
            "status_reporter_pass_duration_seconds",
            "Time of one evaluation of the whole cluster.",
            buckets=_PASS_BUCKETS,
            registry=registry,
        )
        self._last_pass = Gauge(
            "status_reporter_last_pass_timestamp_seconds",
            "When the last pass ended.",
            registry=registry,
        )
        self._self_checks = counter(
            "status_reporter_self_checks_total",
            "Passes that were compared with one from nothing, by what that found.",
            ["result"],
        )
        self._requests = counter(
            "status_reporter_api_requests_total",
            "Requests to the API server.",
            ["verb", "resource", "code"],
        )
        self._events = counter(
            "status_reporter_event_writes_total",
            "Writes of Events by what they are for and what became of them.",
            ["purpose", "outcome"],
        )
        self._delay = Histogram(
            "status_reporter_event_delay_seconds",
            "Time from the start of an episode until its Event was created, graces included.",
            buckets=_DELAY_BUCKETS,
            registry=registry,
        )
        self._mirrors = counter(
            "status_reporter_mirror_writes_total",
            "Writes of mirrors by what they are for and what became of them.",
            ["purpose", "outcome"],
        )
        self._alerts = counter(
            "status_reporter_alert_requests_total",
            "Requests to Alertmanagers by what became of them.",
            ["outcome"],
        )
        # What is not there yet cannot be seen to rise.
        for result in SelfCheckResult:
            self._self_checks.labels(result)
        for outcome in ("written", "refused", "failed"):
            self._alerts.labels(outcome)
        self.scrapes = ScrapeMetrics(registry)

    def mirror_written(self, purpose: MirrorPurpose, outcome: str) -> None:
        self._mirrors.labels(purpose.name.lower(), outcome).inc()

    def alerts_sent(self, outcome: str) -> None:
        self._alerts.labels(outcome).inc()

    def passed(self, seconds: float, at: float) -> None:
        self._pass_seconds.observe(seconds)
        self._last_pass.set(at)

    def self_checked(self, result: SelfCheckResult) -> None:
        self._self_checks.labels(result).inc()

    def requested(self, verb: str, resource: str, code: str) -> None:
        self._requests.labels(verb, resource, code).inc()

    def event_written(self, purpose: Purpose, outcome: str) -> None:
        self._events.labels(purpose.name.lower(), outcome).inc()

    def episode_told(self, since: datetime) -> None:
        self._delay.observe(max((self._now() - since).total_seconds(), 0.0))


class LiveMetrics(Collector):
    def __init__(self, counted: Metrics, live: Live) -> None:
        self._counted = counted
        self._live = live

    def collect(self) -> Iterator[Metric]:
        yield from self._counted.registry.collect()
        live = self._live
        for name, value in live.gauges().items():
            yield _gauge(name, GAUGES[name], value)
        yield from _watches(live.watches())
        report = live.report()
        if report is not None:
            yield from _findings(report)


def _watches(watches: Iterable[WatchHealth]) -> Iterator[Metric]:
    labels = ["resource"]
    age = GaugeMetricFamily(
        "status_reporter_watch_age_seconds", "Time since the last list or frame.", labels=labels
    )
    state = GaugeMetricFamily(
        "status_reporter_resource_state", "1 for the present state.", labels=[*labels, "state"]
    )
    confirmed = GaugeMetricFamily(
        "status_reporter_watch_confirmed", "1 while verdicts may rest on it.", labels=labels
    )
    objects = GaugeMetricFamily("status_reporter_objects", "Objects held.", labels=labels)
    relists = GaugeMetricFamily(
        "status_reporter_lists", "How often it was listed since start.", labels=labels
    )
    failures = GaugeMetricFamily(
        "status_reporter_watch_failures", "How often a list or watch failed.", labels=labels
    )
    for watch in watches:
        if watch.age_seconds is not None:
            age.add_metric([watch.resource], watch.age_seconds)
        for each in ("served", "absent", "unknown"):
            state.add_metric([watch.resource, each], float(watch.state == each))
        confirmed.add_metric([watch.resource], float(watch.confirmed))
        objects.add_metric([watch.resource], watch.objects)
        relists.add_metric([watch.resource], watch.relists)
        failures.add_metric([watch.resource], watch.failures)
    yield from (age, state, confirmed, objects, relists, failures)


def _findings(report: Report) -> Iterator[Metric]:
    tally = Tally((finding.reason, finding.disposition) for finding in report.findings)
    family = GaugeMetricFamily(
        "status_reporter_findings",
        "Findings of the last pass.",
        labels=["reason", "layer", "disposition"],
    )
    for reason in report.catalogue:
        if reason.says_ready:
            continue
        for disposition in Disposition:
            count = tally[reason.name, disposition]
            family.add_metric([reason.name, reason.layer, disposition], count)
    yield family
    yield _gauge(
        "findings_stale",
        "Findings that cannot be judged now.",
        sum(finding.stale for finding in report.findings),
    )
    yield _gauge("subjects_ready", "Subjects that are ready.", len(report.ready))
    yield _gauge("resources_unknown", "Resources that cannot be read.", len(report.unknown))
    skipped = Tally(each.resource for each in report.skipped)
    family = GaugeMetricFamily(
        "status_reporter_objects_skipped", "Malformed objects left out.", labels=["resource"]
    )
    for resource, count in sorted(skipped.items()):
        family.add_metric([resource], count)
    yield family


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"status_reporter_{name}", text, value=value)


OK: Final = "ok"
_BUCKETS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SKIPPED: Final = ("busy", "late", "paused", "closed")


class ScrapeMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        self._scrapes = counter(
            "status_reporter_scrapes_total", "Scrapes of pods by what came of them.", ["outcome"]
        )
        self._seconds = Histogram(
            "status_reporter_scrape_duration_seconds",
            "Time of one scrape.",
            buckets=_BUCKETS,
            registry=registry,
        )
        self._targets = gauge("status_reporter_scrape_targets", "Pods that are scraped.")
        self._refused = gauge(
            "status_reporter_scrape_addresses_refused",
            "Pods that are not scraped because no pod should have their address.",
        )
        self._skips = counter(
            "status_reporter_scrapes_skipped_total", "Turns of pods that were left out.", ["cause"]
        )
        self._bad_lines = counter(
            "status_reporter_scrape_bad_lines_total", "Lines of pages that were dropped."
        )
        self._given_up = counter(
            "status_reporter_scrape_looks_given_up_total",
            "Looks at pods that were given up because they took too much memory.",
        )
        for outcome in (OK, *map(_outcome, Failure)):
            self._scrapes.labels(outcome)
        for cause in _SKIPPED:
            self._skips.labels(cause)

    def following(self, targets: int) -> None:
        self._targets.set(targets)

    def refusing(self, pods: int) -> None:
        self._refused.set(pods)

    def scraped(self, scrape: Scrape) -> None:
        self._scrapes.labels(_outcome(scrape.failure) if scrape.failure else OK).inc()
        self._seconds.observe(scrape.seconds)
        if scrape.page is not None:
            self._bad_lines.inc(scrape.page.reading.bad + scrape.page.reading.oversized)

    def gave_up(self, looks: int) -> None:
        self._given_up.inc(looks)

    def skipped(self, cause: str) -> None:
        self._skips.labels(cause).inc()


def _outcome(failure: Failure) -> str:
    return failure.name.lower()

"""The report, the daemon's own state and its scraping, as Prometheus metrics.

Metrics that name subjects have series only for what exists: a finding while it fires, a subject in
its present state. A series for each of the five states, as in kube-state-metrics, would be five
times as many and say no more.
"""

import heapq
from collections import Counter as Tally
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from reporter.kube.live import WatchHealth
from reporter.metrics.samples.sample import Failure, Scrape
from reporter.model.report import (
    WORST_FIRST,
    Disposition,
    Impact,
    Report,
    ResolvedFinding,
    ServingState,
    SubjectState,
)
from reporter.model.subject import CLUSTER_KIND, NAMESPACE_KIND, Layer, Subject
from reporter.sinks.events.plan import Purpose
from reporter.sinks.mirror.plan import MirrorPurpose

_PASS_BUCKETS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_DELAY_BUCKETS: Final = (1, 2.5, 5, 15, 30, 60, 65, 75, 90, 120, 180, 300, 600, 900, 1800, 3600)
"""Graces and budgets are part of a delay, so there are buckets right above them."""


class SelfCheckResult(StrEnum):
    SAME = "same"
    DIFFERENT = "different"
    FAILED = "failed"


class Live(Protocol):
    """What is read when metrics are collected; `gauges` returns the values of `GAUGES`."""

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
    """The daemon's counters; `now` is the API server's time, by which episodes are dated."""

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
            "Passes that were compared with one from scratch, by result.",
            ["result"],
        )
        self._requests = counter(
            "status_reporter_api_requests_total",
            "Requests to the API server.",
            ["verb", "resource", "code"],
        )
        self._events = counter(
            "status_reporter_event_writes_total",
            "Writes of Events by purpose and outcome.",
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
            "Writes of mirrors by purpose and outcome.",
            ["purpose", "outcome"],
        )
        self._alerts = counter(
            "status_reporter_alert_requests_total",
            "Requests to Alertmanagers by outcome.",
            ["outcome"],
        )
        # A series must exist before its first increase can be seen.
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

    def observe_delay(self, since: datetime) -> None:
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


_OF_WATCHES: Final[tuple[tuple[str, str, Callable[[WatchHealth], float | None]], ...]] = (
    ("watch_age_seconds", "Time since the last list or frame.", lambda each: each.age_seconds),
    ("watch_confirmed", "1 while verdicts may use it.", lambda each: each.confirmed),
    ("objects", "Objects held.", lambda each: each.objects),
    ("lists", "How often it was listed since start.", lambda each: each.relists),
    ("watch_failures", "How often a list or watch failed.", lambda each: each.failures),
)


def _watches(watches: Iterable[WatchHealth]) -> Iterator[Metric]:
    every = list(watches)
    for name, text, value in _OF_WATCHES:
        family = GaugeMetricFamily(f"status_reporter_{name}", text, labels=["resource"])
        for each in every:
            if (number := value(each)) is not None:
                family.add_metric([each.resource], number)
        yield family
    state = GaugeMetricFamily(
        "status_reporter_resource_state", "1 for the present state.", labels=["resource", "state"]
    )
    for each in every:
        for name in ("served", "absent", "unknown"):
            state.add_metric([each.resource, name], each.state == name)
    yield state


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
            "status_reporter_scrapes_total", "Scrapes of pods by outcome.", ["outcome"]
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
        self._dropped_samples = counter(
            "status_reporter_scrape_looks_given_up_total",
            "Samples of pods that were dropped because they took too much memory.",
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

    def dropped(self, samples: int) -> None:
        self._dropped_samples.inc(samples)

    def skipped(self, cause: str) -> None:
        self._skips.labels(cause).inc()


def _outcome(failure: Failure) -> str:
    return failure.name.lower()


ItemT = TypeVar("ItemT")

FIRING: Final = "status_reporter_firing_findings"
STATE: Final = "status_reporter_subject_state"
_PLACE: Final = ("layer", "subject_namespace", "subject")
_LAYERS: Final = {CLUSTER_KIND: Layer.CLUSTER, NAMESPACE_KIND: Layer.HARNESS}


class _Firing(NamedTuple):
    reason: str
    type: str
    layer: Layer
    subject: Subject


MOST_SERIES: Final = 10_000
"""Most series of each metric that names subjects: more than there are models in one cluster, and
few enough that Prometheus takes the page (tests/bench/subject_series.py)."""


class SubjectMetrics(Collector):
    def __init__(self, report: Callable[[], Report | None], most: int = MOST_SERIES) -> None:
        self._report = report
        self._most = most

    def collect(self) -> Iterator[Metric]:
        report = self._report()
        if report is not None:
            yield from subject_metrics(report, self._most)


def subject_metrics(report: Report, most: int) -> Iterator[Metric]:
    """Yield series for up to `most` causes and `most` subjects: each namespace in turn gives its
    first causes and its worst subjects.
    """
    fires = Tally(_identity(each) for each in report.findings if each.fires)
    states = sorted(report.states, key=lambda each: WORST_FIRST.index(each.state))
    chosen = _fairly(fires, most, lambda each: each.subject.namespace)
    firing = GaugeMetricFamily(
        FIRING, "Findings that fire, by what and whom.", labels=[*_PLACE, "reason", "type"]
    )
    for each in chosen:
        labels = [*_place(each.layer, each.subject), each.reason, each.type]
        firing.add_metric(labels, fires[each])
    yield firing
    yield _impact(report.findings, set(chosen))
    yield from _states(_fairly(states, most, lambda each: each.subject.namespace))
    left_out = GaugeMetricFamily(
        "status_reporter_subject_series_left_out",
        "What has no series because there are too many.",
        labels=["metric"],
    )
    left_out.add_metric([FIRING], max(len(fires) - most, 0))
    left_out.add_metric([STATE], max(len(states) - most, 0))
    yield left_out


def _fairly(
    items: Collection[ItemT], most: int, namespace: Callable[[ItemT], str]
) -> Sequence[ItemT]:
    """Return the first items of each namespace in turn, so that no namespace crowds out others."""
    counts: Tally[str] = Tally()
    ranked = []
    for at, item in enumerate(items):
        counts[namespace(item)] += 1
        ranked.append((counts[namespace(item)], at, item))
    kept = heapq.nsmallest(most, ranked, key=lambda each: each[:2])
    return [item for _, _, item in sorted(kept, key=lambda each: each[1])]


def _identity(finding: ResolvedFinding) -> _Firing:
    return _Firing(finding.reason, finding.type.value, finding.layer, finding.subject)


def _impact(findings: Iterable[ResolvedFinding], kept: set[_Firing]) -> Metric:
    family = GaugeMetricFamily(
        "status_reporter_cause_models",
        "Models that a cause hits, by their state.",
        labels=[*_PLACE, "reason", "state"],
    )
    worst: dict[_Firing, Impact] = {}
    for finding in findings:
        key = _identity(finding)
        if finding.impact is None or key not in kept:
            continue
        # Two objects at fault may hit the same models, so their impacts are not added up.
        before = worst.setdefault(key, finding.impact)
        worst[key] = max(before, finding.impact, key=lambda each: (each.not_serving, each.degraded))
    for key, impact in worst.items():
        labels = [*_place(key.layer, key.subject), key.reason]
        family.add_metric([*labels, ServingState.NOT_SERVING], impact.not_serving)
        family.add_metric([*labels, ServingState.DEGRADED], impact.degraded)
    return family


def _states(states: Iterable[SubjectState]) -> Iterator[Metric]:
    present = GaugeMetricFamily(
        STATE, "1 for the present state of a subject.", labels=[*_PLACE, "state"]
    )
    since = GaugeMetricFamily(
        "status_reporter_subject_impaired_since_timestamp_seconds",
        "Since when a subject does not serve, or serves degraded, where that is known.",
        labels=_PLACE,
    )
    cause = GaugeMetricFamily(
        "status_reporter_subject_cause",
        "1 for the reason to look at first of a subject that does not serve, or serves degraded.",
        labels=[*_PLACE, "reason"],
    )
    for each in states:
        place = _place(_LAYERS.get(each.subject.kind, Layer.DEPLOYMENT), each.subject)
        present.add_metric([*place, each.state], 1)
        if not each.state.is_impaired:
            continue
        if each.since is not None:
            since.add_metric(place, each.since.timestamp())
        if each.cause:
            cause.add_metric([*place, each.cause], 1)
    yield from (present, since, cause)


def _place(layer: Layer, subject: Subject) -> list[str]:
    return [layer, subject.namespace, str(subject)]

"""The report, the daemon's own state and its scraping, as Prometheus metrics.

Metrics that name subjects have series only for what exists: a finding while it fires, a subject in
its present state. A series for each of the five states, as in kube-state-metrics, would be five
times as many and say no more.
"""

import heapq
from collections import Counter as Tally
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
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

_PREFIX: Final = "status_reporter_"
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


def _counter(
    registry: CollectorRegistry, name: str, text: str, *labels: str, known: Iterable[str] = ()
) -> Callable[..., None]:
    """Return a function that counts one under its labels, purposes by their names.

    The series of `known` labels begin with 0: one must exist before its first increase can be seen.
    """
    counter = Counter(f"{_PREFIX}{name}", text, labels, registry=registry)
    for label in known:
        counter.labels(label)

    def count(*values: str | IntEnum) -> None:
        named = (each.name.lower() if isinstance(each, IntEnum) else each for each in values)
        counter.labels(*named).inc()

    return count


class Metrics:
    """The daemon's counters; `now` is the API server's time, by which episodes are dated."""

    def __init__(
        self, version: str, commit: str, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._now = now
        self.registry = registry = CollectorRegistry()
        build = Info("status_reporter_build", "Version of the reporter.", registry=registry)
        build.info({"version": version, "commit": commit})
        counter = partial(_counter, registry)
        writes = ("purpose", "outcome")
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
        text = "Passes that were compared with one from scratch, by result."
        self.self_checked = counter("self_checks_total", text, "result", known=SelfCheckResult)
        labels = ("verb", "resource", "code")
        self.requested = counter("api_requests_total", "Requests to the API server.", *labels)
        text = "Writes of Events by purpose and outcome."
        self.event_written = counter("event_writes_total", text, *writes)
        self._delay = Histogram(
            "status_reporter_event_delay_seconds",
            "Time from the start of an episode until its Event was created, graces included.",
            buckets=_DELAY_BUCKETS,
            registry=registry,
        )
        text = "Writes of mirrors by purpose and outcome."
        self.mirror_written = counter("mirror_writes_total", text, *writes)
        text, known = "Requests to Alertmanagers by outcome.", ("written", "refused", "failed")
        self.alerts_sent = counter("alert_requests_total", text, "outcome", known=known)
        self.scrapes = ScrapeMetrics(registry)

    def passed(self, seconds: float, at: float) -> None:
        self._pass_seconds.observe(seconds)
        self._last_pass.set(at)

    def observe_delay(self, since: datetime) -> None:
        self._delay.observe(max((self._now() - since).total_seconds(), 0.0))


@dataclass(frozen=True, slots=True)
class LiveMetrics(Collector):
    counted: Metrics
    live: Live

    def collect(self) -> Iterator[Metric]:
        yield from self.counted.registry.collect()
        for name, value in self.live.gauges().items():
            yield GaugeMetricFamily(f"{_PREFIX}{name}", GAUGES[name], value=value)
        yield from _watches(self.live.watches())
        report = self.live.report()
        if report is not None:
            yield from _findings(report)


_OF_WATCHES: Final[tuple[tuple[str, str, Callable[[WatchHealth], float | None]], ...]] = (
    ("watch_age_seconds", "Time since the last list or frame.", lambda each: each.age_seconds),
    ("watch_confirmed", "1 while verdicts may use it.", lambda each: each.confirmed),
    ("objects", "Objects held.", lambda each: each.objects),
    ("lists", "How often it was listed since start.", lambda each: each.relists),
    ("watch_failures", "How often a list or watch failed.", lambda each: each.failures),
)


def _family(  # noqa: PLR0917 - as prometheus_client takes them
    name: str, text: str, labels: Sequence[str], samples: Iterable[tuple[Sequence[str], float]]
) -> Metric:
    family = GaugeMetricFamily(f"{_PREFIX}{name.removeprefix(_PREFIX)}", text, labels=labels)
    for values, number in samples:
        family.add_metric(values, number)
    return family


def _watches(watches: Iterable[WatchHealth]) -> Iterator[Metric]:
    every = list(watches)
    for name, text, value in _OF_WATCHES:
        known = ((each.resource, value(each)) for each in every)
        numbers = (([resource], number) for resource, number in known if number is not None)
        yield _family(name, text, ["resource"], numbers)
    states = (
        ([each.resource, name], each.state == name)
        for each in every
        for name in ("served", "absent", "unknown")
    )
    yield _family("resource_state", "1 for the present state.", ["resource", "state"], states)


def _findings(report: Report) -> Iterator[Metric]:
    tally = Tally((finding.reason, finding.disposition) for finding in report.findings)
    counts = (
        ([reason.name, reason.layer, disposition], tally[reason.name, disposition])
        for reason in report.catalogue
        if not reason.says_ready
        for disposition in Disposition
    )
    labels = ["reason", "layer", "disposition"]
    yield _family("findings", "Findings of the last pass.", labels, counts)
    stale = sum(finding.stale for finding in report.findings)
    for name, text, value in (
        ("findings_stale", "Findings that cannot be judged now.", stale),
        ("subjects_ready", "Subjects that are ready.", len(report.ready)),
        ("resources_unknown", "Resources that cannot be read.", len(report.unknown)),
    ):
        yield GaugeMetricFamily(f"{_PREFIX}{name}", text, value=value)
    skipped = Tally(each.resource for each in report.skipped)
    ordered = (([resource], count) for resource, count in sorted(skipped.items()))
    yield _family("objects_skipped", "Malformed objects left out.", ["resource"], ordered)


OK: Final = "ok"
_BUCKETS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SKIPPED: Final = ("busy", "late", "paused", "closed")


class ScrapeMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        counter, gauge = partial(_counter, registry), partial(Gauge, registry=registry)
        text, known = "Scrapes of pods by outcome.", (OK, *map(_outcome, Failure))
        self._scraped = counter("scrapes_total", text, "outcome", known=known)
        self._seconds = Histogram(
            "status_reporter_scrape_duration_seconds",
            "Time of one scrape.",
            buckets=_BUCKETS,
            registry=registry,
        )
        self.following = gauge("status_reporter_scrape_targets", "Pods that are scraped.").set
        text = "Pods that are not scraped because no pod should have their address."
        self.refusing = gauge("status_reporter_scrape_addresses_refused", text).set
        text = "Turns of pods that were left out."
        self.skipped = counter("scrapes_skipped_total", text, "cause", known=_SKIPPED)
        self._bad_lines = Counter(
            "status_reporter_scrape_bad_lines_total",
            "Lines of pages that were dropped.",
            registry=registry,
        )
        text = "Samples of pods that were dropped because they took too much memory."
        dropped = Counter("status_reporter_scrape_looks_given_up_total", text, registry=registry)
        self.dropped = dropped.inc

    def scraped(self, scrape: Scrape) -> None:
        self._scraped(_outcome(scrape.failure) if scrape.failure else OK)
        self._seconds.observe(scrape.seconds)
        if scrape.page is not None:
            self._bad_lines.inc(scrape.page.reading.bad + scrape.page.reading.oversized)


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


@dataclass(frozen=True, slots=True)
class SubjectMetrics(Collector):
    report: Callable[[], Report | None]
    most: int = MOST_SERIES

    def collect(self) -> Iterator[Metric]:
        report = self.report()
        if report is not None:
            yield from subject_metrics(report, self.most)


def subject_metrics(report: Report, most: int) -> Iterator[Metric]:
    """Yield series for up to `most` causes and `most` subjects: each namespace in turn gives its
    first causes and its worst subjects.
    """
    fires = Tally(_identity(each) for each in report.findings if each.fires)
    states = sorted(report.states, key=lambda each: WORST_FIRST.index(each.state))
    chosen = _fairly(fires, most, lambda each: each.subject.namespace)
    firing = (
        ([*_place(each.layer, each.subject), each.reason, each.type], fires[each])
        for each in chosen
    )
    text = "Findings that fire, by what and whom."
    yield _family(FIRING, text, [*_PLACE, "reason", "type"], firing)
    yield _impact(report.findings, set(chosen))
    yield from _states(_fairly(states, most, lambda each: each.subject.namespace))
    left_out = {FIRING: len(fires) - most, STATE: len(states) - most}
    yield _family(
        "subject_series_left_out",
        "What has no series because there are too many.",
        ["metric"],
        (([name], max(count, 0)) for name, count in left_out.items()),
    )


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
    worst: dict[_Firing, Impact] = {}
    for finding in findings:
        key = _identity(finding)
        if finding.impact is None or key not in kept:
            continue
        # Two objects at fault may hit the same models, so their impacts are not added up.
        before = worst.setdefault(key, finding.impact)
        worst[key] = max(before, finding.impact, key=lambda each: (each.not_serving, each.degraded))
    counts = (
        ([*_place(key.layer, key.subject), key.reason, state], count)
        for key, impact in worst.items()
        for state, count in (
            (ServingState.NOT_SERVING, impact.not_serving),
            (ServingState.DEGRADED, impact.degraded),
        )
    )
    text = "Models that a cause hits, by their state."
    return _family("cause_models", text, [*_PLACE, "reason", "state"], counts)


def _states(states: Sequence[SubjectState]) -> Iterator[Metric]:
    placed = [
        (_place(_LAYERS.get(each.subject.kind, Layer.DEPLOYMENT), each.subject), each)
        for each in states
    ]
    impaired = [(place, each) for place, each in placed if each.state.is_impaired]
    present = (([*place, each.state], 1) for place, each in placed)
    text = "1 for the present state of a subject."
    yield _family(STATE, text, [*_PLACE, "state"], present)
    since = ((place, each.since.timestamp()) for place, each in impaired if each.since is not None)
    text = "Since when a subject does not serve, or serves degraded, where that is known."
    yield _family("subject_impaired_since_timestamp_seconds", text, _PLACE, since)
    causes = (([*place, each.cause], 1) for place, each in impaired if each.cause)
    text = "1 for the reason to look at first of a subject that does not serve, or serves degraded."
    yield _family("subject_cause", text, [*_PLACE, "reason"], causes)


def _place(layer: Layer, subject: Subject) -> list[str]:
    return [layer, subject.namespace, str(subject)]

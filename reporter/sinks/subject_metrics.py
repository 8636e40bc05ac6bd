"""What fires, and who serves, as Prometheus metrics that name subjects.

Only what is there has a series: a finding while it fires, a subject with the state that it is in. A
series for each of the five states, as kube-state-metrics writes them, would be five times as many
and say no more.
"""

import heapq
from collections import Counter as Tally
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from reporter.model.report import (
    WORST_FIRST,
    Impact,
    Report,
    ResolvedFinding,
    ServingState,
    SubjectState,
)
from reporter.model.subject import CLUSTER_KIND, NAMESPACE_KIND, Layer, Subject

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


class SubjectMetrics(Collector):
    def __init__(self, report: Callable[[], Report | None], most: int) -> None:
        self._report = report
        self._most = most

    def collect(self) -> Iterator[Metric]:
        report = self._report()
        if report is not None:
            yield from subject_metrics(report, self._most)


def subject_metrics(report: Report, most: int) -> Iterator[Metric]:
    """Of each namespace in turn the causes that come first, and the subjects that are worst off,
    have series, `most` of each; 0 yields nothing.
    """
    if not most:
        return
    fires = Tally(_identity(each) for each in report.findings if each.fires)
    states = sorted(report.states, key=lambda each: WORST_FIRST.index(each.state))
    told = _fairly(fires, most, lambda each: each.subject.namespace)
    firing = GaugeMetricFamily(
        FIRING, "Findings that fire, by what and whom.", labels=[*_PLACE, "reason", "type"]
    )
    for each in told:
        labels = [*_place(each.layer, each.subject), each.reason, each.type]
        firing.add_metric(labels, fires[each])
    yield firing
    yield _impact(report.findings, set(told))
    yield from _states(_fairly(states, most, lambda each: each.subject.namespace))
    left_out = GaugeMetricFamily(
        "status_reporter_subject_series_left_out",
        "What has no series because there are more than --subject-series.",
        labels=["metric"],
    )
    left_out.add_metric([FIRING], max(len(fires) - most, 0))
    left_out.add_metric([STATE], max(len(states) - most, 0))
    yield left_out


def _fairly(
    items: Collection[ItemT], most: int, namespace: Callable[[ItemT], str]
) -> Sequence[ItemT]:
    """Return the first of each namespace in turn, so that one with many faults leaves no other
    without.
    """
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
        # Two objects at fault may hit the same models, so that they are not added up.
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

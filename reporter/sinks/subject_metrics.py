"""What fires, and who serves, as Prometheus metrics that name subjects.

Only what is there has a series: a finding while it fires, a subject with the state that it is in. A
series for each of the five states, as kube-state-metrics writes them, would be five times as many
and say no more.

The report in Prometheus' text format, for the textfile collector of node_exporter.

That collector takes files `*.prom` without timestamps (node_exporter, README, "Textfile Collector").
"""

import heapq
from collections import Counter
from collections import Counter as Tally
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

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
from reporter.model.text import clean

ItemT = TypeVar("ItemT")

FIRING: Final = "status_reporter_firing_findings"
STATE: Final = "status_reporter_subject_state"
_PLACE: Final = ("layer", "subject_namespace", "subject")
_LAYERS: Final = {CLUSTER_KIND: Layer.CLUSTER, NAMESPACE_KIND: Layer.HARNESS}


class _Firing(NamedTuple):
    """What the findings that fire are counted by."""

    reason: str
    type: str
    layer: Layer
    subject: Subject


class SubjectMetrics(Collector):
    """The metrics of a running daemon that name subjects; they rest on its newest report alone."""

    def __init__(self, report: Callable[[], Report | None], most: int) -> None:
        self._report = report
        self._most = most

    def collect(self) -> Iterator[Metric]:
        """Yield each metric; none before the first report."""
        report = self._report()
        if report is not None:
            yield from subject_metrics(report, self._most)


def subject_metrics(report: Report, most: int) -> Iterator[Metric]:
    """Yield the metrics that name subjects.

    Args:
        report: of the newest pass.
        most: findings by reason and subject, and subjects, that have series: of each namespace in
            turn the causes that come first, and the subjects that are worst off. 0 yields nothing.

    """
    if not most:
        return
    fires = _fires(report.findings)
    states = sorted(report.states, key=lambda each: WORST_FIRST.index(each.state))
    told = _fairly(fires, most, lambda each: each.subject.namespace)
    yield _firing((each, fires[each]) for each in told)
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
    """Return the first of each namespace in turn, as many as there may be, in their order.

    One namespace with many faults leaves no other without series.
    """
    counts: Tally[str] = Tally()
    ranked = []
    for at, item in enumerate(items):
        counts[namespace(item)] += 1
        ranked.append((counts[namespace(item)], at, item))
    kept = heapq.nsmallest(most, ranked, key=lambda each: each[:2])
    return [item for _, _, item in sorted(kept, key=lambda each: each[1])]


def _fires(findings: Iterable[ResolvedFinding]) -> Tally[_Firing]:
    """Count what fires, in the order of the report: the causes come first."""
    return Tally(_identity(each) for each in findings if each.fires)


def _identity(finding: ResolvedFinding) -> _Firing:
    return _Firing(finding.reason, finding.type.value, finding.layer, finding.subject)


def _firing(fires: Iterable[tuple[_Firing, int]]) -> Metric:
    family = GaugeMetricFamily(
        FIRING, "Findings that fire, by what and whom.", labels=[*_PLACE, "reason", "type"]
    )
    for each, count in fires:
        family.add_metric([*_place(each.layer, each.subject), each.reason, each.type], count)
    return family


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


_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
Labels = Mapping[str, str]
Sample = tuple[Labels, float]


def report_prometheus(report: Report, labels: Labels | None = None) -> str:
    """Return the report as metrics; the same report gives the same text.

    Args:
        report: what a look decided.
        labels: those that every sample has besides, such as the context.

    """
    return metrics_text([(labels or {}, report)])


def metrics_text(reports: Iterable[tuple[Labels, Report | None]]) -> str:
    """Return several reports as one set of metrics; None is a cluster that could not be judged."""
    found = [*reports]
    lines: list[str] = []
    for name, meaning, samples_of in _METRICS:
        lines += [f"# HELP {name} {meaning}", f"# TYPE {name} gauge"]
        for labels, report in found:
            lines += (_line(name, {**labels, **own}, value) for own, value in samples_of(report))
    return "\n".join(lines) + "\n"


def _up(report: Report | None) -> Iterator[Sample]:
    yield {}, float(report is not None)


def _time(report: Report | None) -> Iterator[Sample]:
    if report is not None:
        yield {}, report.now.replace(microsecond=0).timestamp()


def _findings(report: Report | None) -> Iterator[Sample]:
    for finding in report.findings if report else ():
        yield _finding_labels(finding), 1.0


def _finding_labels(finding: ResolvedFinding) -> Labels:
    involved = finding.involved
    place = (part for part in (involved.kind.lower(), involved.namespace, involved.name) if part)
    return {
        "reason": finding.reason,
        "layer": str(finding.layer),
        "type": str(finding.type),
        "disposition": str(finding.disposition),
        "primary": str(finding.primary).lower(),
        "subject": str(finding.subject),
        "object": "/".join(place),
    }


def _causes(report: Report | None) -> Iterator[Sample]:
    if report is not None:
        yield {}, float(sum(each.is_cause for each in report.findings))


def _since(report: Report | None) -> Iterator[Sample]:
    for finding in report.findings if report else ():
        if finding.disposition is Disposition.FIRING and finding.age_known:
            yield _finding_labels(finding), finding.since.replace(microsecond=0).timestamp()


def _subjects(report: Report | None) -> Iterator[Sample]:
    if report is None:
        return
    counts = Counter(each.state for each in report.states)
    for state in ServingState:
        yield {"state": str(state)}, float(counts[state])


def _unknown(report: Report | None) -> Iterator[Sample]:
    if report is not None:
        yield {}, float(len(report.unknown))


_METRICS: Final = (
    ("status_reporter_check_success", "1 if the cluster could be judged.", _up),
    ("status_reporter_check_timestamp_seconds", "Time of the evaluation.", _time),
    ("status_reporter_check_causes", "Causes that fire.", _causes),
    ("status_reporter_check_finding", "A finding, with what became of it.", _findings),
    (
        "status_reporter_check_finding_since_seconds",
        "Since when a finding that fires lasts.",
        _since,
    ),
    ("status_reporter_check_subjects", "Namespaces and models, by whether they serve.", _subjects),
    ("status_reporter_check_resources_unknown", "Resources that could not be read.", _unknown),
)


def _line(name: str, labels: Labels, value: float) -> str:
    pairs = ",".join(f'{key}="{clean(each).translate(_ESCAPES)}"' for key, each in labels.items())
    number = f"{value:.0f}" if value == int(value) else repr(value)
    return f"{name}{{{pairs}}} {number}" if pairs else f"{name} {number}"

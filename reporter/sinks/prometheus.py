"""The report in Prometheus' text format, for the textfile collector of node_exporter.

That collector takes files `*.prom` without timestamps (node_exporter, README, "Textfile Collector").
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from reporter.model.report import Disposition, Report, ResolvedFinding, ServingState
from reporter.model.text import clean

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

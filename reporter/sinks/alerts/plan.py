"""What Alertmanager is to know: an alert for each finding that fires, and what is over. Pure.

Alertmanager knows an alert by its labels alone. So they follow from the finding's key, and every
replica makes the same: a failover neither doubles an alert nor ends one. Only the severity may
change in an episode, and only upwards, so that whoever is on call is told once when a model stops
serving; the alert of the lower one is over then.

Alertmanager forgets an alert that nobody sends again, and keeps none over its own restart. What is
over is sent for as long as Prometheus does it (rules/alerting.go, resolvedRetention).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from reporter.model.catalogue import Catalogue
from reporter.model.finding import FindingKey
from reporter.model.report import Disposition, Report, ResolvedFinding, Severity
from reporter.resolution.records import SEVERITY_ANNOTATION, Records
from reporter.settings import DaemonSettings
from reporter.sinks.events.plan import REFRESH_LONGEST
from reporter.sinks.words import change_lines, impact_line, without_changes

OVER_FOR: Final = timedelta(minutes=15)
"""How long it is told that an alert is over."""

SOURCE: Final = "status-reporter"
"""Label `source` of our alerts: what routes and inhibition rules tell them by."""

Labels: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert; its labels, sorted by name, are what Alertmanager knows it by."""

    labels: Labels
    annotations: Mapping[str, str]
    starts_at: datetime
    ends_at: datetime | None = None


Alerts: TypeAlias = Mapping[Labels, Alert]


def plan_alerts(
    report: Report,
    records: Records,
    before: Alerts | None,
    *,
    settings: DaemonSettings,
    confirmed: Callable[[str], bool] = lambda _reason: True,
) -> Alerts:
    """Return what Alertmanager is to know now. The first pass has nothing `before`, and learns from
    the records what has ended since another process told it. Of a reason that is not `confirmed`
    nothing begins.
    """
    cluster = settings.cluster_name
    known = _on_record(records, report, cluster) if before is None else before
    alerts: dict[Labels, Alert] = {}
    for finding in report.findings:
        # One that cannot be judged now, or recovers, goes on.
        fires = finding.disposition in {Disposition.FIRING, Disposition.CLEARING}
        if not fires or finding.reason in settings.disable_reasons:
            continue
        labels = labels_of(finding.key, Severity.CRITICAL, report.catalogue, cluster=cluster)
        critical = known.get(labels)
        if critical is None or critical.ends_at is not None:
            labels = labels_of(finding.key, finding.severity, report.catalogue, cluster=cluster)
        if labels in known or confirmed(finding.reason):
            alerts[labels] = Alert(labels, _annotations(finding, report, settings), finding.since)
    for labels, alert in known.items():
        over = alert.ends_at or report.now
        if labels not in alerts and report.now - over < OVER_FOR:
            alerts[labels] = replace(alert, ends_at=over)
    return alerts


def labels_of(key: FindingKey, severity: str, catalogue: Catalogue, *, cluster: str) -> Labels:
    """Return the labels of an alert; those without a value are left out, as Alertmanager does."""
    stack = catalogue.stack_of(key.subject.kind)
    is_own = key.involved.kind == "Namespace" and key.involved.name == key.subject.namespace
    labels = {
        "alertname": key.reason,
        "cluster": cluster,
        "layer": str(catalogue[key.reason].layer),
        "namespace": key.subject.namespace,
        "object": "" if is_own else str(key.involved),
        "reason": key.reason,
        "severity": severity,
        "source": SOURCE,
        "stack": stack.name if stack else "",
        "subject": str(key.subject),
        "subject_kind": key.subject.kind,
        "subject_name": key.subject.name,
    }
    return tuple((name, value) for name, value in labels.items() if value)


def _annotations(
    finding: ResolvedFinding, report: Report, settings: DaemonSettings
) -> Mapping[str, str]:
    docs = settings.alert_docs_url.rstrip("/")
    message = without_changes(finding)
    told = {
        "summary": message,  # by which amtool and most templates know what is wrong
        "message": message,
        "impact": impact_line(finding, report).partition(": ")[2],
        "changed": "; ".join(change_lines(finding)),
        "commands": "\n".join(finding.commands),
        "runbook_url": f"{docs}/reasons.md#{report.catalogue[finding.reason].heading.lower()}"
        if docs
        else "",
        "dashboard_url": settings.alert_dashboard_url,
    }
    return {name: text for name, text in told.items() if text}


def _on_record(records: Records, report: Report, cluster: str) -> Alerts:
    """Return what our Events say was told, as over: what fires still is told by the report."""
    catalogue = report.catalogue
    alerts: dict[Labels, Alert] = {}
    for record in records:
        key = record.key
        # An Event that is closed keeps the time of its last refresh.
        recent = record.goes_on or report.now - record.written < OVER_FOR + REFRESH_LONGEST
        if not recent or key.reason not in catalogue or catalogue[key.reason].says_ready:
            continue
        severity = record.event.metadata.annotation(SEVERITY_ANNOTATION) or Severity.WARNING
        labels = labels_of(key, severity, catalogue, cluster=cluster)
        said = {"message": record.event.message}
        alerts[labels] = Alert(labels, said, record.since, ends_at=report.now)
    return alerts

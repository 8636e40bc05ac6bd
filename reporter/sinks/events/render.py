"""One Event of the report as an API object.

An Event about an object elsewhere may lie in kube-system only with `eventTime`, and then its
message, action, reason and reporter are bounded (Kubernetes, pkg/apis/core/validation/events.go).
It also has `count` and `lastTimestamp`, which every client prints.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, TypeAlias

from reporter.catalogue.resources import COMPONENT, EVENT_NAMESPACE, LABEL_PREFIX
from reporter.model.instant import rfc3339, rfc3339_micro
from reporter.model.reason import EventType
from reporter.model.report import Disposition, ReadySubject, Report, ResolvedFinding
from reporter.model.subject import ObjectRef
from reporter.model.text import MESSAGE_BYTES, clean, cut
from reporter.resolution.records import (
    MUTED_ANNOTATION,
    PRIMARY_LABEL,
    SEVERITY_ANNOTATION,
    SINCE_ANNOTATION,
    SUBJECT_ANNOTATION,
    RecordState,
)
from reporter.settings import EvaluationSettings
from reporter.sinks.events.naming import event_name, label_value, ready_name

Document: TypeAlias = dict[str, object]

ACTION: Final = "Evaluate"
STATE_LABEL: Final = f"{LABEL_PREFIX}state"
_INSTANCE_BYTES = 128

_NO_REFERENCE: Final[Document] = dict.fromkeys(("apiVersion", "kind", "namespace", "name", "uid"))
"""In a merge patch: takes away what the reference before had."""


def events_of(
    report: Report, settings: EvaluationSettings, instance: str = COMPONENT
) -> list[Document]:
    """Return the Events that a daemon which starts now would write for a report."""
    events = [
        finding_event(finding, report.now, instance)
        for finding in report.findings
        if is_told(finding, settings)
    ]
    events += [ready_event(ready, report.now, instance) for ready in told_ready(report, settings)]
    return events


def is_told(finding: ResolvedFinding, settings: EvaluationSettings) -> bool:
    """Tell whether an Event says now that a finding fires."""
    return (
        finding.disposition is Disposition.FIRING
        and not finding.stale
        and finding.reason not in settings.disable_reasons
    )


def told_ready(report: Report, settings: EvaluationSettings) -> list[ReadySubject]:
    """Return the ready subjects whose Event is due."""
    return [
        each for each in report.ready if each.due and each.reason not in settings.disable_reasons
    ]


def finding_event(finding: ResolvedFinding, now: datetime, instance: str) -> Document:
    """Return the Event of a finding as it is first written."""
    labels = {
        "layer": finding.layer,
        "reason": finding.reason,
        "subject-kind": finding.subject.kind,
        "subject-namespace": finding.subject.namespace,
        "subject-name": finding.subject.name,
        "state": RecordState.FIRING,
        "primary": _flag(finding.primary),
    }
    return _event(
        name=event_name(finding.key, finding.since),
        type_=finding.type,
        labels=labels,
        annotations={
            SEVERITY_ANNOTATION: finding.severity,
            SINCE_ANNOTATION: rfc3339_micro(finding.since),
            SUBJECT_ANNOTATION: str(finding.subject),
        },
        reason=finding.reason,
        message=finding.message,
        involved=finding.involved,
        related=finding.related,
        now=now,
        instance=instance,
    )


def ready_event(ready: ReadySubject, now: datetime, instance: str) -> Document:
    """Return the Event that says a subject is ready; its state is `over`, as it marks a moment."""
    labels = {
        "layer": ready.layer,
        "reason": ready.reason,
        "subject-kind": ready.subject.kind,
        "subject-namespace": ready.subject.namespace,
        "subject-name": ready.subject.name,
        "state": RecordState.OVER,
        "primary": _flag(value=False),
    }
    return _event(
        name=ready_name(ready),
        type_=EventType.NORMAL,
        labels=labels,
        annotations={
            SINCE_ANNOTATION: rfc3339_micro(now),
            SUBJECT_ANNOTATION: str(ready.subject),
        },
        reason=ready.reason,
        message=ready.message,
        involved=ready.involved,
        related=ready.related,
        now=now,
        instance=instance,
    )


def repeat_patch(
    finding: ResolvedFinding, count: int, now: datetime, *, unmute: bool = False
) -> Document:
    """Return the merge patch that says a finding fires still, or again in the same episode.

    `unmute` takes away the note that it is muted.
    """
    return {
        "metadata": {
            "labels": {
                STATE_LABEL: str(RecordState.FIRING),
                PRIMARY_LABEL: _flag(finding.primary),
            },
            "annotations": {
                SEVERITY_ANNOTATION: finding.severity,
                **({MUTED_ANNOTATION: None} if unmute else {}),
            },
        },
        "message": finding.message,
        "related": {**_NO_REFERENCE, **reference(finding.related)},
        "count": count,
        "lastTimestamp": rfc3339(now),
    }


def state_patch(state: RecordState, *, primary: bool) -> Document:
    """Return the merge patch that changes the labels of an Event that goes on, and nothing else."""
    return {"metadata": _labels(state, primary=primary)}


def over_patch(*, muted: bool, unmute: bool) -> Document:
    """Return the merge patch that ends an Event: it is not the one to look at first any more.

    `muted` notes that its episode goes on, `unmute` takes that note away.
    """
    labels = _labels(RecordState.OVER, primary=False)
    if not (muted or unmute):
        return {"metadata": labels}
    return {"metadata": {**labels, "annotations": {MUTED_ANNOTATION: "true" if muted else None}}}


def _labels(state: RecordState, *, primary: bool) -> Document:
    return {"labels": {STATE_LABEL: str(state), PRIMARY_LABEL: _flag(value=primary)}}


def primary_flag(finding: ResolvedFinding) -> str:
    """Return the value of the `primary` label."""
    return _flag(finding.primary)


def _event(
    *,
    name: str,
    type_: EventType,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    reason: str,
    message: str,
    involved: ObjectRef,
    related: ObjectRef,
    now: datetime,
    instance: str,
) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": name,
            "namespace": EVENT_NAMESPACE,
            "labels": {
                f"{LABEL_PREFIX}{key}": label_value(str(value))
                for key, value in labels.items()
                if value
            },
            "annotations": dict(annotations),
        },
        "type": str(type_),
        "reason": reason,
        "message": cut(clean(message), MESSAGE_BYTES),
        "action": ACTION,
        "involvedObject": reference(involved),
        "related": reference(related),
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "reportingInstance": cut(instance, _INSTANCE_BYTES),
        "eventTime": rfc3339_micro(now),
        "firstTimestamp": rfc3339(now),
        "lastTimestamp": rfc3339(now),
        "count": 1,
    }


def reference(ref: ObjectRef) -> Document:
    """Return a reference as it is in an Event; what is not known is left out."""
    fields = {
        "apiVersion": ref.api_version,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "uid": ref.uid,
    }
    return {key: value for key, value in fields.items() if value}


def _flag(value: bool) -> str:  # noqa: FBT001  # it is the value that is written
    return "true" if value else "false"

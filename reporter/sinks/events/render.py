"""One Event of the report as an API object, with a name and labels that are valid and without collisions.

An Event about an object elsewhere may lie in kube-system only with `eventTime`, and then its
message, action, reason and reporter are bounded (Kubernetes, pkg/apis/core/validation/events.go).
It also has `count` and `lastTimestamp`, which every client prints.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, TypeAlias

from reporter.catalogue.resources import COMPONENT, EVENT_NAMESPACE, LABEL_PREFIX
from reporter.model.finding import FindingKey
from reporter.model.instant import rfc3339, rfc3339_micro
from reporter.model.reason import EventType
from reporter.model.report import Disposition, ReadySubject, Report, ResolvedFinding
from reporter.model.subject import ObjectRef, Subject
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

Document: TypeAlias = dict[str, object]

ACTION: Final = "Evaluate"
STATE_LABEL: Final = f"{LABEL_PREFIX}state"
_INSTANCE_BYTES = 128

NAME_LENGTH: Final = 253
LABEL_LENGTH: Final = 63
_HASH_DIGITS = 16
_LABEL_HASH_DIGITS = 8
_NOT_IN_NAME = re.compile(r"[^a-z0-9-]+")
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")

_NO_REFERENCE: Final[Document] = dict.fromkeys(("apiVersion", "kind", "namespace", "name", "uid"))
"""In a merge patch: takes away what the reference before had."""


def event_name(key: FindingKey, since: datetime) -> str:
    """Return the name of the Event of one episode of a key.

    The hash covers the exact key and the start of the episode, so that two keys never share an
    Event and a recurrence is a new object for those who watch creations.
    """
    involved = (key.involved.api_version, key.involved.kind, key.involved.name)
    return _name(key.reason, key.subject, (*involved, rfc3339_micro(since)))


def ready_name(ready: ReadySubject) -> str:
    return _name(ready.reason, ready.subject, ("ready", ready.episode))


def _name(reason: str, subject: Subject, exact: Iterable[str]) -> str:
    whole = json.dumps([reason, subject.kind, subject.namespace, subject.name, *exact])
    digest = hashlib.sha256(whole.encode()).hexdigest()[:_HASH_DIGITS]
    tail = f".{_part(reason)}.{digest}"
    parts = (_part(subject.namespace), _part(subject.name)) if subject.namespace else ("cluster",)
    head = ".".join(part for part in parts if part)
    return head[: NAME_LENGTH - len(tail)].rstrip(".-") + tail


def _part(text: str) -> str:
    return _NOT_IN_NAME.sub("-", text.lower()).strip("-")


def label_value(text: str) -> str:
    """Return `text` as a label value; one that does not fit is cut and made unique by a hash."""
    if not text or (len(text) <= LABEL_LENGTH and _LABEL.fullmatch(text)):
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:_LABEL_HASH_DIGITS]
    kept = re.sub(r"[^A-Za-z0-9_.-]+", "-", text)[: LABEL_LENGTH - len(digest) - 1]
    return f"{kept.strip('-_.')}-{digest}".lstrip("-")


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
    return (
        finding.disposition is Disposition.FIRING
        and not finding.stale
        and finding.reason not in settings.disable_reasons
    )


def told_ready(report: Report, settings: EvaluationSettings) -> list[ReadySubject]:
    return [
        each for each in report.ready if each.due and each.reason not in settings.disable_reasons
    ]


def finding_event(finding: ResolvedFinding, now: datetime, instance: str) -> Document:
    return _event(
        finding,
        now,
        name=event_name(finding.key, finding.since),
        type_=finding.type,
        state=RecordState.FIRING,
        primary=finding.primary,
        annotations={
            SEVERITY_ANNOTATION: finding.severity,
            SINCE_ANNOTATION: rfc3339_micro(finding.since),
        },
        instance=instance,
    )


def ready_event(ready: ReadySubject, now: datetime, instance: str) -> Document:
    """Its state is `over`, as it marks a moment."""
    return _event(
        ready,
        now,
        name=ready_name(ready),
        type_=EventType.NORMAL,
        state=RecordState.OVER,
        primary=False,
        annotations={SINCE_ANNOTATION: rfc3339_micro(now)},
        instance=instance,
    )


def repeat_patch(
    finding: ResolvedFinding, count: int, now: datetime, *, unmute: bool = False
) -> Document:
    return {
        "metadata": {
            **_labels(RecordState.FIRING, primary=finding.primary),
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
    return {"metadata": _labels(state, primary=primary)}


def over_patch(*, muted: bool, unmute: bool) -> Document:
    """`muted` notes that its episode goes on, `unmute` takes that note away."""
    labels = _labels(RecordState.OVER, primary=False)
    if not (muted or unmute):
        return {"metadata": labels}
    return {"metadata": {**labels, "annotations": {MUTED_ANNOTATION: "true" if muted else None}}}


def _labels(state: RecordState, *, primary: bool) -> Document:
    return {"labels": {STATE_LABEL: str(state), PRIMARY_LABEL: flag(primary)}}


def _event(
    told: ResolvedFinding | ReadySubject,
    now: datetime,
    *,
    name: str,
    type_: EventType,
    state: RecordState,
    primary: bool,
    annotations: Mapping[str, str],
    instance: str,
) -> Document:
    labels = {
        "layer": told.layer,
        "reason": told.reason,
        "subject-kind": told.subject.kind,
        "subject-namespace": told.subject.namespace,
        "subject-name": told.subject.name,
        "state": state,
        "primary": flag(primary),
    }
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
            "annotations": {**annotations, SUBJECT_ANNOTATION: str(told.subject)},
        },
        "type": str(type_),
        "reason": told.reason,
        "message": cut(clean(told.message), MESSAGE_BYTES),
        "action": ACTION,
        "involvedObject": reference(told.involved),
        "related": reference(told.related),
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "reportingInstance": cut(instance, _INSTANCE_BYTES),
        "eventTime": rfc3339_micro(now),
        "firstTimestamp": rfc3339(now),
        "lastTimestamp": rfc3339(now),
        "count": 1,
    }


def reference(ref: ObjectRef) -> Document:
    """What is not known is left out."""
    fields = {
        "apiVersion": ref.api_version,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "uid": ref.uid,
    }
    return {key: value for key, value in fields.items() if value}


def flag(value: bool) -> str:  # noqa: FBT001  # it is the value that is written
    return "true" if value else "false"

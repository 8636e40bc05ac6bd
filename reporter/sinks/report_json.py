"""The report as JSON (`check -o json`, and `/api/v1/report` of a daemon)."""

from collections.abc import Mapping
from typing import Final, TypeAlias

from reporter.model.finding import Derived, Diagnosis
from reporter.model.instant import rfc3339
from reporter.model.report import Impact, Mute, Report, ResolvedFinding, SpecChange, SubjectState
from reporter.model.subject import ObjectRef
from reporter.model.text import json_text
from reporter.settings import EvaluationSettings
from reporter.sinks.events.plan import events_of

ReportDocument: TypeAlias = dict[str, object]

API_VERSION = "status-reporter/v1"

MUTES_LISTED: Final = 20
"""Most mutes listed in a finding: thousands of its pods may carry one. The report lists all."""


def report_json(
    report: Report, settings: EvaluationSettings, about: Mapping[str, object] | None = None
) -> bytes:
    """Return the report as JSON with `about` as further members; equal reports give equal bytes."""
    document = {**report_document(report, settings), **(about or {})}
    if report.outside:
        passed_over = (about or {}).get("notLookedAt")
        more = passed_over if isinstance(passed_over, list) else []
        document["notLookedAt"] = [*map(str, report.outside), *more]
    return json_text(document).encode() + b"\n"


def report_document(report: Report, settings: EvaluationSettings) -> ReportDocument:
    return {
        "apiVersion": API_VERSION,
        "kind": "Report",
        "now": rfc3339(report.now),
        "findings": [_finding(each) for each in report.findings],
        "subjects": [_state(each) for each in report.states],
        "ready": [
            {"reason": each.reason, "subject": str(each.subject), "state": str(each.state)}
            for each in sorted(report.ready, key=lambda each: each.subject)
        ],
        "unknown": [
            {"resource": each.resource, "cause": each.cause} for each in sorted(report.unknown)
        ],
        "skipped": [
            {
                "resource": each.resource,
                "namespace": each.namespace,
                "name": each.name,
                "cause": each.cause,
            }
            for each in sorted(report.skipped)
        ],
        "mutes": [{**_mute(each), "reasons": list(each.reasons)} for each in report.mutes],
        "muteFaults": [
            {"object": reference(each.object), "text": each.text} for each in report.mute_faults
        ],
        "derived": [_derived(each) for each in report.derived],
        "events": sorted(events_of(report, settings), key=event_name),
    }


def _finding(finding: ResolvedFinding) -> ReportDocument:
    more = len(finding.mutes) - MUTES_LISTED
    return {
        "reason": finding.reason,
        "layer": str(finding.layer),
        "type": str(finding.type),
        "disposition": str(finding.disposition),
        "primary": finding.primary,
        "stale": finding.stale,
        "subject": str(finding.subject),
        "involvedObject": reference(finding.involved),
        "related": reference(finding.related),
        "message": finding.message,
        "cause": finding.cause,
        "since": rfc3339(finding.since) if finding.age_known else None,
        "ageKnown": finding.age_known,
        **({"notBefore": rfc3339(finding.not_before)} if finding.not_before else {}),
        "firesAt": rfc3339(finding.fires_at) if finding.fires_at else None,
        "by": list(finding.by),
        "commands": list(finding.commands),
        **({"impact": _impact(finding.impact)} if finding.impact is not None else {}),
        **({"diagnosis": _diagnosis(finding.diagnosis)} if finding.diagnosis else {}),
        **({"lastLines": list(finding.last_lines)} if finding.last_lines else {}),
        **({"changes": list(map(_change, finding.changes))} if finding.changes else {}),
        "mutes": [_mute(each) for each in finding.mutes[:MUTES_LISTED]],
        **({"moreMutes": more} if more > 0 else {}),
    }


def _diagnosis(diagnosis: Diagnosis) -> ReportDocument:
    return {
        "cause": diagnosis.cause,
        "object": reference(diagnosis.object) if diagnosis.object else None,
        "action": diagnosis.action,
        "sureness": str(diagnosis.sureness),
        "signature": diagnosis.signature or None,
    }


def _impact(impact: Impact) -> ReportDocument:
    return {
        "notServing": impact.not_serving,
        "degraded": impact.degraded,
        "namespaces": impact.namespaces,
        **({"notServingOtherwise": impact.otherwise} if impact.otherwise else {}),
    }


def _change(change: SpecChange) -> ReportDocument:
    optional = {"by": change.by, "field": change.field, "from": change.before, "to": change.after}
    return {
        "object": reference(change.object),
        "at": rfc3339(change.at),
        **{name: text for name, text in optional.items() if text},
    }


def _state(state: SubjectState) -> ReportDocument:
    since = rfc3339(state.since) if state.since else None
    return {
        "subject": str(state.subject),
        "state": str(state.state),
        "since": since,
        "cause": state.cause or None,
    }


def _mute(mute: Mute) -> ReportDocument:
    until = rfc3339(mute.until) if mute.until else None
    return {"object": reference(mute.object), "until": until}


def _derived(derived: Derived) -> ReportDocument:
    ref = derived.object
    place = {"namespace": ref.namespace, "name": ref.name}
    return {"kind": ref.kind, **place, "status": derived.status}


def reference(ref: ObjectRef) -> ReportDocument:
    place = {"namespace": ref.namespace} if ref.namespace else {}
    return {"apiVersion": ref.api_version, "kind": ref.kind, **place, "name": ref.name}


def event_name(event: Mapping[str, object]) -> str:
    metadata = event["metadata"]
    return str(metadata["name"]) if isinstance(metadata, dict) else ""

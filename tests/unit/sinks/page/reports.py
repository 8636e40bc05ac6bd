"""Reports for tests of the page: one finding at a time, and a thousand subjects."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from reporter.model.reason import EventType
from reporter.model.report import (
    Disposition,
    ReadySubject,
    Report,
    ResolvedFinding,
    ServingState,
    SkippedObject,
    SubjectState,
    UnknownResource,
)
from reporter.model.subject import CLUSTER, ObjectRef, Subject
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from tests.tables import BY_NAME

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
KAITO = "clusterKaitoControllerNotReady"
ISTIO = "clusterIstioControlPlaneNotReady"
GATEWAY = "modelharnessGatewayProgrammingFailed"
PODS = "inferencesetModelPodsNotReady"
INFRA = "inferencesetInfraProvisioningFailed"
EPP = "inferencesetEPPNotReady"
NAMESPACE = Subject.of_namespace("team")


def model(name, namespace="team", kind=INFERENCESET_KIND):
    return Subject(kind, namespace, name)


def finding(reason, subject=CLUSTER, disposition=Disposition.FIRING, **changes):
    name = subject.name or subject.namespace or "kaito-workspace"
    fields = {
        "reason": reason,
        "layer": BY_NAME[reason].layer if reason in BY_NAME else "modeldeployment",
        "type": EventType.WARNING, "subject": subject,
        "involved": ObjectRef("v1", "Namespace", "", subject.namespace or "kaito-system"),
        "related": ObjectRef("apps/v1", "Deployment", subject.namespace or "kaito-system", name),
        "disposition": disposition, "message": f"Deployment {name} is down: 0/1 ready",
        "cause": "0/1 ready", "since": NOW - timedelta(minutes=5),
    }  # fmt: skip
    return ResolvedFinding(**{**fields, **changes})


def ready(subject):
    place = ObjectRef("v1", "Namespace", "", subject.namespace)
    return ReadySubject(
        reason="inferencesetReady", layer=BY_NAME["inferencesetReady"].layer, subject=subject,
        involved=place, related=place, message="ready", due=False, episode="",
    )  # fmt: skip


def report(*findings, ready_ones=(), **changes):
    fields = {
        "now": NOW, "findings": findings, "ready": tuple(map(ready, ready_ones)), "unknown": (),
        "skipped": (),
    }  # fmt: skip
    return Report(catalogue=BUILT_IN, **{**fields, **changes})


def later(seconds, *findings, **changes):
    """Return a report of some seconds after `NOW`."""
    return replace(report(*findings, **changes), now=NOW + timedelta(seconds=seconds))


def large(subjects=1000, faulty=1000):
    """Return a cluster of very many models, of which some have a fault of some kind."""
    models = [model(f"model-{n:04}", f"team-{n % 40:02}") for n in range(subjects)]
    kinds = (
        (Disposition.FIRING, PODS, {}),
        (Disposition.SUPPRESSED, INFRA, {"by": (KAITO,)}),
        (Disposition.FIRING, EPP, {}),
        (Disposition.PENDING, PODS, {"fires_at": NOW + timedelta(seconds=95)}),
        (Disposition.HELD, INFRA, {"by": (KAITO,), "fires_at": NOW + timedelta(seconds=40)}),
        (Disposition.CLEARING, EPP, {}),
        (Disposition.FIRING, PODS, {"stale": True}),
    )
    findings = [finding(KAITO)]
    for number, subject in enumerate(models[:faulty]):
        disposition, reason, changes = kinds[number % len(kinds)]
        text = (
            f"InferenceSet {subject.namespace}/{subject.name}: pod {subject.name}-0: container "
            "model waits in ImagePullBackOff: the registry does not know the image"
        )
        since = NOW - timedelta(seconds=40 * (number % 97))
        findings.append(
            finding(reason, subject, disposition, message=text, cause="ImagePullBackOff",
                    since=since, **changes)
        )  # fmt: skip
    down = {each.subject for each in findings if each.disposition is Disposition.FIRING}
    states = [
        SubjectState(each, ServingState.NOT_SERVING if each in down else ServingState.SERVING)
        for each in models[:-3]
    ]
    return report(
        *findings,
        states=tuple(states),
        ready_ones=models[faulty:-3] if faulty < subjects else (),
        subjects=(CLUSTER, *models),
        unknown=(UnknownResource("workspaces.kaito.sh", "forbidden"),),
        skipped=(SkippedObject("pods", "team-01", "odd", "status.conditions is not a list"),),
    )

"""What a report says of one namespace."""

from dataclasses import replace

from reporter.catalogue.resources import NAMESPACES
from reporter.errors import UsageError
from reporter.model.report import Report
from reporter.model.subject import CLUSTER_KIND, ObjectRef, Subject
from reporter.model.text import clean
from reporter.snapshot.snapshot import Snapshot


def in_namespace(report: Report, namespace: str) -> Report:
    """Return what a report says of one namespace, and of the cluster, whose faults may be behind it."""

    def is_of(subject: Subject) -> bool:
        return subject.kind == CLUSTER_KIND or subject.namespace == namespace

    def is_in(ref: ObjectRef) -> bool:
        place = ref.name if ref.kind == "Namespace" else ref.namespace
        return place in {"", namespace}

    findings = tuple(each for each in report.findings if is_of(each.subject))
    muting = {mute for each in findings for mute in each.mutes}
    return replace(
        report,
        findings=findings,
        ready=tuple(each for each in report.ready if is_of(each.subject)),
        subjects=tuple(filter(is_of, report.subjects)),
        skipped=tuple(each for each in report.skipped if each.namespace in {"", namespace}),
        derived=tuple(each for each in report.derived if each.object.namespace == namespace),
        mutes=tuple(each for each in report.mutes if each in muting or is_in(each.object)),
        mute_faults=tuple(each for each in report.mute_faults if is_in(each.object)),
    )


def require_namespace(namespace: str, snapshot: Snapshot) -> None:
    """Refuse a namespace that is known not to exist: a misspelt name must not look healthy.

    Raises:
        UsageError: there is none of that name.

    """
    state = snapshot.state(NAMESPACES)
    looked = state.partial or snapshot.absence_known(NAMESPACES)
    if snapshot.known(NAMESPACES) and looked and snapshot[NAMESPACES].get("", namespace) is None:
        raise UsageError(f"there is no namespace {clean(namespace)}; see -n")

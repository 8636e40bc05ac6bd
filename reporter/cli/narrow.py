"""What a report says of one namespace, and what a look passed over."""

from dataclasses import replace
from typing import Final

from reporter.catalogue.resources import NAMESPACES
from reporter.errors import UsageError
from reporter.model.report import Report
from reporter.model.subject import CLUSTER_KIND, ObjectRef, Subject
from reporter.model.text import clean
from reporter.snapshot.snapshot import Snapshot

_NO_METRICS: Final = (
    "Metrics of model pods were not read: slow downloads, full KV caches and the like are known only from "
    "the daemon's Events on record, marked stale."
)
_NO_EVENTS: Final = " These are in kube-system and were not read either."


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
        states=tuple(each for each in report.states if is_of(each.subject)),
        skipped=tuple(each for each in report.skipped if each.namespace in {"", namespace}),
        derived=tuple(each for each in report.derived if each.object.namespace == namespace),
        mutes=tuple(each for each in report.mutes if each in muting or is_in(each.object)),
        mute_faults=tuple(each for each in report.mute_faults if is_in(each.object)),
    )


def require_namespace(namespace: str, snapshot: Snapshot, only: str = "") -> None:
    """Refuse a namespace that is known not to exist: a misspelt name must not look healthy.

    Raises:
        UsageError: there is none of that name, or `only` another one was read.

    """
    if only not in {"", namespace}:
        raise UsageError(f"only namespace {clean(only)} was read, not {clean(namespace)}; see -n")
    state = snapshot.state(NAMESPACES)
    looked = state.partial or snapshot.absence_known(NAMESPACES)
    if snapshot.known(NAMESPACES) and looked and snapshot[NAMESPACES].get("", namespace) is None:
        raise UsageError(f"there is no namespace {clean(namespace)}; see -n")


def not_looked_at(*, metrics: bool, namespace: str = "") -> tuple[str, ...]:
    """Return in words what a look passed over, so that its silence is not taken for health.

    Args:
        metrics: whether pages of model pods were read.
        namespace: the only one that was read; empty for all.

    """
    notes: list[str] = []
    if not metrics:
        notes.append(_NO_METRICS if not namespace else f"{_NO_METRICS}{_NO_EVENTS}")
    if namespace:
        notes.append(
            f"Only namespace {clean(namespace)} was read: the cluster layer is unknown. A cause there is "
            "not told, and what it explains fires here; without -n it is judged too, by whoever may read it."
        )
    return tuple(notes)

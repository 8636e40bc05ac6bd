"""Whether an evaluation could judge anything, and which inputs it takes to do so.

Also the part of a report about one namespace, and notes on what a look left out.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from shlex import quote
from typing import Final

from reporter.catalogue import resources as r
from reporter.catalogue.reasons import CLUSTER_STATUS_UNKNOWN
from reporter.catalogue.resources import NAMESPACES
from reporter.errors import UsageError
from reporter.model.catalogue import Declared
from reporter.model.finding import Evaluation
from reporter.model.report import Report, skipped_lines
from reporter.model.subject import CLUSTER_KIND, Layer, ObjectRef, Subject
from reporter.model.text import clean
from reporter.probes.cluster.blindness import blind_message, named, unseen
from reporter.setting_types import StackMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import FORBIDDEN, NOT_LISTED, Served, Snapshot
from reporter.workload.components import components

_SHORT: Final = {"namespaces": "ns"}


def is_judged(evaluation: Evaluation, snapshot: Snapshot, settings: EvaluationSettings) -> bool:
    """Tell whether at least one subject could be judged.

    A subject is judged if a fault of it is seen, or if everything that one of its reasons reads is
    known. For the cluster, a place where one of its components may be must be known.
    """
    return any(each.reason != CLUSTER_STATUS_UNKNOWN for each in evaluation.findings) or any(
        _is_judged(each.subject, snapshot, settings) for each in evaluation.subjects
    )


def _is_judged(subject: Subject, snapshot: Snapshot, settings: EvaluationSettings) -> bool:
    if subject.kind == CLUSTER_KIND:
        if snapshot.state(r.NAMESPACES).partial:
            return False  # only one namespace was read
        return (
            snapshot.discovery.is_whole
            or bool(snapshot.discovery.absent)
            or any(
                snapshot.absence_known(r.DEPLOYMENTS, namespace) or component.found(snapshot)
                for component in components(settings)
                for namespace in component.namespaces
            )
            or any(_was_looked_at(each, snapshot) for each in settings.catalogue.declared)
        )
    return any(
        all(snapshot.known(resource) for resource in reason.reads)
        for reason in settings.catalogue
        if reason.subject_kind == subject.kind and not reason.says_ready
    )


def _was_looked_at(declared: Declared, snapshot: Snapshot) -> bool:
    """Tell whether a component of the cluster that a user declared was looked for."""
    component, resource = declared.component, declared.resource
    if component.layer is not Layer.CLUSTER or resource is None:
        return False
    if component.workload is None:
        return snapshot.known(resource)
    return any(
        snapshot.absence_known(resource, namespace)
        or snapshot[resource].get(namespace, component.workload.name) is not None
        for namespace in component.workload.namespaces
    )


def reads_anything(snapshot: Snapshot) -> bool:
    return any(state.served is Served.SERVED for state in snapshot.states.values())


def why_nothing_is_judged(
    snapshot: Snapshot, settings: EvaluationSettings, *, from_dump: bool
) -> str:
    if from_dump:
        lines = [
            (
                "nothing can be judged from this dump; "
                "`status-reporter dump` writes a sufficient one, as do:"
            ),
            *_recipe(settings),
        ]
        if snapshot.skipped:
            lines += ["skipped in this one:", *skipped_lines(snapshot.skipped)]
        return "\n  ".join(lines)
    causes = [blind_message(cause, unknown) for cause, unknown in sorted(unseen(snapshot).items())]
    late = [str(each) for each, state in snapshot.states.items() if state.cause == NOT_LISTED]
    if late:
        causes.append(f"{named(sorted(set(late)))}: the API server did not list these in time")
    if snapshot.covered is None and any(each.cause == FORBIDDEN for each in unseen(snapshot)):
        causes.append("with rights in one namespace only: -n NAMESPACE")
    return "\n  ".join(("nothing can be judged, because this could not be read:", *causes))


def _recipe(settings: EvaluationSettings) -> tuple[str, ...]:
    """Return the kubectl commands that read the evaluated kinds one by one.

    One command for all kinds would print nothing if a single kind is not installed. If a command is
    refused, its file is empty and the kind stays unknown; with `--complete` it would be absent.
    """
    read = [
        each
        for each in settings.catalogue.resources
        if not each.stack or settings.stack(each.stack) is not StackMode.OFF
    ]
    by_kind: dict[str, set[str]] = defaultdict(set)
    for each in read:
        by_kind[str(each)].add(each.label_selector)
    # A kind with several selectors is read as a whole, as it has one file.
    selector = {name: chosen.pop() if len(chosen) == 1 else "" for name, chosen in by_kind.items()}
    istio = settings.istio_namespace[0] if settings.istio_namespace else "istio-system"
    own_events = f"events -n {r.EVENT_NAMESPACE} -l {r.EVENTS.label_selector}"
    return (
        "mkdir dump",
        *(
            _all_of([name for name, each in selector.items() if each == one], one)
            for one in dict.fromkeys(selector.values())
        ),
        f"kubectl get configmap {r.ISTIO_CONFIGMAP} -n {istio} -o yaml > dump/mesh.yaml",
        f"kubectl get {own_events} -o yaml > dump/events.yaml",
        "status-reporter check --from dump",
    )


def _all_of(names: Iterable[str], selector: str) -> str:
    kinds = ["crd"] if not selector else []
    kinds += [_SHORT.get(each, each) for each in names]
    chosen = f" -l {quote(selector)}" if selector else ""
    get = f'kubectl get "$kind" -A{chosen} -o yaml > "dump/$kind.yaml"'
    return f"for kind in {' '.join(kinds)}; do {get}; done"


_NO_METRICS: Final = (
    "Metrics of model pods were not read: slow downloads, full KV caches and the like are known "
    "only from the daemon's Events on record, marked stale."
)
_NO_EVENTS: Final = " These are in kube-system and were not read either."


def in_namespace(report: Report, namespace: str) -> Report:
    """Return the part of a report about one namespace, and about the cluster behind its faults."""

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
    if only not in {"", namespace}:
        raise UsageError(f"only namespace {clean(only)} was read, not {clean(namespace)}; see -n")
    state = snapshot.state(NAMESPACES)
    looked = state.partial or snapshot.absence_known(NAMESPACES)
    if snapshot.known(NAMESPACES) and looked and snapshot[NAMESPACES].get("", namespace) is None:
        raise UsageError(f"there is no namespace {clean(namespace)}; see -n")


def not_looked_at(*, metrics: bool, namespace: str = "") -> tuple[str, ...]:
    """Return notes on what a look left out, so that its silence is not taken for health."""
    notes: list[str] = []
    if not metrics:
        notes.append(_NO_METRICS if not namespace else f"{_NO_METRICS}{_NO_EVENTS}")
    if namespace:
        notes.append(
            f"Only namespace {clean(namespace)} was read: the cluster layer is unknown. A cause "
            "there is not reported, and what it explains fires here; without -n it is judged too, "
            "with the rights to read it."
        )
    return tuple(notes)

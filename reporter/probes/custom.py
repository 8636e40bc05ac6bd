"""Probes for users' declarations (`custom-components`): conditions that should have a status,
CustomResourceDefinitions that should be served, workloads that should be available.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from reporter.model.catalogue import Catalogue, CustomCondition, Declared
from reporter.model.finding import Evaluation, Finding
from reporter.model.objects import Condition, KubeObject
from reporter.model.paths import condition_of, generation_of
from reporter.model.resource import AnyResource
from reporter.model.subject import CLUSTER, Layer, Subject, crd_ref
from reporter.model.text import clean, cut, detail
from reporter.probes.scope import Probe, Scope, contained_probe, joined, of_workload
from reporter.snapshot.snapshot import Served, Snapshot
from reporter.workload.components import managed_namespaces, namespace_ref
from reporter.workload.owners import (
    DeclaredWorkload,
    first_there,
    judge_workload,
    owning_subject,
)
from reporter.workload.replica_faults import MISSING, WorkloadFault


@dataclass(frozen=True, kw_only=True)
class DeclaredScope(Scope):
    """The cluster, and one user declaration."""

    declared: Declared


_CAUSE_BYTES: Final = 100


def probe_condition(scope: DeclaredScope) -> Iterator[Finding]:
    """Yield a finding for each object whose condition does not have the required status.

    A condition that is missing or Unknown does not count. A condition that was written for an
    earlier spec may be about something that was just corrected: it continues a firing fault, but
    does not start one. Objects that are being deleted are left out.
    """
    component, resource = scope.declared.component, scope.declared.resource
    rule = component.condition
    if rule is None or resource is None:
        return
    table = scope.snapshot[resource]
    for obj in table.chosen((rule.type, rule.status), lambda objects: _failing(objects, rule)):
        subject = _subject_of(obj, resource, rule.subject_label, scope=scope)
        condition = condition_of(obj, rule.type)
        if subject is not None and condition is not None:
            yield _of_condition(obj, condition, subject, resource=resource, scope=scope)


def _failing(objects: Iterable[KubeObject], rule: CustomCondition) -> Iterator[KubeObject]:
    for obj in objects:
        condition = condition_of(obj, rule.type)
        if condition is None or obj.deleting:
            continue
        if condition.status not in (rule.status, "Unknown", ""):
            yield obj


def _subject_of(
    obj: KubeObject, resource: AnyResource, label: str, *, scope: DeclaredScope
) -> Subject | None:
    component, catalogue = scope.declared.component, scope.settings.catalogue
    if component.layer is Layer.CLUSTER:
        return CLUSTER
    if component.layer is Layer.HARNESS:
        return Subject.of_namespace(obj.namespace)
    kind = catalogue[component.reason].subject_kind
    if label:
        name = obj.metadata.label(label)
        return Subject(kind, obj.namespace, name) if name else None
    return owning_subject(resource, obj, kind, snapshot=scope.snapshot, catalogue=catalogue)


def _of_condition(
    obj: KubeObject,
    condition: Condition,
    subject: Subject,
    *,
    resource: AnyResource,
    scope: DeclaredScope,
) -> Finding:
    component, catalogue = scope.declared.component, scope.settings.catalogue
    related = resource.ref(obj)
    kinds = {each.kind for each in catalogue.of_subject(subject.kind)}
    # The message begins with the subject, unless that is the object itself.
    title = f"{min(kinds)} {subject.namespace}/{subject.name}: " if kinds else ""
    reason = detail(condition.reason, condition.message)
    fault = f"{condition.type} is {condition.status}"
    text = f"{related}: {fault}" + (f", {reason}" if reason else "")
    return Finding(
        reason=component.reason,
        subject=subject,
        involved=namespace_ref(scope.snapshot, obj.namespace or scope.settings.release_namespace),
        related=related,
        message=clean(text if resource.kind in kinds else f"{title}{text}"),
        cause=cut(
            clean(" ".join((fault, f"({condition.reason})" * bool(condition.reason)))), _CAUSE_BYTES
        ),
        transition=condition.last_transition_time,
        created=obj.created,
        governs=bool(component.suppresses),
        sustains=is_outdated(resource, obj, condition, catalogue=catalogue),
    )


def is_outdated(
    resource: AnyResource, obj: KubeObject, condition: Condition, *, catalogue: Catalogue
) -> bool:
    """Tell whether a condition was written for an earlier generation of its object.

    By the API's conventions, its own `observedGeneration` says so; many controllers only set that
    of the status. If an object has neither, the condition counts as current.
    """
    observed = generation_of(condition.observed_generation)
    read = catalogue.of_kind(resource.kind, resource.group)
    if not observed and not any(each.observes_another for each in read):
        observed = generation_of(getattr(getattr(obj, "status", None), "observed_generation", None))
    return 0 < observed < obj.metadata.generation


def probe_crd(scope: DeclaredScope) -> Iterator[Finding]:
    """Yield a finding for a CRD that is absent by discovery; failed discovery does not count."""
    component = scope.declared.component
    if component.crd is None:
        return
    name = component.crd.name
    if scope.snapshot.discovery.state(name) is not Served.ABSENT:
        return
    ref = crd_ref(name)
    yield Finding(
        reason=component.reason,
        subject=CLUSTER,
        involved=ref,
        related=ref,
        message=clean(f"{ref} is not served: install or repair what provides it"),
        cause=f"{name} missing",
        governs=bool(component.suppresses),
    )


def probe_workload(scope: DeclaredScope) -> Iterator[Finding]:
    """Yield a finding for a workload that is down or degraded, or missing where it should be.

    In the cluster layer it should be in one of its namespaces; in the harness layer, in each
    workload namespace or each of those that are named.
    """
    component = scope.declared.component
    if component.workload is None or scope.declared.resource is None:
        return
    workload = DeclaredWorkload(component, component.workload, scope.declared.resource)
    snapshot = scope.snapshot
    for subject, namespace, found in _places(workload, snapshot):
        fault = MISSING if found is None else judge_workload(found, snapshot)
        if fault is not None:
            yield _finding(
                workload, fault, found, namespace=namespace, subject=subject, snapshot=snapshot
            )


def _places(
    workload: DeclaredWorkload, snapshot: Snapshot
) -> Iterator[tuple[Subject, str, KubeObject | None]]:
    """Yield the subject and namespace of each place with the workload; None where it is missing."""
    if workload.component.layer is Layer.CLUSTER:
        found = workload.found(snapshot)
        if found is not None or workload.is_missing(snapshot):
            home = first_there(workload.workload.namespaces, snapshot)
            yield CLUSTER, found.namespace if found else home, found
        return
    wanted = workload.workload.namespaces
    for namespace in (each.name for each in managed_namespaces(snapshot)):
        if not wanted or namespace in wanted:
            found = snapshot[workload.resource].get(namespace, workload.workload.name)
            if found is not None or workload.absent(snapshot, namespace):
                yield Subject.of_namespace(namespace), namespace, found


def _finding(
    workload: DeclaredWorkload,
    fault: WorkloadFault,
    found: KubeObject | None,
    *,
    namespace: str,
    subject: Subject,
    snapshot: Snapshot,
) -> Finding:
    resource, wanted = workload.resource, workload.workload
    related = resource.ref(found) if found else resource.ref_named(namespace, wanted.name)
    text = f"{related} is {fault.state}: {fault.detail}"
    if found is None and subject == CLUSTER and len(wanted.namespaces) > 1:
        text += f" (looked in {', '.join(wanted.namespaces)})"
    return Finding(
        reason=workload.component.reason,
        subject=subject,
        involved=namespace_ref(snapshot, namespace),
        related=related,
        message=clean(text),
        cause=fault.cause,
        severity=fault.severity,
        created=found.created if found else None,
        budget=fault.budget,
        governs=fault.down and bool(workload.component.suppresses),
        **of_workload(fault),
    )


_PROBES: Final[tuple[Probe[DeclaredScope], ...]] = (probe_workload, probe_crd, probe_condition)


def evaluate_custom(scope: Scope, subjects: Collection[Subject]) -> Evaluation:
    """Return the findings of all declarations that are about one of `subjects`.

    Each pass evaluates them again; the indexes of the tables keep that cheap.
    """
    return joined(
        contained_probe(
            declared.component.reason,
            "custom component",
            partial(_found, scope, declared, subjects),
        )
        for declared in scope.settings.catalogue.declared
    )


def _found(scope: Scope, declared: Declared, subjects: Collection[Subject]) -> Iterator[Finding]:
    of_declaration = DeclaredScope(**scope.basis, declared=declared)
    for probe in _PROBES:
        for finding in probe(of_declaration):
            if finding.subject in subjects:
                yield finding

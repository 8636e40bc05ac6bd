"""Probes for users' declarations (`custom-components`): conditions that should have a status,
CustomResourceDefinitions that should be served, workloads that should be available.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from reporter.model.catalogue import Catalogue, CustomComponent, CustomCondition, Declared
from reporter.model.finding import Evaluation, Finding
from reporter.model.objects import Condition, KubeObject
from reporter.model.paths import condition_of, generation_of
from reporter.model.resource import Resource
from reporter.model.subject import CLUSTER, Layer, Subject, SubjectKind, crd_ref
from reporter.model.text import clean, cut, detail
from reporter.probes.scope import Probe, Scope, contained_probe, joined, of_workload
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Served, Snapshot
from reporter.workload.components import managed_namespaces, namespace_ref
from reporter.workload.owners import DeclaredWorkload, judge_workload, owning_subject
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
    failing = table.chosen((rule.type, rule.status), lambda objects: _failing(objects, rule))
    if not failing:
        return
    of_rule = _RuleScope(component, resource, scope.snapshot, scope.settings)
    for obj in failing:
        subject = of_rule.subject_of(obj)
        condition = condition_of(obj, rule.type)
        if subject is not None and condition is not None:
            yield of_rule.finding(obj, condition, subject)


def _failing(objects: Iterable[KubeObject], rule: CustomCondition) -> Iterator[KubeObject]:
    for obj in objects:
        condition = condition_of(obj, rule.type)
        if condition is None or obj.deleting:
            continue
        if condition.status not in (rule.status, "Unknown", ""):
            yield obj


@dataclass(frozen=True, slots=True)
class _RuleScope:
    """One rule over the objects of one snapshot."""

    component: CustomComponent
    resource: Resource[KubeObject]
    snapshot: Snapshot
    settings: EvaluationSettings

    @property
    def _subject_kind(self) -> SubjectKind:
        return self.settings.catalogue[self.component.reason].subject_kind

    def subject_of(self, obj: KubeObject) -> Subject | None:
        """Return the subject of a finding about an object, or None if it has no subject."""
        rule = self.component.condition
        match self.component.layer:
            case Layer.CLUSTER:
                return CLUSTER
            case Layer.HARNESS:
                return Subject.of_namespace(obj.namespace)
            case _ if rule is not None and rule.subject_label:
                name = obj.metadata.label(rule.subject_label)
                return Subject(self._subject_kind, obj.namespace, name) if name else None
            case _:
                return owning_subject(
                    self.resource,
                    obj,
                    self._subject_kind,
                    snapshot=self.snapshot,
                    catalogue=self.settings.catalogue,
                )

    def finding(self, obj: KubeObject, condition: Condition, subject: Subject) -> Finding:
        """Return the finding about a failing object."""
        related = self.resource.ref(obj)
        reason = detail(condition.reason, condition.message)
        fault = f"{condition.type} is {condition.status}"
        namespace = obj.namespace or self.settings.release_namespace
        return Finding(
            reason=self.component.reason,
            subject=subject,
            involved=namespace_ref(self.snapshot, namespace),
            related=related,
            message=clean(
                f"{self._title(subject)}{related}: {fault}" + (f", {reason}" if reason else "")
            ),
            cause=cut(
                clean(" ".join((fault, f"({condition.reason})" * bool(condition.reason)))),
                _CAUSE_BYTES,
            ),
            transition=condition.last_transition_time,
            created=obj.created,
            governs=bool(self.component.suppresses),
            sustains=is_outdated(self.resource, obj, condition, catalogue=self.settings.catalogue),
        )

    def _title(self, subject: Subject) -> str:
        """Return the start of the message: the subject, unless that is the object itself."""
        kinds = {each.kind for each in self.settings.catalogue.of_subject(subject.kind)}
        if not kinds or self.resource.kind in kinds:
            return ""
        return f"{min(kinds)} {subject.namespace}/{subject.name}: "


def is_outdated(
    resource: Resource[KubeObject], obj: KubeObject, condition: Condition, *, catalogue: Catalogue
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
            yield CLUSTER, found.namespace if found else workload.home(snapshot), found
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

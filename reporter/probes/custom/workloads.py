"""Whether the workloads that users declare are there and available."""

from collections.abc import Iterator

from reporter.model.finding import Finding
from reporter.model.objects import KubeObject
from reporter.model.subject import CLUSTER, Layer, Subject
from reporter.model.text import clean
from reporter.probes.custom.scope import DeclaredScope
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.components import managed_namespaces, namespace_ref
from reporter.workload.owners import DeclaredWorkload, judge_workload
from reporter.workload.standing import MISSING, WorkloadFault


def probe_workload(scope: DeclaredScope) -> Iterator[Finding]:
    """Yield a finding for a workload that is down or degraded, or missing where it should be.

    In the cluster layer it is in one of its namespaces; in the harness layer each workload
    namespace has one, or each of those that are named.
    """
    component = scope.declared.component
    if component.workload is None or scope.declared.resource is None:
        return
    workload = DeclaredWorkload(component, component.workload, scope.declared.resource)
    if component.layer is Layer.CLUSTER:
        yield from _of_cluster(workload, scope.snapshot)
    else:
        yield from _of_namespaces(workload, scope.snapshot)


def _of_cluster(workload: DeclaredWorkload, snapshot: Snapshot) -> Iterator[Finding]:
    found = workload.found(snapshot)
    if found is not None:
        yield from _judged(workload, found, CLUSTER, snapshot=snapshot)
    elif workload.is_missing(snapshot):
        yield _finding(
            workload,
            MISSING,
            None,
            namespace=workload.home(snapshot),
            subject=CLUSTER,
            snapshot=snapshot,
        )


def _of_namespaces(workload: DeclaredWorkload, snapshot: Snapshot) -> Iterator[Finding]:
    table, name = snapshot[workload.resource], workload.workload.name
    wanted = workload.workload.namespaces
    for namespace in (each.name for each in managed_namespaces(snapshot)):
        if wanted and namespace not in wanted:
            continue
        subject = Subject.of_namespace(namespace)
        found = table.get(namespace, name)
        if found is not None:
            yield from _judged(workload, found, subject, snapshot=snapshot)
        elif workload.absent(snapshot, namespace):
            yield _finding(
                workload, MISSING, None, namespace=namespace, subject=subject, snapshot=snapshot
            )


def _judged(
    workload: DeclaredWorkload, found: KubeObject, subject: Subject, *, snapshot: Snapshot
) -> Iterator[Finding]:
    fault = judge_workload(found, snapshot)
    if fault is not None:
        yield _finding(
            workload, fault, found, namespace=found.namespace, subject=subject, snapshot=snapshot
        )


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
    text = f"{related} is {fault.standing}: {fault.detail}"
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
        transition=fault.transition,
        created=found.created if found else None,
        budget=fault.budget,
        governs=fault.down and bool(workload.component.suppresses),
        lost_node=fault.lost_node,
        diagnosis=fault.diagnosis,
        started=fault.started,
        passing=fault.passing,
    )

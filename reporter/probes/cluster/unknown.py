"""What the reporter cannot read: a blind reporter says so where operators look."""

from collections.abc import Iterable, Iterator
from typing import Final

from reporter.catalogue.reasons import CLUSTER_STATUS_UNKNOWN
from reporter.model.catalogue import Catalogue
from reporter.model.finding import Finding, Unjudged
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.subject import API_RESOURCE, CLUSTER, NAMESPACE_KIND, ObjectRef
from reporter.model.text import clean
from reporter.probes.cluster.crds import crd_ref
from reporter.probes.scope import Scope
from reporter.snapshot.snapshot import NOT_LISTED, NOT_READ, ResourceState, Served, Snapshot
from reporter.workload.namespaces import namespace_ref

NO_FAULT: Final = frozenset({NOT_READ.cause, "not in the dump", NOT_LISTED})
"""Causes that say nobody tried, or that an answer is still waited for: no fault of the cluster."""


def probe_unknown_resources(scope: Scope) -> Iterator[Finding]:
    """Yield a finding for each resource that was asked for and cannot be read."""
    involved = namespace_ref(scope.snapshot, scope.settings.release_namespace)
    for resource, state in sorted(scope.snapshot.states.items(), key=lambda item: str(item[0])):
        if state.served is not Served.UNKNOWN or state.cause in NO_FAULT:
            continue
        if str(resource) in scope.snapshot.incomplete:
            continue  # the dump is cut off there, which is no fault of the cluster
        yield Finding(
            reason=CLUSTER_STATUS_UNKNOWN,
            subject=CLUSTER,
            involved=involved,
            related=_related(resource),
            message=_message(resource, state),
            cause=clean(f"{resource} {state.cause}"),
            transition=state.since.wall if state.since else None,
        )


def probe_unjudged(scope: Scope, unjudged: Iterable[Unjudged]) -> Iterator[Finding]:
    """Yield a finding for each subject or reason that a probe failed on: a fault of our own."""
    involved = namespace_ref(scope.snapshot, scope.settings.release_namespace)
    for each in sorted(unjudged):
        yield Finding(
            reason=CLUSTER_STATUS_UNKNOWN,
            subject=CLUSTER,
            involved=involved,
            related=_object_of(each, scope.snapshot, scope.settings.catalogue),
            message=clean(
                f"{each} cannot be judged ({each.cause}), so its status is unknown; this is a bug "
                "of the reporter: report it, with what is unusual about its objects"
            ),
            cause=clean(f"{each}: {each.cause}"),
        )


def _object_of(unjudged: Unjudged, snapshot: Snapshot, catalogue: Catalogue) -> ObjectRef:
    """Return what tells one from the next; a probe is no object of the cluster."""
    subject = unjudged.about
    if unjudged.reason:
        name = f"{unjudged.reason}/{unjudged.probe}"
        return ObjectRef("status-reporter.io/v1", "Probe", "", name)
    if subject.kind == NAMESPACE_KIND:
        return namespace_ref(snapshot, subject.namespace)
    resource, *_ = catalogue.of_subject(subject.kind)
    return resource.ref_named(subject.namespace, subject.name)


def _related(resource: Resource[KubeObject]) -> ObjectRef:
    """Return what tells one unknown resource from the next; a built-in one has no object."""
    if resource.custom:
        return crd_ref(resource.crd_name)
    return ObjectRef("v1", API_RESOURCE, "", str(resource))


def _message(resource: Resource[KubeObject], state: ResourceState) -> str:
    text = f"Resource {resource} cannot be read ({state.cause}), so what depends on it is unknown"
    if state.permission:
        text += f"; grant the reporter: {state.permission}"
    return clean(text)

"""Unknown is neither healthy nor a fault, and no verdict depends on unconfirmed data.

The module also finds objects of a stack's kinds that are not judged.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from reporter.catalogue.reasons import CLUSTER_CRD_MISSING
from reporter.catalogue.resources import DEPLOYMENTS, NAMESPACES, PODS, STATEFULSETS
from reporter.model.catalogue import Catalogue
from reporter.model.finding import FindingKey, KnownSubject
from reporter.model.objects import KubeObject
from reporter.model.reason import Reason
from reporter.model.report import Outside, UnknownResource
from reporter.model.resource import Resource
from reporter.model.subject import CLUSTER_KIND, ObjectRef, Subject
from reporter.setting_types import StackMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Served, Snapshot
from reporter.workload.components import is_left_out
from reporter.workload.engines import is_engine_alone


def unknown_resources(snapshot: Snapshot) -> tuple[UnknownResource, ...]:
    """Return every resource that could not be read completely, sorted."""
    unknown = {UnknownResource(name, cause) for name, cause in snapshot.incomplete.items()}
    unknown.update(
        UnknownResource(str(resource), state.cause)
        for resource, state in snapshot.states.items()
        if state.served is Served.UNKNOWN
    )
    read = {str(resource) for resource in snapshot.states} - snapshot.incomplete.keys()
    for each in snapshot.skipped:
        if each.resource in read and not each.name:
            place = f" of namespace {each.namespace}" if each.namespace else ""
            cause = f"an object{place} has no readable name"
            unknown.add(UnknownResource(each.resource, cause))
    return tuple(sorted(unknown))


def skipped_subjects(snapshot: Snapshot) -> set[Subject]:
    """Return the subjects that exist but are malformed, so nothing else is known about them."""
    kinds = {str(each): each.subject_kind for each in snapshot.states if each.subject_kind}
    return {
        Subject(kinds[each.resource], each.namespace, each.name)
        for each in snapshot.skipped
        if each.resource in kinds and each.name
    }


def verdict_unknown(
    key: FindingKey, at_fault: Iterable[ObjectRef], snapshot: Snapshot, *, catalogue: Catalogue
) -> bool:
    """Tell whether a resource that the key's reason reads for the objects at fault is unknown.

    An object that is skipped as malformed counts as unknown.
    """
    if key.involved.kind == "CustomResourceDefinition":
        return snapshot.discovery.state(key.involved.name) is Served.UNKNOWN
    objects = tuple(at_fault)
    reads = catalogue[key.reason].reads_of({each.kind for each in objects})
    skips = any(snapshot.skips(resource, each) for resource in reads for each in objects)
    return skips or not all(map(snapshot.known, reads))


def reads_unknown(reason: Reason, snapshot: Snapshot) -> bool:
    """Tell whether a resource that all findings of a reason read is unknown."""
    return not all(snapshot.known(resource) for resource in reason.reads)


def confirmed(reason: str, snapshot: Snapshot, catalogue: Catalogue) -> bool:
    """Tell whether a verdict on a reason may change.

    The resources of its upstreams have to be confirmed too; otherwise a symptom could be reported
    before its cause. Forbidden resources are not waited for: they are unknown, and an unknown
    upstream neither holds nor suppresses.
    """
    if reason == CLUSTER_CRD_MISSING and not snapshot.discovery.confirmed:
        return False
    return not any(snapshot.state(resource).awaited for resource in catalogue.rests_on(reason))


def existence_known(subject: Subject, snapshot: Snapshot, catalogue: Catalogue) -> bool:
    """Tell whether it is certain that a subject which was not found is gone."""
    if subject.kind == CLUSTER_KIND:
        return False
    return snapshot.absence_known(NAMESPACES, name=subject.namespace) and all(
        snapshot.absence_known(each, subject.namespace, subject.name)
        for each in catalogue.of_subject(subject.kind)
    )


_SELECTED: Final = "in namespaces that --model-namespaces selects"


def outside_of(
    subjects: Iterable[KnownSubject], snapshot: Snapshot, settings: EvaluationSettings
) -> tuple[Outside, ...]:
    """Return the objects that are not judged: of unjudged kinds, or in unselected namespaces."""
    known = [each.subject for each in subjects]
    found: list[Outside] = []
    for resource in _looked_at(settings):
        kind = resource.subject_kind
        judged = {each[1:] for each in known if each.kind == kind}
        # Nearly all are judged, so only the others are examined.
        left = [
            place
            for place, each in snapshot[resource].objects.items()
            if place not in judged
            and not each.deleting
            and (resource.unjudged or is_left_out(place[0], snapshot, settings))
        ]
        if left:
            which = "" if resource.unjudged else _SELECTED
            found.append(Outside(resource.kind, len(left), "/".join(min(left)), which))
    return (*found, *_engines_alone(snapshot, settings))


_WORKLOADS: Final = "of Deployments, StatefulSets, LeaderWorkerSets and the kinds of other stacks"


def _engines_alone(snapshot: Snapshot, settings: EvaluationSettings) -> Iterator[Outside]:
    """Yield the pods with an engine that belong to nothing that a stack judges."""
    known = {each.scraped.label for each in settings.catalogue.stacks if each.scraped}
    known |= {each.made_with for each in settings.catalogue.stacks}
    alone = sorted(
        f"{pod.namespace}/{pod.name}"
        for pod in snapshot[PODS].showing(is_engine_alone)
        if not is_left_out(pod.namespace, snapshot, settings)
        and known.isdisjoint(pod.metadata.labels or {})
        and (pod.metadata.owner_references or not _is_selected(pod, snapshot))
    )
    if alone:
        yield Outside(PODS.kind, len(alone), alone[0], _WORKLOADS, is_model=True)


def _is_selected(pod: KubeObject, snapshot: Snapshot) -> bool:
    """Tell whether a workload selects a pod; dumps may lack owners."""
    selectors = [each.spec.selector for each in snapshot[DEPLOYMENTS].in_namespace(pod.namespace)]
    selectors += [each.spec.selector for each in snapshot[STATEFULSETS].in_namespace(pod.namespace)]
    return any(each is not None and each.matches(pod.metadata.labels) for each in selectors)


def tables_of_stacks(snapshot: Snapshot, settings: EvaluationSettings) -> Iterator[object]:
    """Yield the inputs of `outside_of` other than the subjects: tables and served states."""
    yield from (snapshot.tables.get(each) for each in (PODS, DEPLOYMENTS, STATEFULSETS))
    if settings.model_namespaces:
        yield snapshot.tables.get(NAMESPACES)
    for resource in _looked_at(settings):
        yield snapshot.tables.get(resource)
        yield snapshot.state(resource).served


def _looked_at(settings: EvaluationSettings) -> Iterator[Resource[KubeObject]]:
    """Yield the resources with objects that may not be judged."""
    for stack in settings.catalogue.stacks:
        if settings.stack(stack.name) is StackMode.OFF:
            continue
        for resource in stack.resources:
            if resource.unjudged or (resource.subject_kind and settings.model_namespaces):
                yield resource

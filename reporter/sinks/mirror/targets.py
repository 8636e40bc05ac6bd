"""On which object of a workload's namespace an Event is mirrored. Pure."""

from reporter.catalogue.resources import NAMESPACES
from reporter.model.catalogue import Catalogue
from reporter.model.objects import KubeObject
from reporter.model.reason import EventType
from reporter.model.resource import Resource
from reporter.model.subject import CLUSTER_KIND, NAMESPACE_KIND, ObjectRef
from reporter.resolution.records import Record
from reporter.snapshot.snapshot import Snapshot


def target_of(record: Record, snapshot: Snapshot, catalogue: Catalogue) -> ObjectRef | None:
    """Return the object that an Event is mirrored on, with its uid; None where there is none.

    An Event about a model is mirrored on the model, one about a namespace on the object at fault
    if that is in the namespace. A namespace that goes takes no new Events. A Ready that is older
    than the model is about an earlier model of that name.
    """
    subject = record.key.subject
    if subject.kind == CLUSTER_KIND or _goes(subject.namespace, snapshot):
        return None
    if subject.kind != NAMESPACE_KIND:
        return _model(record, snapshot, catalogue)
    if record.related.namespace != subject.namespace:
        return None
    return _at_fault(record.related, snapshot, catalogue)


def may_be_there(record: Record, snapshot: Snapshot, catalogue: Catalogue) -> bool:
    """Tell whether the object of an Event may exist although the snapshot does not have it."""
    subject = record.key.subject
    resources = catalogue.of_subject(subject.kind) or _resources_of(
        record.related, snapshot, catalogue
    )
    name = subject.name or record.related.name
    return any(not snapshot.absence_known(each, subject.namespace, name) for each in resources)


def _goes(namespace: str, snapshot: Snapshot) -> bool:
    known = snapshot[NAMESPACES].get("", namespace)
    return known is not None and known.deleting


def _model(record: Record, snapshot: Snapshot, catalogue: Catalogue) -> ObjectRef | None:
    subject = record.key.subject
    for resource in catalogue.of_subject(subject.kind):
        obj = snapshot[resource].get(subject.namespace, subject.name)
        if obj is not None:
            return None if _precedes(record, obj) else resource.ref(obj)
    return None


def _precedes(record: Record, obj: KubeObject) -> bool:
    ready = record.event.type == EventType.NORMAL
    return ready and obj.created is not None and record.written < obj.created


def _at_fault(ref: ObjectRef, snapshot: Snapshot, catalogue: Catalogue) -> ObjectRef | None:
    resources = _resources_of(ref, snapshot, catalogue)
    for resource in resources:
        obj = snapshot[resource].get(ref.namespace, ref.name)
        if obj is not None:
            return resource.ref(obj)
    # Of a kind that is not read the Event itself says whether the object exists.
    return ref if ref.uid and not resources else None


def _resources_of(
    ref: ObjectRef, snapshot: Snapshot, catalogue: Catalogue
) -> tuple[Resource[KubeObject], ...]:
    """Return where all objects of this kind are read; nowhere if they are of a stack that is off."""
    group = ref.api_version.rpartition("/")[0]
    return tuple(
        each
        for each in catalogue.resources
        if (each.group, each.kind) == (group, ref.kind)
        and not each.label_selector
        and each in snapshot.states
    )

"""On which object of a workload's namespace an Event is mirrored. Pure."""

from collections.abc import Mapping
from typing import Final

from reporter.catalogue.resources import CLUSTER_WIDE, NAMESPACES
from reporter.model.objects import KubeObject
from reporter.model.reason import EventType
from reporter.model.resource import Resource
from reporter.model.subject import ObjectRef, SubjectKind
from reporter.resolution.records import Record
from reporter.snapshot.snapshot import Snapshot

_SUBJECTS: Final[Mapping[SubjectKind, tuple[Resource[KubeObject], ...]]] = {
    kind: tuple(each for each in CLUSTER_WIDE if each.subject_kind is kind) for kind in SubjectKind
}


def target_of(record: Record, snapshot: Snapshot) -> ObjectRef | None:
    """Return the object that an Event is mirrored on, with its uid; None where there is none.

    An Event about a model is mirrored on the model, one about a namespace on the object at fault
    if that is in the namespace. A namespace that goes takes no new Events. A Ready that is older
    than the model is about an earlier model of that name.
    """
    subject = record.key.subject
    if subject.kind is SubjectKind.CLUSTER or _goes(subject.namespace, snapshot):
        return None
    if subject.kind is not SubjectKind.NAMESPACE:
        return _model(record, snapshot)
    if record.related.namespace != subject.namespace:
        return None
    return _at_fault(record.related, snapshot)


def may_be_there(record: Record, snapshot: Snapshot) -> bool:
    """Tell whether the object of an Event may exist although the snapshot does not have it."""
    subject = record.key.subject
    resources = _SUBJECTS[subject.kind] or _resources_of(record.related, snapshot)
    return any(not snapshot.absence_known(each, subject.namespace) for each in resources)


def _goes(namespace: str, snapshot: Snapshot) -> bool:
    known = snapshot[NAMESPACES].get("", namespace)
    return known is not None and known.deleting


def _model(record: Record, snapshot: Snapshot) -> ObjectRef | None:
    subject = record.key.subject
    for resource in _SUBJECTS[subject.kind]:
        obj = snapshot[resource].get(subject.namespace, subject.name)
        if obj is not None:
            return None if _precedes(record, obj) else resource.ref(obj)
    return None


def _precedes(record: Record, obj: KubeObject) -> bool:
    ready = record.event.type == EventType.NORMAL
    return ready and obj.created is not None and record.written < obj.created


def _at_fault(ref: ObjectRef, snapshot: Snapshot) -> ObjectRef | None:
    resources = _resources_of(ref, snapshot)
    for resource in resources:
        obj = snapshot[resource].get(ref.namespace, ref.name)
        if obj is not None:
            return resource.ref(obj)
    # Of a kind that is not read the Event itself says whether the object exists.
    return ref if ref.uid and not resources else None


def _resources_of(ref: ObjectRef, snapshot: Snapshot) -> tuple[Resource[KubeObject], ...]:
    """Return where all objects of this kind are read; nowhere if they are of a stack that is off."""
    group = ref.api_version.rpartition("/")[0]
    return tuple(
        each
        for each in CLUSTER_WIDE
        if (each.group, each.kind) == (group, ref.kind)
        and not each.label_selector
        and each in snapshot.states
    )

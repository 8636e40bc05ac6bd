"""Which subject an object belongs to, by its owners."""

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from reporter.catalogue.resources import INFERENCESETS, of_subject
from reporter.model.objects import KubeObject, OwnerReference
from reporter.model.resource import Resource
from reporter.model.subject import Subject, SubjectKind
from reporter.snapshot.snapshot import Snapshot

CREATED_BY: Final = "inferenceset.kaito.sh/created-by"
"""Label of an InferenceSet's Workspaces and of their pods (KAITO, pkg/utils/consts/consts.go)."""

_GENERATIONS: Final = 5
"""How far up owners are followed: pod, StatefulSet, Workspace, InferenceSet, and one to spare."""

_Place: TypeAlias = tuple[Resource[KubeObject], KubeObject]


def owning_subject(
    resource: Resource[KubeObject], obj: KubeObject, kind: SubjectKind, *, snapshot: Snapshot
) -> Subject | None:
    """Return the subject of a kind that an object is, or that owns it; None if there is none.

    Owners are followed as far as their kinds are read. What KAITO makes names its InferenceSet in a
    label too, which a dump without the objects in between still has.
    """
    generation: list[_Place] = [(resource, obj)]
    for _ in range(_GENERATIONS):
        for each, found in generation:
            subject = _is_subject(each, found, kind) or _labelled(found, kind)
            if subject is not None:
                return subject
        generation = [owner for _, each in generation for owner in _owners(each, snapshot)]
    return None


def _is_subject(
    resource: Resource[KubeObject], obj: KubeObject, kind: SubjectKind
) -> Subject | None:
    own = any(
        (each.group, each.kind) == (resource.group, resource.kind) for each in of_subject(kind)
    )
    return Subject(kind, obj.namespace, obj.name) if own else None


def _labelled(obj: KubeObject, kind: SubjectKind) -> Subject | None:
    if kind is not INFERENCESETS.subject_kind:
        return None
    name = obj.metadata.label(CREATED_BY)
    return Subject(kind, obj.namespace, name) if name else None


def _owners(obj: KubeObject, snapshot: Snapshot) -> Iterator[_Place]:
    for reference in obj.metadata.owner_references or ():
        for resource in _of_kind(reference.kind, snapshot.tables):
            owner = snapshot[resource].get(obj.namespace, reference.name)
            if owner is not None and _is_meant(reference, owner):
                yield resource, owner


def _of_kind(
    kind: str, resources: Iterable[Resource[KubeObject]]
) -> Iterator[Resource[KubeObject]]:
    return (each for each in resources if each.kind == kind)


def _is_meant(reference: OwnerReference, owner: KubeObject) -> bool:
    """Tell whether it is the owner and not a later object of its name; a dump may have no uids."""
    uid = owner.metadata.uid
    return not uid or not reference.uid or uid == reference.uid

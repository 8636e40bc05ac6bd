"""Facts about objects of any kind: the subject that owns an object; workloads that users declared,
where they are and how they are judged; texts of conditions and Warnings for messages; and when an
object was last written, so that a controller may lag behind it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias, TypeGuard, TypeVar

from reporter.catalogue.resources import NAMESPACES
from reporter.diagnosis import reach
from reporter.diagnosis.case import why_it_fails
from reporter.model import objects as o
from reporter.model.catalogue import Catalogue, CustomComponent, CustomWorkload
from reporter.model.evidence import ForeignEvent
from reporter.model.finding import Diagnosis
from reporter.model.instant import parse_rfc3339
from reporter.model.resource import Resource
from reporter.model.subject import Layer, ObjectRef, Subject, SubjectKind
from reporter.model.text import detail
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.workload import deployment as d
from reporter.workload.replica_faults import WorkloadFault

_GENERATIONS: Final = 5
"""How far up owners are followed: pod, StatefulSet, Workspace, InferenceSet, and one to spare."""

_OWNERS: Final = 20
"""Maximum owners of one object that are followed; controllers set one."""

_Place: TypeAlias = tuple[Resource[o.KubeObject], o.KubeObject]


def owning_subject(
    resource: Resource[o.KubeObject],
    obj: o.KubeObject,
    kind: SubjectKind,
    *,
    snapshot: Snapshot,
    catalogue: Catalogue,
) -> Subject | None:
    """Return the subject of a kind that an object is or belongs to, or None.

    Owners are followed as far as their kinds are read. Objects created by a stack's controllers may
    also name their subject in a label, even in a dump without the objects in between.
    """
    own = {(each.group, each.kind) for each in catalogue.of_subject(kind)}
    stack = catalogue.stack_of(kind)
    label = stack.made_with if stack else ""
    generation: dict[ObjectRef, _Place] = {resource.ref(obj): (resource, obj)}
    for _ in range(_GENERATIONS):
        for of, each in generation.values():
            is_own = (of.group, of.kind) in own
            name = each.name if is_own else each.metadata.label(label) if label else None
            if name:
                return Subject(kind, each.namespace, name)
        above = (owner for _, each in generation.values() for owner in _owners(each, snapshot))
        generation = {of.ref(each): (of, each) for of, each in above}
    return None


def _owners(obj: o.KubeObject, snapshot: Snapshot) -> Iterator[_Place]:
    for reference in (obj.metadata.owner_references or ())[:_OWNERS]:
        for resource in snapshot.tables:
            if resource.kind == reference.kind:
                owner = snapshot[resource].get(obj.namespace, reference.name)
                if owner is not None and _is_meant(reference, owner):
                    yield resource, owner


def _is_meant(reference: o.OwnerReference, owner: o.KubeObject) -> bool:
    """Tell whether it is the owner, not a later object of its name; dumps may have no uids."""
    uid = owner.metadata.uid
    return not uid or not reference.uid or uid == reference.uid


@dataclass(frozen=True, slots=True)
class DeclaredWorkload:
    """A workload that a user declared, and where its objects are."""

    component: CustomComponent
    workload: CustomWorkload
    resource: Resource[o.KubeObject]

    def found(self, snapshot: Snapshot) -> o.KubeObject | None:
        """Return the object from the first of its namespaces that has it, or None."""
        table = snapshot[self.resource]
        places = (table.get(each, self.workload.name) for each in self.workload.namespaces)
        return next(filter(None, places), None)

    def is_missing(self, snapshot: Snapshot) -> bool:
        return all(self.absent(snapshot, each) for each in self.workload.namespaces)

    def absent(self, snapshot: Snapshot, namespace: str) -> bool:
        return snapshot.lacks(self.resource, namespace, self.workload.name)


def first_there(namespaces: Sequence[str], snapshot: Snapshot) -> str:
    """Return the first of some candidate namespaces that exists, else the first one."""
    table = snapshot[NAMESPACES]
    return next((each for each in namespaces if table.get("", each)), namespaces[0])


def declared_workloads(settings: EvaluationSettings, layer: Layer) -> Iterator[DeclaredWorkload]:
    for each in settings.catalogue.declared:
        component = each.component
        if component.layer is layer and component.workload and each.resource:
            yield DeclaredWorkload(component, component.workload, each.resource)


def judge_workload(workload: o.KubeObject, snapshot: Snapshot) -> WorkloadFault | None:
    match workload:
        case o.Deployment():
            return d.judge_deployment(workload, snapshot)
        case o.StatefulSet():
            return d.judge_statefulset(workload, snapshot)
        case o.DaemonSet():
            return d.judge_daemonset(workload, snapshot)
        case _:
            raise TypeError(f"{type(workload).__name__} is not a workload")


def is_workload_available(workload: o.KubeObject) -> bool:
    match workload:
        case o.Deployment():
            return d.is_available(workload)
        case o.StatefulSet():
            return d.is_statefulset_available(workload)
        case o.DaemonSet():
            return d.is_daemonset_available(workload)
        case _:
            raise TypeError(f"{type(workload).__name__} is not a workload")


_CONDITION_BYTES: Final = 400

ConditionT = TypeVar("ConditionT", bound=o.Condition)


def is_true(condition: ConditionT | None) -> TypeGuard[ConditionT]:
    return condition is not None and condition.status == "True"


def is_false(condition: ConditionT | None) -> TypeGuard[ConditionT]:
    return condition is not None and condition.status == "False"


def words(condition: o.Condition | None) -> str:
    """Return the reason and message of a condition, cleaned and bounded."""
    text = detail(condition.reason, condition.message, _CONDITION_BYTES) if condition else ""
    return text or "no reason given"


def not_ready_from(ready: o.Condition | None) -> datetime | None:
    """Return when Ready took its status.

    Return None for the reason Stopped, which is left over after a restart: its time is that of the
    stop, and the restarted model has a full grace.
    """
    return None if ready is None or ready.reason == "Stopped" else ready.last_transition_time


_TEXT_BYTES: Final = 300
_CONFLICT: Final = "the object has been modified"
"""The error of a controller whose write conflicted with another one; it retries at once."""


def warning_about(snapshot: Snapshot, about: ObjectRef) -> str:
    """Return the reason and message of the newest Warning about an object, or an empty string.

    Of a message that is too long, who refuses and why is returned, if it is known.
    """
    warning = _newest_warning(snapshot, about)
    if warning is None:
        return ""
    long = len(warning.message.encode()) > _TEXT_BYTES
    known = why_it_fails(warning.message, about.namespace, snapshot) if long else None
    said = detail(warning.reason, known.cause if known else warning.message, _TEXT_BYTES)
    why = reach.shut_off(warning.message, snapshot)
    return said + (f": {why}" if why else "")


def why_warned(snapshot: Snapshot, about: ObjectRef) -> Diagnosis | None:
    """Return why the API server refuses what the newest Warning about an object is about."""
    warning = _newest_warning(snapshot, about)
    return why_it_fails(warning.message, about.namespace, snapshot) if warning else None


def _newest_warning(snapshot: Snapshot, about: ObjectRef) -> ForeignEvent | None:
    events = snapshot.evidence.events_about(about.namespace, about.kind, about.name)
    warnings = (e for e in events if e.type == "Warning" and _CONFLICT not in e.message)
    return next(warnings, None)


def latest(*times: datetime | None) -> datetime | None:
    return max(filter(None, times), default=None)


def spec_written(obj: o.KubeObject) -> datetime | None:
    """Return when the desired state of an object was last written after its creation, if known.

    Only such a write increases the generation, so no controller can lag behind for longer. The
    times are those of `metadata.managedFields`; writes of the status do not count (Kubernetes,
    "Server-Side Apply", field management).
    """
    fields = obj.metadata.managed_fields or ()
    return latest(*(_moment(each.time) for each in fields if each.owns_wanted))


def last_written(obj: o.KubeObject) -> datetime | None:
    """Return when an object was created or its desired state last changed."""
    return latest(obj.created, spec_written(obj))


def _moment(text: str) -> datetime | None:
    try:
        return parse_rfc3339(text)
    except ValueError:
        return None

"""Which subject an object belongs to, by its owners.

The workloads that a user declared: where each one may be, and how it is judged.

What a condition of an object says, for verdicts and for messages.

What others said, in Events, about an object that is not well and does not say why.

When an object was last written, and so since when a controller may lag behind it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias, TypeGuard, TypeVar

from reporter.catalogue.resources import NAMESPACES
from reporter.model.catalogue import Catalogue, CustomComponent, CustomWorkload
from reporter.model.instant import parse_rfc3339
from reporter.model.objects import (
    Condition,
    DaemonSet,
    Deployment,
    KubeObject,
    OwnerReference,
    StatefulSet,
)
from reporter.model.resource import Resource
from reporter.model.subject import Layer, ObjectRef, Subject, SubjectKind
from reporter.model.text import detail
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.deployment import (
    is_available,
    is_daemonset_available,
    is_statefulset_available,
    judge_daemonset,
    judge_deployment,
    judge_statefulset,
)
from reporter.workload.standing import WorkloadFault

_GENERATIONS: Final = 5
"""How far up owners are followed: pod, StatefulSet, Workspace, InferenceSet, and one to spare."""

_Place: TypeAlias = tuple[Resource[KubeObject], KubeObject]


def owning_subject(
    resource: Resource[KubeObject],
    obj: KubeObject,
    kind: SubjectKind,
    *,
    snapshot: Snapshot,
    catalogue: Catalogue,
) -> Subject | None:
    """Return the subject of a kind that an object is, or that owns it; None if there is none.

    Owners are followed as far as their kinds are read. What a stack's controllers make may name its
    subject in a label too, which a dump without the objects in between still has.
    """
    own = {(each.group, each.kind) for each in catalogue.of_subject(kind)}
    stack = catalogue.stack_of(kind)
    label = stack.made_with if stack else ""
    generation: list[_Place] = [(resource, obj)]
    for _ in range(_GENERATIONS):
        for of, each in generation:
            is_own = (of.group, of.kind) in own
            name = each.name if is_own else each.metadata.label(label) if label else None
            if name:
                return Subject(kind, each.namespace, name)
        generation = [owner for _, each in generation for owner in _owners(each, snapshot)]
    return None


def _owners(obj: KubeObject, snapshot: Snapshot) -> Iterator[_Place]:
    for reference in obj.metadata.owner_references or ():
        for resource in snapshot.tables:
            if resource.kind == reference.kind:
                owner = snapshot[resource].get(obj.namespace, reference.name)
                if owner is not None and _is_meant(reference, owner):
                    yield resource, owner


def _is_meant(reference: OwnerReference, owner: KubeObject) -> bool:
    """Tell whether it is the owner and not a later object of its name; a dump may have no uids."""
    uid = owner.metadata.uid
    return not uid or not reference.uid or uid == reference.uid


@dataclass(frozen=True, slots=True)
class DeclaredWorkload:
    """A workload that a user declared, and where its objects are."""

    component: CustomComponent
    workload: CustomWorkload
    resource: Resource[KubeObject]

    def found(self, snapshot: Snapshot) -> KubeObject | None:
        """Return it from the first of its namespaces that has it."""
        table = snapshot[self.resource]
        places = (table.get(each, self.workload.name) for each in self.workload.namespaces)
        return next(filter(None, places), None)

    def is_missing(self, snapshot: Snapshot) -> bool:
        """Tell whether it is known to be in none of its namespaces."""
        return all(self.absent(snapshot, each) for each in self.workload.namespaces)

    def absent(self, snapshot: Snapshot, namespace: str) -> bool:
        """Tell whether it is known not to be in a namespace."""
        return snapshot.lacks(self.resource, namespace, self.workload.name)

    def home(self, snapshot: Snapshot) -> str:
        """Return the namespace where it belongs: the first candidate that exists."""
        namespaces, table = self.workload.namespaces, snapshot[NAMESPACES]
        return next((each for each in namespaces if table.get("", each)), namespaces[0])


def declared_workloads(settings: EvaluationSettings, layer: Layer) -> Iterator[DeclaredWorkload]:
    for each in settings.catalogue.declared:
        component = each.component
        if component.layer is layer and component.workload and each.resource:
            yield DeclaredWorkload(component, component.workload, each.resource)


def judge_workload(workload: KubeObject, snapshot: Snapshot) -> WorkloadFault | None:
    """Return what is wrong with a Deployment, StatefulSet or DaemonSet, None if nothing is."""
    match workload:
        case Deployment():
            return judge_deployment(workload, snapshot)
        case StatefulSet():
            return judge_statefulset(workload, snapshot)
        case DaemonSet():
            return judge_daemonset(workload, snapshot)
        case _:
            raise TypeError(f"{type(workload).__name__} is no workload")


def is_workload_available(workload: KubeObject) -> bool:
    """Tell whether a Deployment, StatefulSet or DaemonSet has an available replica."""
    match workload:
        case Deployment():
            return is_available(workload)
        case StatefulSet():
            return is_statefulset_available(workload)
        case DaemonSet():
            return is_daemonset_available(workload)
        case _:
            raise TypeError(f"{type(workload).__name__} is no workload")


_CONDITION_BYTES: Final = 400

ConditionT = TypeVar("ConditionT", bound=Condition)


def is_true(condition: ConditionT | None) -> TypeGuard[ConditionT]:
    return condition is not None and condition.status == "True"


def is_false(condition: ConditionT | None) -> TypeGuard[ConditionT]:
    return condition is not None and condition.status == "False"


def words(condition: Condition | None) -> str:
    """Return reason and message of a condition, clean and bounded."""
    said = detail(condition.reason, condition.message, _CONDITION_BYTES) if condition else ""
    return said or "no reason given"


def not_ready_from(ready: Condition | None) -> datetime | None:
    """Return since when Ready is as it is.

    None where it says Stopped of what was started again: its time is that of the stop, and who
    started it is entitled to the grace.
    """
    return None if ready is None or ready.reason == "Stopped" else ready.last_transition_time


_TEXT_BYTES: Final = 300
_CONFLICT: Final = "the object has been modified"
"""What a controller says that was overtaken by another write, and tries again at once."""


def warning_about(snapshot: Snapshot, about: ObjectRef) -> str:
    """Return reason and message of the newest Warning about an object, clean; empty without one."""
    events = snapshot.evidence.events_about(about.namespace, about.kind, about.name)
    warning = next(
        (each for each in events if each.type == "Warning" and _CONFLICT not in each.message), None
    )
    return detail(warning.reason, warning.message, _TEXT_BYTES) if warning else ""


def latest(*times: datetime | None) -> datetime | None:
    """Return the latest of the times that are known."""
    return max(filter(None, times), default=None)


def spec_written(obj: KubeObject) -> datetime | None:
    """Return when somebody last wrote what an object wants, after its creation, if told.

    A generation grows with such a write only, so that no controller lags behind it for longer. The
    times are those of `metadata.managedFields`, where a write of the status does not count
    (Kubernetes, "Server-Side Apply", field management).
    """
    fields = obj.metadata.managed_fields or ()
    return latest(*(_moment(each.time) for each in fields if each.owns_wanted))


def last_written(obj: KubeObject) -> datetime | None:
    """Return when an object was made, or what is wanted of it was last changed."""
    return latest(obj.created, spec_written(obj))


def _moment(text: str) -> datetime | None:
    try:
        return parse_rfc3339(text)
    except ValueError:
        return None

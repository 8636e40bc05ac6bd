"""The questions about the subjects of a stack, for any type of objects."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

from reporter.catalogue.resources import NAMESPACES
from reporter.model.finding import Evaluation
from reporter.model.objects import KubeObject
from reporter.model.resource import AnyResource, Resource
from reporter.model.subject import Subject
from reporter.probes.reuse import Question
from reporter.probes.scope import Probe, Scope, SubjectScope, subject_of
from reporter.snapshot.snapshot import Snapshot
from reporter.snapshot.trace import Cell, How
from reporter.workload.components import is_left_out

ObjectT = TypeVar("ObjectT", bound=KubeObject)
SubjectScopeT = TypeVar("SubjectScopeT", bound=SubjectScope[KubeObject])


class Asks(Protocol):
    def questions(self, scope: Scope) -> Iterator[Question]: ...


@dataclass(frozen=True, slots=True)
class ClusterProbe:
    """A probe of the cluster; if it fails, its reason cannot be judged and its name is reported."""

    reason: str
    name: str
    probe: Probe[Scope]


@dataclass(frozen=True, slots=True, kw_only=True)
class StackProbes:
    subjects: Asks
    cluster: tuple[ClusterProbe, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectProbes(Generic[ObjectT, SubjectScopeT]):
    """How the subjects of a stack are evaluated, each separately.

    If two have the same name, the one of the first of `resources` counts. `leaving` evaluates a
    subject that is being deleted, if its deletion may hang; with None, and if the namespace is
    being deleted too, nothing is reported. `is_subject` selects the objects; None selects all.
    """

    resources: tuple[Resource[ObjectT], ...]
    scope: type[SubjectScopeT]
    evaluate: Callable[[SubjectScopeT], Evaluation]
    leaving: Callable[[SubjectScopeT], Evaluation] | None = None
    is_subject: Callable[[ObjectT], bool] | None = None

    def questions(self, scope: Scope) -> Iterator[Question]:
        asked: set[Subject] = set()
        for resource in self.resources:
            for obj in _judged(scope, resource, self.is_subject):
                subject = subject_of(resource, obj)
                if subject in asked or (obj.deleting and self.leaving is None):
                    continue
                asked.add(subject)
                yield _question(resource, obj, partial(self._answer, resource, obj))

    def _answer(self, resource: Resource[ObjectT], obj: ObjectT, scope: Scope) -> Evaluation:
        evaluate = self.leaving if obj.deleting and self.leaving else self.evaluate
        return evaluate(self.scope.of(resource, obj, scope))


def questions_of(
    scope: Scope,
    resource: AnyResource,
    *,
    answer: Callable[[KubeObject, Scope], Evaluation],
    is_model: Callable[[KubeObject], bool],
) -> Iterator[Question]:
    for obj in _judged(scope, resource, is_model):
        if not obj.deleting:
            yield _question(resource, obj, partial(answer, obj))


def _judged(
    scope: Scope, resource: Resource[ObjectT], is_subject: Callable[[ObjectT], bool] | None
) -> Iterator[ObjectT]:
    """Yield the subjects of a resource, except those in unselected or ending namespaces and those
    that are judged as part of another model.
    """
    snapshot = scope.snapshot
    resources = scope.settings.catalogue.resources
    wrapping = {(each.group, each.kind): each for each in resources if each.wraps is not None}
    for obj in snapshot[resource]:
        if is_subject is not None and not is_subject(obj):
            continue
        elsewhere = is_left_out(obj.namespace, snapshot, scope.settings)
        namespace = None if elsewhere else snapshot[NAMESPACES].get("", obj.namespace)
        goes = namespace is not None and namespace.deleting
        if not (elsewhere or goes or is_wrapped(obj, wrapping, snapshot)):
            yield obj


def _question(
    resource: AnyResource, obj: KubeObject, ask: Callable[[Scope], Evaluation]
) -> Question:
    rests_on = (Cell(resource, How.NAME, (obj.namespace, obj.name)),)
    return Question(subject_of(resource, obj), ask, rests_on)


def is_wrapped(
    obj: KubeObject, wrapping: Mapping[tuple[str, str], AnyResource], snapshot: Snapshot
) -> bool:
    """Tell whether a model of another kind created an object and is judged in its place."""
    for owner in obj.metadata.owner_references or ():
        resource = wrapping.get((owner.api_version.rpartition("/")[0], owner.kind))
        made_by = snapshot[resource].get(obj.namespace, owner.name) if resource else None
        if owner.controller and resource and resource.wraps and made_by and resource.wraps(made_by):
            return True
    return False

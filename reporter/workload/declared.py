"""The workloads that a user declared: where each one may be, and how it is judged."""

from collections.abc import Iterator
from dataclasses import dataclass

from reporter.catalogue.resources import NAMESPACES
from reporter.model.custom import CustomComponent, CustomWorkload
from reporter.model.objects import DaemonSet, Deployment, KubeObject, StatefulSet
from reporter.model.resource import Resource
from reporter.model.subject import Layer
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.daemonset import is_daemonset_available, judge_daemonset
from reporter.workload.deployment import is_available, judge_deployment
from reporter.workload.standing import WorkloadFault
from reporter.workload.statefulset import is_statefulset_available, judge_statefulset


@dataclass(frozen=True, slots=True)
class DeclaredWorkload:
    """A workload that a user declared.

    Attributes:
        component: the declaration.
        workload: what it declares.
        resource: where its objects are.

    """

    component: CustomComponent
    workload: CustomWorkload
    resource: Resource[KubeObject]

    def found(self, snapshot: Snapshot) -> KubeObject | None:
        """Return it from the first of its namespaces that has it."""
        table = snapshot[self.resource]
        places = (table.get(each, self.workload.name) for each in self.workload.namespaces)
        return next((each for each in places if each is not None), None)

    def is_missing(self, snapshot: Snapshot) -> bool:
        """Tell whether it is known to be in none of its namespaces."""
        looked = (self.absent(snapshot, each) for each in self.workload.namespaces)
        return all(looked)

    def absent(self, snapshot: Snapshot, namespace: str) -> bool:
        """Tell whether it is known not to be in a namespace."""
        if snapshot[self.resource].get(namespace, self.workload.name) is not None:
            return False
        return snapshot.absence_known(self.resource, namespace, self.workload.name)

    def home(self, snapshot: Snapshot) -> str:
        """Return the namespace where it belongs: the first candidate that exists."""
        namespaces, table = self.workload.namespaces, snapshot[NAMESPACES]
        return next((each for each in namespaces if table.get("", each)), namespaces[0])


def declared_workloads(settings: EvaluationSettings, layer: Layer) -> Iterator[DeclaredWorkload]:
    """Yield the workloads that are declared in a layer."""
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

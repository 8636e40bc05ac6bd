"""What is read of a cluster, and where: what is watched, and what a dump lists once.

A dump reproduces a verdict only as long as both agree, so both ask here.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from reporter.catalogue.resources import BY_PLACE, CONFIGMAPS, ISTIO_CONFIGMAP, NAMESPACES
from reporter.kube.discovery import Discovered
from reporter.kube.informer import Place
from reporter.kube.informers import AnyPlace
from reporter.kube.store import Key
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.setting_types import StackMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import OTHER_VERSIONS, Discovery, ResourceState, Served


@dataclass(frozen=True)
class ReadPlan:
    """With `namespace` only what is in it is read, with the rights that somebody has there."""

    settings: EvaluationSettings
    namespace: str = ""

    @cached_property
    def declared(self) -> frozenset[Resource[KubeObject]]:
        """Kinds that only a declaration of the user has read."""
        declared = self.settings.catalogue.declared
        found = {each.resource for each in declared if each.component.condition}
        return frozenset(filter(None, found)) - {*self.settings.built_in().resources}

    def resources(self) -> Iterator[Resource[KubeObject]]:
        yield from filter(self.settings.reads, self.settings.catalogue.resources)

    def follows_discovery(self, resource: Resource[KubeObject]) -> bool:
        """True if a resource is read only while discovery lists it in a version of ours.

        A declared resource is read in the version that its author wrote, even if the kind is
        built in.
        """
        return resource.custom or resource in self.declared

    def is_of_use(
        self, resource: Resource[KubeObject], discovery: Discovery, *, while_unknown: bool
    ) -> bool:
        """True if the stack that a resource is read for may have subjects, or needs of its parts.

        `while_unknown` says what holds while discovery does not tell of its subjects.
        """
        if not resource.stack or resource.subject_kind:
            return True
        if self.settings.stack(resource.stack) is StackMode.ON:
            return True
        stack = self.settings.catalogue.stack(resource.stack)
        if resource in stack.shows_needs:
            return True
        states = {discovery.state(each.crd_name) for each in stack.subjects}
        return Served.SERVED in states or (while_unknown and Served.UNKNOWN in states)

    def is_outside(self, resource: Resource[KubeObject]) -> bool:
        """True if only one namespace is read, and a resource is not in it."""
        elsewhere = resource in BY_PLACE or not resource.namespaced
        return bool(self.namespace) and elsewhere and resource is not NAMESPACES

    def place(self, resource: Resource[KubeObject], version: str) -> AnyPlace:
        place = Place(resource=resource, version=version)
        if self.namespace and resource is NAMESPACES:
            return replace(place, name=self.namespace, alone=True)
        return replace(place, namespace=self.namespace)

    def configmaps(
        self, namespaces: Collection[str] | None, deployments: Iterable[Key]
    ) -> Iterator[AnyPlace]:
        """Yield where the ConfigMaps of Istio are: one of each revision, in the candidates that exist.

        RBAC often grants ConfigMaps by a Role in the namespace that exists; asking elsewhere
        would make the resource unknown without need. Where it is not known which exist
        (`namespaces` is None), all are asked.
        """
        if not self.settings.istiod_deployment:
            return
        revisions = f"{self.settings.istiod_deployment}-"
        found = [key for key in deployments if key[1].startswith(revisions)]
        for namespace in self.settings.istio_namespace:
            if namespaces is not None and namespace not in namespaces:
                continue
            names = {
                f"{ISTIO_CONFIGMAP}-{name.removeprefix(revisions)}"
                for place, name in found
                if place == namespace
            }
            for name in sorted({ISTIO_CONFIGMAP} | names):
                yield Place(
                    resource=CONFIGMAPS,
                    version=CONFIGMAPS.versions[0],
                    namespace=namespace,
                    name=name,
                )


def in_other_versions(resource: Resource[KubeObject], discovered: Discovered) -> ResourceState:
    served = ", ".join(sorted(discovered.versions[resource.crd_name]))
    cause = f"{OTHER_VERSIONS} {served}, not in {', '.join(resource.versions)}"
    return ResourceState(Served.UNKNOWN, cause=cause)

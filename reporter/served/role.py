"""A role of a served model: what serves, what decodes, what prefills."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from reporter.model.finding import ServingEvidence
from reporter.model.objects import Deployment, HttpRoute, LeaderWorkerSet, Pod, StatefulSet
from reporter.model.resource import Resource
from reporter.model.subject import ObjectRef, Subject
from reporter.workload.deployment import is_available, rolls_as_allowed
from reporter.workload.pod import counts, is_ready
from reporter.workload.routing import entrances_of

Workload: TypeAlias = Deployment | StatefulSet | LeaderWorkerSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Containers:
    """What a model's containers are for: they download it, or nothing is answered without."""

    fetch: frozenset[str] = frozenset()
    serve: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class ServedRole:
    """What one role of a model, `main`, or `decode` and `prefill`, runs on.

    The workload is None where it is not there; all workers of groups are among the pods.
    """

    name: str
    resource: "Resource[Workload]"
    workload: Workload | None
    pods: tuple[Pod, ...]
    containers: Containers = field(default_factory=Containers)

    @property
    def title(self) -> str:
        """What messages put before a pod; empty where there is one role only."""
        return "" if self.name == "main" else f"{self.name} "

    @property
    def deployment(self) -> Deployment | None:
        """Its Deployment; None where it runs on something else."""
        return self.workload if isinstance(self.workload, Deployment) else None

    @property
    def group_set(self) -> LeaderWorkerSet | None:
        """Its LeaderWorkerSet; None where it runs on something else."""
        return self.workload if isinstance(self.workload, LeaderWorkerSet) else None

    @property
    def exists(self) -> bool:
        return self.workload is not None

    @property
    def replicas(self) -> int:
        """Replicas or groups wanted by what it runs on."""
        return 0 if self.workload is None else self.workload.wanted

    @property
    def available(self) -> int:
        """Available replicas of a Deployment, else ready replicas or groups."""
        if self.workload is None:
            return 0
        if isinstance(self.workload, Deployment):
            return self.workload.status.available_replicas
        return self.workload.status.ready_replicas

    @property
    def serving(self) -> int:
        """The same, and all of a Deployment whose rollout lacks no more of them than it may."""
        rolls = self.deployment is not None and rolls_as_allowed(self.deployment)
        return self.replicas if rolls else self.available

    @property
    def serves(self) -> bool:
        return is_available(self.deployment) if self.deployment else self.available > 0

    @property
    def is_idle(self) -> bool:
        """Whether it is there, and no replica of it is wanted."""
        return self.exists and self.replicas == 0

    @property
    def has_ready_pod(self) -> bool:
        return any(map(is_ready, self.pods))

    @property
    def ref(self) -> ObjectRef | None:
        return None if self.workload is None else self.resource.ref(self.workload)


@dataclass(frozen=True, kw_only=True)
class CountedRole(ServedRole):
    """A role whose pods are counted by themselves, whatever makes them.

    `part` says whether it answers (`engine`), requests come by it (`front`), or it must run.
    Without one that is `required` nothing is answered. A replica has `size` pods. So many ready
    pods are `enough`; 0: all.
    """

    part: str
    required: bool
    wanted: int
    size: int
    enough: int

    @property
    def missing(self) -> int:
        """Pods that are not there though replicas need them."""
        return max(0, self.wanted * self.size - sum(map(counts, self.pods)))

    @property
    def available(self) -> int:
        """Replicas whose pods are Ready, as far as numbers tell."""
        ready = sum(is_ready(each) and not each.deleting for each in self.pods)
        return min(self.wanted, ready // self.size)

    @property
    def serves(self) -> bool:
        return self.available > 0

    @property
    def at_least(self) -> int:
        """How many of its replicas must work."""
        return min(self.wanted, self.enough or self.wanted)

    @property
    def is_whole(self) -> bool:
        return self.available >= self.at_least

    @property
    def judged(self) -> "CountedRole":
        """The role with the pods that are judged: of one of which enough work, the Ready ones."""
        if not self.enough or not self.is_whole:
            return self
        return replace(self, pods=tuple(filter(is_ready, self.pods)))


def all_serve(roles: tuple[ServedRole, ...]) -> bool:
    """Tell whether each role has a replica that serves; of what prefills none may be wanted.

    Pods that decode prefill too, where nothing else does.
    """
    main, *others = roles
    return main.serves and all(each.serves or each.is_idle for each in others)


def serving_of(
    subject: Subject, roles: tuple[ServedRole, ...], *, reached: bool, routes: Iterable[HttpRoute]
) -> ServingEvidence:
    """Return how many replicas serve, and whether requests reach them.

    Without a replica that decodes nothing serves; without one that prefills, those that decode do
    it all.
    """
    main = roles[0]
    return ServingEvidence(
        subject=subject,
        wanted=0 if main.is_idle else max(1, sum(each.replicas for each in roles)),
        serving=max(1, sum(each.serving for each in roles)) if main.serves else 0,
        reached=reached,
        entrances=entrances_of(routes),
    )


def parts_of(roles: tuple[ServedRole, ...]) -> Iterator[Workload]:
    return (each.workload for each in roles if each.workload is not None)

"""The roles of a served model: `main`, or `decode` and `prefill`."""

from collections.abc import Iterable
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
    """Names of a model's containers that download it, and of those that answer requests."""

    fetch: frozenset[str] = frozenset()
    serve: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class ServedRole:
    """One role of a model with its workload and pods.

    The workload is None if it does not exist. The pods include all workers of groups.
    """

    name: str
    resource: "Resource[Workload]"
    workload: Workload | None
    pods: tuple[Pod, ...]
    containers: Containers = field(default_factory=Containers)

    @property
    def title(self) -> str:
        """The prefix of a pod in messages; empty for the only role."""
        return "" if self.name == "main" else f"{self.name} "

    @property
    def exists(self) -> bool:
        return self.workload is not None

    @property
    def replicas(self) -> int:
        """Replicas or groups that its workload wants."""
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
        """Like `available`, but all replicas of a Deployment during a rollout within its limits."""
        rolls = isinstance(self.workload, Deployment) and rolls_as_allowed(self.workload)
        return self.replicas if rolls else self.available

    @property
    def serves(self) -> bool:
        if isinstance(self.workload, Deployment):
            return is_available(self.workload)
        return self.available > 0

    @property
    def is_idle(self) -> bool:
        """True if its workload exists and wants no replicas."""
        return self.exists and self.replicas == 0

    @property
    def has_ready_pod(self) -> bool:
        return any(map(is_ready, self.pods))

    @property
    def ref(self) -> ObjectRef | None:
        return None if self.workload is None else self.resource.ref(self.workload)


@dataclass(frozen=True, kw_only=True)
class CountedRole(ServedRole):
    """A role judged by counting its pods, whichever workload creates them.

    `part` is `engine` if it answers requests, `front` if requests pass through it; other parts just
    have to run. The model answers nothing without its `required` roles. A replica has `size` pods.
    `enough` is the number of replicas that must work; 0 means all.
    """

    part: str
    required: bool
    wanted: int
    size: int
    enough: int

    @property
    def missing(self) -> int:
        """Number of pods that the wanted replicas lack."""
        return max(0, self.wanted * self.size - sum(map(counts, self.pods)))

    @property
    def available(self) -> int:
        """Replicas that the Ready pods can make up; which pod belongs to which is not known."""
        ready = sum(is_ready(each) and not each.deleting for each in self.pods)
        return min(self.wanted, ready // self.size)

    @property
    def serves(self) -> bool:
        return self.available > 0

    @property
    def at_least(self) -> int:
        """Number of its replicas that must work."""
        return min(self.wanted, self.enough or self.wanted)

    @property
    def is_whole(self) -> bool:
        return self.available >= self.at_least

    @property
    def judged(self) -> "CountedRole":
        """The role with the pods to judge: the Ready ones only, if enough of its replicas work."""
        if not self.enough or not self.is_whole:
            return self
        return replace(self, pods=tuple(filter(is_ready, self.pods)))


def all_serve(roles: tuple[ServedRole, ...]) -> bool:
    """True if every role has a serving replica; all but the first may be scaled to zero.

    Decode pods also prefill if there are no prefill pods.
    """
    main, *others = roles
    return main.serves and all(each.serves or each.is_idle for each in others)


def serving_of(
    subject: Subject, roles: tuple[ServedRole, ...], *, reached: bool, routes: Iterable[HttpRoute]
) -> ServingEvidence:
    """Return how many replicas serve, and whether requests reach them.

    Nothing serves without a decode replica; without prefill replicas, the decode replicas also
    prefill.
    """
    main = roles[0]
    return ServingEvidence(
        subject=subject,
        wanted=0 if main.is_idle else max(1, sum(each.replicas for each in roles)),
        serving=max(1, sum(each.serving for each in roles)) if main.serves else 0,
        reached=reached,
        entrances=entrances_of(routes),
    )

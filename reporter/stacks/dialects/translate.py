"""An object of a kind that a dialect describes, as a served model: its roles, pods and claims."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Final

from reporter.catalogue import resources as r
from reporter.model.objects import (
    Condition,
    Conditioned,
    Deployment,
    KubeObject,
    Labels,
    LabelSelector,
    LeaderWorkerSet,
    Pod,
)
from reporter.model.resource import Resource
from reporter.probes.scope import SubjectScope
from reporter.served.role import Containers, ServedRole, Workload
from reporter.served.ways import Ways
from reporter.stacks.dialects.paths import KEY, Path, Template, look
from reporter.stacks.dialects.reading import (
    ClaimData,
    Dialect,
    Match,
    RoleData,
    Runs,
    Through,
    holds,
)
from reporter.workload.deployment import is_available
from reporter.workload.owners import words
from reporter.workload.pod import counts, is_ready

_MOST: Final = 100
"""So many roles, entries and workloads are looked at of one object."""


@dataclass(frozen=True, kw_only=True)
class Kinds:
    """What is read for a dialect.

    Attributes:
        dialect: the page of data.
        resource: its subjects.
        others: what it reads besides, by name.
        workloads: what may make pods, by kind.

    """

    dialect: Dialect
    resource: Resource[KubeObject]
    others: dict[str, Resource[KubeObject]]
    workloads: Mapping[str, Resource[Workload]]


@dataclass(frozen=True, kw_only=True)
class DialectRole(ServedRole):
    """A role whose pods are counted by themselves, whatever makes them.

    Attributes:
        part: what it does, as in the file.
        required: without it nothing is answered.
        wanted: its replicas.
        size: pods of a replica.
        enough: so many ready pods do; 0: all.

    """

    part: str
    required: bool
    wanted: int
    size: int
    enough: int

    @property
    def exists(self) -> bool:
        """Whether it has something to run on; pods need nothing."""
        return True

    @property
    def replicas(self) -> int:
        """Replicas wanted."""
        return self.wanted

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
        """Whether a replica works."""
        return self.available > 0

    @property
    def at_least(self) -> int:
        """How many of its replicas must work."""
        return min(self.wanted, self.enough or self.wanted)

    @property
    def is_whole(self) -> bool:
        """Whether as many work as must."""
        return self.available >= self.at_least


@dataclass(frozen=True, slots=True)
class SaidClaim:
    """A claim that holds: what it says, in words, and the condition that says so, if one does."""

    claim: ClaimData
    text: str
    condition: Condition | None


@dataclass(frozen=True, kw_only=True)
class DialectScope(SubjectScope[KubeObject]):
    """One model of a dialect, and what belongs to it."""

    kinds: Kinds

    @property
    def dialect(self) -> Dialect:
        """The page of data that it is read by."""
        return self.kinds.dialect

    @cached_property
    def others(self) -> dict[str, tuple[KubeObject, ...]]:
        """The further objects that say more of it, by name."""
        found: dict[str, tuple[KubeObject, ...]] = {}
        for name, other in self.dialect.also_reads.items():
            table = self.snapshot[self.kinds.others[name]]
            place = self.place if other.kind.namespaced else ""
            if other.name is not None:
                one = table.get(place, self.text(other.name))
                found[name] = (one,) if one is not None else ()
            else:
                labels = self.labels(other.labels or {})
                found[name] = table.selected(place, LabelSelector(labels))[:_MOST] if labels else ()
        return found

    def values(
        self, path: Path | None, at: object = None, key: str = ""
    ) -> tuple[tuple[str, object], ...]:
        """Return what a path finds, each with the key of its entry; relative to `at`, or the object."""
        for way in path.ways if path else ():
            if way.root == KEY:
                return (("", key),) if key else ()
            starts: tuple[object, ...] = (self.object if at is None else at,)
            if way.root:
                starts = self.others.get(way.root, ())
            seen = tuple(islice((each for one in starts for each in look(one, way.steps)), _MOST))
            if seen:
                return seen
        return () if path is None or path.literal is None else (("", path.literal),)

    def number(self, path: Path | None, at: object, default: int) -> int:
        """Return the number that a path finds; what is none counts as not there."""
        found = [each for _, each in self.values(path, at)]
        value = found[0] if found else default
        return max(0, min(value, 100_000)) if type(value) is int else default

    def holds(self, match: Match, at: object = None) -> bool:
        """Tell whether what a file asks for stands there."""
        return holds(match, [each for _, each in self.values(match.at, at)])

    def text(
        self,
        template: Template,
        at: object = None,
        key: str = "",
        *,
        role: str = "",
    ) -> str:
        """Return a text with its holes filled; empty where one has nothing."""
        filled = []
        for part in template.parts:
            if isinstance(part, str):
                filled.append({"{name}": self.name, "{role}": role}.get(part, part))
                continue
            values = self.values(part, at, key)
            if not values or not isinstance(values[0][1], str | int):
                return ""
            filled.append(str(values[0][1]))
        return "".join(filled)

    def labels(
        self, templates: dict[str, Template], at: object = None, *, role: str = ""
    ) -> Labels:
        """Return labels with their holes filled; none where one has nothing."""
        found = {key: self.text(each, at, role=role) for key, each in templates.items()}
        return found if all(found.values()) else {}

    @cached_property
    def is_stopped(self) -> bool:
        """Whether its spec says that nothing should run."""
        return any(each is True for _, each in self.values(self.dialect.stopped))

    @cached_property
    def roles(self) -> tuple[DialectRole, ...]:
        """Its roles; what answers comes first."""
        found = [one for each in self.dialect.roles for one in self._roles(each)][:_MOST]
        if len(found) == 1:
            found = [replace(found[0], name="main")]
        return tuple(sorted(found, key=lambda each: each.part != "engine"))

    @cached_property
    def wants(self) -> bool:
        """Whether anything of it should run; without a role nobody knows."""
        return not self.roles or any(each.wanted for each in self.roles)

    @cached_property
    def needed(self) -> tuple[DialectRole, ...]:
        """The roles without which nothing is answered."""
        return tuple(each for each in self.roles if each.required and each.wanted)

    @cached_property
    def ways(self) -> tuple[Ways, ...]:
        """What leads to the pods that answer, and to those that requests come by."""
        firsts = (each.pods[0] for each in self.roles if each.part != "beside" and each.pods)
        labels = {str(each): each for pod in firsts if (each := pod.metadata.labels)}
        return tuple(
            Ways(snapshot=self.snapshot, place=self.place, labels=each) for each in labels.values()
        )

    @cached_property
    def down_on_the_way(self) -> tuple[tuple[Through, Deployment], ...]:
        """The Deployments that all requests pass and that are not available."""
        asked = (x for x in self.dialect.through if x.when is None or self.holds(x.when))
        found = ((each, self.deployments(each)) for each in asked)
        return tuple((each, of[0]) for each, of in found if of and not any(map(is_available, of)))

    def reason(self, suffix: str) -> str:
        """Return the name of a reason of its kind."""
        return f"{self.dialect.subject_kind}{suffix}"

    def _entries(self, each: Path | None, obj: object) -> list[tuple[str, object]]:
        """Return the entries of the list or map that a path finds, each with its key; or the object."""
        found: list[tuple[str, object]] = [] if each else [("", obj)]
        for _, listed in self.values(each, obj):
            if isinstance(listed, dict):
                found += listed.items()
            elif isinstance(listed, list | tuple):
                found += (("", one) for one in listed)
        return found[:_MOST]

    def _roles(self, role: RoleData) -> Iterator[DialectRole]:
        for key, entry in self._entries(role.each, self.object):
            if role.only is None or self.holds(role.only, entry):
                made = self._role(role, entry, key)
                if made is not None:
                    yield made

    def _role(self, role: RoleData, entry: object, key: str) -> DialectRole | None:
        name = self.text(role.name, entry, key)
        labels = self.labels(role.pods, entry, role=name)
        pods = self.snapshot[r.PODS].selected(self.place, LabelSelector(labels)) if labels else ()
        resource, workload = self._made_by(role.workload, entry, name)
        if role.if_there and not pods and workload is None:
            return None
        grouped = workload.size if isinstance(workload, LeaderWorkerSet) else 1
        size = max(1, self.number(role.pods_each, entry, grouped))
        wanted = self.number(role.wanted, entry, workload.wanted if workload else 1)
        engine = self.text(role.engine, entry, role=name) if role.engine else ""
        return DialectRole(
            name=name,
            resource=resource,
            workload=workload,
            pods=pods,
            containers=Containers(fetch=frozenset(role.fetch), serve=_serving(pods, engine)),
            part=role.part,
            required=role.required is True
            or (isinstance(role.required, Match) and self.holds(role.required, entry)),
            wanted=0 if self.is_stopped else wanted * self.number(role.times, None, 1),
            size=size,
            enough=role.enough or 0,
        )

    def _made_by(
        self, runs: Runs | None, entry: object, role: str
    ) -> tuple[Resource[Workload], Workload | None]:
        """Return what makes the pods of a role; of several by labels the newest."""
        for kind in runs.kinds if runs else ():
            resource = self.kinds.workloads[kind]
            table = self.snapshot[resource]
            found = []
            for each in runs.names if runs else ():
                one = table.get(self.place, self.text(each, entry, role=role))
                found += [one] if one is not None else []
            labels = self.labels(runs.labels, entry, role=role) if runs and runs.labels else {}
            if labels:
                found += table.selected(self.place, LabelSelector(labels))
            kept = [each for each in found if not each.deleting]
            if kept:
                return resource, max(kept, key=lambda each: str(each.created))
        return self.kinds.workloads["Deployment"], None

    @cached_property
    def said(self) -> tuple[SaidClaim, ...]:
        """The claims that hold; of each condition the first."""
        found: list[SaidClaim] = []
        conditions: set[tuple[str, str]] = set()
        for claim in self.dialect.claims:
            if (claim.of, claim.condition) in conditions:
                continue
            told = self._by_value if claim.at else self._by_condition
            said = [
                replace(each, text=f"{self.kinds.others[claim.of].kind} {obj.name}: {each.text}")
                if claim.of
                else each
                for obj in (self.others[claim.of] if claim.of else (self.object,))
                for each in told(claim, obj)
            ]
            if said and claim.condition:
                conditions.add((claim.of, claim.condition))
            found += said
        return tuple(found)

    def _by_condition(self, claim: ClaimData, obj: KubeObject) -> Iterator[SaidClaim]:
        status = getattr(obj, "status", None)
        known = status.condition(claim.condition) if isinstance(status, Conditioned) else None
        if known is None or known.status != claim.wanted_status:
            return
        if not claim.reasons or known.reason in claim.reasons:
            yield SaidClaim(claim, f"{known.type} is {known.status}, {words(known)}", known)

    def _by_value(self, claim: ClaimData, obj: KubeObject) -> Iterator[SaidClaim]:
        last = claim.at.ways[0].steps[-1].name if claim.at else ""
        for key, entry in self._entries(claim.each, obj):
            values = [each for _, each in self.values(claim.at, entry, key)]
            value = next(
                (each for each in values if not claim.values or each in claim.values), None
            )
            if value is not None:
                text = next((f": {each}" for _, each in self.values(claim.text, entry, key)), "")
                yield SaidClaim(claim, f"{f'{key} ' * bool(key)}{last} is {value}{text}", None)

    def deployments(self, through: Through) -> tuple[Deployment, ...]:
        """Return the Deployments that a file names: a proxy, or its controller."""
        key = ("deployments of dialects", str(through))
        return self.snapshot.once(key, lambda each: _like(through, each[r.DEPLOYMENTS]))

    @cached_property
    def controller_down(self) -> str:
        """What to add to a message where its controller is not available; empty where it is, or is not seen."""
        found = self.deployments(self.dialect.controller) if self.dialect.controller else ()
        if not found or any(map(is_available, found)):
            return ""
        return (
            f"; its controller, Deployment {found[0].namespace}/{found[0].name}, is not available"
        )


def _like(through: Through, deployments: Iterable[Deployment]) -> tuple[Deployment, ...]:
    labels = (through.labels or {}).items()
    return tuple(
        each
        for each in deployments
        if (not through.names or each.name in through.names)
        and labels <= (each.metadata.labels or {}).items()
        and (not through.namespaces or each.namespace in through.namespaces)
    )


def _serving(pods: tuple[Pod, ...], engine: str) -> frozenset[str]:
    """Return the containers that serve: that of the name, else the first of each pod."""
    if engine:
        return frozenset({engine})
    return frozenset(each.spec.containers[0].name for each in pods if each.spec.containers)

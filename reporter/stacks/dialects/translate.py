"""Translates an object of a dialect's kind into a served model: its roles, pods and claims."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import TypeVar

from reporter.catalogue import resources as r
from reporter.model import objects as o
from reporter.model.paths import MOST, PathReader, condition_of
from reporter.model.resource import Resource
from reporter.probes.scope import SubjectScope
from reporter.served.role import Containers, CountedRole, Workload
from reporter.served.ways import Ways
from reporter.snapshot.table import Table
from reporter.stacks.dialects.reading import ClaimData, Dialect, Match, RoleData, Runs, Through
from reporter.workload.deployment import deployments_like, is_available, judge_deployment
from reporter.workload.owners import words

ObjectT = TypeVar("ObjectT", bound=o.KubeObject)


@dataclass(frozen=True, slots=True)
class Kinds:
    """The resources read for all dialects, by CRD name, and the workloads, by kind."""

    read: Mapping[str, Resource[o.KubeObject]]
    workloads: Mapping[str, Resource[Workload]]


@dataclass(frozen=True, slots=True)
class MatchedClaim:
    """A claim that matches: its text for messages, and its condition, if it is in one."""

    claim: ClaimData
    text: str
    condition: o.Condition | None

    @property
    def cause(self) -> str:
        if self.condition is None:
            return self.text.partition(":")[0]
        return self.condition.reason or f"{self.condition.type} is {self.condition.status}"


@dataclass(frozen=True, kw_only=True)
class DialectScope(SubjectScope[o.KubeObject]):
    dialect: Dialect
    kinds: Kinds

    def reason(self, suffix: str) -> str:
        return f"{self.dialect.subject_kind}{suffix}"

    @cached_property
    def read(self) -> PathReader:
        """The reader of paths in the object and in the further objects under also-reads."""
        alone, others = PathReader(self.name, self.object), {}
        for name, other in self.dialect.also_reads.items():
            names = (alone.text(other.name),) if other.name else ()
            place = self.place if other.kind.namespaced else ""
            table = self.snapshot[self.kinds.read[other.kind.crd]]
            others[name] = _listed(table, place, names=names, labels=alone.labels(other.labels))
        return PathReader(self.name, self.object, others)

    def holds(self, match: Match | None, at: object = None) -> bool:
        """True if the value that a file asks for is there, or it asks for nothing."""
        return match is None or self.read.has(match.at, match.values, at)

    @cached_property
    def is_stopped(self) -> bool:
        return any(each is True for _, each in self.read.values(self.dialect.stopped))

    @cached_property
    def roles(self) -> tuple[CountedRole, ...]:
        """Its roles, engines first."""
        entries = (
            (data, key, entry)
            for data in self.dialect.roles
            for key, entry in self.read.entries(data.each, self.object)
            if self.holds(data.only, entry)
        )
        made = (self._role(*each) for each in entries)
        found = list(islice((each for each in made if each is not None), MOST))
        if len(found) == 1:
            found = [replace(found[0], name="main")]
        return tuple(sorted(found, key=lambda each: each.part != "engine"))

    @cached_property
    def wants(self) -> bool:
        """True if any role should run; assumed if it has no roles."""
        return not self.roles or any(each.wanted for each in self.roles)

    @cached_property
    def needed(self) -> tuple[CountedRole, ...]:
        """The required roles that should run."""
        return tuple(each for each in self.roles if each.required and each.wanted)

    @cached_property
    def ways(self) -> tuple[Ways, ...]:
        """The paths to the pods of engines and of fronts."""
        firsts = (each.pods[0] for each in self.roles if each.part != "beside" and each.pods)
        labels = {str(each): each for pod in firsts if (each := pod.metadata.labels)}
        return tuple(
            Ways(snapshot=self.snapshot, place=self.place, labels=each) for each in labels.values()
        )

    @cached_property
    def down_on_the_way(self) -> tuple[tuple[Through, o.Deployment], ...]:
        asked = (each for each in self.dialect.through if self.holds(each.when))
        return tuple((each, of) for each in asked if (of := self._down(each)))

    def _role(self, data: RoleData, key: str, entry: object) -> CountedRole | None:
        read, required = self.read, data.required
        name = read.text(data.name, entry, key)
        labels = read.labels(data.pods, entry, name)
        pods = self.snapshot[r.PODS].selected(self.place, o.LabelSelector(labels)) if labels else ()
        resource, workload = self._made_by(data.workload, entry, name)
        if data.if_there and not pods and workload is None:
            return None
        first = (each.spec.containers[0].name for each in pods if each.spec.containers)
        serve = [*first] if data.part == "engine" else []  # others load no model
        if serve and data.engine and (engine := read.text(data.engine, entry, role=name)):
            serve = [engine]
        grouped = workload.size if isinstance(workload, o.LeaderWorkerSet) else 1
        wanted = read.number(data.wanted, entry, workload.wanted if workload else 1)
        return CountedRole(
            name=name,
            resource=resource,
            workload=workload,
            pods=pods,
            containers=Containers(fetch=frozenset(data.fetch), serve=frozenset(serve)),
            part=data.part,
            required=self.holds(required, entry) if isinstance(required, Match) else required,
            wanted=0 if self.is_stopped else wanted * read.number(data.times, None, 1),
            size=max(1, read.number(data.pods_each, entry, grouped)),
            enough=data.enough or 0,
        )

    def _made_by(
        self, runs: Runs, entry: object, role: str
    ) -> tuple[Resource[Workload], Workload | None]:
        """Return the workload that creates a role's pods; if several match, the newest."""
        names = [self.read.text(each, entry, role=role) for each in runs.names]
        labels = self.read.labels(runs.labels, entry, role)
        for kind in runs.kinds:
            resource = self.kinds.workloads[kind]
            found = _listed(self.snapshot[resource], self.place, names=names, labels=labels)
            if kept := [each for each in found if not each.deleting]:
                return resource, max(kept, key=lambda each: str(each.created))
        return self.kinds.workloads["Deployment"], None

    @cached_property
    def claims(self) -> tuple[MatchedClaim, ...]:
        """The claims that match; the first of each condition."""
        found: dict[tuple[str, str], list[MatchedClaim]] = {}
        for number, claim in enumerate(self.dialect.claims):
            about = (claim.of, claim.condition or f"{number}")
            objects = self.read.others[claim.of] if claim.of else (self.object,)
            if about not in found:
                matched = [each for obj in objects for each in self._matched(claim, obj)]
                found |= {about: matched} if matched else {}
        return tuple(chain.from_iterable(found.values()))

    def _matched(self, claim: ClaimData, obj: o.KubeObject) -> Iterator[MatchedClaim]:
        kind = self.dialect.also_reads[claim.of].kind.kind if claim.of else ""
        whose = f"{kind} {obj.name}: " if kind else ""
        if claim.at is None:
            known = condition_of(obj, claim.condition)
            status = claim.status or ("True" if claim.says == "ready" else "False")
            right = known and (not claim.reasons or known.reason in claim.reasons)
            if known and right and known.status == status:
                text = f"{whose}{known.type} is {known.status}, {words(known)}"
                yield MatchedClaim(claim, text, known)
            return
        read, last = self.read, claim.at.ways[0].steps[-1].name
        for key, entry in read.entries(claim.each, obj):
            values = (each for _, each in read.values(claim.at, entry, key))
            value = next((x for x in values if not claim.values or x in claim.values), None)
            if value is not None:
                text = next((f": {each}" for _, each in read.values(claim.text, entry, key)), "")
                text = f"{whose}{f'{key} ' if key else ''}{last} is {value}{text}"
                yield MatchedClaim(claim, text, None)

    @cached_property
    def controller(self) -> o.Deployment | None:
        """Its controller if that is not available, else None."""
        controller = self.dialect.controller
        return self._down(controller) if controller else None

    @cached_property
    def controller_down(self) -> str:
        """A suffix for messages if its controller is not available, else empty."""
        down = self.controller
        if down is None:
            return ""
        fault = judge_deployment(down, self.snapshot)
        why = f": {fault.detail}" if fault else ""
        return f"; its controller, Deployment {down.namespace}/{down.name}, is not available{why}"

    def _down(self, through: Through) -> o.Deployment | None:
        """Return one of the Deployments that a file names if none of them is available.

        Those of one namespace count, that of the oldest: a tenant may label another one like it.
        One that wants no pods counts last, as what is left of an installation that has moved.
        """
        names, labels, places = through.names, through.labels, through.namespaces
        every = deployments_like(self.snapshot, names=names, labels=labels, places=places)
        first = min(
            every,
            key=lambda each: (each.wanted == 0, f"{each.created or '~'}", each.namespace),
            default=None,
        )
        found = [each for each in every if first is not None and each.namespace == first.namespace]
        return first if not any(map(is_available, found)) else None


def _listed(
    table: Table[ObjectT], place: str, *, names: Iterable[str], labels: o.Labels
) -> tuple[ObjectT, ...]:
    named = (table.get(place, each) for each in names)
    like = table.selected(place, o.LabelSelector(labels))[:MOST] if labels else ()
    return (*(each for each in named if each is not None), *like)

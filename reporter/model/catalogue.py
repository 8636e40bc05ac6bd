"""The closed vocabulary of reasons: the built-in ones and those that users declare."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from reporter.model.reason import Reason, SuppressionRow
from reporter.model.resource import AnyResource
from reporter.model.stack import StackRows
from reporter.model.subject import CLUSTER_KIND, NAMESPACE_KIND, Layer, SubjectKind


class WorkloadKind(StrEnum):
    """Kinds of `apps/v1` whose status counts available replicas."""

    DEPLOYMENT = "Deployment"
    STATEFULSET = "StatefulSet"
    DAEMONSET = "DaemonSet"


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomWorkload:
    """A workload that must exist and be available.

    In the layer `cluster`, the first of `namespaces` that has the workload counts. In the layer
    `modelharness`, each of `namespaces` must have it; empty means every workload namespace.
    """

    kind: WorkloadKind
    name: str
    namespaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomCrd:
    """A CustomResourceDefinition that must be served, `<plural>.<group>`."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomCondition:
    """A condition that every object of a kind must have in a status.

    An object without the condition, or with status Unknown, is not at fault. Objects that are not
    `namespaced` belong to the layer `cluster`. `selector` is a label selector for the objects to
    check. In the layer `modeldeployment`, the value of `subject_label` names the subject; if that
    is empty, the subject is the object itself or its owner (`metadata.ownerReferences`).
    """

    group: str
    version: str
    plural: str
    kind: str
    type: str
    status: str = "True"
    namespaced: bool = True
    selector: str = ""
    subject_label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomComponent:
    """One user declaration: a reason, its place in the catalogue, and exactly one check that raises
    it: a workload that must be available, a CustomResourceDefinition that must be served, or a
    condition that must have a status.

    `reason` has the prefix of its layer: `cluster`, `modelharness`, or the kind of its subjects
    (`inferenceset`, `modelserving`, ...). Its priority is just above that of `before` or just below
    that of `after`, another reason of its layer; with neither, it is last. `grace_seconds` None
    means the global grace. `why` is required with `suppresses`: the evidence that those reasons
    have no valid input while this one fires. `blocks_ready`: its layer's Ready waits for it.
    """

    reason: str
    layer: Layer
    before: str = ""
    after: str = ""
    grace_seconds: int | None = None
    suppresses: tuple[str, ...] = ()
    why: str = ""
    blocks_ready: bool = True
    summary: str = ""
    action: str = ""
    workload: CustomWorkload | None = None
    crd: CustomCrd | None = None
    condition: CustomCondition | None = None


Priority: TypeAlias = tuple[bool, int]
"""Sort key of the reasons of one subject; the smallest is to be looked at first."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A component that a user declared and the resource it reads; None for a CRD check."""

    component: CustomComponent
    resource: AnyResource | None


@dataclass(frozen=True, slots=True, eq=False)
class Catalogue:
    """Reasons by priority, suppression rows, and the resources to read.

    `reasons` are in the order of the priority chain within each layer. `declared` comes from the
    user's file.
    """

    reasons: tuple[Reason, ...]
    suppression: tuple[SuppressionRow, ...]
    resources: tuple[AnyResource, ...]
    stacks: tuple[StackRows, ...] = ()
    pod_suppression: tuple[SuppressionRow, ...] = ()
    declared: tuple[Declared, ...] = ()
    upstream_reasons: frozenset[str] = field(init=False)
    _by_name: Mapping[str, Reason] = field(init=False, repr=False)
    _ranks: Mapping[str, int] = field(init=False, repr=False)
    _upstreams: Mapping[str, tuple[SuppressionRow, ...]] = field(init=False, repr=False)
    _rests_on: Mapping[str, frozenset[AnyResource]] = field(init=False, repr=False)
    _of_ready: Mapping[SubjectKind, tuple[Reason, ...]] = field(init=False, repr=False)
    _of_subject: Mapping[SubjectKind, tuple[AnyResource, ...]] = field(init=False, repr=False)
    _pod_upstreams: Mapping[str, tuple[SuppressionRow, ...]] = field(init=False, repr=False)
    _of_kind: Mapping[str, tuple[AnyResource, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        by_name = {reason.name: reason for reason in self.reasons}
        upstreams = _by_downstream(self.suppression)
        rests_on = {
            reason.name: reason.all_reads.union(
                *(by_name[row.upstream].reads for row in upstreams.get(reason.name, ()))
            )
            for reason in self.reasons
        }
        of_ready: dict[SubjectKind, tuple[Reason, ...]] = defaultdict(tuple)
        for reason in self.reasons:
            if reason.blocks_ready or reason.says_ready:
                of_ready[reason.subject_kind] += (reason,)
        of_kind: dict[str, tuple[AnyResource, ...]] = defaultdict(tuple)
        for resource in self.resources:
            of_kind[resource.kind] += (resource,)
        for name, value in (
            ("_of_kind", dict(of_kind)),
            ("upstream_reasons", frozenset(row.upstream for row in self.suppression)),
            ("_by_name", by_name),
            ("_ranks", {name: rank for rank, name in enumerate(by_name)}),
            ("_upstreams", upstreams),
            ("_rests_on", rests_on),
            ("_of_ready", dict(of_ready)),
            ("_of_subject", self._subjects()),
            ("_pod_upstreams", _by_downstream(self.pod_suppression)),
        ):
            object.__setattr__(self, name, value)

    def _subjects(self) -> dict[SubjectKind, tuple[AnyResource, ...]]:
        found: dict[SubjectKind, tuple[AnyResource, ...]] = defaultdict(tuple)
        for resource in self.resources:
            if resource.subject_kind is not None:
                found[resource.subject_kind] += (resource,)
        for stack in self.stacks:
            for kind in stack.kinds:
                found[kind] = (*stack.shares, *found[kind])
        return dict(found)

    def __getitem__(self, name: str) -> Reason:
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Reason]:
        return iter(self.reasons)

    def rank(self, name: str) -> int:
        """Return the rank of a reason; the smallest wins within a chain, unknown names are last."""
        return self._ranks.get(name, len(self._ranks))

    def priority(self, name: str) -> Priority:
        """Return the sort key of a reason: those in the chain come before the others."""
        return (not self._by_name[name].chain, self._ranks[name])

    def upstreams_of(self, name: str) -> tuple[SuppressionRow, ...]:
        return self._upstreams.get(name, ())

    def rests_on(self, name: str) -> frozenset[AnyResource]:
        return self._rests_on[name]

    def of_ready(self, kind: SubjectKind) -> tuple[Reason, ...]:
        return self._of_ready.get(kind, ())

    @property
    def kinds(self) -> tuple[SubjectKind, ...]:
        deployments = (kind for stack in self.stacks for kind in stack.kinds)
        return (CLUSTER_KIND, NAMESPACE_KIND, *deployments)

    def of_subject(self, kind: SubjectKind) -> tuple[AnyResource, ...]:
        """Return the resources whose objects are subjects of a kind; empty in the upper layers."""
        return self._of_subject.get(kind, ())

    def of_kind(self, kind: str, group: str | None = None) -> tuple[AnyResource, ...]:
        """Return the resources of a kind, optionally of one group; stacks may share a kind."""
        found = self._of_kind.get(kind, ())
        return found if group is None else tuple(each for each in found if each.group == group)

    def stack(self, name: str) -> StackRows:
        return next(each for each in self.stacks if each.name == name)

    def stack_of(self, kind: SubjectKind) -> StackRows | None:
        return next((each for each in self.stacks if kind in each.kinds), None)

    def pod_upstreams_of(self, name: str) -> tuple[SuppressionRow, ...]:
        return self._pod_upstreams.get(name, ())

    @property
    def metrics_kind(self) -> SubjectKind:
        """The kind whose reason names stand in settings of metrics-based reasons.

        All scraped kinds have the same such reasons, and one setting applies to all of them.
        """
        return next(each.scraped.kind for each in self.stacks if each.scraped)


def _by_downstream(rows: Iterable[SuppressionRow]) -> dict[str, tuple[SuppressionRow, ...]]:
    found: dict[str, tuple[SuppressionRow, ...]] = defaultdict(tuple)
    for row in rows:
        for name in row.downstream:
            found[name] += (row,)
    return dict(found)

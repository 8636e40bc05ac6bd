"""The closed vocabulary of reasons, as a value: what is built in, and what users declare beside it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from reporter.model.custom import CustomComponent
from reporter.model.objects import KubeObject
from reporter.model.reason import Reason
from reporter.model.resource import Resource
from reporter.model.subject import SubjectKind

Priority: TypeAlias = tuple[bool, int]
"""Order of reasons of one subject: the smaller is looked at first."""


@dataclass(frozen=True, slots=True)
class SuppressionRow:
    """While `upstream` fires, `downstream` is suppressed.

    `crd` narrows a row of `clusterCRDMissing` to one CustomResourceDefinition.
    """

    upstream: str
    downstream: tuple[str, ...]
    why: str
    crd: str = ""


@dataclass(frozen=True, slots=True)
class Declared:
    """A component that a user declared, and what is read for it; None for a missing CRD."""

    component: CustomComponent
    resource: Resource[KubeObject] | None


@dataclass(frozen=True, slots=True, eq=False)
class Catalogue:
    """Reasons in the order of their priority, which of them suppresses which, and what is read.

    Attributes:
        reasons: per layer in the order of the priority chain.
        suppression: which firing reason hides which others.
        resources: listed and watched over the whole cluster.
        declared: the reasons among them that the user's file declares.

    """

    reasons: tuple[Reason, ...]
    suppression: tuple[SuppressionRow, ...]
    resources: tuple[Resource[KubeObject], ...]
    declared: tuple[Declared, ...] = ()
    upstream_reasons: frozenset[str] = field(init=False)
    _by_name: Mapping[str, Reason] = field(init=False, repr=False)
    _ranks: Mapping[str, int] = field(init=False, repr=False)
    _upstreams: Mapping[str, tuple[SuppressionRow, ...]] = field(init=False, repr=False)
    _rests_on: Mapping[str, frozenset[Resource[KubeObject]]] = field(init=False, repr=False)
    _of_ready: Mapping[SubjectKind, tuple[Reason, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        by_name = {reason.name: reason for reason in self.reasons}
        upstreams: dict[str, tuple[SuppressionRow, ...]] = defaultdict(tuple)
        for row in self.suppression:
            for name in row.downstream:
                upstreams[name] += (row,)
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
        for name, value in (
            ("upstream_reasons", frozenset(row.upstream for row in self.suppression)),
            ("_by_name", by_name),
            ("_ranks", {name: rank for rank, name in enumerate(by_name)}),
            ("_upstreams", dict(upstreams)),
            ("_rests_on", rests_on),
            ("_of_ready", dict(of_ready)),
        ):
            object.__setattr__(self, name, value)

    def __getitem__(self, name: str) -> Reason:
        """Return a reason by its name."""
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Reason]:
        return iter(self.reasons)

    def rank(self, name: str) -> int:
        """Return the place of a reason; the smaller wins within a chain, an unknown one is last."""
        return self._ranks.get(name, len(self._ranks))

    def priority(self, name: str) -> Priority:
        """Return what reasons of a subject are ordered by: the chain first, then the others."""
        return (not self._by_name[name].chain, self._ranks[name])

    def upstreams_of(self, name: str) -> tuple[SuppressionRow, ...]:
        """Return the rows that can suppress a reason."""
        return self._upstreams.get(name, ())

    def rests_on(self, name: str) -> frozenset[Resource[KubeObject]]:
        """Return what a reason reads, and what its upstreams read."""
        return self._rests_on[name]

    def of_ready(self, kind: SubjectKind) -> tuple[Reason, ...]:
        """Return the reasons that decide whether subjects of a kind are ready."""
        return self._of_ready.get(kind, ())

"""What a probe is given: one scope, from which it makes findings.

All probes have this one signature: `Callable[[ScopeT], Iterable[Finding]]`. What a probe looks at is in
the scope: the snapshot, the settings, what was scraped, and, below the cluster, its subject.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, Self, TypeAlias, TypeVar, Unpack

from reporter.metrics.looks.samples import NONE, Samples
from reporter.model.finding import (
    Derived,
    Evaluation,
    Finding,
    KnownSubject,
    ReadyEvidence,
    ServingEvidence,
    Undecided,
)
from reporter.model.objects import KubeObject, Namespace
from reporter.model.resource import Resource, Seen
from reporter.model.subject import ObjectRef, Subject
from reporter.model.text import MESSAGE_BYTES, clean, cut
from reporter.probes.about import About, FaultFields
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.components import namespace_ref

ObjectT_co = TypeVar("ObjectT_co", bound=KubeObject, covariant=True)
ScopeT = TypeVar("ScopeT", bound="Scope")


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What the cluster's probes are given.

    Attributes:
        snapshot: the cluster at one instant.
        settings: of the evaluation.
        samples: what was scraped.
        earlier: what earlier evaluations saw of the shared parts.

    """

    snapshot: Snapshot
    settings: EvaluationSettings
    samples: Samples = NONE
    earlier: Seen = field(default_factory=Seen)


@dataclass(frozen=True, kw_only=True)
class NamespaceScope(Scope):
    """What the probes of a workload namespace are given.

    Attributes:
        namespace: which.

    """

    namespace: Namespace


@dataclass(frozen=True, kw_only=True)
class SubjectScope(Scope, Generic[ObjectT_co]):
    """What the probes of one deployment of a model are given.

    Attributes:
        resource: where the object is from.
        object: the deployment itself.

    """

    resource: Resource[ObjectT_co]
    object: ObjectT_co

    @classmethod
    def of(
        cls,
        resource: Resource[ObjectT_co],
        obj: ObjectT_co,  # type: ignore[misc]  # as in __init__: what is made is read only
        scope: Scope,
    ) -> Self:
        """Return what the probes of one deployment are given, of what those of the cluster are."""
        return cls(
            snapshot=scope.snapshot,
            settings=scope.settings,
            samples=scope.samples,
            earlier=scope.earlier,
            resource=resource,
            object=obj,
        )

    @cached_property
    def subject(self) -> Subject:
        """What its findings are about.

        Raises:
            ValueError: the resource has no subjects.

        """
        return subject_of(self.resource, self.object)

    @property
    def name(self) -> str:
        """The name of the deployment."""
        return self.object.name

    @property
    def place(self) -> str:
        """The namespace that it is in."""
        return self.object.namespace

    @property
    def ref(self) -> ObjectRef:
        """The reference to the deployment."""
        return self.resource.ref(self.object)

    @property
    def involved(self) -> ObjectRef:
        """What Events refer to: its Namespace."""
        return namespace_ref(self.snapshot, self.place)

    @property
    def title(self) -> str:
        """How messages name it."""
        return f"{self.resource.kind} {self.place}/{self.name}"

    def finding(self, **fault: Unpack[FaultFields]) -> Finding:
        """Return a finding whose message names the deployment first; `text` follows it."""
        return About(self.subject, self.involved, self.title).finding(**fault)

    def evidence(self, reason: str, text: str) -> ReadyEvidence:
        """Return the evidence that the deployment serves; `text` says what was seen."""
        return ReadyEvidence(
            reason=reason,
            subject=self.subject,
            involved=self.involved,
            related=self.ref,
            message=cut(clean(f"{self.title} is ready: {text}"), MESSAGE_BYTES),
        )


Probe: TypeAlias = Callable[[ScopeT], Iterable[Finding]]
"""A probe: a scope in, findings out."""


def subject_of(resource: Resource[KubeObject], obj: KubeObject) -> Subject:
    """Return the subject that an object is.

    Raises:
        ValueError: the resource has no subjects.

    """
    if resource.subject_kind is None:
        raise ValueError(f"{resource} has no subjects")
    return Subject(resource.subject_kind, obj.namespace, obj.name)


def evaluated(
    scope: SubjectScope[KubeObject],
    findings: Iterable[Finding],
    ready: Iterable[ReadyEvidence] = (),
    *,
    undecided: Undecided | None = None,
    derived: tuple[Derived, ...] = (),
    serving: Iterable[ServingEvidence] = (),
) -> Evaluation:
    """Return what is said of one deployment, as the evaluation of its subject."""
    return Evaluation(
        findings=tuple(findings),
        ready=tuple(ready),
        subjects=(KnownSubject(scope.subject, scope.object.created),),
        undecided=undecided or {},
        derived=derived,
        serving=tuple(serving),
    )

"""Scopes, the input of probes, and how findings become evaluations.

All probes have the signature `Callable[[ScopeT], Iterable[Finding]]`. A scope has all that a probe
looks at: the snapshot, the settings, the samples, and, below the cluster, its subject. A probe that
fails does not keep the others from being evaluated.
"""

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import ClassVar, Final, Generic, Required, Self, TypeAlias, TypedDict, TypeVar, Unpack

from reporter.catalogue.resources import NAMESPACES
from reporter.metrics.samples.window import NONE, PodSamples
from reporter.model.finding import (
    Derived,
    Diagnosis,
    Evaluation,
    Fails,
    Finding,
    InconclusiveReasons,
    KnownSubject,
    ReadyEvidence,
    ServingEvidence,
    Unjudged,
)
from reporter.model.objects import KubeObject, Namespace
from reporter.model.resource import AnyResource, Resource, Seen
from reporter.model.subject import CLUSTER, ObjectRef, Subject
from reporter.model.text import MESSAGE_BYTES, clean, cut
from reporter.settings import EvaluationSettings
from reporter.snapshot.decode import belongs_to
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.components import ControlPlaneComponent, namespace_ref
from reporter.workload.replica_faults import WorkloadFault

_CAUSE_BYTES: Final = 120
_NAMESPACE_CAUSE_BYTES: Final = 100


class WorkloadFields(TypedDict, total=False):
    """Fields that findings about workloads have in common; see `Finding` for their meaning."""

    transition: datetime | None
    lost_node: str
    passing: bool
    diagnosis: Diagnosis | None
    fails: Fails


class FaultFields(WorkloadFields, total=False):
    reason: Required[str]
    related: ObjectRef
    severity: int
    created: datetime | None
    no_older_than: datetime | None
    exempt: bool
    budget: timedelta | None
    independent: bool
    sustains: bool
    lingers: bool
    about: str
    by_spec: bool


def of_workload(fault: WorkloadFault) -> WorkloadFields:
    """Return the fields that a finding takes over from the fault of a workload."""
    return {
        "transition": fault.transition,
        "lost_node": fault.lost_node,
        "passing": fault.passing,
        "diagnosis": fault.diagnosis,
        "fails": fault.fails,
    }


class ScopeFields(TypedDict):
    snapshot: Snapshot
    settings: EvaluationSettings
    samples: PodSamples
    earlier: Seen


ObjectT_co = TypeVar("ObjectT_co", bound=KubeObject, covariant=True)
ScopeT = TypeVar("ScopeT", bound="Scope")


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The scope of the cluster's probes; `earlier` are the shared parts seen by earlier passes."""

    snapshot: Snapshot
    settings: EvaluationSettings
    samples: PodSamples = NONE
    earlier: Seen = field(default_factory=Seen)

    @property
    def basis(self) -> ScopeFields:
        return {
            "snapshot": self.snapshot,
            "settings": self.settings,
            "samples": self.samples,
            "earlier": self.earlier,
        }


@dataclass(frozen=True, kw_only=True)
class NamespaceScope(Scope):
    namespace: Namespace

    def finding(self, *, text: str, cause: str, **fault: Unpack[FaultFields]) -> Finding:
        """Return a finding whose message is the object at fault and `text`."""
        return Finding(
            subject=Subject.of_namespace(self.namespace.name),
            involved=NAMESPACES.ref(self.namespace),
            message=clean(f"{fault['related']} {text}"),
            cause=cut(clean(cause), _NAMESPACE_CAUSE_BYTES),
            **fault,
        )


@dataclass(frozen=True, kw_only=True)
class SubjectScope(Scope, Generic[ObjectT_co]):
    resource: Resource[ObjectT_co]
    object: ObjectT_co

    name_label: ClassVar[str] = ""
    """Label with the model's name on the objects that are created for it."""

    @classmethod
    def of(
        cls,
        resource: Resource[ObjectT_co],
        obj: ObjectT_co,  # type: ignore[misc]  # as in __init__: the result is read-only
        scope: Scope,
    ) -> Self:
        return cls(**scope.basis, resource=resource, object=obj)

    @cached_property
    def subject(self) -> Subject:
        return subject_of(self.resource, self.object)

    @property
    def name(self) -> str:
        return self.object.name

    @property
    def place(self) -> str:
        return self.object.namespace

    @property
    def ref(self) -> ObjectRef:
        return self.resource.ref(self.object)

    @property
    def involved(self) -> ObjectRef:
        """The object that Events refer to: its Namespace."""
        return namespace_ref(self.snapshot, self.place)

    def known(self, resource: AnyResource) -> bool:
        """Tell whether all objects of a resource that are created for it are visible."""
        own = belongs_to(self.name, self.name_label)
        return self.snapshot.absence_known(resource, self.place, sought=own)

    @property
    def title(self) -> str:
        return f"{self.resource.kind} {self.place}/{self.name}"

    def finding(self, *, text: str, cause: str, **fault: Unpack[FaultFields]) -> Finding:
        """Return a finding about the model, or the object that `related` names.

        Its message is the model's title and `text`.
        """
        fault.setdefault("related", self.ref)
        return Finding(
            subject=self.subject,
            involved=self.involved,
            message=cut(clean(f"{self.title}: {text}"), MESSAGE_BYTES),
            cause=cut(clean(cause), _CAUSE_BYTES),
            **fault,
        )

    def evidence(self, reason: str, text: str) -> ReadyEvidence:
        """Return the evidence that the model serves; `text` says what was seen."""
        return ReadyEvidence(
            reason=reason,
            subject=self.subject,
            involved=self.involved,
            related=self.ref,
            message=cut(clean(f"{self.title} is ready: {text}"), MESSAGE_BYTES),
        )


Probe: TypeAlias = Callable[[ScopeT], Iterable[Finding]]
"""A probe: a scope in, findings out."""


def subject_of(resource: AnyResource, obj: KubeObject) -> Subject:
    """Return an object as a subject. Raises ValueError if the resource has no subjects."""
    if resource.subject_kind is None:
        raise ValueError(f"{resource} has no subjects")
    return Subject(resource.subject_kind, obj.namespace, obj.name)


def evaluated(
    scope: SubjectScope[KubeObject],
    findings: Iterable[Finding],
    ready: Iterable[ReadyEvidence] = (),
    *,
    inconclusive: InconclusiveReasons | None = None,
    derived: tuple[Derived, ...] = (),
    serving: Iterable[ServingEvidence] = (),
) -> Evaluation:
    return Evaluation(
        findings=tuple(findings),
        ready=tuple(ready),
        subjects=(KnownSubject(scope.subject, scope.object.created),),
        inconclusive=inconclusive or {},
        derived=derived,
        serving=tuple(serving),
    )


@dataclass(frozen=True, kw_only=True)
class ComponentScope(Scope):
    component: ControlPlaneComponent


T = TypeVar("T")

_PACKAGE: Final = "reporter"

EMPTY: Final = Evaluation((), (), ())


def contained_probe(reason: str, probe: str, ask: Callable[[], Iterable[Finding]]) -> Evaluation:
    """Return the findings of a reason's probe, or that the reason could not be judged."""
    return contained(lambda: Evaluation(tuple(ask()), (), ()), CLUSTER, reason=reason, probe=probe)


def contained(
    ask: Callable[[], Evaluation], about: Subject, *, reason: str = "", probe: str = ""
) -> Evaluation:
    """Run probes; if they raise, only `about`, or `reason` if given, is left unjudged."""
    try:
        return ask()
    except Exception as error:  # noqa: BLE001  # reported by a finding that names the place
        return Evaluation((), (), (), unjudged=(Unjudged(about, _where(error), reason, probe),))


def _where(error: Exception) -> str:
    """Return the error's type and place in our code; its text may quote the object."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [each for each in frames if f"/{_PACKAGE}/" in each.filename]
    if not ours:
        return type(error).__name__
    path = ours[-1].filename.rpartition(f"/{_PACKAGE}/")[2]
    return f"{type(error).__name__} in {_PACKAGE}/{path}, line {ours[-1].lineno}"


def joined(parts: Iterable[Evaluation], before: Evaluation = EMPTY) -> Evaluation:
    """Return one evaluation of all parts, in their order.

    Fields that are equal to those of `before` stay the same objects, so comparisons are fast.
    """
    parts = tuple(parts)
    inconclusive = {pod: which for part in parts for pod, which in part.inconclusive.items()}
    return Evaluation(
        findings=_chained(map(attrgetter("findings"), parts), before.findings),
        ready=_chained(map(attrgetter("ready"), parts), before.ready),
        subjects=_chained(map(attrgetter("subjects"), parts), before.subjects),
        inconclusive=inconclusive,
        derived=_chained(map(attrgetter("derived"), parts), before.derived),
        unjudged=_chained(map(attrgetter("unjudged"), parts), before.unjudged),
        serving=_chained(map(attrgetter("serving"), parts), before.serving),
    )


def _chained(parts: Iterable[tuple[T, ...]], before: tuple[T, ...]) -> tuple[T, ...]:
    found = list(filter(None, parts))
    chained = found[0] if len(found) == 1 else tuple(chain.from_iterable(found))
    return before if chained == before else chained

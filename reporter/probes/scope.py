"""What a probe is given: one scope, from which it makes findings.

All probes have this one signature: `Callable[[ScopeT], Iterable[Finding]]`. What a probe looks at
is in the scope: the snapshot, the settings, what was scraped, and, below the cluster, its subject.

What the probe of one shared Deployment is given.

A finding about the deployment of a model, whatever the stack: who it names, and how long.

The parts of an evaluation: one that fails keeps no other from being made.
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
from reporter.metrics.looks.window import NONE, Samples
from reporter.model.finding import (
    Derived,
    Diagnosis,
    Evaluation,
    Fails,
    Finding,
    KnownSubject,
    ReadyEvidence,
    ServingEvidence,
    Undecided,
    Unjudged,
)
from reporter.model.objects import KubeObject, Namespace
from reporter.model.resource import Resource, Seen
from reporter.model.subject import CLUSTER, ObjectRef, Subject
from reporter.model.text import MESSAGE_BYTES, clean, cut
from reporter.settings import EvaluationSettings
from reporter.snapshot.decode import belongs_to
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.components import ControlPlaneComponent, namespace_ref
from reporter.workload.standing import WorkloadFault

_CAUSE_BYTES: Final = 120
_NAMESPACE_CAUSE_BYTES: Final = 100


class WorkloadFields(TypedDict, total=False):
    """What is said alike of each workload's fault; see `Finding` for the meaning of the fields."""

    transition: datetime | None
    lost_node: str
    passing: bool
    diagnosis: Diagnosis | None
    fails: Fails


class FaultFields(WorkloadFields, total=False):
    """What a probe says of a fault."""

    reason: Required[str]
    related: Required[ObjectRef]
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
    """Return what a finding takes over of the fault of a workload."""
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
    samples: Samples
    earlier: Seen


ObjectT_co = TypeVar("ObjectT_co", bound=KubeObject, covariant=True)
ScopeT = TypeVar("ScopeT", bound="Scope")


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What the cluster's probes are given; `earlier` evaluations saw these shared parts."""

    snapshot: Snapshot
    settings: EvaluationSettings
    samples: Samples = NONE
    earlier: Seen = field(default_factory=Seen)

    @property
    def basis(self) -> ScopeFields:
        """What narrower scopes take over."""
        return {
            "snapshot": self.snapshot,
            "settings": self.settings,
            "samples": self.samples,
            "earlier": self.earlier,
        }


@dataclass(frozen=True, kw_only=True)
class NamespaceScope(Scope):
    """What the probes of a workload namespace are given."""

    namespace: Namespace

    def finding(self, *, text: str, cause: str, **fault: Unpack[FaultFields]) -> Finding:
        """Return a finding whose message names the object at fault first; `text` follows it."""
        return Finding(
            subject=Subject.of_namespace(self.namespace.name),
            involved=NAMESPACES.ref(self.namespace),
            message=clean(f"{fault['related']} {text}"),
            cause=cut(clean(cause), _NAMESPACE_CAUSE_BYTES),
            **fault,
        )


@dataclass(frozen=True, kw_only=True)
class SubjectScope(Scope, Generic[ObjectT_co]):
    """What the probes of one deployment of a model are given."""

    resource: Resource[ObjectT_co]
    object: ObjectT_co

    name_label: ClassVar[str] = ""
    """Label of the objects that are made for it: its name."""

    @classmethod
    def of(
        cls,
        resource: Resource[ObjectT_co],
        obj: ObjectT_co,  # type: ignore[misc]  # as in __init__: what is made is read only
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
        """What Events refer to: its Namespace."""
        return namespace_ref(self.snapshot, self.place)

    def known(self, resource: Resource[KubeObject]) -> bool:
        """Tell whether all objects of a resource are seen that are made for it."""
        own = belongs_to(self.name, self.name_label)
        return self.snapshot.absence_known(resource, self.place, sought=own)

    @property
    def title(self) -> str:
        return f"{self.resource.kind} {self.place}/{self.name}"

    def finding(self, *, text: str, cause: str, **fault: Unpack[FaultFields]) -> Finding:
        """Return a finding whose message names the deployment first; `text` follows it."""
        return Finding(
            subject=self.subject,
            involved=self.involved,
            message=cut(clean(f"{self.title}: {text}"), MESSAGE_BYTES),
            cause=cut(clean(cause), _CAUSE_BYTES),
            **fault,
        )

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


@dataclass(frozen=True, kw_only=True)
class ComponentScope(Scope):
    """The cluster, and the component that is looked at."""

    component: ControlPlaneComponent


T = TypeVar("T")

_PACKAGE: Final = "reporter"

NOTHING_SAID: Final = Evaluation((), (), ())


def contained_probe(reason: str, probe: str, ask: Callable[[], Iterable[Finding]]) -> Evaluation:
    """Return what a probe of a reason finds, or that the reason could not be judged."""
    return contained(lambda: Evaluation(tuple(ask()), (), ()), CLUSTER, reason=reason, probe=probe)


def contained(
    ask: Callable[[], Evaluation], about: Subject, *, reason: str = "", probe: str = ""
) -> Evaluation:
    """Ask probes; should they fail on an object, only what they were asked about is left open.

    That is all about a subject, or, where `reason` is given, that reason; see `Unjudged`.
    """
    try:
        return ask()
    except Exception as error:  # noqa: BLE001  # told by a finding that names where
        return Evaluation((), (), (), unjudged=(Unjudged(about, _where(error), reason, probe),))


def _where(error: Exception) -> str:
    """Return what failed, and where in our code: the text of an error may hold the object's."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [each for each in frames if f"/{_PACKAGE}/" in each.filename]
    if not ours:
        return type(error).__name__
    path = ours[-1].filename.rpartition(f"/{_PACKAGE}/")[2]
    return f"{type(error).__name__} in {_PACKAGE}/{path}, line {ours[-1].lineno}"


def joined(parts: Iterable[Evaluation], before: Evaluation = NOTHING_SAID) -> Evaluation:
    """Return one evaluation of all parts, in their order.

    What is the same as `before` stays the very object, so that others see at once that it is.
    """
    parts = tuple(parts)
    undecided = {pod: which for part in parts for pod, which in part.undecided.items()}
    return Evaluation(
        findings=_chained(map(attrgetter("findings"), parts), before.findings),
        ready=_chained(map(attrgetter("ready"), parts), before.ready),
        subjects=_chained(map(attrgetter("subjects"), parts), before.subjects),
        undecided=undecided,
        derived=_chained(map(attrgetter("derived"), parts), before.derived),
        unjudged=_chained(map(attrgetter("unjudged"), parts), before.unjudged),
        serving=_chained(map(attrgetter("serving"), parts), before.serving),
    )


def _chained(parts: Iterable[tuple[T, ...]], before: tuple[T, ...]) -> tuple[T, ...]:
    found = list(filter(None, parts))
    chained = found[0] if len(found) == 1 else tuple(chain.from_iterable(found))
    return before if chained == before else chained

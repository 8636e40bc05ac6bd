"""What a probe is given: one scope, from which it makes findings.

All probes have this one signature: `Callable[[ScopeT], Iterable[Finding]]`. What a probe looks at is in
the scope: the snapshot, the settings, what was scraped, and, below the cluster, its subject.

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
from typing import Final, Generic, NotRequired, Self, TypeAlias, TypedDict, TypeVar, Unpack

from reporter.metrics.looks.samples import NONE, Samples
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
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.components import ControlPlaneComponent, namespace_ref

_CAUSE_BYTES: Final = 120


class FaultFields(TypedDict):
    """What a probe says of a fault; see `Finding` for the meaning of each field."""

    reason: str
    related: ObjectRef
    cause: str
    text: str
    severity: NotRequired[int]
    transition: NotRequired[datetime | None]
    created: NotRequired[datetime | None]
    no_older_than: NotRequired[datetime | None]
    exempt: NotRequired[bool]
    budget: NotRequired[timedelta | None]
    independent: NotRequired[bool]
    sustains: NotRequired[bool]
    lingers: NotRequired[bool]
    passing: NotRequired[bool]
    part: NotRequired[str]
    lost_node: NotRequired[str]
    by_spec: NotRequired[bool]
    diagnosis: NotRequired[Diagnosis | None]
    fails: NotRequired[Fails]


@dataclass(frozen=True, slots=True)
class About:
    """What findings are about.

    Attributes:
        subject: the deployment.
        involved: the namespace that Events refer to.
        title: kind, namespace and name, which a message begins with.

    """

    subject: Subject
    involved: ObjectRef
    title: str

    def finding(self, **fault: Unpack[FaultFields]) -> Finding:
        """Return a finding whose message names the deployment first; `text` follows it."""
        return Finding(
            reason=fault["reason"],
            subject=self.subject,
            involved=self.involved,
            related=fault["related"],
            message=cut(clean(f"{self.title}: {fault['text']}"), MESSAGE_BYTES),
            cause=cut(clean(fault["cause"]), _CAUSE_BYTES),
            severity=fault.get("severity", 0),
            transition=fault.get("transition"),
            created=fault.get("created"),
            no_older_than=fault.get("no_older_than"),
            exempt=fault.get("exempt", False),
            budget=fault.get("budget"),
            independent=fault.get("independent", False),
            sustains=fault.get("sustains", False),
            lingers=fault.get("lingers", False),
            passing=fault.get("passing", False),
            about=fault.get("part", ""),
            lost_node=fault.get("lost_node", ""),
            by_spec=fault.get("by_spec", False),
            diagnosis=fault.get("diagnosis"),
            fails=fault.get("fails", Fails.OTHERWISE),
        )


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

"""What is seen of an InferenceService, and how its findings are put into words."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Unpack

from reporter.catalogue.resources import (
    DEPLOYMENTS,
    INFERENCESERVICES,
    KNATIVE_REVISIONS,
    KNATIVE_SERVICES,
    PODS,
)
from reporter.derived.inferenceservice.components import Component, components_of
from reporter.derived.inferenceservice.derive import Derivation, derive
from reporter.derived.inferenceservice.facts import (
    INFERENCESERVICE,
    REVISION,
    Facts,
    facts_of,
    object_name,
)
from reporter.derived.inferenceservice.mode import Mode, is_stopped
from reporter.model.derived import Derived
from reporter.model.finding import Finding
from reporter.model.kserve import (
    ComponentStatus,
    InferenceService,
    KnativeCondition,
    KnativeRevision,
    TrafficEntry,
)
from reporter.model.objects import Condition, Pod
from reporter.model.subject import ObjectRef, Subject, SubjectKind
from reporter.model.text import detail
from reporter.probes.about import About, FaultFields
from reporter.snapshot.snapshot import Served, Snapshot
from reporter.workload.namespaces import namespace_ref
from reporter.workload.pod import counts, is_ready

_TEXT_BYTES: Final = 400


@dataclass(frozen=True)
class View:
    """One InferenceService with what is derived of it.

    Attributes:
        inferenceservice: the object.
        namespace: the reference to its namespace, which Events refer to.
        facts: what its status is made of.
        all_pods: its pods, of whatever component and revision, by name; None if they are unknown.
        revisions: its Knative revisions; None if they are unknown.
        knative_absent: the API server serves no Knative Services.

    """

    inferenceservice: InferenceService
    namespace: ObjectRef
    facts: Facts
    all_pods: tuple[Pod, ...] | None
    revisions: tuple[KnativeRevision, ...] | None
    knative_absent: bool

    @property
    def subject(self) -> Subject:
        """What its findings are about."""
        place = self.inferenceservice
        return Subject(SubjectKind.INFERENCESERVICE, place.namespace, place.name)

    @property
    def ref(self) -> ObjectRef:
        """The reference to the InferenceService."""
        return INFERENCESERVICES.ref(self.inferenceservice)

    @property
    def title(self) -> str:
        """How messages name it."""
        return f"InferenceService {self.inferenceservice.namespace}/{self.inferenceservice.name}"

    @property
    def stopped(self) -> bool:
        """Whether it is switched off."""
        return is_stopped(self.inferenceservice)

    @property
    def in_knative_mode(self) -> bool:
        """Whether its components are Knative Services."""
        return self.facts.mode is Mode.KNATIVE

    @property
    def shows_ready(self) -> bool:
        """Whether its stored Ready is True."""
        return is_true(self.inferenceservice.status.condition("Ready"))

    @property
    def derived(self) -> tuple[Derived, ...]:
        """The status it should have; none while what it rests on is not all known."""
        known = self.facts.services if self.in_knative_mode else self.facts.deployments
        if known is None or self.facts.pods is None or not self.derivation.decided:
            return ()
        return (Derived(self.ref, self.derivation.status),)

    @cached_property
    def derivation(self) -> Derivation:
        """The status that it should have."""
        return derive(self.facts)

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """The components in its spec."""
        return tuple(components_of(self.inferenceservice.spec))

    @cached_property
    def pods(self) -> tuple[Pod, ...]:
        """The pods that matter: in Knative mode of the newest revisions and of those with traffic."""
        pods = self.all_pods or ()
        if not self.in_knative_mode:
            return pods
        return tuple(each for each in pods if each.metadata.label(REVISION) in self._in_use)

    @cached_property
    def _in_use(self) -> frozenset[str | None]:
        parts = [self.status_of(each) for each in self.components]
        newest = {each.latest_created_revision for each in parts}
        served = {entry.revision_name for each in parts for entry in with_traffic(each)}
        return frozenset(newest | served) - {""}

    @cached_property
    def starting(self) -> bool:
        """Whether a pod that stands for a replica is not Ready: it may have time to start."""
        return any(counts(each) and not is_ready(each) for each in self.pods)

    def status_of(self, component: Component) -> ComponentStatus:
        """Return the status that a component should have."""
        parts = self.derivation.propagated.components or {}
        return parts.get(component.value, ComponentStatus())

    def condition(self, type_: str) -> KnativeCondition | None:
        """Return a condition as it should be, with its stored time where it is stored so."""
        return self.derivation.propagated.condition(type_)

    def object_ref(self, component: Component) -> ObjectRef:
        """Return what stands for a component: its Knative Service or its Deployment."""
        place, name = self.inferenceservice.namespace, object_name(self.inferenceservice, component)
        if not self.in_knative_mode:
            return DEPLOYMENTS.ref_named(place, name)
        service = (self.facts.services or {}).get(component)
        return KNATIVE_SERVICES.ref_named(place, service.name if service else name)


def view_of(inferenceservice: InferenceService, snapshot: Snapshot) -> View:
    """Return what is seen of an InferenceService."""
    place = inferenceservice.namespace
    label = (place, INFERENCESERVICE, inferenceservice.name)
    absent = snapshot.state(KNATIVE_SERVICES).served is Served.ABSENT
    # What KServe is configured with is not read; without Knative it cannot be Knative.
    facts = facts_of(inferenceservice, snapshot, Mode.STANDARD if absent else Mode.KNATIVE)
    return View(
        inferenceservice=inferenceservice,
        namespace=namespace_ref(snapshot, place),
        facts=facts,
        all_pods=snapshot[PODS].labelled(*label) if snapshot.absence_known(PODS, place) else None,
        revisions=snapshot[KNATIVE_REVISIONS].labelled(*label)
        if snapshot.absence_known(KNATIVE_REVISIONS, place)
        else None,
        knative_absent=absent,
    )


def with_traffic(status: ComponentStatus) -> Iterator[TrafficEntry]:
    """Yield the entries of a route that get requests."""
    return (each for each in status.traffic or () if (each.percent or 0) > 0)


def is_true(condition: Condition | None) -> bool:
    """Tell whether a condition is there and True."""
    return condition is not None and condition.status == "True"


def is_false(condition: Condition | None) -> bool:
    """Tell whether a condition is there and False."""
    return condition is not None and condition.status == "False"


def words(condition: Condition | None) -> str:
    """Return reason and message of a condition, clean and bounded."""
    if condition is None:
        return "no reason given"
    return detail(condition.reason, condition.message, _TEXT_BYTES) or "no reason given"


def finding_about(view: View, **fault: Unpack[FaultFields]) -> Finding:
    """Return a finding whose message names the InferenceService first; `text` follows it."""
    return About(view.subject, view.namespace, view.title).finding(**fault)

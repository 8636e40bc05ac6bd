"""The scope of an InferenceService: its components, objects, and what is derived from them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final, Unpack

from reporter.catalogue.resources import DEPLOYMENTS, PODS
from reporter.model.finding import Derived, Finding
from reporter.model.objects import Deployment, Pod
from reporter.model.subject import ObjectRef
from reporter.probes.pods import startup_budget
from reporter.probes.scope import FaultFields, SubjectScope
from reporter.stacks.kserve import objects as api
from reporter.stacks.kserve.derived.derive import DerivedInferenceService, derive
from reporter.stacks.kserve.derived.facts import InferenceServiceFacts, facts_of, made, object_name
from reporter.stacks.kserve.derived.revisions import Shown, read_component
from reporter.stacks.kserve.reasons import KNATIVE_REVISIONS, KNATIVE_SERVICES
from reporter.workload.owners import is_true, latest
from reporter.workload.pod import counts, is_ready, startup_time

_OF_COMPONENTS: Final = (" ingress not created", " Deployment NotReady")
"""Suffixes of IngressReady's reasons that only say that a component is not ready."""

GRADUAL: Final = "RolloutInProgress"
"""Knative's reason during a gradual rollout, for which the Knative Service was annotated."""


@dataclass(frozen=True, kw_only=True)
class InferenceServiceScope(SubjectScope[api.InferenceService]):
    name_label = api.INFERENCESERVICE

    @cached_property
    def facts(self) -> InferenceServiceFacts:
        predictor, snapshot = api.Component.PREDICTOR, self.snapshot
        # KServe's configuration, which has the default mode, is not read.
        raw = snapshot.absent(KNATIVE_SERVICES) or (
            made(snapshot[KNATIVE_SERVICES], self.object, predictor) is None
            and made(snapshot[DEPLOYMENTS], self.object, predictor) is not None
        )
        return facts_of(self.object, self.snapshot, api.Mode.STANDARD if raw else api.Mode.KNATIVE)

    @cached_property
    def all_pods(self) -> tuple[Pod, ...] | None:
        """Its pods of all components and revisions, by name; None if they are unknown."""
        if not self.known(PODS):
            return None
        return self.snapshot[PODS].labelled(self.place, api.INFERENCESERVICE, self.name)

    @cached_property
    def revisions(self) -> tuple[api.KnativeRevision, ...] | None:
        """Its Knative revisions; None if they are unknown."""
        if not self.known(KNATIVE_REVISIONS):
            return None
        return self.snapshot[KNATIVE_REVISIONS].labelled(
            self.place, api.INFERENCESERVICE, self.name
        )

    def revision(self, name: str) -> api.KnativeRevision | None:
        return next((each for each in self.revisions or () if each.name == name), None)

    @property
    def stopped(self) -> bool:
        """True if it is switched off; KServe ignores the switch while it is frozen."""
        return self.object.stopped and not self.object.frozen

    @property
    def in_knative_mode(self) -> bool:
        return self.facts.mode is api.Mode.KNATIVE

    @property
    def shows_ready(self) -> bool:
        return is_true(self.object.status.condition("Ready"))

    @property
    def derived(self) -> tuple[Derived, ...]:
        """The status that it should have; empty while an input is unknown."""
        facts = self.facts
        if facts.made is None or facts.pods is None or not self.derivation.decided:
            return ()
        return (Derived(self.ref, self.derivation.status),)

    @cached_property
    def derivation(self) -> DerivedInferenceService:
        return derive(self.facts)

    @cached_property
    def seen(self) -> api.InferenceServiceStatus:
        """The status derived from its objects, even while KServe does not update a frozen one."""
        found = derive(self.facts, thawed=True) if self.object.frozen else self.derivation
        return found.propagated

    def condition(self, type_: str) -> api.KnativeCondition | None:
        """Return a derived condition; it has the stored time if it equals the stored one."""
        return self.seen.condition(type_)

    @cached_property
    def components(self) -> tuple["ServedComponent", ...]:
        """Its components; the first is the predictor."""
        return tuple(ServedComponent(self, each) for each in api.components_of(self.object.spec))

    @property
    def predictor(self) -> "ServedComponent":
        return self.components[0]

    @cached_property
    def pods(self) -> tuple[Pod, ...]:
        """Its pods; in Knative mode, only those of newest revisions and those with traffic."""
        pods = self.all_pods or ()
        if not self.in_knative_mode:
            return pods
        parts = [each.status for each in self.components]
        used = {name for each in parts for name in (each.latest_created_revision, *each.serving())}
        return tuple(each for each in pods if each.metadata.label(api.REVISION) in used - {""})

    @property
    def starting(self) -> bool:
        """True if a pod that counts as a replica is not Ready and may still be starting."""
        return any(map(_starts, self.pods))

    @property
    def wants_none(self) -> bool:
        """True if the predictor is scaled to zero in Standard mode: it is idle."""
        wanted = api.wanted_deployments(self.object.spec, api.Component.PREDICTOR)
        return len(self.predictor.at_zero) >= wanted

    def startup(self, pods: Iterable[Pod]) -> timedelta:
        """Return how long pods may start: the budget, or a starting pod's longer start-up probe."""
        budget = startup_budget(self)
        return max((budget, *(startup_time(each, budget) for each in pods if _starts(each))))

    def says_no_more(self, ingress: api.KnativeCondition) -> bool:
        """True if IngressReady is False only because a component is not ready."""
        if all(is_true(each.ready) for each in self.components):
            return False
        return self.follows_components(ingress)

    def follows_components(self, ingress: api.KnativeCondition) -> bool:
        """True if IngressReady only says that a component is not ready, or was not when written."""
        return not ingress.reason or ingress.reason.endswith(_OF_COMPONENTS)


@dataclass(frozen=True)
class ServedComponent:
    """A component of an InferenceService: its objects, and what they show."""

    scope: InferenceServiceScope
    kind: api.Component

    def finding(self, *, text: str, cause: str, **fault: Unpack[FaultFields]) -> Finding:
        """Return a finding about its main object, if no other is named."""
        fault.setdefault("related", self.ref)
        return self.scope.finding(text=f"{self.kind}: {text}", cause=cause, **fault)

    @cached_property
    def status(self) -> api.ComponentStatus:
        """Its status as derived."""
        return (self.scope.seen.components or {}).get(self.kind.value, api.ComponentStatus())

    @cached_property
    def shown(self) -> Shown:
        return read_component(self.status, self.canary_percent)

    @property
    def ready(self) -> api.KnativeCondition | None:
        return self.scope.condition(self.kind.ready)

    @property
    def route(self) -> api.KnativeCondition | None:
        return self.scope.condition(self.kind.route_ready)

    @property
    def configuration(self) -> api.KnativeCondition | None:
        return self.scope.condition(self.kind.configuration_ready)

    @property
    def canary_percent(self) -> int | None:
        spec = api.spec_of(self.scope.object.spec, self.kind)
        return spec.canary_traffic_percent if spec else None

    @property
    def service(self) -> api.KnativeService | None:
        return (self.scope.facts.services or {}).get(self.kind)

    @property
    def deployments(self) -> tuple[Deployment, ...]:
        return (self.scope.facts.deployments or {}).get(self.kind, ())

    @property
    def ref(self) -> ObjectRef:
        """Its main object: its Knative Service or its Deployment."""
        place, name = self.scope.place, object_name(self.scope.object, self.kind)
        if self.scope.in_knative_mode:
            return KNATIVE_SERVICES.ref_named(place, self.service.name if self.service else name)
        heads = (each.name for each in self.deployments if each.name == f"{name}-default")
        return DEPLOYMENTS.ref_named(place, next(heads, name))

    @property
    def at_zero(self) -> tuple[Deployment, ...]:
        """Its Deployments that want 0 replicas; Standard mode.

        Empty for a predictor with a canary, whose Deployment (not examined) may serve instead.
        """
        canary = self.scope.object.spec.canary and self.kind is api.Component.PREDICTOR
        if self.scope.facts.mode is not api.Mode.STANDARD or canary:
            return ()
        return tuple(each for each in self.deployments if each.wanted == 0)

    @cached_property
    def pods(self) -> tuple[Pod, ...]:
        """Its pods, including pods without a component label."""
        mine = (None, self.kind)
        return tuple(each for each in self.scope.pods if each.metadata.label(api.COMPONENT) in mine)

    @property
    def starts(self) -> bool:
        return any(map(_starts, self.pods))

    @property
    def startup(self) -> timedelta:
        return self.scope.startup(self.pods)

    @property
    def moved(self) -> datetime | None:
        """When its route began to change, or None if unknown.

        That is when its latest ready revision became ready, or its route stopped being ready.
        """
        found, route = self.scope.revision(self.status.latest_ready_revision), self.route
        ready = found.status.condition("Ready") if found else None
        return latest(
            ready.last_transition_time if is_true(ready) else None,
            route.last_transition_time if route and not is_true(route) else None,
        )

    @property
    def moves_slowly(self) -> bool:
        """True during a gradual rollout, which an annotation of the Knative Service asks for."""
        return self.route is not None and not is_true(self.route) and self.route.reason == GRADUAL


def named(revisions: tuple[str, ...], verb: str) -> str:
    """Return revisions with a verb: `revision v1 serves`, `revisions v1 and v2 serve`."""
    if len(revisions) == 1:
        return f"revision {revisions[0]} {verb}s"
    return f"revisions {' and '.join(revisions)} {verb}"


def _starts(pod: Pod) -> bool:
    return counts(pod) and not is_ready(pod)

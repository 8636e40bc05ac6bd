"""The scope of an InferenceService: its objects and what its probes derive from them."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, PODS
from reporter.model.finding import Derived
from reporter.model.objects import Deployment, Pod
from reporter.model.subject import ObjectRef
from reporter.probes.pods import startup_budget
from reporter.probes.scope import SubjectScope
from reporter.stacks.kserve import objects as api
from reporter.stacks.kserve.derived.derive import DerivedInferenceService, derive
from reporter.stacks.kserve.derived.facts import (
    COMPONENT,
    INFERENCESERVICE,
    REVISION,
    InferenceServiceFacts,
    facts_of,
    made,
    object_name,
)
from reporter.stacks.kserve.reasons import KNATIVE_REVISIONS, KNATIVE_SERVICES
from reporter.workload.owners import is_true, latest
from reporter.workload.pod import counts, is_ready, startup_time

_OF_COMPONENTS: Final = (" ingress not created", " Deployment NotReady")
"""Suffixes of IngressReady's reasons that only say that a component is not ready."""

GRADUAL: Final = "RolloutInProgress"
"""Knative's reason during a gradual rollout, for which the Knative Service was annotated."""


@dataclass(frozen=True, kw_only=True)
class InferenceServiceScope(SubjectScope[api.InferenceService]):
    name_label = INFERENCESERVICE

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
        return self.snapshot[PODS].labelled(self.place, INFERENCESERVICE, self.name)

    @cached_property
    def revisions(self) -> tuple[api.KnativeRevision, ...] | None:
        """Its Knative revisions; None if they are unknown."""
        if not self.known(KNATIVE_REVISIONS):
            return None
        return self.snapshot[KNATIVE_REVISIONS].labelled(self.place, INFERENCESERVICE, self.name)

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
        known = self.facts.services if self.in_knative_mode else self.facts.deployments
        if known is None or self.facts.pods is None or not self.derivation.decided:
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

    @cached_property
    def components(self) -> tuple[api.Component, ...]:
        return tuple(api.components_of(self.object.spec))

    @cached_property
    def pods(self) -> tuple[Pod, ...]:
        """Its pods; in Knative mode, only those of newest revisions and those with traffic."""
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
        """True if a pod that counts as a replica is not Ready and may still be starting."""
        return any(map(_starts, self.pods))

    def starts(self, component: api.Component) -> bool:
        return any(map(_starts, self._pods_of(component)))

    def replicas(self, component: api.Component, revision: str = "") -> tuple[Pod, ...]:
        """Return the pods that count as replicas of a component, or of one of its revisions."""
        mine = (each for each in self._pods_of(component) if counts(each))
        return tuple(each for each in mine if revision in ("", each.metadata.label(REVISION)))

    def asked(self, component: api.Component) -> tuple[str, ...]:
        """Return the revisions of a component that get requests; if none does, an empty name."""
        return others_with_traffic(self.status_of(component), "") or ("",)

    def is_gone(self, revision: str) -> bool:
        return bool(revision) and self.revisions is not None and self._revision(revision) is None

    def at_zero(self, component: api.Component) -> tuple[Deployment, ...]:
        """Return the Deployments of a component that want 0 replicas; Standard mode.

        Empty for a predictor with a canary, whose Deployment (not examined) may serve instead.
        """
        canary = self.object.spec.canary and component is api.Component.PREDICTOR
        if self.facts.mode is not api.Mode.STANDARD or canary:
            return ()
        there = (self.facts.deployments or {}).get(component, ())
        return tuple(each for each in there if each.wanted == 0)

    @property
    def wants_none(self) -> bool:
        """True if the predictor is scaled to zero in Standard mode: it is idle."""
        wanted = api.wanted_deployments(self.object.spec, api.Component.PREDICTOR)
        return len(self.at_zero(api.Component.PREDICTOR)) >= wanted

    def startup(self, component: api.Component | None = None) -> timedelta:
        """Return how long pods may start: the budget, or a starting pod's longer start-up probe."""
        budget = startup_budget(self)
        pods = self.pods if component is None else self._pods_of(component)
        return max((budget, *(startup_time(each, budget) for each in pods if _starts(each))))

    def _pods_of(self, component: api.Component) -> tuple[Pod, ...]:
        """Return the pods of one component, including pods without a component label."""
        mine = (None, component)
        return tuple(each for each in self.pods if each.metadata.label(COMPONENT) in mine)

    def status_of(self, component: api.Component) -> api.ComponentStatus:
        parts = self.seen.components or {}
        return parts.get(component.value, api.ComponentStatus())

    def canary_percent(self, component: api.Component) -> int | None:
        spec = api.spec_of(self.object.spec, component)
        return spec.canary_traffic_percent if spec else None

    def made(self, revision: str) -> datetime | None:
        """Return when a revision was created and began to start; None if unknown."""
        found = self._revision(revision)
        return found.created if found else None

    def moved(self, component: api.Component) -> datetime | None:
        """Return when the route of a component began to change, or None if unknown.

        That is when its latest ready revision became ready, or its route stopped being ready.
        """
        found = self._revision(self.status_of(component).latest_ready_revision)
        ready = found.status.condition("Ready") if found else None
        route = self.condition(component.route_ready)
        return latest(
            ready.last_transition_time if is_true(ready) else None,
            route.last_transition_time if route and not is_true(route) else None,
        )

    def moves_slowly(self, component: api.Component) -> bool:
        """True during a gradual rollout, which an annotation of the Knative Service asks for."""
        route = self.condition(component.route_ready)
        return route is not None and not is_true(route) and route.reason == GRADUAL

    def _revision(self, name: str) -> api.KnativeRevision | None:
        return next((each for each in self.revisions or () if each.name == name), None)

    def condition(self, type_: str) -> api.KnativeCondition | None:
        """Return a derived condition; it has the stored time if it equals the stored one."""
        return self.seen.condition(type_)

    def says_no_more(self, ingress: api.KnativeCondition) -> bool:
        """True if IngressReady is False only because a component is not ready."""
        if all(is_true(self.condition(each.ready)) for each in self.components):
            return False
        return self.follows_components(ingress)

    def follows_components(self, ingress: api.KnativeCondition) -> bool:
        """True if IngressReady only says that a component is not ready, or was not when written."""
        return not ingress.reason or ingress.reason.endswith(_OF_COMPONENTS)

    def object_ref(self, component: api.Component) -> ObjectRef:
        """Return the main object of a component: its Knative Service or its Deployment."""
        place, name = self.object.namespace, object_name(self.object, component)
        if not self.in_knative_mode:
            return DEPLOYMENTS.ref_named(place, self.facts.heads.get(component, name))
        service = (self.facts.services or {}).get(component)
        return KNATIVE_SERVICES.ref_named(place, service.name if service else name)


def with_traffic(status: api.ComponentStatus) -> Iterator[api.TrafficEntry]:
    """Yield the entries of a route that get requests."""
    return (each for each in status.traffic or () if (each.percent or 0) > 0)


def others_with_traffic(status: api.ComponentStatus, revision: str) -> tuple[str, ...]:
    """Return the revisions that get requests except `revision`, in the order of the route."""
    names = dict.fromkeys(each.revision_name for each in with_traffic(status))
    return tuple(each for each in names if each not in ("", revision))


def named(revisions: tuple[str, ...], verb: str) -> str:
    """Return revisions with a verb: `revision v1 serves`, `revisions v1 and v2 serve`."""
    if len(revisions) == 1:
        return f"revision {revisions[0]} {verb}s"
    return f"revisions {' and '.join(revisions)} {verb}"


def _starts(pod: Pod) -> bool:
    return counts(pod) and not is_ready(pod)

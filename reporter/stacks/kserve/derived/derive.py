"""The status that an InferenceService should have, by the objects that KServe made for it.

One pass of KServe's controller as far as its inputs are read: the components in their order, the
model, the conditions across components. IngressReady, the public `url` and `address`, the canary
statuses and the runtime's name are taken over from the stored status: they rest on objects that
are not read (ingresses, routes of gateways, ServingRuntimes, KServe's configuration).

A status as the API writes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, cast

import msgspec
from msgspec.structs import replace

from reporter.stacks.kserve.derived.conditions import (
    FALSE,
    TRUE,
    UNKNOWN,
    ConditionManager,
    Transition,
    aggregate,
    model_status,
)
from reporter.stacks.kserve.derived.facts import InferenceServiceFacts
from reporter.stacks.kserve.derived.mode import Mode, is_frozen, is_stopped
from reporter.stacks.kserve.derived.raw import (
    CANARY_PREDICTOR_READY,
    INGRESS_READY,
    PREDICTOR_READY,
    READY,
    STOPPED,
    Component,
    components_of,
    raw_ready,
    wanted_deployments,
)
from reporter.stacks.kserve.derived.revisions import RolloutRow, propagate
from reporter.stacks.kserve.objects import ComponentStatus, InferenceServiceStatus, ModelStatus

_FAILED_PASS: Final = frozenset(
    {"ReconcileFailed", "InvalidGPUAllocation", "InvalidWorkerSpecNotSet"}
)
"""Reasons of a component's Ready that come from an error of KServe itself, which nothing shows."""

_STOPPED_REASON: Final = "Stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedInferenceService:
    """What should have been propagated.

    Attributes:
        propagated: the fields that are read. A condition that the pass changed has no
            `last_transition_time`.
        rows: the rows of the truth table that applied, by component; Knative mode.
        kept: components that are as stored, because what they follow from is unknown, does not
            exist, or because a reconcile of theirs failed.
        decided: False where KServe would leave the status alone, so that it is the stored one.
        model_unsure: the model status depends on which pod KServe happened to look at.

    """

    propagated: InferenceServiceStatus
    rows: Mapping[Component, tuple[RolloutRow, ...]] = field(default_factory=dict)
    kept: frozenset[Component] = frozenset()
    decided: bool = True
    model_unsure: bool = False

    @property
    def status(self) -> dict[str, object]:
        """The same in the API's shape."""
        return document_of(self.propagated)


def derive(facts: InferenceServiceFacts, *, thawed: bool = False) -> DerivedInferenceService:
    """Return the status that an InferenceService should have.

    While it is frozen or served by ModelMesh, and while its first pod downloads the model for a
    second time, that is the stored one. In Knative mode without Knative KServe ends its pass before
    any component, with the conditions that all begin with. `thawed` asks what the objects of a frozen one say; KServe
    does not come to its stop switch either.
    """
    stored = facts.inferenceservice.status
    if is_frozen(facts.inferenceservice) and not thawed:
        return _unchanged(stored)
    if facts.mode is Mode.KNATIVE and facts.without_knative:
        conditions = ConditionManager(stored.conditions or ()).conditions()
        return DerivedInferenceService(propagated=replace(stored, conditions=conditions))
    if is_stopped(facts.inferenceservice) and not thawed:
        return _stopped(facts)
    if facts.mode is Mode.MODELMESH:
        return _unchanged(stored)
    return _Pass(facts).derivation()


def _unchanged(stored: InferenceServiceStatus) -> DerivedInferenceService:
    return DerivedInferenceService(propagated=stored, decided=False)


def _stopped(facts: InferenceServiceFacts) -> DerivedInferenceService:
    """Return the status while the stop switch is on: emptied, so that the history is gone."""
    inferenceservice = facts.inferenceservice
    before = inferenceservice.status.conditions or ()
    components = tuple(components_of(inferenceservice.spec))
    types = {READY, STOPPED, INGRESS_READY, *(each.ready for each in components)}
    if inferenceservice.spec.canary and facts.mode is Mode.STANDARD:
        types.add(CANARY_PREDICTOR_READY)
    conditions = ConditionManager(each for each in before if each.type in types)
    kept = _keeps_ingress(facts)
    for type_ in sorted(types - {READY, STOPPED} - ({INGRESS_READY} if kept else set())):
        conditions.mark(type_, FALSE, _STOPPED_REASON, message=_message(conditions, type_))
    _mark_switch(conditions, TRUE)
    ingress = inferenceservice.status.condition(INGRESS_READY)
    if kept and ingress is None:
        conditions.clear(INGRESS_READY)
    reached = kept and ingress is not None and ingress.status == TRUE
    status = InferenceServiceStatus(
        conditions=conditions.conditions(),
        url=inferenceservice.status.url if reached else "",
        address=inferenceservice.status.address if reached else None,
        model_status=ModelStatus(),
        deployment_mode=inferenceservice.status.deployment_mode,
    )
    return DerivedInferenceService(propagated=status)


def _keeps_ingress(facts: InferenceServiceFacts) -> bool:
    """Tell whether IngressReady is as a stop left it, in Standard mode.

    With ingress creation off it is absent then, or True with the Gateway API (KServe,
    pkg/controller/v1beta1/inferenceservice/reconcilers/ingress, v0.20.0). That setting is not read,
    so what is stored once the predictor was stopped is believed.
    """
    predictor = facts.inferenceservice.status.condition(PREDICTOR_READY)
    if facts.mode is not Mode.STANDARD or predictor is None:
        return False
    return predictor.status == FALSE and predictor.reason == _STOPPED_REASON


def _message(conditions: ConditionManager, type_: str) -> str:
    """Return the message that a stop left, which is KServe's to word."""
    found = conditions.get(type_)
    stopped = found is not None and found.status == FALSE and found.reason == _STOPPED_REASON
    return (found.message or "") if found is not None and stopped else ""


def _mark_switch(conditions: ConditionManager, status: str) -> None:
    """Write Stopped; the words that stand with it are KServe's."""
    found = conditions.get(STOPPED)
    same = found is not None and found.status == status
    conditions.mark(
        STOPPED,
        status,
        (found.reason or "") if found is not None and same else "",
        message=(found.message or "") if found is not None and same else "",
    )


class _Pass:
    """One pass over the components of an InferenceService."""

    def __init__(self, facts: InferenceServiceFacts) -> None:
        self._facts = facts
        self._spec = facts.inferenceservice.spec
        self._stored = facts.inferenceservice.status
        self._conditions = ConditionManager(self._stored.conditions or ())
        self._components = dict(self._stored.components or {})
        self._generation = self._stored.observed_generation
        self._rows: dict[Component, tuple[RolloutRow, ...]] = {}
        self._kept: set[Component] = set()
        self._model: ModelStatus | None = self._stored.model_status
        self._model_unsure = False
        self._repeats = False

    def derivation(self) -> DerivedInferenceService:
        """Run the pass."""
        if not self._has_failed(Component.PREDICTOR):
            _mark_switch(self._conditions, FALSE)
        for component in components_of(self._spec):
            if not self._reconcile(component):
                self._kept.add(component)
            elif component is Component.PREDICTOR:
                self._look_at_model()
                if self._repeats:
                    return _unchanged(self._stored)
        if not self._kept:
            self._conclude()
        self._take_over_ingress()
        status = replace(
            self._stored,
            conditions=self._conditions.conditions(),
            observed_generation=self._stored.observed_generation
            if self._kept
            else self._generation,
            components=self._components,
            model_status=self._model,
        )
        return DerivedInferenceService(
            propagated=status,
            rows=self._rows,
            kept=frozenset(self._kept),
            model_unsure=self._model_unsure,
        )

    def _conclude(self) -> None:
        """Write what follows from all components; a pass that ends at one of them does not."""
        if self._facts.mode is Mode.KNATIVE:
            aggregate(self._conditions, components_of(self._spec))
        elif not self._spec.canary:
            self._conditions.clear(CANARY_PREDICTOR_READY)

    def _reconcile(self, component: Component) -> bool:
        """Propagate one component; False where it has to stay as it is stored."""
        if self._has_failed(component):
            return False
        if self._facts.mode is Mode.KNATIVE:
            return self._propagate(component)
        return self._propagate_raw(component)

    def _has_failed(self, component: Component) -> bool:
        """Tell whether KServe could not reconcile a component the last time, as far as it says."""
        ready = self._stored.condition(component.ready)
        if ready is not None and ready.status == FALSE and ready.reason in _FAILED_PASS:
            return True
        model = self._stored.model_status
        invalid = model is not None and model.transition_status == Transition.INVALID_SPEC
        return component is Component.PREDICTOR and invalid

    def _propagate(self, component: Component) -> bool:
        service = (self._facts.services or {}).get(component)
        if service is None:
            return False
        before = self._components.get(component.value, ComponentStatus())
        after = propagate(component, before, service.status, conditions=self._conditions)
        self._components[component.value] = after.status
        self._rows[component] = after.rows
        self._generation = service.status.observed_generation
        return True

    def _propagate_raw(self, component: Component) -> bool:
        if self._facts.deployments is None:
            return False
        deployments = self._facts.deployments.get(component, ())
        ready = raw_ready(component.ready, deployments, wanted_deployments(self._spec, component))
        self._conditions.take_over(component.ready, ready)
        if deployments:
            self._generation = deployments[0].status.observed_generation or None
        return True

    def _look_at_model(self) -> None:
        pods = self._facts.pods
        if pods is None:
            return
        before = self._model or ModelStatus()
        failed, loaded = self._knative_failed(), self._is_loaded()
        orders = [(*pods[at:], *pods[:at]) for at in range(len(pods))] or [()]
        seen = [model_status(before, order, failed=failed, loaded=loaded) for order in orders]
        self._model_unsure = any(each != seen[0] for each in seen)
        self._repeats = seen[0] is None
        self._model = seen[0] or self._model

    def _knative_failed(self) -> bool:
        if self._facts.mode is not Mode.KNATIVE:
            return False
        service = (self._facts.services or {}).get(Component.PREDICTOR)
        conditions = (service.status.conditions or ()) if service else ()
        return any(each.status == FALSE for each in conditions)

    def _is_loaded(self) -> bool:
        if not self._conditions.is_true(READY):
            return False
        if self._facts.mode is not Mode.KNATIVE:
            return True
        predictor = self._components.get(Component.PREDICTOR.value, ComponentStatus())
        return predictor.latest_created_revision == predictor.latest_ready_revision

    def _take_over_ingress(self) -> None:
        """Write IngressReady as it is stored; the ingress step comes last, so Ready follows it."""
        ingress = self._stored.condition(INGRESS_READY)
        if ingress is not None and (ingress.status != UNKNOWN or ingress.reason):
            self._conditions.take_over(INGRESS_READY, ingress)


def document_of(status: InferenceServiceStatus) -> dict[str, object]:
    """Return the fields of a status that are read, as KServe writes them.

    Those that are empty are left out, and 0 is a value; the model status has its own rules.
    """
    document = cast("dict[str, object]", _without_empty(msgspec.to_builtins(status)))
    if status.model_status is not None:
        document["modelStatus"] = _model_status(status.model_status)
    return document


def _model_status(status: ModelStatus) -> dict[str, object]:
    """Return a model status as Go writes it, by the field's `omitempty`.

    It is in KServe's pkg/apis/serving/v1beta1/inference_service_status.go, v0.20.0: the transition
    and the active state have none, and are there when they are empty; counts other than
    `failedCopies` are left out at 0.
    """
    pruned = _without_empty(msgspec.to_builtins(status))
    document = {"transitionStatus": status.transition_status, **cast("dict[str, object]", pruned)}
    if status.states is not None:
        states = cast("dict[str, object]", _without_empty(msgspec.to_builtins(status.states)))
        document["states"] = {"activeModelState": status.states.active_model_state, **states}
    if status.copies is not None and not status.copies.total_copies:
        document["copies"] = {"failedCopies": status.copies.failed_copies}
    if status.last_failure_info is not None and not status.last_failure_info.exit_code:
        failure = replace(status.last_failure_info, exit_code=None)
        document["lastFailureInfo"] = _without_empty(msgspec.to_builtins(failure))
    return document


def _without_empty(value: object) -> object:
    if isinstance(value, Mapping):
        pruned = {key: _without_empty(each) for key, each in value.items()}
        return {key: each for key, each in pruned.items() if not _is_empty(each)}
    if isinstance(value, (list, tuple)):
        return [_without_empty(each) for each in value]
    return value


def _is_empty(value: object) -> bool:
    return value in (None, "", [], {})

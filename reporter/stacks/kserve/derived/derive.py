"""The status that an InferenceService should have, derived from the objects that KServe created.

It simulates one pass of KServe's controller as far as its inputs are read: the components in their
order, the model, the conditions across components. IngressReady, the public `url` and `address`,
the canary statuses and the runtime's name are copied from the stored status: they depend on objects
that are not read (ingresses, routes of gateways, ServingRuntimes, KServe's configuration).

The rules are those of github.com/kserve/kserve, v0.20.0:
pkg/apis/serving/v1beta1/inference_service_status.go, and the controller in
pkg/controller/v1beta1/inferenceservice. The model status follows `PropagateModelStatus`, which
looks at the first pod of the predictor only.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import msgspec
from msgspec.structs import replace

from reporter.diagnosis.case import last_end, loops
from reporter.model.objects import ContainerStatus, Pod
from reporter.stacks.kserve import objects as api
from reporter.stacks.kserve.derived.conditions import (
    FALSE,
    TRUE,
    UNKNOWN,
    ConditionManager,
    aggregate,
    raw_ready,
)
from reporter.stacks.kserve.derived.facts import InferenceServiceFacts
from reporter.stacks.kserve.derived.revisions import propagate
from reporter.workload.pod import is_ready


class Transition(StrEnum):
    """The progress of a model from its active to its target state."""

    UP_TO_DATE = "UpToDate"
    IN_PROGRESS = "InProgress"
    BLOCKED = "BlockedByFailedLoad"
    INVALID_SPEC = "InvalidSpec"


STORAGE_INITIALIZER: Final = "storage-initializer"
KSERVE_CONTAINER: Final = "kserve-container"
MODEL_LOAD_FAILED: Final = "ModelLoadFailed"
_PENDING: Final = "Pending"
_LOADED: Final = "Loaded"
_FAILED: Final = "FailedToLoad"
_TRANSITIONS: Final = {_LOADED: Transition.UP_TO_DATE, _FAILED: Transition.BLOCKED}
"""Transitions by target state; all other states are InProgress."""


def model_status(
    stored: api.ModelStatus, pods: Sequence[Pod], *, failed: bool, loaded: bool
) -> api.ModelStatus | None:
    """Return the model status after a pass; None if KServe does not store the pass.

    The last failure and the state of the active model are kept: a later success does not clear
    them. All ready pods are counted, then the first pod is examined.

    Args:
        stored: the model status before the pass.
        pods: the pods of the latest created revision, or of the Deployment.
        failed: in Knative mode, a condition of the Knative Service is False.
        loaded: Ready is True, and the mode is Standard or the latest created revision is ready.

    """
    ready = sum(each.status.phase == "Running" and is_ready(each) for each in pods)
    counted = replace(
        stored, copies=replace(stored.copies or api.ModelCopies(), total_copies=ready)
    )
    storage = serving = None
    if pods:
        storage = container_of(pods[0].status.init_container_statuses, STORAGE_INITIALIZER)
        serving = container_of(pods[0].status.container_statuses, KSERVE_CONTAINER)
    failure = None
    if not pods:
        target = _FAILED if failed else _PENDING
    elif storage is not None and is_running(storage):
        if last_end(storage):
            return None
        target = "Loading"
    elif storage is not None and has_failed(storage):
        target, failure = _FAILED, _failure_of(storage)
    elif loaded:
        target = _LOADED
    elif serving is None:
        return counted
    elif has_failed(serving):
        target, failure = _FAILED, _failure_of(serving)
    else:
        target = _PENDING
    active = stored.states.active_model_state if stored.states else ""
    return replace(
        counted,
        transition_status=_TRANSITIONS.get(target, Transition.IN_PROGRESS).value,
        states=api.ModelStates(
            active_model_state=_LOADED if target == _LOADED else active, target_model_state=target
        ),
        last_failure_info=failure or stored.last_failure_info,
    )


def container_of(statuses: tuple[ContainerStatus, ...] | None, name: str) -> ContainerStatus | None:
    return next((each for each in statuses or () if each.name == name), None)


def is_running(status: ContainerStatus) -> bool:
    return status.state is not None and status.state.running is not None


def has_failed(status: ContainerStatus) -> bool:
    """True if a container ended in `Error` or is in a crash loop; OOMKilled is neither."""
    ended = status.state.terminated if status.state else None
    return ended.reason == "Error" if ended else loops(status)


def _failure_of(status: ContainerStatus) -> api.FailureInfo:
    """Return how a failed container ended, now or before its last restart."""
    ended = last_end(status)
    message, code = (ended.message or "", ended.exit_code) if ended else ("", None)
    return api.FailureInfo(reason=MODEL_LOAD_FAILED, message=message, exit_code=code)


RECONCILE_FAILED: Final = "ReconcileFailed"
FAILED_PASS: Final = frozenset(
    {RECONCILE_FAILED, "InvalidGPUAllocation", "InvalidWorkerSpecNotSet"}
)
"""Reasons of a component's Ready from an error inside KServe, which no other object shows."""

STOPPED: Final = "Stopped"
"""The condition of the stop switch, and the reason of the conditions that it turned False."""

_REVISION_FIELDS: Final = {
    each.encode_name: each.name
    for each in msgspec.structs.fields(api.ComponentStatus)
    if each.name not in ("rest_url", "grpc_url")
}
"""The derived fields of a component, by their names in the API."""

_OPPOSITE: Final = frozenset({Transition.BLOCKED.value, Transition.UP_TO_DATE.value})
"""Transitions whose difference is real whenever KServe examined the pod. InProgress may be passing:
a crash loop goes in and out of it, and KServe does not watch pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedInferenceService:
    """The result of a simulated pass.

    Attributes:
        propagated: the status, as far as its fields are read. A condition that the pass changed has
            no `last_transition_time`.
        decided: False if KServe would not touch the status, so that it is the stored one.

    """

    propagated: api.InferenceServiceStatus
    decided: bool = True
    model_unsure: bool = False  # the model status depends on the pod that KServe examined

    @property
    def status(self) -> dict[str, object]:
        """The status in the API's form; 0 counts as a value."""
        document: dict[str, object] = msgspec.to_builtins(self.propagated)
        document["conditions"] = [
            {key: value for key, value in msgspec.to_builtins(each).items() if value}
            for each in self.propagated.conditions or ()
        ]
        return document


def derive(facts: InferenceServiceFacts, *, thawed: bool = False) -> DerivedInferenceService:
    """Return the status that an InferenceService should have.

    The stored status is returned while the InferenceService is frozen or served by ModelMesh, and
    while its first pod downloads the model again. In Knative mode without Knative, KServe's pass
    ends before the components, with the initial conditions. `thawed` derives the status of a frozen
    InferenceService from its objects; KServe does not evaluate its stop switch either.
    """
    inferenceservice, mode = facts.inferenceservice, facts.mode
    stored = inferenceservice.status
    if inferenceservice.frozen and not thawed:
        return DerivedInferenceService(propagated=stored, decided=False)
    if mode is api.Mode.KNATIVE and facts.without_knative:
        conditions = ConditionManager(stored.conditions or ()).conditions()
        return DerivedInferenceService(propagated=replace(stored, conditions=conditions))
    if inferenceservice.stopped and not thawed:
        return DerivedInferenceService(propagated=_stopped(facts))
    if mode is api.Mode.MODELMESH:
        return DerivedInferenceService(propagated=stored, decided=False)
    return _after_pass(facts)


def _stopped(facts: InferenceServiceFacts) -> api.InferenceServiceStatus:
    """Return the status while the stop switch is on: emptied, without the history of revisions.

    In Standard mode a stop does not touch IngressReady: with ingress creation off it is absent, or
    True with the Gateway API (KServe, pkg/controller/v1beta1/inferenceservice/reconcilers/ingress,
    v0.20.0). That setting is not read, so the stored value is trusted once the predictor has
    stopped.
    """
    spec, stored = facts.inferenceservice.spec, facts.inferenceservice.status
    types = {api.INGRESS_READY, *(each.ready for each in api.components_of(spec))}
    if spec.canary and facts.mode is api.Mode.STANDARD:
        types.add(api.CANARY_PREDICTOR_READY)
    kept = types | {api.READY, STOPPED}
    conditions = ConditionManager(each for each in stored.conditions or () if each.type in kept)
    ingress = stored.condition(api.INGRESS_READY)
    again = _was_stopped(stored.condition(api.PREDICTOR_READY))
    keeps_ingress = facts.mode is api.Mode.STANDARD and again
    for type_ in sorted(types - {api.INGRESS_READY} if keeps_ingress else types):
        before = conditions.get(type_)
        # Only KServe knows the message.
        message = (before.message or "") if before is not None and _was_stopped(before) else ""
        conditions.mark(type_, FALSE, STOPPED, message=message)
    _mark_switch(conditions, TRUE)
    if keeps_ingress and ingress is None:
        conditions.clear(api.INGRESS_READY)
    reached = keeps_ingress and ingress is not None and ingress.status == TRUE
    return api.InferenceServiceStatus(
        conditions=conditions.conditions(),
        url=stored.url if reached else "",
        address=stored.address if reached else None,
        model_status=api.ModelStatus(),
        deployment_mode=stored.deployment_mode,
        # A pass chooses the runtime before it checks the switch; only the first pass empties it.
        serving_runtime_name=stored.serving_runtime_name if again else "",
        cluster_serving_runtime_name=stored.cluster_serving_runtime_name if again else "",
    )


def _was_stopped(condition: api.KnativeCondition | None) -> bool:
    return condition is not None and condition.status == FALSE and condition.reason == STOPPED


def _mark_switch(conditions: ConditionManager, status: str) -> None:
    """Write Stopped; keep KServe's reason and message if the status is unchanged."""
    found = conditions.get(STOPPED)
    same = found if found is not None and found.status == status else None
    reason, message = (same.reason or "", same.message or "") if same else ("", "")
    conditions.mark(STOPPED, status, reason, message=message)


def _after_pass(facts: InferenceServiceFacts) -> DerivedInferenceService:
    """Return the status after one pass over the components of an InferenceService.

    A component keeps its stored status if its objects are unknown, if its Knative Service does not
    exist, or if reconciling it failed; then conditions across components stay as stored too.
    """
    spec, stored = facts.inferenceservice.spec, facts.inferenceservice.status
    knative = facts.mode is api.Mode.KNATIVE
    conditions = ConditionManager(stored.conditions or ())
    components = dict(stored.components or {})
    generation, complete = stored.observed_generation, True
    models: list[api.ModelStatus | None] = [stored.model_status]
    if not _has_failed(stored, api.Component.PREDICTOR):
        _mark_switch(conditions, FALSE)
    for component in api.components_of(spec):
        service = (facts.services or {}).get(component)
        unknown = service is None if knative else facts.deployments is None
        if unknown or _has_failed(stored, component):
            complete = False
            continue
        if knative and service is not None:
            before = components.get(component.value, api.ComponentStatus())
            after = propagate(component, before, service.status, conditions=conditions)
            components[component.value] = after
            generation = service.status.observed_generation
        else:
            there = (facts.deployments or {}).get(component, ())
            ready = raw_ready(component.ready, there, api.wanted_deployments(spec, component))
            conditions.take_over(component.ready, ready)
            if there:
                generation = there[0].status.observed_generation or None
        if component is api.Component.PREDICTOR and facts.pods is not None:
            models = list(_models(facts, components, loaded=conditions.has(api.READY, TRUE)))
            if models[0] is None:
                return DerivedInferenceService(propagated=stored, decided=False)
    if complete and knative:
        aggregate(conditions, api.components_of(spec))
    elif complete and not spec.canary:
        conditions.clear(api.CANARY_PREDICTOR_READY)
    ingress = stored.condition(api.INGRESS_READY)
    begun = ingress is not None and ingress.status == UNKNOWN and not ingress.reason
    # The ingress step comes last and thus updates Ready.
    conditions.take_over(api.INGRESS_READY, None if begun else ingress)
    propagated = replace(
        stored,
        conditions=conditions.conditions(),
        observed_generation=generation if complete else stored.observed_generation,
        components=components or None,
        model_status=models[0],
    )
    unsure = any(each != models[0] for each in models)
    return DerivedInferenceService(propagated=propagated, model_unsure=unsure)


def _has_failed(stored: api.InferenceServiceStatus, component: api.Component) -> bool:
    """True if the status says that KServe's last reconcile of a component failed."""
    ready, model = stored.condition(component.ready), stored.model_status
    if ready is not None and ready.status == FALSE and ready.reason in FAILED_PASS:
        return True
    invalid = model is not None and model.transition_status == Transition.INVALID_SPEC
    return component is api.Component.PREDICTOR and invalid


def _models(
    facts: InferenceServiceFacts, components: Mapping[str, api.ComponentStatus], *, loaded: bool
) -> Iterator[api.ModelStatus | None]:
    """Yield the model status for each pod as the first, as KServe may have examined any of them."""
    before, pods = facts.inferenceservice.status.model_status or api.ModelStatus(), facts.pods or ()
    failed = False
    if facts.mode is api.Mode.KNATIVE:
        service = (facts.services or {}).get(api.Component.PREDICTOR)
        conditions = (service.status.conditions or ()) if service else ()
        failed = any(each.status == FALSE for each in conditions)
        predictor = components.get(api.Component.PREDICTOR.value, api.ComponentStatus())
        newest = predictor.latest_created_revision == predictor.latest_ready_revision
        loaded = loaded and newest
    for at in range(len(pods) or 1):
        order = (*pods[at:], *pods[:at])
        yield model_status(before, order, failed=failed, loaded=loaded)


def differs(stored: api.InferenceServiceStatus, wanted: DerivedInferenceService) -> tuple[str, ...]:
    """Return the paths of fields whose stored and derived values differ, sorted.

    Unknowable differences are ignored: times; the order in which KServe wrote conditions, which
    decides the message of Ready; reasons of True conditions and condition types that older versions
    do not write; messages with a percent sign, which KServe garbles; the ready pods at the last
    pass. Nothing differs if KServe would not touch the status.
    """
    return tuple(sorted(_differing(stored, wanted))) if wanted.decided else ()


def _differing(
    stored: api.InferenceServiceStatus, wanted: DerivedInferenceService
) -> Iterator[str]:
    both = (stored, wanted.propagated)
    for component in api.Component:
        one, other = ((each.components or {}).get(component.value) for each in both)
        for path, field in _REVISION_FIELDS.items():
            if (getattr(one, field, None) or None) != (getattr(other, field, None) or None):
                yield f"components.{component}.{path}"
    for before in stored.conditions or ():
        after = wanted.propagated.condition(before.type)
        if after is None or before.status != after.status:
            yield f"conditions.{before.type}"
        elif before.type != api.READY and before.status != TRUE:
            garbled = "%" in (after.message or "")
            reworded = not garbled and (before.message or "") != (after.message or "")
            if reworded or (before.reason or "") != (after.reason or ""):
                yield f"conditions.{before.type}"
    models = {(each.model_status or api.ModelStatus()).transition_status for each in both}
    if not wanted.model_unsure and models == _OPPOSITE:
        yield "modelStatus.transitionStatus"
    if stored.observed_generation not in {None, wanted.propagated.observed_generation}:
        yield "observedGeneration"

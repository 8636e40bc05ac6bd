"""The status that a ModelService should have, by the rules of OtterScale's operator.

They are in github.com/otterscale/model-operator, internal/modelservice/status.go (April 2026). The
operator looks at the two serving Deployments only: not at pods, the endpoint picker, the pool or
the route.
"""

from dataclasses import dataclass
from typing import Final

from reporter.model.finding import Document
from reporter.model.instant import rfc3339
from reporter.model.objects import Condition, Deployment
from reporter.stacks.otterscale.objects import ModelService

READY: Final = "Ready"
PENDING: Final = "Pending"
RUNNING: Final = "Running"


@dataclass(frozen=True, slots=True)
class _Counts:
    wanted: int = 0
    ready: int = 0


def observe(
    service: ModelService, decode: Deployment | None, prefill: Deployment | None
) -> Document:
    """Return the status that the operator writes next; counters that are 0 are left out.

    Args:
        service: the ModelService, with the status on record.
        decode: its decode Deployment; None if there is none.
        prefill: its prefill Deployment; None if there is none. One that `spec.prefill` does not
            ask for is not counted.

    """
    decoding = _counts(decode)
    prefilling = _counts(prefill) if service.spec.prefill is not None else _Counts()
    wanted = decoding.wanted + prefilling.wanted
    ready = decoding.ready + prefilling.ready
    phase, reason, message = _judged(found=decode is not None, wanted=wanted, ready=ready)
    fields = {
        "observedGeneration": service.metadata.generation,
        "phase": phase,
        "decodeReady": decoding.ready,
        "decodeReplicas": decoding.wanted,
        "prefillReady": prefilling.ready,
        "prefillReplicas": prefilling.wanted,
    }
    condition = _condition(service, "True" if phase == READY else "False", reason, message=message)
    return {**{key: each for key, each in fields.items() if each}, "conditions": [condition]}


def _counts(deployment: Deployment | None) -> _Counts:
    """Return the counts of a role; replicas that are not set count as none, unlike elsewhere."""
    if deployment is None:
        return _Counts()
    return _Counts(deployment.spec.replicas or 0, deployment.status.ready_replicas)


def _judged(*, found: bool, wanted: int, ready: int) -> tuple[str, str, str]:
    """Return phase, reason and message; roles count together, so one can hide what another lacks."""
    if not found:
        return PENDING, "DeploymentNotFound", "Decode Deployment has not been created yet"
    if ready == 0 and wanted > 0:
        return RUNNING, "PodsStarting", "Waiting for serving pods to become ready"
    if ready < wanted:
        return RUNNING, "PartiallyReady", f"{ready}/{wanted} replicas ready"
    return READY, "AllReplicasReady", f"All {ready} replicas are ready"


def _condition(service: ModelService, status: str, reason: str, *, message: str) -> Document:
    condition: dict[str, object] = {"type": READY, "status": status}
    if service.metadata.generation:
        condition["observedGeneration"] = service.metadata.generation
    since = _since(service.status.condition(READY), status)
    if since:
        condition["lastTransitionTime"] = since
    return {**condition, "reason": reason, "message": message}


def _since(on_record: Condition | None, status: str) -> str | None:
    """Return when the condition changed, None if it does now: reasons and messages do not count."""
    if on_record is None or on_record.status != status or on_record.last_transition_time is None:
        return None
    return rfc3339(on_record.last_transition_time)

"""The status that a ModelService should have, by the rules of OtterScale's operator.

The rules are in github.com/otterscale/model-operator, internal/modelservice/status.go (April 2026).
The operator checks the two serving Deployments only, not pods, the endpoint picker, the pool or the
route.
"""

from reporter.model.finding import Document
from reporter.model.instant import rfc3339
from reporter.model.objects import Deployment
from reporter.stacks.otterscale.objects import ModelService


def observe(
    service: ModelService, decode: Deployment | None, prefill: Deployment | None
) -> Document:
    """Return the status that the operator writes next; counters that are 0 are left out.

    The prefill Deployment counts only if `spec.prefill` asks for it.
    """
    # Unset replicas count as 0, unlike elsewhere.
    (decode_wanted, decode_ready), (prefill_wanted, prefill_ready) = (
        (each.spec.replicas or 0, each.status.ready_replicas) if each else (0, 0)
        for each in (decode, prefill if service.spec.prefill is not None else None)
    )
    # The roles count together, so a surplus of one can hide a shortage of the other.
    wanted, ready = decode_wanted + prefill_wanted, decode_ready + prefill_ready
    phase, reason, message = "Ready", "AllReplicasReady", f"All {ready} replicas are ready"
    if decode is None:
        phase, reason = "Pending", "DeploymentNotFound"
        message = "Decode Deployment has not been created yet"
    elif ready == 0 and wanted > 0:
        phase, reason = "Running", "PodsStarting"
        message = "Waiting for serving pods to become ready"
    elif ready < wanted:
        phase, reason, message = "Running", "PartiallyReady", f"{ready}/{wanted} replicas ready"
    generation = {"observedGeneration": service.metadata.generation}
    counters = {
        "phase": phase,
        "decodeReady": decode_ready,
        "decodeReplicas": decode_wanted,
        "prefillReady": prefill_ready,
        "prefillReplicas": prefill_wanted,
    }
    status = str(phase == "Ready")
    # Only a new status is a change: reasons and messages do not count.
    before = service.status.condition("Ready")
    since = before.last_transition_time if before and before.status == status else None
    condition: Document = {
        "type": "Ready",
        "status": status,
        **(generation if service.metadata.generation else {}),
        **({"lastTransitionTime": rfc3339(since)} if since else {}),
        "reason": reason,
        "message": message,
    }
    shown = {key: each for key, each in {**generation, **counters}.items() if each}
    return {**shown, "conditions": [condition]}

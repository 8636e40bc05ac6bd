"""inferenceservicePodsNotCreated and inferenceservicePodsNotReady."""

from collections.abc import Iterator

from reporter.catalogue.resources import DEPLOYMENTS, PODS
from reporter.model.finding import Finding
from reporter.probes.pods import fault_of_pod, pod_finding
from reporter.stacks.kserve.derived.raw import REPLICA_FAILURE
from reporter.stacks.kserve.probes.scope import InferenceServiceScope
from reporter.stacks.kserve.reasons import PODS_NOT_CREATED, PODS_NOT_READY
from reporter.workload.conditions import is_true, words


def probe_pods(scope: InferenceServiceScope) -> Iterator[Finding]:
    """Yield a finding for each Deployment that gets no pods, and for each pod at fault."""
    if not scope.in_knative_mode:
        yield from _refused(scope)
    although = "; Ready is True all the same" if scope.shows_ready else ""
    for pod in scope.pods:
        fault = fault_of_pod(scope, pod, scope.pods)
        if fault is not None:
            yield pod_finding(
                scope,
                pod,
                fault,
                reason=PODS_NOT_READY,
                related=PODS.ref(pod),
                cause=fault.cause,
                text=f"pod {pod.name}: {fault.detail}{although}",
            )


def _refused(scope: InferenceServiceScope) -> Iterator[Finding]:
    for component, deployments in (scope.facts.deployments or {}).items():
        for deployment in deployments:
            failure = deployment.status.condition(REPLICA_FAILURE)
            if failure is None or not is_true(failure):
                continue
            yield scope.finding(
                reason=PODS_NOT_CREATED,
                related=DEPLOYMENTS.ref(deployment),
                cause=f"{component} {failure.reason or REPLICA_FAILURE}",
                text=f"{component}: pods of Deployment {deployment.name} cannot be created, "
                f"{words(failure)}",
                severity=0 if deployment.status.available_replicas else 1,
                transition=failure.last_transition_time,
                created=deployment.created,
            )

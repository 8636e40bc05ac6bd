"""inferenceservicePodsNotCreated and inferenceservicePodsNotReady."""

from collections.abc import Iterator

from reporter.catalogue.resources import DEPLOYMENTS, PODS
from reporter.diagnosis.refusals import refusal
from reporter.model.finding import Finding
from reporter.probes.pods import fault_of_pod, pod_finding
from reporter.stacks.kserve.derived.raw import REPLICA_FAILURE
from reporter.stacks.kserve.probes.scope import InferenceServiceScope
from reporter.stacks.kserve.reasons import PODS_NOT_CREATED, PODS_NOT_READY
from reporter.workload.owners import is_true, words
from reporter.workload.standing import newest_failure


def probe_pods(scope: InferenceServiceScope) -> Iterator[Finding]:
    """Yield a finding for each Deployment that gets no pods, and for each pod at fault."""
    if not scope.in_knative_mode:
        yield from _refused(scope)
    although = "; Ready is True all the same" if scope.shows_ready else ""
    judged = [(pod, fault_of_pod(scope, pod, scope.pods)) for pod in scope.pods]
    if (failed := newest_failure(scope.pods, scope.snapshot)) is not None:
        judged.append(failed)
    for pod, fault in judged:
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
            why = refusal(failure.message, scope.place)
            yield scope.finding(
                reason=PODS_NOT_CREATED,
                related=DEPLOYMENTS.ref(deployment),
                cause=f"{component} {failure.reason or REPLICA_FAILURE}",
                text=f"{component}: pods of Deployment {deployment.name} cannot be created, "
                f"{why.told if why else words(failure)}",
                diagnosis=why,
                started=False,
                severity=0 if deployment.status.available_replicas else 1,
                transition=failure.last_transition_time,
                created=deployment.created,
            )

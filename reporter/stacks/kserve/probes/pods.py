"""inferenceservicePodsNotCreated and inferenceservicePodsNotReady (KServe sheet 4.2 and 4.4)."""

from collections.abc import Iterator
from datetime import timedelta

from reporter.catalogue.resources import DEPLOYMENTS, NODES, PODS
from reporter.model.finding import Finding
from reporter.model.objects import Pod
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kserve.derived.raw import REPLICA_FAILURE
from reporter.stacks.kserve.probes.scope import View, finding_about, is_true, words
from reporter.stacks.kserve.reasons import PODS_NOT_CREATED, PODS_NOT_READY
from reporter.workload.pod import PodFault, had_been_ready, is_ready, judge_pod


def probe_pods(view: View, snapshot: Snapshot, settings: EvaluationSettings) -> Iterator[Finding]:
    """Yield a finding for each Deployment that gets no pods, and for each pod at fault."""
    if not view.in_knative_mode:
        yield from _refused(view)
    startup = timedelta(seconds=settings.model_startup_budget_seconds)
    nodes = snapshot[NODES] if snapshot.absence_known(NODES) else None
    for pod in view.pods:
        fault = judge_pod(pod, nodes=nodes, startup_budget=startup)
        if fault is not None:
            yield _about(view, pod, fault)


def _about(view: View, pod: Pod, fault: PodFault) -> Finding:
    although = "; Ready is True all the same" if view.shows_ready else ""
    return finding_about(
        view,
        reason=PODS_NOT_READY,
        related=PODS.ref(pod),
        cause=fault.cause,
        text=f"pod {pod.name}: {fault.detail}{although}",
        severity=fault.severity,
        transition=fault.transition,
        created=pod.created,
        exempt=fault.exempt,
        budget=fault.budget,
        # What befalls a pod that had worked is no matter of the controller that made it.
        independent=had_been_ready(pod) or is_ready(pod),
        lingers=fault.of_containers,
    )


def _refused(view: View) -> Iterator[Finding]:
    for component, deployments in (view.facts.deployments or {}).items():
        for deployment in deployments:
            failure = deployment.status.condition(REPLICA_FAILURE)
            if failure is None or not is_true(failure):
                continue
            yield finding_about(
                view,
                reason=PODS_NOT_CREATED,
                related=DEPLOYMENTS.ref(deployment),
                cause=f"{component} {failure.reason or REPLICA_FAILURE}",
                text=f"{component}: pods of Deployment {deployment.name} cannot be created, "
                f"{words(failure)}",
                severity=0 if deployment.status.available_replicas else 1,
                transition=failure.last_transition_time,
                created=deployment.created,
            )

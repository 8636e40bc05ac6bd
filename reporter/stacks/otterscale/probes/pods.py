"""modelservicePodsNotReady: the decode and prefill pods (OtterScale sheet 2.3, 5.2)."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, NODES, PODS
from reporter.catalogue.runtime import SCRAPE_FAILING
from reporter.metrics.looks.samples import Samples
from reporter.model.finding import Finding
from reporter.model.objects import Condition, ContainerStatus, Pod
from reporter.model.text import detail
from reporter.settings import EvaluationSettings
from reporter.stacks.otterscale.manifests.serving import CONTAINER
from reporter.stacks.otterscale.probes.answers import has_answered, is_given_up
from reporter.stacks.otterscale.probes.hints import hint, named_cause
from reporter.stacks.otterscale.probes.scope import RoleView, View, finding_about
from reporter.stacks.otterscale.reasons import PODS as PODS_NOT_READY
from reporter.workload.pod import PodFault, had_been_ready, is_ready, judge_ended, judge_pod

_DOWN: Final = 100
"""Added where no pod of a role is Ready: worse than anything that leaves some."""

_MISSING: Final = 26
"""Severity of pods that were never made, on the scale of those of pods."""


def probe_pods(view: View, settings: EvaluationSettings, samples: Samples) -> Iterator[Finding]:
    """Yield a finding for each pod at fault, and for each role that has too few.

    Every pod that stands for a replica and is not Ready has a finding, one in its start-up too.
    """
    startup = timedelta(seconds=settings.model_startup_budget_seconds)
    nodes = view.snapshot[NODES] if view.snapshot.absence_known(NODES) else None
    for role in view.roles:
        for pod in role.pods:
            fault = judge_pod(pod, nodes=nodes, startup_budget=startup)
            if fault is not None:
                yield _about_pod(view, role, pod, fault)
            elif _may_crash_again(pod, settings, samples):
                yield _unproven(view, role, pod)
        yield from _too_few(view, role, startup)


def _about_pod(view: View, role: RoleView, pod: Pod, fault: PodFault) -> Finding:
    return finding_about(
        view,
        reason=PODS_NOT_READY,
        related=PODS.ref(pod),
        cause=named_cause(view, role, pod, fault),
        text=f"{role.role} pod {pod.name} ({role.count}): {fault.detail}"
        f"{hint(view, pod, fault)}{_phase(view, role)}",
        severity=_severity(role, fault.severity),
        transition=fault.transition,
        created=pod.created,
        exempt=fault.exempt,
        budget=fault.budget,
        independent=had_been_ready(pod) or is_ready(pod),
        lingers=fault.of_containers,
    )


def _severity(role: RoleView, severity: int) -> int:
    return severity + (_DOWN if role.wanted and not role.ready else 0)


def _phase(view: View, role: RoleView) -> str:
    """Return a remark where the operator's phase hides that a role has too few pods (fact 3).

    A phase that is old hides nothing: the operator has only not come to write the next one. Nor
    does one that follows from a Deployment that asks for too few pods.
    """
    own = role.deployment
    if view.service.status.phase != "Ready" or own is None or role.ready >= role.wanted:
        return ""
    deployments = [each.deployment for each in view.roles if each.deployment is not None]
    ready = sum(each.status.ready_replicas for each in deployments)
    wanted = sum(each.wanted for each in deployments)
    if own.status.ready_replicas >= own.wanted or ready < wanted:
        return ""
    return "; phase is Ready all the same, for it counts both roles together"


def _may_crash_again(pod: Pod, settings: EvaluationSettings, samples: Samples) -> bool:
    """Tell whether a Ready pod has not shown yet that it is over its last crash.

    Without probes a pod is Ready as soon as its containers run (fact 1), so that one in a crash
    loop is Ready again and again. Its engine answers only once the model is loaded. Where nobody
    judges silence it would never be given up.
    """
    if not is_ready(pod) or pod.deleting:
        return False
    if not samples.scraping or not settings.judges(SCRAPE_FAILING):
        return False
    engine = _engine(pod)
    crashed = engine is not None and engine.last_state and engine.last_state.terminated
    if not crashed or crashed.exit_code == 0:
        return False
    return not has_answered(pod, samples) and not is_given_up(pod, samples)


def _unproven(view: View, role: RoleView, pod: Pod) -> Finding:
    """Return what goes on where a crash was told, and never begins by itself."""
    return finding_about(
        view,
        reason=PODS_NOT_READY,
        related=PODS.ref(pod),
        cause="crashed",
        text=f"{role.role} pod {pod.name} ({role.count}): runs again after a crash, and its engine "
        "does not answer yet",
        severity=_MISSING,
        created=pod.created,
        sustains=True,
    )


def _engine(pod: Pod) -> ContainerStatus | None:
    found = (each for each in pod.status.container_statuses or () if each.name == CONTAINER)
    return next(found, None)


def _too_few(view: View, role: RoleView, startup: timedelta) -> Iterator[Finding]:
    """Yield a finding if a role has fewer pods than it wants."""
    deployment = role.deployment
    if deployment is None or deployment.deleting:
        return  # that it is missing is told as such
    if not view.snapshot.absence_known(PODS, view.namespace):
        return
    present = len(role.standing)
    if present >= role.wanted:
        return
    refused = _refused(deployment.status.condition("ReplicaFailure"))
    why = _why(view, role, refused)
    yield finding_about(
        view,
        reason=PODS_NOT_READY,
        related=DEPLOYMENTS.ref(deployment),
        cause=(refused.reason if refused else None) or f"{present}/{role.wanted} {role.role} pods",
        text=f"Deployment {role.name} has {present}/{role.wanted} {role.role} pods{why}"
        f"{_phase(view, role)}",
        severity=_severity(role, _MISSING),
        transition=refused.last_transition_time if refused else None,
        created=deployment.created,
        budget=None if refused else startup,
    )


def _refused(condition: Condition | None) -> Condition | None:
    return condition if condition is not None and condition.status == "True" else None


def _why(view: View, role: RoleView, refused: Condition | None) -> str:
    deployment = role.deployment
    if refused is not None:
        return f": pods cannot be created, {detail(refused.reason, refused.message) or 'no reason'}"
    if deployment is not None and deployment.wanted < role.wanted:
        late = view.is_behind or view.reconcile_error
        who = "which the operator has not come to change" if late else "somebody else has scaled it"
        return f": it asks for {deployment.wanted} only, {who}"
    if deployment is not None and deployment.spec.paused:
        return ": it is paused"
    for pod in role.pods:
        ended = judge_ended(pod)
        if ended is not None:
            return f"; pod {pod.name} ended: {ended.detail}"
    return ""

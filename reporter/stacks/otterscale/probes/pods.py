"""The decode and prefill pods, their rollout, and what the pages of serving pods say."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, PODS
from reporter.catalogue.runtime import SCRAPE_FAILING, of_kind
from reporter.diagnosis.case import is_error, last_end
from reporter.diagnosis.refusals import refusal
from reporter.metrics.looks.samples import MetricFault
from reporter.model.finding import Finding
from reporter.model.objects import Condition, ContainerStatus, Deployment, Pod
from reporter.model.text import detail
from reporter.probes.pods import (
    fault_of_pod,
    metric_faults,
    metric_finding,
    pod_finding,
    startup_budget,
)
from reporter.settings import EvaluationSettings
from reporter.stacks.otterscale.manifests.pods import CONTAINER
from reporter.stacks.otterscale.probes.drift import hint, named_cause
from reporter.stacks.otterscale.probes.scope import ModelServiceScope, RoleView
from reporter.stacks.otterscale.probes.status import engine_started, has_answered, is_given_up
from reporter.stacks.otterscale.reasons import PODS as PODS_NOT_READY
from reporter.stacks.otterscale.reasons import ROLLOUT_STALLED
from reporter.workload.pod import PodFault, is_ready, judge_ended

_DOWN: Final = 100
"""Added where no pod of a role is Ready: worse than anything that leaves some."""

_MISSING: Final = 26
"""Severity of pods that were never made, on the scale of those of pods."""


def probe_pods(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding for each pod at fault, and for each role that has too few.

    Every pod that stands for a replica and is not Ready has a finding, one in its start-up too.
    """
    for role in scope.roles:
        for pod in role.pods:
            fault = fault_of_pod(scope, pod, role.pods)
            if fault is not None:
                yield _about_pod(scope, role, pod, fault=fault)
            elif _may_crash_again(scope, pod):
                yield _unproven(scope, role, pod)
        yield from _too_few(scope, role)


def _about_pod(scope: ModelServiceScope, role: RoleView, pod: Pod, *, fault: PodFault) -> Finding:
    return pod_finding(
        scope,
        pod,
        fault,
        reason=PODS_NOT_READY,
        related=PODS.ref(pod),
        cause=named_cause(scope, role, pod, fault=fault),
        text=f"{role.role} pod {pod.name}: {fault.detail}"
        f"{hint(scope, pod, fault)} ({role.count}){_phase(scope, role)}",
        severity=_severity(role, fault.severity),
    )


def _severity(role: RoleView, severity: int) -> int:
    return severity + (_DOWN if role.wanted and not role.ready else 0)


def _phase(scope: ModelServiceScope, role: RoleView) -> str:
    """Return a remark where the operator's phase hides that a role has too few pods.

    The operator compares the sums over both roles, so that a surplus of one hides a lack of the
    other (otterscale/model-operator at ca17623).

    A phase that is old hides nothing: the operator has only not come to write the next one. Nor
    does one that follows from a Deployment that asks for too few pods.
    """
    own = role.deployment
    if scope.service.status.phase != "Ready" or own is None or role.ready >= role.wanted:
        return ""
    deployments = [each.deployment for each in scope.roles if each.deployment is not None]
    ready = sum(each.status.ready_replicas for each in deployments)
    wanted = sum(each.wanted for each in deployments)
    if own.status.ready_replicas >= own.wanted or ready < wanted:
        return ""
    return "; phase is Ready all the same, because it counts both roles together"


def _may_crash_again(scope: ModelServiceScope, pod: Pod) -> bool:
    """Tell whether a Ready pod has not shown yet that it is over its last crash.

    Without probes a pod is Ready as soon as its containers run, so that one in a crash
    loop is Ready again and again. Its engine answers only once the model is loaded. Where nobody
    judges silence it would never be given up.
    """
    if not is_ready(pod) or pod.deleting:
        return False
    if not scope.samples.scraping or not scope.settings.judges(SCRAPE_FAILING):
        return False
    engine = _engine(pod)
    if engine is None or not is_error(last_end(engine)):
        return False
    return not has_answered(pod, scope.samples) and not is_given_up(pod, scope.samples)


def _unproven(scope: ModelServiceScope, role: RoleView, pod: Pod) -> Finding:
    """Return what goes on where a crash was told, and never begins by itself."""
    return scope.finding(
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


def _too_few(scope: ModelServiceScope, role: RoleView) -> Iterator[Finding]:
    deployment = role.deployment
    if deployment is None or deployment.deleting:
        return  # that it is missing is told as such
    if not scope.snapshot.absence_known(PODS, scope.place, sought=scope.own):
        return
    present = len(role.standing)
    if present >= role.wanted:
        return
    refused = _refused(deployment.status.condition("ReplicaFailure"))
    found = refusal(refused.message, scope.place) if refused else None
    why = f": pods cannot be created, {found.told}" if found else _why(scope, role, refused)
    yield scope.finding(
        reason=PODS_NOT_READY,
        related=DEPLOYMENTS.ref(deployment),
        cause=(refused.reason if refused else None) or f"{present}/{role.wanted} {role.role} pods",
        text=f"Deployment {role.name} has {present}/{role.wanted} {role.role} pods{why}"
        f"{_phase(scope, role)}",
        diagnosis=found,
        severity=_severity(role, _MISSING),
        transition=refused.last_transition_time if refused else None,
        created=deployment.created,
        budget=None if refused else startup_budget(scope),
    )


def _refused(condition: Condition | None) -> Condition | None:
    return condition if condition is not None and condition.status == "True" else None


def _why(scope: ModelServiceScope, role: RoleView, refused: Condition | None) -> str:
    deployment = role.deployment
    if refused is not None:
        return f": pods cannot be created, {detail(refused.reason, refused.message) or 'no reason'}"
    if deployment is not None and deployment.wanted < role.wanted:
        late = scope.is_behind or scope.reconcile_error
        who = "and the operator has not changed it yet" if late else "somebody else has scaled it"
        return f": it asks for {deployment.wanted} only, {who}"
    if deployment is not None and deployment.spec.paused:
        return ": it is paused"
    for pod in role.pods:
        ended = judge_ended(pod, scope.snapshot)
        if ended is not None:
            return f"; pod {pod.name} ended: {ended.detail}"
    return ""


_DEADLINE_SECONDS: Final = 600
"""The API's default of `progressDeadlineSeconds`; the operator sets none."""


def probe_rollout(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding for each role whose rollout stalls.

    The Deployment's deadline is shorter than the time that a model may take to be fetched.
    """
    for role in scope.roles:
        deployment = role.deployment
        if deployment is None or deployment.deleting or deployment.wanted == 0:
            continue
        stalled = _stalled(deployment)
        if stalled is None:
            continue
        updated = f"{deployment.status.updated_replicas}/{deployment.wanted} pods are new"
        yield scope.finding(
            reason=ROLLOUT_STALLED,
            related=DEPLOYMENTS.ref(deployment),
            cause=f"{role.role}: ProgressDeadlineExceeded",
            text=f"the rollout of Deployment {role.name} is past its deadline: {updated}, "
            f"{role.count}",
            severity=1 if role.ready == 0 else 0,
            transition=stalled.last_transition_time,
            created=deployment.created,
            budget=_rest(deployment, scope.settings),
        )


def _stalled(deployment: Deployment) -> Condition | None:
    condition = deployment.status.condition("Progressing")
    if condition is None or condition.status != "False":
        return None
    if deployment.status.observed_generation < deployment.metadata.generation:
        return None
    return condition if condition.reason == "ProgressDeadlineExceeded" else None


def _rest(deployment: Deployment, settings: EvaluationSettings) -> timedelta | None:
    """Return how much longer than the deadline a start may take, None if it may not."""
    deadline = deployment.spec.progress_deadline_seconds or _DEADLINE_SECONDS
    rest = settings.model_startup_budget_seconds - deadline
    return timedelta(seconds=rest) if rest > 0 else None


def probe_runtime(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding for each fault that the rules found in the page of a pod."""
    for pod, fault in metric_faults(scope, scope.pods, waits=waits_for_replicas(scope)):
        silent = fault.reason == SCRAPE_FAILING
        if silent and not has_answered(pod, scope.samples):
            yield _loading(scope, pod, fault)
        else:
            yield metric_finding(scope, pod, fault, lingers=silent)


def waits_for_replicas(scope: ModelServiceScope) -> bool:
    """Tell whether fewer pods are ready than wanted, as in a scale-out or a rollout."""
    return any(role.ready < role.wanted for role in scope.roles)


def _loading(scope: ModelServiceScope, pod: Pod, fault: MetricFault) -> Finding:
    """Return what is told of a Ready pod that does not answer, once it should have its model.

    Its pods have no probes, so that one is Ready minutes before vLLM listens.
    """
    return scope.finding(
        reason=of_kind(SCRAPE_FAILING, scope.subject.kind),
        related=PODS.ref(pod),
        cause=fault.cause,
        text=f"pod {pod.name}: {fault.text}; its engine has not answered since it started",
        severity=fault.severity,
        transition=engine_started(pod) or fault.since,
        created=pod.created,
        exempt=True,
        budget=startup_budget(scope),
        lingers=True,
    )

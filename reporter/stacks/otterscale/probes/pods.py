"""The decode and prefill pods, their rollout, and the metrics pages of serving pods.

Only its page shows whether the engine of a pod has answered: the operator gives pods no probes
(otterscale/model-operator at ca17623).
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, PODS
from reporter.catalogue.runtime import SCRAPE_FAILING, of_kind
from reporter.diagnosis.case import is_error, last_end, refusal
from reporter.metrics.samples.window import MetricFault, PodSamples
from reporter.model.finding import Finding
from reporter.model.objects import Condition, ContainerStatus, Deployment, Pod
from reporter.model.text import clean, cut, detail
from reporter.probes.pods import (
    fault_of_pod,
    metric_faults,
    metric_finding,
    pod_finding,
    startup_budget,
)
from reporter.probes.runtime.judge import judged_of
from reporter.setting_types import TimeBudget
from reporter.settings import EvaluationSettings
from reporter.stacks.otterscale.manifests import names
from reporter.stacks.otterscale.manifests.wanted import RESOURCE_NAMES
from reporter.stacks.otterscale.probes.scope import ModelServiceScope, RoleView
from reporter.stacks.otterscale.reasons import PODS as PODS_NOT_READY
from reporter.stacks.otterscale.reasons import ROLLOUT_STALLED
from reporter.workload.deployment import exceeded_deadline
from reporter.workload.pod import (
    ENDED,
    NOT_SET_UP,
    STARTING,
    UNSCHEDULABLE,
    PodFault,
    is_ready,
    judge_ended,
)

_DOWN: Final = 100
"""Added to a severity if no pod of the role is Ready: worse than any fault that leaves some."""

_MISSING: Final = 26
"""Severity of pods that were never created, on the scale of pod faults."""


def probe_pods(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding for each pod at fault, and for each role that has too few.

    Every pod that counts as a replica and is not Ready has a finding, even during its start-up.
    """
    for role in scope.roles:
        for pod in role.pods:
            fault = fault_of_pod(scope, pod, role.pods)
            if fault is not None:
                yield pod_finding(
                    scope,
                    pod,
                    fault,
                    reason=PODS_NOT_READY,
                    related=PODS.ref(pod),
                    cause=f"{role.role}: {_cause(scope, pod, fault)}",
                    text=f"{role.role} pod {pod.name}: {fault.detail}"
                    f"{_hint(scope, pod, fault)} ({role.count}){_phase(scope, role)}",
                    severity=_severity(role, fault.severity),
                )
            elif _may_crash_again(scope, pod):
                yield scope.finding(  # continues a reported crash, and never begins by itself
                    reason=PODS_NOT_READY,
                    related=PODS.ref(pod),
                    cause="crashed",
                    text=f"{role.role} pod {pod.name} ({role.count}): runs again after a crash, "
                    "and its engine does not answer yet",
                    severity=_MISSING,
                    created=pod.created,
                    sustains=True,
                )
        yield from _too_few(scope, role)


def _severity(role: RoleView, severity: int) -> int:
    return severity + (_DOWN if role.wanted and not role.ready else 0)


def _phase(scope: ModelServiceScope, role: RoleView) -> str:
    """Return a remark if the operator's phase hides that a role has too few pods.

    The operator compares the totals of both roles, so a surplus of one hides a shortage of the
    other (otterscale/model-operator at ca17623).

    An old phase hides nothing: the operator has just not written the next one yet. Nor does a phase
    that follows from a Deployment that asks for too few pods.
    """
    own = role.deployment
    if scope.object.status.phase != "Ready" or own is None or role.ready >= role.wanted:
        return ""
    deployments = [each.deployment for each in scope.roles if each.deployment is not None]
    ready = sum(each.status.ready_replicas for each in deployments)
    wanted = sum(each.wanted for each in deployments)
    if own.status.ready_replicas >= own.wanted or ready < wanted:
        return ""
    return "; phase is Ready all the same, because it counts both roles together"


_IMAGE_BYTES: Final = 200


def _cause(scope: ModelServiceScope, pod: Pod, fault: PodFault) -> str:
    """Return a short cause, with the container or the accelerator that it is about.

    Taints of nodes with accelerators have the same name, but are another cause.
    """
    if fault.severity == UNSCHEDULABLE:
        resource = RESOURCE_NAMES.get(scope.object.spec.accelerator.type)
        scheduled = pod.status.condition("PodScheduled")
        message = (scheduled.message if scheduled else None) or ""
        if resource and f"Insufficient {resource}" in message:
            return f"no free {resource}"
    return f"{fault.init_container}: {fault.cause}" if fault.init_container else fault.cause


def _hint(scope: ModelServiceScope, pod: Pod, fault: PodFault) -> str:
    """Return a hint to append to the detail of a fault, or an empty string."""
    model = scope.object.spec.model
    secrets = model.image_pull_secrets
    if fault.init_container == names.ROUTING_PROXY:
        return "; without it nothing listens on the port that requests are sent to"
    # The container ran and failed; otherwise its own image or the node is at fault.
    has_run = fault.severity == ENDED or fault.cause == "CrashLoopBackOff"
    if fault.init_container == names.MODEL_UNPACK and has_run:
        access = "without credentials (spec.model.imagePullSecrets is not set)"
        if secrets:
            also = ", the only one of imagePullSecrets that it uses" if len(secrets) > 1 else ""
            access = f"with the credentials of Secret {secrets[0].name}{also}"
        package = cut(clean(model.image), _IMAGE_BYTES)
        return f"; it fetches and unpacks the model package {package} {access}"
    if fault.severity not in {STARTING, NOT_SET_UP} or not _waits_to_unpack(pod):
        return ""
    if not secrets:
        return "; its containers are not created yet"
    return (
        "; its containers are not created yet, as happens while a volume is missing: look for "
        f"Secret {secrets[0].name} and its key .dockerconfigjson"
    )


def _waits_to_unpack(pod: Pod) -> bool:
    """Return True if the container that unpacks waits; the fault names one that runs."""
    every = pod.status.init_container_statuses or ()
    states = (each.state for each in every if each.name == names.MODEL_UNPACK)
    return any(each and each.running is None and each.waiting is not None for each in states)


def _may_crash_again(scope: ModelServiceScope, pod: Pod) -> bool:
    """Return True if a Ready pod has not shown yet that it has recovered from its last crash.

    Without probes a pod is Ready as soon as its containers run, so a pod in a crash loop is Ready
    again and again. Its engine answers only once the model is loaded. If silence is not judged, the
    doubt would never end, so the answer is False.
    """
    if not is_ready(pod) or pod.deleting:
        return False
    if not scope.samples.scraping or not scope.settings.judges_runtime:
        return False
    engine = _engine(pod)
    if engine is None or not is_error(last_end(engine)):
        return False
    return not _has_answered(pod, scope.samples) and not _is_given_up(pod, scope.samples)


def _engine(pod: Pod) -> ContainerStatus | None:
    every = pod.status.container_statuses or ()
    return next((each for each in every if each.name == names.ENGINE), None)


def _started(pod: Pod) -> datetime | None:
    """Return when the engine's container started, or None if it does not run."""
    engine = _engine(pod)
    running = engine.state.running if engine and engine.state else None
    return running.started_at if running else None


def _has_answered(pod: Pod, samples: PodSamples) -> bool:
    """Return True if the engine has served a page since its container started.

    It listens once the model is loaded. If its statistics are turned off, its page has no metrics
    of the engine.
    """
    judged = samples.of(pod.namespace, pod.name, pod.metadata.uid)
    started = _started(pod)
    if judged is None or started is None:
        return False
    answer = judged.history.last_answer
    if answer is not None and answer.wall >= started:
        return True
    return any(not sample.fails and sample.at.wall >= started for sample in judged.history.samples)


def _is_given_up(pod: Pod, samples: PodSamples) -> bool:
    """Return True if the engine has been silent for so long that its silence is reported.

    Or would be, if any other pod could be reached. A fault found before the engine started is in
    doubt too until the pod has settled, and proves nothing.
    """
    judged = judged_of(pod, samples)
    if judged is None:
        return False
    verdict = judged.verdict
    doubt = verdict.doubts.get(SCRAPE_FAILING)
    doubted = verdict.in_service and doubt is not None and doubt.fault is not None
    return doubted or SCRAPE_FAILING in verdict.faults


def _too_few(scope: ModelServiceScope, role: RoleView) -> Iterator[Finding]:
    deployment = role.deployment
    if deployment is None or deployment.deleting:
        return  # `probe_missing` reports a missing Deployment
    if not scope.known(PODS):
        return
    present = len(role.replicas)
    if present >= role.wanted:
        return
    refused = deployment.status.condition("ReplicaFailure", "True")
    found = refusal(refused.message, scope.place, scope.snapshot) if refused else None
    why = f": pods cannot be created, {found.sentence}" if found else _why(scope, role, refused)
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


def _why(scope: ModelServiceScope, role: RoleView, refused: Condition | None) -> str:
    deployment = role.deployment
    if refused is not None:
        return f": pods cannot be created, {detail(refused.reason, refused.message) or 'no reason'}"
    if deployment is not None and deployment.wanted < role.wanted:
        late = scope.object.is_behind or scope.object.reconcile_error
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
"""The API's default of `progressDeadlineSeconds`, which the operator does not set."""


def probe_rollout(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding for each role whose rollout stalls.

    The Deployment's deadline is shorter than the time that fetching a model may take.
    """
    for role in scope.roles:
        deployment = role.deployment
        if deployment is None or deployment.deleting or deployment.wanted == 0:
            continue
        stalled = exceeded_deadline(deployment)
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


def _rest(deployment: Deployment, settings: EvaluationSettings) -> timedelta | None:
    """Return how much longer than the deadline a start may take, or None."""
    deadline = timedelta(seconds=deployment.spec.progress_deadline_seconds or _DEADLINE_SECONDS)
    rest = settings.budget(TimeBudget.MODEL_STARTUP) - deadline
    return rest if rest > timedelta(0) else None


def probe_runtime(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding for each fault that the rules found in a pod's metrics page."""
    for pod, fault in metric_faults(scope, scope.pods, waits=waits_for_replicas(scope)):
        silent = fault.reason == SCRAPE_FAILING
        if silent and not _has_answered(pod, scope.samples):
            yield _loading(scope, pod, fault)
        else:
            yield metric_finding(scope, pod, fault, lingers=silent)


def waits_for_replicas(scope: ModelServiceScope) -> bool:
    """Return True if fewer pods are ready than wanted, as in a scale-out or a rollout."""
    return any(role.ready < role.wanted for role in scope.roles)


def _loading(scope: ModelServiceScope, pod: Pod, fault: MetricFault) -> Finding:
    """Return the finding for a Ready pod that does not answer after it should have its model.

    The pods have no probes, so a pod is Ready minutes before vLLM listens.
    """
    return scope.finding(
        reason=of_kind(SCRAPE_FAILING, scope.subject.kind),
        related=PODS.ref(pod),
        cause=fault.cause,
        text=f"pod {pod.name}: {fault.text}; its engine has not answered since it started",
        severity=fault.severity,
        transition=_started(pod) or fault.since,
        created=pod.created,
        exempt=True,
        budget=startup_budget(scope),
        lingers=True,
    )

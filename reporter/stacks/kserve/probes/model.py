"""Models that cannot be fetched or loaded, pods at fault, and specs that KServe cannot deploy."""

from collections.abc import Iterator
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, NAMESPACES, PODS
from reporter.diagnosis.case import exit_words, is_error, last_end, last_words, loops, refusal
from reporter.model.finding import Fails, Finding
from reporter.model.objects import ContainerStatus, Pod
from reporter.model.text import detail
from reporter.probes.pods import pod_finding, startup_budget
from reporter.served.pods import faults_of, how_ended, unusual_end
from reporter.stacks.kserve import reasons
from reporter.stacks.kserve.derived import derive
from reporter.stacks.kserve.derived.conditions import REPLICA_FAILURE
from reporter.stacks.kserve.derived.revisions import WHOLE
from reporter.stacks.kserve.objects import COMPONENT, REVISION, Component, FailureInfo
from reporter.stacks.kserve.probes.scope import InferenceServiceScope, ServedComponent, named
from reporter.workload.owners import warning_about, words
from reporter.workload.pod import counts, had_been_ready, is_ready, why_ended

_ERROR: Final = "Error"
_NOT_LOADED: Final = "the model does not load"
_NEVER: Final = 2
"""Severity of a model that no container tries to fetch."""


def probe_model(scope: InferenceServiceScope) -> Iterator[Finding]:
    """Yield a finding for each pod that cannot fetch or load the model."""
    for pod in scope.pods:
        if not counts(pod):
            continue
        of = pod.status
        storage = derive.container_of(of.init_container_statuses, derive.STORAGE_INITIALIZER)
        serving = derive.container_of(of.container_statuses, derive.KSERVE_CONTAINER)
        if not is_ready(pod) and _is_left_out(scope, pod):
            yield _never_fetched(scope, pod)
        elif storage is not None and (loops(storage) or is_error(last_end(storage))):
            # Whatever the cause, and even during a retry; KServe itself reports a failed download
            # as `Pending` until its container is in a crash loop.
            what = "the model cannot be fetched"
            yield _about(scope, pod, storage, reason=reasons.STORAGE_FAILED, what=what)
        elif not _serves_model(pod) or serving is None:
            continue  # a crashing transformer says nothing about the model
        elif _fails_to_load(serving):
            what = "the model server was Ready and fails" if had_been_ready(pod) else _NOT_LOADED
            yield _about(scope, pod, serving, reason=reasons.MODEL_LOAD_FAILED, what=what)
    if scope.all_pods is None:
        yield from _by_status(scope)


_TOUCHED: Final = frozenset({derive.STORAGE_INITIALIZER, "modelcar", "modelcar-init"})
_LEFT_OUT: Final = "control-plane"
"""Label of namespaces that KServe's webhook skips (kserve/kserve, config/webhook; issue 517)."""


def _is_left_out(scope: InferenceServiceScope, pod: Pod) -> bool:
    """True if nothing fetches a pod's model because KServe's webhook skips its namespace.

    The webhook would have added an init container, a sidecar with the model, or a claim.
    """
    model = scope.object.spec.predictor.model
    if model is None or not (model.storage_uri or model.storage) or pod.spec.claims:
        return False
    namespace = scope.snapshot[NAMESPACES].get("", scope.place)
    if namespace is None or _LEFT_OUT not in (namespace.metadata.labels or {}):
        return False
    containers = (*(pod.spec.containers or ()), *(pod.spec.init_containers or ()))
    return _serves_model(pod) and not any(each.name in _TOUCHED for each in containers)


def _never_fetched(scope: InferenceServiceScope, pod: Pod) -> Finding:
    ended = any(last_end(each) for each in pod.status.container_statuses or ())
    return scope.finding(
        reason=reasons.STORAGE_FAILED,
        related=PODS.ref(pod),
        cause=f"no {derive.STORAGE_INITIALIZER}",
        text=f"pod {pod.name}: the model is not fetched, as KServe's webhook leaves out namespaces "
        f"with the label {_LEFT_OUT}, which {scope.place} has: the pod has no "
        f"{derive.STORAGE_INITIALIZER}",
        severity=_NEVER,
        created=pod.created,
        budget=None if ended else startup_budget(scope),
    )


def _serves_model(pod: Pod) -> bool:
    return pod.metadata.label(COMPONENT) in (None, Component.PREDICTOR)


def _fails_to_load(status: ContainerStatus) -> bool:
    """True if a container fails, or was restarted and is not ready: it may fail again."""
    ended = last_end(status)
    stopped = status.state is not None and status.state.terminated is not None
    again = ended is not None and derive.is_running(status) and not status.ready
    return (loops(status) or stopped or again) and (ended is None or ended.reason == _ERROR)


def _about(
    scope: InferenceServiceScope, pod: Pod, status: ContainerStatus, *, reason: str, what: str
) -> Finding:
    looping = status.state is not None and status.state.waiting is not None
    ended = last_end(status)
    code = f", exit code {ended.exit_code}" if ended else ""
    why, diagnosis = why_ended(pod, status, scope.snapshot, otherwise=how_ended(status))
    return scope.finding(
        reason=reason,
        related=PODS.ref(pod),
        cause=f"{status.name} failed{unusual_end(status)}{code}",
        text=f"pod {pod.name}: {what}{why}{_still(scope, pod)}",
        diagnosis=diagnosis,
        severity=int(looping),
        created=pod.created,
        exempt=looping,
        independent=had_been_ready(pod),
        sustains=derive.is_running(status),
        lingers=True,
    )


def _by_status(scope: InferenceServiceScope) -> Iterator[Finding]:
    """Yield a finding from the stored status, for use when pods cannot be read."""
    status = scope.object.status.model_status
    if status is None or status.transition_status != derive.Transition.BLOCKED:
        return
    info = status.last_failure_info or FailureInfo()
    reason, said = info.reason or derive.MODEL_LOAD_FAILED, last_words(info.message)
    unusual = f", {reason}" if reason != derive.MODEL_LOAD_FAILED else ""
    how = "" if info.exit_code is None else f" ({exit_words(info.exit_code, reason)})"
    yield scope.finding(
        reason=reasons.MODEL_LOAD_FAILED,
        cause=reason,
        text=f"{_NOT_LOADED}{unusual}{how}{f': {said}' if said else ''}{_still(scope)}",
    )


def _still(scope: InferenceServiceScope, pod: Pod | None = None) -> str:
    """Return a suffix that says what still serves: revisions older than the pod's, if known."""
    predictor = scope.predictor.status
    newest = predictor.latest_created_revision
    is_newest = pod is None or pod.metadata.label(REVISION) == newest
    others = predictor.serving(without=newest)
    differs = scope.in_knative_mode and newest != predictor.latest_ready_revision
    if differs and is_newest and others:
        return f"; {named(others, 'still serve')}"
    return _although(scope)


def _although(scope: InferenceServiceScope) -> str:
    return "; Ready is True all the same" if scope.shows_ready else ""


def probe_pods(scope: InferenceServiceScope) -> Iterator[Finding]:
    """Yield a finding for each Deployment whose pods are refused, and for each pod at fault."""
    for component in () if scope.in_knative_mode else scope.components:
        yield from _refused(component)
    for pod, fault in faults_of(scope, scope.pods):
        yield pod_finding(
            scope,
            pod,
            fault,
            reason=reasons.PODS_NOT_READY,
            related=PODS.ref(pod),
            cause=fault.cause,
            text=f"pod {pod.name}: {fault.detail}{_although(scope)}",
        )


def _refused(component: ServedComponent) -> Iterator[Finding]:
    for deployment in component.deployments:
        failure = deployment.status.condition(REPLICA_FAILURE, "True")
        if failure is None:
            continue
        why = refusal(failure.message, component.scope.place, component.scope.snapshot)
        yield component.finding(
            reason=reasons.PODS_NOT_CREATED,
            related=DEPLOYMENTS.ref(deployment),
            cause=f"{component.kind} {failure.reason or REPLICA_FAILURE}",
            text=f"pods of Deployment {deployment.name} cannot be created, "
            f"{why.sentence if why else words(failure)}",
            diagnosis=why,
            fails=Fails.REFUSED,
            severity=0 if deployment.status.available_replicas else 1,
            transition=failure.last_transition_time,
            created=deployment.created,
        )


_OF_RUNTIME: Final = frozenset({"RuntimeNotRecognized", "RuntimeDisabled", "NoSupportingRuntime"})


def probe_spec(scope: InferenceServiceScope) -> Iterator[Finding]:
    """Yield the findings about specs that KServe cannot deploy or reconcile."""
    if scope.in_knative_mode and scope.facts.without_knative:
        yield scope.finding(
            reason=reasons.KNATIVE_MISSING,
            cause="no Knative",
            text="its deployment mode is Knative, and the cluster does not serve Knative Services",
            created=scope.object.created,
        )
    yield from _invalid_spec(scope)
    total = sum(each.traffic_percent or 0 for each in scope.object.spec.canary or ())
    if total > WHOLE:
        yield scope.finding(
            reason=reasons.INVALID_SPEC,
            cause=f"canaries add up to {total} percent",
            text=f"the percents of spec.canary add up to {total}, which is more than 100",
            created=scope.object.created,
        )
    for component in scope.components:
        ready = scope.object.status.condition(component.kind.ready, "False")
        if ready is None or ready.reason not in derive.FAILED_PASS:
            continue
        failed = ready.reason == derive.RECONCILE_FAILED
        yield component.finding(
            reason=reasons.RECONCILE_FAILED if failed else reasons.INVALID_SPEC,
            related=component.ref if failed else scope.ref,
            cause=f"{component.kind} {ready.reason}",
            text=words(ready),
            transition=ready.last_transition_time,
        )


def _invalid_spec(scope: InferenceServiceScope) -> Iterator[Finding]:
    status = scope.object.status.model_status
    if status is None or status.transition_status != derive.Transition.INVALID_SPEC:
        return
    info = status.last_failure_info
    cause = (info.reason if info else "") or derive.Transition.INVALID_SPEC.value
    text = detail(info.reason, info.message) if info else ""
    loaded = status.states is not None and status.states.active_model_state == "Loaded"
    still = "; the previous model is still loaded" if loaded else ""
    of_runtime = cause in _OF_RUNTIME
    # Only the Event names the missing runtime, or the format that no runtime supports.
    warned = warning_about(scope.snapshot, scope.ref) if of_runtime else ""
    yield scope.finding(
        reason=reasons.RUNTIME_MISSING if of_runtime else reasons.INVALID_SPEC,
        cause=cause,
        text=f"{'no runtime for the model' if of_runtime else 'invalid spec'}, "
        f"{text or 'no reason given'}{f' ({warned})' if warned else ''}{still}",
        created=scope.object.created,
    )

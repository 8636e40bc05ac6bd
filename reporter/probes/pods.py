"""Findings about the pods of a model, shared by all stacks: from their status, from their metrics,
and from the metrics of the endpoint pickers that pick for the model.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import chain
from typing import Final, TypeVar, Unpack

from reporter.catalogue import runtime
from reporter.catalogue.pickers import NO_ENDPOINTS, PICKER_NAMES, SCHEDULING_FAILING, STALE_METRICS
from reporter.catalogue.resources import PODS
from reporter.metrics.samples.window import MetricFault, PodSamples, PodVerdict
from reporter.model import finding as f
from reporter.model.objects import KubeObject, Pod
from reporter.model.stack import ScrapedPickers
from reporter.model.subject import ObjectRef
from reporter.probes.runtime.judge import judged_of, running, verdicts
from reporter.probes.runtime.pod_rules import EMPTY
from reporter.probes.scope import FaultFields, Probe, SubjectScope, evaluated
from reporter.setting_types import TimeBudget
from reporter.workload.components import picker_pods
from reporter.workload.pod import STARTING, PodFault, counts, had_been_ready, is_ready, judge_pod

ScopeT = TypeVar("ScopeT", bound=SubjectScope[KubeObject])

OF_SCALE: Final = frozenset({runtime.BACKLOG, runtime.REJECTED})
"""Faults that a starting replica will relieve, so they do not begin in the meantime."""


def startup_budget(scope: SubjectScope[KubeObject]) -> timedelta:
    """Return the time that a pod may take to start if its startup probe sets none."""
    return scope.settings.budget(TimeBudget.MODEL_STARTUP)


def fault_of_pod(
    scope: SubjectScope[KubeObject], pod: Pod, others: Iterable[Pod] = ()
) -> PodFault | None:
    """Return what keeps a pod from being Ready, including a start-up, or None.

    `others` are the pods of the same kind, which may replace a pod on a lost node.
    """
    fault = judge_pod(pod, scope.snapshot, startup_budget=startup_budget(scope))
    if fault and fault.node and _is_replaced(pod, others):
        return None
    if fault and fault.severity == STARTING and _downloads(pod, scope.samples):
        return replace(fault, detail=f"{fault.detail}; its metrics show that it downloads weights")
    return fault


def _downloads(pod: Pod, samples: PodSamples) -> bool:
    """Tell whether weights arrived since a pod started and some are left (0: none, -1: unknown)."""
    judged = judged_of(pod, samples)
    of_pod = judged.history.samples if judged is not None else ()
    return bool(of_pod and of_pod[-1].remaining and any(each.speed for each in of_pod))


def _is_replaced(pod: Pod, others: Iterable[Pod]) -> bool:
    """Tell whether a pod is being deleted and all pods of its Deployment that replace it are Ready.

    The deletion of a pod on a lost node never ends, as no kubelet confirms it (Kubernetes,
    "Nodes"). Its ReplicaSet does not count it any more; a StatefulSet creates no pod of the same
    name before it is gone.
    """
    deployment = _deployment_of(pod)
    replacing = [e for e in others if not e.deleting and _deployment_of(e) == deployment]
    return pod.deleting and bool(deployment and replacing) and all(map(is_ready, replacing))


def _deployment_of(pod: Pod) -> str:
    """Return the name of a pod's Deployment: the name of its ReplicaSet without the hash."""
    owners = pod.metadata.owner_references or ()
    names = (each.name for each in owners if each.kind == "ReplicaSet" and each.controller)
    return next(names, "").rpartition("-")[0]


def pod_finding(
    scope: SubjectScope[KubeObject],
    pod: Pod,
    fault: PodFault,
    *,
    text: str,
    cause: str,
    **overrides: Unpack[FaultFields],
) -> f.Finding:
    """Return the finding about a pod at fault.

    `overrides` replace fields of the fault. A fault of a pod that had worked is independent: the
    controller that made the pod does not matter any more.
    """
    fields: FaultFields = {
        "severity": fault.severity,
        "transition": fault.transition,
        "created": pod.created,
        "exempt": fault.exempt,
        "budget": fault.budget,
        "independent": had_been_ready(pod) or is_ready(pod),
        "lingers": fault.of_containers,
        "passing": fault.passing,
        "about": fault.part,
        "lost_node": fault.node,
        "diagnosis": fault.diagnosis,
        "fails": fault.fails,
        **overrides,
    }
    return scope.finding(text=text, cause=cause, **fields)


def metric_faults(
    scope: SubjectScope[KubeObject], pods: tuple[Pod, ...], *, waits: bool = False
) -> Iterator[tuple[Pod, MetricFault]]:
    """Yield each fault that the rules found in the metrics of each pod.

    `waits`: fewer replicas are ready than wanted, as in a scale-out or a rollout.
    """
    for pod in running(pods):
        judged = judged_of(pod, scope.samples)
        for fault in judged.verdict.faults.values() if judged else ():
            if not (waits and fault.reason in OF_SCALE):
                yield pod, fault


def metric_finding(
    scope: SubjectScope[KubeObject],
    pod: Pod,
    fault: MetricFault,
    *,
    lingers: bool = False,
    role: str = "",
) -> f.Finding:
    """Return the finding about a fault that was found in the metrics of a pod.

    `role` is put before the pod in the message and ends with a space, if pods have several roles.
    """
    return scope.finding(
        reason=runtime.of_kind(fault.reason, scope.subject.kind),
        related=PODS.ref(pod),
        cause=fault.cause,
        text=f"{role}pod {pod.name}: {fault.text}",
        severity=fault.severity,
        transition=fault.since,
        created=pod.created,
        exempt=True,  # the window was its grace
        lingers=lingers,
    )


def inconclusive_pods(
    scope: SubjectScope[KubeObject], pods: tuple[Pod, ...], *, waits: bool = False
) -> f.InconclusiveReasons:
    """Return the reasons that cannot be judged of each pod now; `waits` as in `metric_faults`."""
    return _inconclusive(scope, running(pods), frozenset(runtime.ROWS), waits=waits)


def _inconclusive(
    scope: SubjectScope[KubeObject], pods: Iterable[Pod], every: frozenset[str], *, waits: bool
) -> f.InconclusiveReasons:
    if not scope.samples.scraping:
        return {}
    kind = scope.subject.kind
    found: dict[ObjectRef, frozenset[str]] = {}
    for pod in pods:
        judged = judged_of(pod, scope.samples)
        reasons = every if judged is None else judged.verdict.inconclusive
        if judged is not None and waits:
            reasons |= OF_SCALE & judged.verdict.faults.keys()
        if reasons:
            found[PODS.ref(pod)] = frozenset(runtime.of_kind(each, kind) for each in reasons)
    return found


def judged(
    scope: ScopeT,
    probes: Iterable[Probe[ScopeT]],
    *,
    ready: Iterable[f.ReadyEvidence],
    serving: Iterable[f.ServingEvidence],
    pods: tuple[Pod, ...],
    waits: bool = False,
    pickers: ScrapedPickers | None = None,
    derived: tuple[f.Derived, ...] = (),
) -> f.Evaluation:
    """Return the evaluation of a model by its probes and the metrics of its pods and pickers."""
    findings = chain.from_iterable(probe(scope) for probe in probes)
    inconclusive = inconclusive_pods(scope, pods, waits=waits)
    if pickers is not None:
        findings = chain(findings, probe_pickers(scope, pickers, pods))
        inconclusive = {**inconclusive, **inconclusive_pickers(scope, pickers)}
        serving = as_picked(scope, pickers, serving)
    return evaluated(
        scope, findings, ready, inconclusive=inconclusive, derived=derived, serving=serving
    )


_UNREAD: Final = frozenset({runtime.SCRAPE_FAILING, runtime.METRICS_MISSING})


def probe_pickers(
    scope: SubjectScope[KubeObject], row: ScrapedPickers, pods: Iterable[Pod]
) -> Iterator[f.Finding]:
    """Yield a finding for each fault in the metrics of a picker.

    Without a Ready model pod a picker has nothing to pick. A picker that is not Ready itself is
    reported elsewhere.
    """
    pods = tuple(pod for pod in pods if counts(pod))
    ready = tuple(pod for pod in pods if is_ready(pod))
    silent = {
        STALE_METRICS: any(map(_is_unread, verdicts(ready, scope.samples))),
        SCHEDULING_FAILING: len(ready) < len(pods),
    }
    for picker in _pickers(scope, row) if ready else ():
        judged = judged_of(picker, scope.samples)
        for fault in judged.verdict.faults.values() if judged else ():
            if not silent.get(fault.reason):
                yield metric_finding(scope, picker, fault, role="endpoint picker ")


def inconclusive_pickers(
    scope: SubjectScope[KubeObject], row: ScrapedPickers
) -> f.InconclusiveReasons:
    """Return the reasons that cannot be judged of each picker now."""
    return _inconclusive(scope, _pickers(scope, row), frozenset(PICKER_NAMES), waits=False)


def as_picked(
    scope: SubjectScope[KubeObject], row: ScrapedPickers, serving: Iterable[f.ServingEvidence]
) -> Iterator[f.ServingEvidence]:
    """Yield the evidence, not reached if no Ready picker knows an endpoint.

    Such a picker answers requests itself, with 503 (Gateway API Inference Extension v1.5,
    pkg/epp/requestcontrol/director.go), so the pool's failureMode does not help. A picker that
    knows pods but has no fresh metrics of them still chooses among them.
    """
    verdicts = [
        judged.verdict for pod in _pickers(scope, row) if (judged := judged_of(pod, scope.samples))
    ]
    none = bool(verdicts) and all(map(_knows_no_endpoint, verdicts))
    return (replace(each, reached=False) if none else each for each in serving)


def _is_unread(verdict: PodVerdict) -> bool:
    """Tell whether the reporter cannot read a pod's metrics either; a finding reports that."""
    return verdict.failing or not _UNREAD.isdisjoint(verdict.faults)


def _knows_no_endpoint(verdict: PodVerdict) -> bool:
    doubt = verdict.doubts.get(NO_ENDPOINTS)
    open_fault = doubt.fault if doubt is not None and doubt.open else None
    fault = verdict.faults.get(NO_ENDPOINTS, open_fault)
    return fault is not None and fault.severity >= EMPTY


def _pickers(scope: SubjectScope[KubeObject], row: ScrapedPickers) -> Iterator[Pod]:
    found = picker_pods(scope.snapshot, row, scope.place, name=scope.name)
    yield from filter(is_ready, running(found))

"""Autoscalers that do not work: no metric changes the replicas of their model.

The condition Ready of a ScaledObject says that something is wrong. The cause, such as a trigger
without an address or an autoscaler that the API server refuses, is often only in the Event about
the ScaledObject. With a fallback it stays Ready while its triggers fail, and Fallback is True; with
several triggers, Ready is Unknown while some of them fail. A paused one is meant to do nothing.
Source: kedacore/keda, v2.21.0, `controllers/keda/scaledobject_controller.go`,
`pkg/scaling/executor/scale_scaledobjects.go`, `pkg/fallback`. HorizontalPodAutoscalers, including
KEDA's, name the metric that they cannot read (kubernetes,
pkg/controller/podautoscaler/horizontal.go).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from typing import Final, TypeAlias

from reporter.catalogue import resources as r
from reporter.catalogue.runtime import of_kind
from reporter.model import objects as o
from reporter.model.finding import Finding
from reporter.probes.pods import startup_budget
from reporter.probes.scope import SubjectScope
from reporter.snapshot.index import grouped
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.owners import is_false, is_true, warning_about, words

_MOST: Final = 8
_OFF: Final = "ScalingDisabled"
"""Reason of an autoscaler whose target is scaled to zero, which is not a fault."""

_SOME_FAIL: Final = "PartialTriggerError"
_STATIC: Final = ("", "static")
"""Behaviors of a fallback that set exactly its number of replicas."""

Scaler: TypeAlias = o.ScaledObject | o.PodAutoscaler


def _by_target(namespace: str, snapshot: Snapshot) -> Mapping[tuple[str, str], tuple[Scaler, ...]]:
    scalers: tuple[Scaler, ...] = (
        *snapshot[r.SCALEDOBJECTS].in_namespace(namespace),
        *snapshot[r.AUTOSCALERS].in_namespace(namespace),
    )
    targets = ((each.spec.scale_target_ref, each) for each in scalers)
    return grouped(((of.kind or r.DEPLOYMENTS.kind, of.name), each) for of, each in targets)


def rejection(scaler: o.ScaledObject, snapshot: Snapshot) -> tuple[o.Condition, str] | None:
    """Return the condition and cause of a ScaledObject that does not work; None if it works."""
    ready, paused = map(scaler.status.condition, ("Ready", "Paused"))
    if scaler.deleting or not is_false(ready) or is_true(paused):
        return None
    return ready, warning_about(snapshot, r.SCALEDOBJECTS.ref(scaler)) or words(ready)


_ASKED: Final = re.compile(r"\(get [^()\s]{0,200}?((?:custom\.|external\.)?metrics\.k8s\.io)\)")


def _unserved(failed: o.Condition, snapshot: Snapshot) -> str:
    """Return why the API of metrics that an autoscaler asks does not answer, or an empty string."""
    asked = _ASKED.search(failed.message or "")
    for each in snapshot[r.APISERVICES] if asked else ():
        available = each.status.condition("Available", "False")
        if available and asked and each.spec.group == asked[1]:
            return f"; APIService {each.name}: {words(available)}"
    return ""


def _fault(scaler: Scaler, snapshot: Snapshot) -> tuple[o.Condition, str] | None:
    """Return the condition of an autoscaler that does not fully work, and a message; or None."""
    conditions = scaler.status.condition
    if scaler.deleting or is_true(conditions("Paused")):
        return None
    if isinstance(scaler, o.PodAutoscaler):
        return _of_autoscaler(scaler, snapshot)
    if rejected := rejection(scaler, snapshot):
        return rejected[0], f"does not work: {rejected[1]}"
    fallback, ready = conditions("Fallback"), conditions("Ready")
    warning = warning_about(snapshot, r.SCALEDOBJECTS.ref(scaler))
    if fallback is not None and is_true(fallback):
        to = scaler.spec.fallback
        static = to is not None and to.behavior in _STATIC
        replicas = f"{to.replicas} replica(s)" if to and static else "what spec.fallback says"
        return fallback, f"does not work: {warning or words(fallback)}; it falls back to {replicas}"
    if ready is not None and ready.reason == _SOME_FAIL:
        return ready, f"works with only some of its triggers: {warning or words(ready)}"
    return None


def _of_autoscaler(scaler: o.PodAutoscaler, snapshot: Snapshot) -> tuple[o.Condition, str] | None:
    """Return the same of a HorizontalPodAutoscaler, also if its target has the replicas again that
    it had before it was scaled: only something that owns or applies the target would do that.
    """
    both = map(scaler.status.condition, ("AbleToScale", "ScalingActive"))
    failed = next((c for c in both if c and is_false(c) and c.reason != _OFF), None)
    if failed is not None:
        return failed, f"does not work: {words(failed)}{_unserved(failed, snapshot)}"
    of, status = scaler.spec.scale_target_ref, scaler.status
    able = status.condition("AbleToScale", "True")
    target = _target_of(scaler, snapshot)
    if target is None or able is None or target.deleting:
        return None
    if status.desired_replicas in (0, status.current_replicas):
        return None
    setter = _setter(target) if target.wanted == status.current_replicas else ""
    text = (
        f"has set {of.kind or r.DEPLOYMENTS.kind} {of.name} from {status.current_replicas} to "
        f"{status.desired_replicas} replicas, and it wants {target.wanted} again: probably "
        f"{setter} sets it back"
    )
    return (able, text) if setter else None


def _target_of(scaler: o.PodAutoscaler, snapshot: Snapshot) -> o.Deployment | o.StatefulSet | None:
    of = scaler.spec.scale_target_ref
    if (of.kind or r.DEPLOYMENTS.kind) == r.DEPLOYMENTS.kind:
        return snapshot[r.DEPLOYMENTS].get(scaler.namespace, of.name)
    sets = snapshot[r.STATEFULSETS] if of.kind == r.STATEFULSETS.kind else None
    return sets.get(scaler.namespace, of.name) if sets else None


def _setter(target: o.Deployment | o.StatefulSet) -> str:
    """Return what else sets the replicas of an object, by its owner and writers; or empty."""
    owners = (each for each in target.metadata.owner_references or () if each.controller)
    if owner := next(owners, None):
        return f"the controller of {owner.kind} {owner.name}"
    writers = {each.manager for each in target.metadata.managed_fields or ()}
    marks = writers | (target.metadata.labels or {}).keys()
    return next((who for mark, who in _APPLIED if mark in marks), "")


_APPLIED: Final = (
    ("argocd-controller", "Argo CD"), ("argocd.argoproj.io/instance", "Argo CD"),
    ("kustomize-controller", "Flux"), ("kustomize.toolkit.fluxcd.io/name", "Flux"),
)  # fmt: skip
"""Field managers and labels of what is applied again and again."""

_FOUGHT_OVER: Final = timedelta(minutes=5)
"""How long replicas may differ: autoscalers are read once a minute."""


def judge_scalers(
    scope: SubjectScope[o.KubeObject],
    workloads: Iterable[tuple[str, str]],
    *,
    also: Iterable[Scaler] = (),
    serves: str = "",
    budget: timedelta | None = None,
) -> Iterator[Finding]:
    """Yield a finding for each broken autoscaler among `also` and those of the workloads.

    A workload is a kind and a name. An autoscaler that belongs to a broken ScaledObject is skipped:
    it adds nothing. `serves` is added to the message if the model serves all the same. `budget` is
    how long a ScaledObject may take at first: starting pods have no metrics yet.
    """
    place, reported = scope.place, set[str]()
    by_target = scope.snapshot.once(("scalers", place), partial(_by_target, place))
    of_workloads = [scaler for each in workloads for scaler in by_target.get(each, ())[:_MOST]]
    found = (*also, *sorted(of_workloads, key=lambda each: isinstance(each, o.PodAutoscaler)))
    for each in {(type(each), each.name): each for each in found}.values():
        fault = _fault(each, scope.snapshot)
        if fault is None or any(each.metadata.owned_by(uid) for uid in reported):
            continue
        reported.add(each.metadata.uid)
        condition, text = fault
        resource = r.AUTOSCALERS if isinstance(each, o.PodAutoscaler) else r.SCALEDOBJECTS
        of_pods = isinstance(each, o.PodAutoscaler) and condition.type == "ScalingActive"
        fought = isinstance(each, o.PodAutoscaler) and is_true(condition)
        cause = condition.reason or f"{condition.type} is False"
        cause = "replicas are set back" if fought else cause
        lasts = startup_budget(scope) if of_pods else budget
        yield scope.finding(
            reason=of_kind("ScalingNotReady", scope.subject.kind),
            related=resource.ref(each),
            cause=cause,
            text=f"{resource.kind} {each.name} {text}{serves}",
            transition=None if fought else condition.last_transition_time,
            created=None if fought else each.created,
            budget=_FOUGHT_OVER if fought else lasts,
        )

"""The probes of ModelServices: status, readiness and errors here, the others in the modules."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, HTTPROUTES, INFERENCEPOOLS, PODS
from reporter.model.finding import (
    Derived,
    Document,
    Evaluation,
    Finding,
    ReadyEvidence,
    ServingEvidence,
)
from reporter.model.text import clean, cut
from reporter.probes.pods import judged
from reporter.probes.scope import Probe
from reporter.probes.subjects import StackProbes, SubjectProbes
from reporter.stacks.otterscale import reasons
from reporter.stacks.otterscale.derived.observe import observe
from reporter.stacks.otterscale.probes import drift, pods
from reporter.stacks.otterscale.probes.epp import epp_fault, is_reached, probe_epp, probe_route
from reporter.stacks.otterscale.probes.scope import ModelServiceScope, RoleView
from reporter.stacks.otterscale.reasons import MODELSERVICES, PICKERS
from reporter.workload.endpoint_pickers import fails_open
from reporter.workload.owners import latest, spec_written
from reporter.workload.routing import entrances_of, is_accepted, is_reachable

_OF_READY: Final = frozenset({"phase", "decodeReady", "prefillReady", "Ready"})
"""Fields that change when a pod becomes Ready or unready."""

_FOLLOWS: Final = timedelta(seconds=15)
"""How long the operator may take to write a change of a pod."""

_VALUE_BYTES: Final = 60


def derived(scope: ModelServiceScope) -> tuple[Derived, ...]:
    """Return the wanted status; empty while the Deployments are unknown."""
    return (Derived(scope.ref, _observed(scope)),) if scope.known(DEPLOYMENTS) else ()


def probe_status(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding if the status is not what the operator should have written by now.

    Other reasons report a status that is behind, or frozen by an error. Pods that start one after
    the other, or crash again and again, change the counters each time, a moment before the operator
    follows: seen often enough, that would look like one lasting fault.
    """
    if scope.object.is_behind or scope.object.reconcile_error or not scope.object.status.phase:
        return
    if not scope.known(DEPLOYMENTS):
        return
    differences = dict(_differences(scope))
    if not differences:
        return
    changed = _last_change(scope) if differences.keys() <= _OF_READY else None
    yield scope.finding(
        reason=reasons.STATUS_STALE,
        related=scope.ref,
        cause=f"{', '.join(differences)} out of date",
        text=f"its status does not match its Deployments: {', '.join(differences.values())}",
        transition=changed,
        created=scope.object.created,
        budget=_FOLLOWS if changed else None,
    )


def _last_change(scope: ModelServiceScope) -> datetime | None:
    """Return when a pod was last created, or last became Ready or unready."""
    ready = (pod.status.condition("Ready") for pod in scope.pods)
    return latest(
        *(each.created for each in scope.pods),
        *(each.last_transition_time for each in ready if each),
    )


def _observed(scope: ModelServiceScope) -> Document:
    return observe(scope.object, scope.children.decode, scope.children.prefill)


def _differences(scope: ModelServiceScope) -> Iterator[tuple[str, str]]:
    should, status = _observed(scope), scope.object.status
    for field, has in (
        ("phase", status.phase),
        ("decodeReady", status.decode_ready),
        ("decodeReplicas", status.decode_replicas),
        ("prefillReady", status.prefill_ready),
        ("prefillReplicas", status.prefill_replicas),
    ):
        want = should.get(field, 0)
        if has != want:
            shown = cut(clean(str(has)), _VALUE_BYTES)
            yield field, f"{field} is {shown} and should be {want}"
    ready, wants = status.condition("Ready"), str(should["phase"] == "Ready")
    if ready is None or ready.status != wants:
        shown = cut(clean(ready.status), _VALUE_BYTES) if ready else "missing"
        yield "Ready", f"condition Ready is {shown} and should be {wants}"


def probe_ready(scope: ModelServiceScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if the pods of each role run and requests reach them.

    There is no evidence while any of its inputs is unknown.
    """
    if not _is_known(scope) or not all(map(_is_served, scope.roles)):
        return
    if scope.epp is None or scope.epp.wanted == 0 or epp_fault(scope, scope.epp) is not None:
        return
    is_wanted = scope.object.spec.http_route is not None
    routed = is_accepted(scope.route) if scope.route is not None else not is_wanted
    if scope.pool is None or not is_reached(scope) or not routed:
        return
    counts = [each.count if each.wanted else f"0 {each.role} pods wanted" for each in scope.roles]
    route = "route accepted" if scope.route is not None else "no route"
    parts = ", ".join((*counts, "endpoint picker available", route))
    caveat = "the pods have no probes: ready only means that their containers run"
    yield scope.evidence(reasons.READY, f"{parts} ({caveat})")


def probe_serving(scope: ModelServiceScope) -> Iterator[ServingEvidence]:
    """Yield how many pods serve, and whether requests reach them, by the same evidence.

    Without decode pods nothing serves; without prefill pods, the decode pods do all the work.
    """
    if not _is_known(scope):
        return
    routes = (scope.route,) if scope.route is not None else ()
    routed = is_reachable(routes) if routes else scope.object.spec.http_route is None
    picker = scope.epp
    there = picker is not None and picker.wanted > 0 and picker.status.ready_replicas > 0
    picked = (there and is_reached(scope)) or fails_open(scope.pool)
    yield ServingEvidence(
        subject=scope.subject,
        wanted=sum(each.wanted for each in scope.roles) if scope.roles[0].wanted else 0,
        serving=sum(map(_serving, scope.roles)) if _serving(scope.roles[0]) else 0,
        reached=scope.pool is not None and routed and picked,
        entrances=entrances_of(routes),
    )


def _is_known(scope: ModelServiceScope) -> bool:
    return all(map(scope.known, (PODS, DEPLOYMENTS, INFERENCEPOOLS, HTTPROUTES)))


def _serving(role: RoleView) -> int:
    deployment = role.deployment
    return min(role.ready, deployment.status.ready_replicas) if deployment is not None else 0


def _is_served(role: RoleView) -> bool:
    """Return True if a role has its Deployment, and as many Ready pods as wanted."""
    asks = role.deployment.wanted if role.deployment is not None else -1
    return asks >= role.wanted and _serving(role) >= role.wanted


_ERROR_BYTES: Final = 600
_CAUSE_BYTES: Final = 100


def probe_not_observed(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding if the status is of an older generation."""
    if not scope.object.is_behind:
        return
    seen = scope.object.status.observed_generation
    text = f"the operator has not observed generation {scope.object.metadata.generation}, " + (
        f"its status is of generation {seen}" if seen else "it has written no status yet"
    )
    yield scope.finding(
        reason=reasons.NOT_OBSERVED,
        related=scope.ref,
        cause="status of an older generation" if seen else "no status",
        text=text,
        transition=spec_written(scope.object),
        created=scope.object.created,
    )


def probe_reconcile_failed(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding if the operator ended in an error.

    The condition's time does not show when the error began: it changes only with the status, and a
    ModelService that was not ready before keeps the earlier time.
    """
    condition = scope.object.reconcile_error
    if condition is None:
        return
    message = condition.message or ""
    error = cut(clean(message or "no text"), _ERROR_BYTES)
    absent = [
        each.kind
        for each in (reasons.PODMONITORS, reasons.SERVICEMONITORS)
        if scope.snapshot.absent(each)
    ]
    phase = scope.object.status.phase
    old = f"; phase {clean(phase)} and the counters are out of date" if phase else ""
    yield scope.finding(
        reason=reasons.RECONCILE_FAILED,
        related=scope.ref,
        cause=cut(error, _CAUSE_BYTES),
        text=f"the operator cannot reconcile it: {error}{old}",
        created=scope.object.created,
        independent=bool(absent) and not any(each in message for each in absent),
    )


_PROBES: Final[tuple[Probe[ModelServiceScope], ...]] = (
    drift.probe_invalid,
    probe_not_observed,
    probe_reconcile_failed,
    drift.probe_missing,
    probe_epp,
    probe_route,
    drift.probe_misconfigured,
    probe_status,
    drift.probe_drift,
    pods.probe_pods,
    pods.probe_rollout,
    pods.probe_runtime,
)


def evaluate_modelservice(scope: ModelServiceScope) -> Evaluation:
    return judged(
        scope,
        _PROBES,
        ready=probe_ready(scope),
        serving=probe_serving(scope),
        pods=scope.pods,
        waits=pods.waits_for_replicas(scope),
        pickers=PICKERS,
        derived=derived(scope),
    )


PROBES: Final = StackProbes(
    subjects=SubjectProbes(
        resources=(MODELSERVICES,),
        scope=ModelServiceScope,
        evaluate=evaluate_modelservice,
        leaving=drift.evaluate_leaving,
    )
)

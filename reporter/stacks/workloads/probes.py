"""What is asked about plain workloads: their pods, and what requests come by."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from reporter.catalogue import resources as r
from reporter.model.finding import Evaluation, Finding, ReadyEvidence, ServingEvidence
from reporter.model.objects import Deployment, InferencePool
from reporter.model.subject import ObjectRef
from reporter.probes.scope import Probe, evaluated
from reporter.probes.subjects import StackProbes
from reporter.served.pods import PodReasons, judge_pods, judge_workloads
from reporter.served.scaledobjects import judge_scalers, scalers_of
from reporter.stacks.workloads import reasons as w
from reporter.stacks.workloads.scope import WorkloadProbes, WorkloadScope
from reporter.workload.deployment import deployment_behind, is_available, judge_deployment
from reporter.workload.routing import (
    WRONG_PORT,
    ParentFault,
    entrances_of,
    fails_open,
    lacks_tls_rule,
    missing_picker_service,
    pool_faults,
    route_faults,
    wrong_port,
)

_REASONS: Final = PodReasons(
    storage_failed=w.STORAGE_FAILED,
    model_load_failed=w.MODEL_LOAD_FAILED,
    pods_not_ready=w.PODS_NOT_READY,
    pods_not_created=w.PODS_NOT_CREATED,
    rollout_stuck=w.ROLLOUT_STUCK,
)


def probe_pods(scope: WorkloadScope) -> Iterator[Finding]:
    """Yield a finding for each pod at fault, and for each workload that lacks pods or stalls."""
    yield from judge_pods(scope, scope.roles, _REASONS)
    yield from judge_workloads(scope, scope.roles, _REASONS)


def probe_router(scope: WorkloadScope) -> Iterator[Finding]:
    """Yield a finding if the router of its release has no available replica."""
    if scope.router is not None and not is_available(scope.router):
        yield _down(
            scope, scope.router, reason=w.ROUTER_NOT_READY, what="the router of its release"
        )


def probe_pickers(scope: WorkloadScope) -> Iterator[Finding]:
    """Yield a finding for each pool whose endpoint picker is missing or down."""
    for pool in scope.pools:
        name = missing_picker_service(pool, scope.snapshot)
        if name:
            yield scope.finding(
                reason=w.EPP_NOT_READY,
                related=scope.ref_of_pool(pool),
                cause=f"Service {name} missing",
                text=f"InferencePool {pool.name} names Service {name} for its endpoint picker, which "
                "does not exist",
                created=pool.created,
                by_spec=True,
            )
        elif (picker := _picker(scope, pool)) is not None and not is_available(picker):
            yield _down(
                scope,
                picker,
                reason=w.EPP_NOT_READY,
                what=f"the endpoint picker of InferencePool {pool.name}",
            )
        elif picker is not None and (
            gateway := lacks_tls_rule(scope.routes, pool, picker=picker, snapshot=scope.snapshot)
        ):
            service = pool.spec.endpoint_picker_ref.name if pool.spec.endpoint_picker_ref else ""
            yield scope.finding(
                reason=w.EPP_NOT_READY,
                related=r.DESTINATIONRULES.ref_named(scope.place, service),
                cause=f"no DestinationRule for Service {service}",
                text=f"requests through Gateway {gateway} probably fail with 500: its endpoint picker serves "
                f"TLS with a certificate of its own, and no DestinationRule tells Istio so for Service {service}",
                created=picker.created,
                by_spec=True,
            )


def probe_routes(scope: WorkloadScope) -> Iterator[Finding]:
    """Yield a finding for each route, pool and Service that does not lead to its pods alone."""
    for pool in scope.pools:
        ports = wrong_port(pool, scope.snapshot, scope.listens)
        for fault in (*ports, *pool_faults(pool, scope.snapshot)):
            yield _refused(scope, scope.ref_of_pool(pool), fault)
    for route in scope.routes:
        for fault in route_faults(route, scope.snapshot):
            yield _refused(scope, r.HTTPROUTES.ref(route), fault)
    for service, other in scope.shared_services:
        text = f"selects pods of {other} too, which serves another model: requests reach either"
        fault = ParentFault(f"selects pods of {other} too", text, WRONG_PORT)
        yield _refused(scope, r.SERVICES.ref(service), fault)


def probe_scaling(scope: WorkloadScope) -> Iterator[Finding]:
    """Yield a finding for each ScaledObject of it that KEDA cannot use."""
    workloads = ((resource.kind, obj.name) for resource, obj in scope.members)
    scalers = scalers_of(scope.snapshot, scope.place, workloads)
    yield from judge_scalers(scope, scalers, reason=w.SCALING_NOT_READY)


def probe_ready(scope: WorkloadScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if each role has an available replica, and requests come through."""
    if _serves(scope) and not any(chain.from_iterable(probe(scope) for probe in _WAYS)):
        told = ", ".join(
            f"{each.title}{each.available}/{each.replicas} available" for each in scope.roles
        )
        yield scope.evidence(w.READY, told)


def probe_serving(scope: WorkloadScope) -> Iterator[ServingEvidence]:
    """Yield how many replicas serve, and whether requests reach them.

    Without what decodes nothing is answered. Past a router or a pool that does not work requests may
    still come by a Service of the pods, so that a model with another way is reached.
    """
    main = scope.roles[0]
    yield ServingEvidence(
        subject=scope.subject,
        wanted=0 if main.is_idle else max(1, sum(each.replicas for each in scope.roles)),
        serving=max(1, sum(each.available for each in scope.roles)) if main.serves else 0,
        reached=not scope.pools or any(_is_picked(scope, each) for each in scope.pools),
        entrances=entrances_of(scope.routes),
    )


def _serves(scope: WorkloadScope) -> bool:
    main, *others = scope.roles
    return main.serves and all(each.serves or each.is_idle for each in others)


def _is_picked(scope: WorkloadScope, pool: InferencePool) -> bool:
    picker = _picker(scope, pool)
    missing = missing_picker_service(pool, scope.snapshot)
    return fails_open(pool) or not (missing or (picker and not is_available(picker)))


def _picker(scope: WorkloadScope, pool: InferencePool) -> Deployment | None:
    reference = pool.spec.endpoint_picker_ref
    if reference is None:
        return None
    service = scope.snapshot[r.SERVICES].get(scope.place, reference.name)
    if service is None or not service.spec.selector:
        return None
    return deployment_behind(scope.snapshot, scope.place, service.spec.selector)


def _down(scope: WorkloadScope, deployment: Deployment, *, reason: str, what: str) -> Finding:
    fault = judge_deployment(deployment, scope.snapshot)
    return scope.finding(
        reason=reason,
        related=r.DEPLOYMENTS.ref(deployment),
        cause=fault.cause if fault else "not available",
        text=f"Deployment {deployment.name}, {what}, is down{f': {fault.detail}' if fault else ''}",
        transition=fault.transition if fault else None,
        created=deployment.created,
        passing=fault is None or fault.passing,
        lost_node=fault.lost_node if fault else "",
        diagnosis=fault.diagnosis if fault else None,
        started=fault.started if fault else True,
        independent=True,
    )


def _refused(scope: WorkloadScope, related: ObjectRef, fault: ParentFault) -> Finding:
    place = "" if related.namespace == scope.place else f"{related.namespace}/"
    return scope.finding(
        reason=w.ROUTE_NOT_READY,
        related=related,
        cause=fault.cause,
        text=f"{related.kind} {place}{related.name}: {fault.text}",
        severity=fault.severity,
        transition=fault.transition,
    )


_WAYS: Final[tuple[Probe[WorkloadScope], ...]] = (probe_router, probe_pickers, probe_routes)
_PROBES: Final[tuple[Probe[WorkloadScope], ...]] = (probe_pods, *_WAYS, probe_scaling)


def evaluate_workload(scope: WorkloadScope) -> Evaluation:
    """Return all that is said about one model."""
    return evaluated(
        scope,
        chain.from_iterable(probe(scope) for probe in _PROBES),
        probe_ready(scope),
        serving=probe_serving(scope),
    )


PROBES: Final = StackProbes(subjects=WorkloadProbes(evaluate_workload))
